/* console_pages.c — where the pages of the console and the documents are (pages.c). */
#include "serve/console.h"

const struct route http_console_pages_routes[] = {
	{ "GET", "/console", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, console_page, "the console: a page without data",
		NULL, NULL },
	{ "GET", "/console/{*page}", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, console_page, "its pages and files",
		NULL, NULL },
	{ "GET", "/docs", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, console_document,
		"the documents, where they are installed", NULL, NULL },
	{ "GET", "/docs/{*page}", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, console_document, "their pages", NULL,
		NULL },
	{ 0 },
};
