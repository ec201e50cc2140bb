/* pages.c — the pages of the console, as they are in the program (web/).  They hold no data: whoever loads them has to come in first.
 * Beside them the documents, as tools/site.py has made them, from where they are installed. */
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/console.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum { PAGE_MOST = 8 << 20 };

static const char PLACE[] = "/console/_/";

static const struct {
	const char *end, *type;
} types[] = { { ".html", "text/html; charset=utf-8" }, { ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" }, { ".svg", "image/svg+xml" } };

static const struct pair page_headers[] = {
	{ "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'" },
	{ "Referrer-Policy", "no-referrer" }, { "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Permissions-Policy",
		"camera=(), microphone=(), geolocation=(), publickey-credentials-get=(self), publickey-credentials-create=(self)" },
	{ "Cache-Control", "no-cache" }
};

/* Files lie under one name; every other address is a page, which is the same document for all of them. */
static const char *file_of(struct call *c)
{
	if (!text_starts(c->path, PLACE))
		return "web/index.html";
	const char *name = c->path + strlen(PLACE);
	return text_is_id(name) ? arena_printf(c->a, "web/%s", name) : NULL;
}

static const char *type_of(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_ends(file, types[i].end))
			return types[i].type;
	return NULL;
}

static void answer_file(
	struct call *c, const char *type, struct bytes text, const struct pair *headers, size_t n)
{
	const char *seen = call_header(c, "If-None-Match");
	const char *tag = arena_printf(c->a, "\"%.32s\"", sha256_hex(c->a, text.p, text.n));

	for (size_t i = 0; i < n; i++)
		call_send_header(c, headers[i].name, headers[i].value);
	call_send_header(c, "ETag", tag);
	if (seen && text_eq(seen, tag))
		call_bytes(c, 304, type, (struct bytes){ 0 });
	else
		call_bytes(c, 200, type, text);
}

int console_page(struct call *c, struct err *e)
{
	const char *file = file_of(c);
	struct bytes text;

	if (!file || !embed_find(file, &text))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such file of the console");
	answer_file(c, type_of(file), text, page_headers, ARRAY_SIZE(page_headers));
	return OK;
}

/* ---- documents ---- */

/* No script at all; pictures have styles in them. */
static const struct pair document_headers[] = {
	{ "Content-Security-Policy",
		"default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "Referrer-Policy", "no-referrer" }, { "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-cache" }
};

/* Where this program is installed, or where it was built. */
static int open_documents(struct call *c)
{
	static const char *const places[] = { "../../share/doc/helm-boundary/html", "../site" };
	struct sys *s = c->server->sys;
	char exe[PATH_MAX];
	ssize_t n = s->readlink(s, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = -1;

	if (n <= 0)
		return -1;
	exe[n] = '\0';
	const char *dir = arena_strndup(c->a, exe, (size_t)(path_base(exe) - exe));
	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++)
		fd = s->open(s, AT_FDCWD, path_clean(c->a, arena_printf(c->a, "%s%s", dir, places[i])),
			O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0);
	return fd;
}

int console_document(struct call *c, struct err *e)
{
	AUTO(close_fd) int dir = open_documents(c);
	const char *name = c->path + strlen("/docs");
	struct bytes text;
	struct err none = { 0 };

	if (dir < 0)
		return call_refuse(c, e, 404, "NOT_FOUND",
			"the documents are not installed; tools/site.py makes them, and the package helm-boundary has them");
	if (!*name) { /* names in the pages are relative */
		call_send_header(c, "Location", "/docs/index.html");
		call_bytes(c, 302, "text/plain", (struct bytes){ 0 });
		return OK;
	}
	name = text_eq(name, "/") ? "index.html" : name + 1;
	if (!type_of(name) ||
		file_read(c->server->sys, c->a, dir, name, PAGE_MOST, FILE_BENEATH, &text, &none))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such page of the documents");
	answer_file(c, type_of(name), text, document_headers, ARRAY_SIZE(document_headers));
	return OK;
}
