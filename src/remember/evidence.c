/* evidence.c — files by their content, attempts by how they ended, replies by their shape.  Pure. */
#include "remember/evidence.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* ---- files ---- */

static const struct {
	const char *magic;
	size_t n, at;
	const char *type, *mime;
} magics[] = {
	{ "%PDF-", 5, 0, "pdf", "application/pdf" },
	{ "\x89PNG\r\n\x1a\n", 8, 0, "image", "image/png" },
	{ "\xff\xd8\xff", 3, 0, "image", "image/jpeg" },
	{ "GIF87a", 6, 0, "image", "image/gif" },
	{ "GIF89a", 6, 0, "image", "image/gif" },
	{ "WEBP", 4, 8, "image", "image/webp" },
	{ "BM", 2, 0, "image", "image/bmp" },
	{ "II*\0", 4, 0, "image", "image/tiff" },
	{ "MM\0*", 4, 0, "image", "image/tiff" },
	{ "ID3", 3, 0, "audio", "audio/mpeg" },
	{ "\xff\xfb", 2, 0, "audio", "audio/mpeg" },
	{ "fLaC", 4, 0, "audio", "audio/flac" },
	{ "OggS", 4, 0, "audio", "audio/ogg" },
	{ "WAVE", 4, 8, "audio", "audio/wav" },
	{ "ftypM4A", 7, 4, "audio", "audio/mp4" },
	{ "ftyp", 4, 4, "video", "video/mp4" },
	{ "\x1a\x45\xdf\xa3", 4, 0, "video", "video/webm" },
	{ "AVI ", 4, 8, "video", "video/x-msvideo" },
	{ "\x1f\x8b", 2, 0, "gzip", "application/gzip" },
	{ "BZh", 3, 0, "archive", "application/x-bzip2" },
	{ "\xfd"
	  "7zXZ",
		5, 0, "archive", "application/x-xz" },
	{ "7z\xbc\xaf\x27\x1c", 6, 0, "archive", "application/x-7z-compressed" },
	{ "Rar!", 4, 0, "archive", "application/vnd.rar" },
	{ "\x28\xb5\x2f\xfd", 4, 0, "archive", "application/zstd" },
	{ "ustar", 5, 257, "tar", "application/x-tar" },
	{ "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, "office", "application/x-ole-storage" },
	{ "{\\rtf", 5, 0, "office", "application/rtf" },
	{ "\177ELF", 4, 0, "executable", "application/x-elf" },
	{ "MZ", 2, 0, "executable", "application/x-msdownload" },
	{ "\xca\xfe\xba\xbe", 4, 0, "executable", "application/x-mach-binary" },
	{ "SQLite format 3", 15, 0, "database", "application/vnd.sqlite3" },
	{ "PK\x03\x04", 4, 0, "zip", "application/zip" },
	{ "PK\x05\x06", 4, 0, "zip", "application/zip" },
};

static const struct {
	const char *extension, *type;
} extensions[] = { { "pdf", "pdf" }, { "png", "image" }, { "jpg", "image" }, { "jpeg", "image" },
	{ "gif", "image" }, { "webp", "image" }, { "bmp", "image" }, { "tif", "image" }, { "tiff", "image" },
	{ "mp3", "audio" }, { "wav", "audio" }, { "flac", "audio" }, { "ogg", "audio" }, { "m4a", "audio" },
	{ "mp4", "video" }, { "mov", "video" }, { "webm", "video" }, { "mkv", "video" }, { "avi", "video" },
	{ "gz", "gzip" }, { "tgz", "gzip" }, { "tar", "tar" }, { "zip", "zip" }, { "jar", "zip" },
	{ "docx", "office" }, { "xlsx", "office" }, { "pptx", "office" }, { "doc", "office" },
	{ "xls", "office" }, { "ppt", "office" }, { "odt", "office" }, { "ods", "office" },
	{ "rtf", "office" }, { "json", "json" }, { "xml", "xml" }, { "yaml", "yaml" }, { "yml", "yaml" },
	{ "txt", "text" }, { "md", "text" }, { "csv", "text" }, { "log", "text" }, { "py", "text" },
	{ "js", "text" }, { "c", "text" }, { "h", "text" }, { "sh", "text" }, { "html", "text" },
	{ "exe", "executable" }, { "dll", "executable" }, { "so", "executable" } };

static const char *claimed_by(const char *extension)
{
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (text_eq(extensions[i].extension, extension))
			return extensions[i].type;
	return "unknown";
}

/* No NUL, and nine in ten bytes that are printed. */
static bool is_text(struct bytes b)
{
	/* A character that the end of the first bytes has cut is none the less. */
	const bool is_utf8 = text_utf8_valid((const char *)b.p, b.n) + 4 > b.n;
	size_t printed = 0;

	for (size_t i = 0; i < b.n; i++) {
		if (!b.p[i])
			return false;
		printed += (b.p[i] >= 0x20 && b.p[i] < 0x7f) || (is_utf8 && b.p[i] >= 0x80) ||
			strchr("\t\n\r\f", b.p[i]);
	}
	return printed * 10 >= b.n * 9;
}

static const char *kind_of_text(struct bytes b)
{
	size_t i = 0;

	while (i < b.n && strchr(" \t\r\n\xef\xbb\xbf", b.p[i]))
		i++;
	if (i < b.n && (b.p[i] == '{' || b.p[i] == '['))
		return "json";
	if (b.n - i >= 5 && memcmp(b.p + i, "<?xml", 5) == 0)
		return "xml";
	return b.n - i >= 4 && memcmp(b.p + i, "---\n", 4) == 0 ? "yaml" : "text";
}

/* What stands in the first entries of a zip tells documents from archives. */
static bool is_office(struct bytes b)
{
	static const char *const names[] = { "[Content_Types].xml", "word/", "xl/", "ppt/",
		"mimetypeapplication/vnd.oasis.opendocument" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (memmem(b.p, b.n, names[i], strlen(names[i])))
			return true;
	return false;
}

static const char *detect(struct bytes b, const char **ret_mime, bool *ret_is_magic)
{
	*ret_is_magic = true;
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		if (b.n < magics[i].at + magics[i].n ||
			memcmp(b.p + magics[i].at, magics[i].magic, magics[i].n) != 0)
			continue;
		*ret_mime = magics[i].mime;
		if (text_eq(magics[i].type, "zip") && is_office(b)) {
			*ret_mime = "application/vnd.openxmlformats-officedocument";
			return "office";
		}
		return magics[i].type;
	}
	*ret_is_magic = false;
	*ret_mime = b.n && !is_text(b) ? "application/octet-stream" : "text/plain";
	return !b.n ? "empty" : is_text(b) ? kind_of_text(b) : "unknown";
}

static const struct {
	const char *type, *route, *family;
	bool is_safe;
} routes[] = {
	{ "audio", "speech_audio", "audio", true },
	{ "image", "image_ocr", "image", true },
	{ "pdf", "pdf_document", "pdf", true },
	{ "text", "text_loader", "text", true },
	{ "json", "text_loader", "json", true },
	{ "xml", "text_loader", "xml", true },
	{ "yaml", "text_loader", "yaml", true },
	{ "office", "office_document", "office", true },
	{ "zip", "archive_inspection", "archive", false },
	{ "gzip", "archive_inspection", "archive", false },
	{ "tar", "archive_inspection", "archive", false },
	{ "archive", "archive_inspection", "archive", false },
	{ "video", "media_review", "video", true },
};

/* A text is a text, whatever it is called. */
static bool fits(const char *claimed, const char *detected)
{
	static const char *const texts[] = { "text", "json", "xml", "yaml" };
	bool is_claimed = false, is_detected = false;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		is_claimed |= text_eq(texts[i], claimed);
		is_detected |= text_eq(texts[i], detected);
	}
	return text_eq(claimed, "unknown") || text_eq(claimed, detected) || (is_claimed && is_detected);
}

struct json *evidence_file(struct arena *a, const char *path, struct bytes first, int64_t size)
{
	const char *name = path_base(path), *dot = strrchr(name, '.'), *mime;
	char *extension = arena_strdup(a, dot && dot > name ? dot + 1 : "");
	struct json *doc = json_new(a, JSON_OBJECT), *warnings = json_new(a, JSON_ARRAY);
	bool is_magic;
	size_t r = 0;

	for (char *p = extension; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	const char *claimed = claimed_by(extension), *type = detect(first, &mime, &is_magic);
	while (r < ARRAY_SIZE(routes) && !text_eq(routes[r].type, type))
		r++;
	const bool is_known = r < ARRAY_SIZE(routes), is_other = !fits(claimed, type);
	if (is_other)
		json_pushs(a, warnings, arena_printf(a, "it is called .%s and is %s", extension, type));
	if (text_eq(type, "executable"))
		json_pushs(a, warnings, "it is a program");
	if (!size)
		json_pushs(a, warnings, "it is empty");
	json_sets(a, doc, "path", path);
	json_sets(a, doc, "file_name", name);
	json_sets(a, doc, "extension", extension);
	json_seti(a, doc, "size_bytes", size);
	json_sets(a, doc, "claimed_type", claimed);
	json_sets(a, doc, "detected_type", type);
	json_sets(a, doc, "detected_mime_type", mime);
	json_sets(a, doc, "detector", is_magic ? "magic_bytes" : "mimetypes");
	json_set(a, doc, "confidence", json_double(a, is_magic ? 0.75 : 0.5));
	json_setb(a, doc, "mismatch", is_other);
	json_sets(a, doc, "route_decision", is_known ? routes[r].route : "manual_review");
	json_sets(a, doc, "parser_family", is_known ? routes[r].family : "none");
	json_setb(a, doc, "safe_to_parse", is_known && routes[r].is_safe && !is_other);
	json_set(a, doc, "warnings", warnings);
	return doc;
}

/* ---- attempts to fetch ---- */

static bool says(const char *text, const char *const *words)
{
	for (; text && *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

static const char *classify(const struct retrieval *r, bool *ret_stops)
{
	static const char *const auth[] = { "login", "sign in", "paywall", "auth required", NULL };
	static const char *const blocked[] = { "403", "429", "waf", "challenge", "captcha", "rate limit",
		"forbidden", NULL };
	static const char *const scripts[] = { "javascript", "enable js", "spa shell", "empty app",
		"hydration", NULL };
	static const char *const transport[] = { "timeout", "connection reset", "tls", "ssl", "handshake",
		NULL };

	*ret_stops = true;
	if (r->is_unsafe)
		return "unsafe";
	if (r->needs_approval)
		return "human_approval_needed";
	if (r->needs_auth || says(r->text, auth))
		return "auth_required";
	*ret_stops = false;
	if (r->found_api)
		return "api_reusable";
	if (r->used_browser)
		return "browser_required";
	if (r->status == 401 || r->status == 402 || r->status == 407) {
		*ret_stops = true;
		return "auth_required";
	}
	if (r->status == 403 || r->status == 429 || says(r->text, blocked))
		return "fetch_blocked";
	if (says(r->text, scripts))
		return "browser_required";
	return says(r->text, transport) ? "transport_failure" : "completed";
}

struct json *evidence_retrieval(struct arena *a, const struct retrieval *r)
{
	static const char *const stages[] = { "cheap_fetch", "transformed_url", "browser_snapshot",
		"browser_network" };
	struct json *doc = json_new(a, JSON_OBJECT);
	bool stops;
	const char *class = classify(r, &stops), *stage = r->stage ? r->stage : stages[0], *next = NULL;
	size_t i = 0;

	while (i < ARRAY_SIZE(stages) && !text_eq(stages[i], stage))
		i++;
	if (!stops && !text_eq(class, "api_reusable") && !text_eq(class, "completed") &&
		i + 1 < ARRAY_SIZE(stages) && (i + 1 < 2 || r->browser_allowed))
		next = stages[i + 1];
	json_sets(a, doc, "attempt_stage", stage);
	json_sets(a, doc, "exit_classification", class);
	json_sets(a, doc, "reason", r->status ? arena_printf(a, "HTTP %d", r->status) : class);
	json_sets(a, doc, "next_attempt_stage", next);
	json_setb(a, doc, "should_stop", stops || !next);
	json_setb(a, doc, "browser_allowed", r->browser_allowed);
	return doc;
}

/* ---- replies of models ---- */

static const struct {
	const char *code, *nudge;
} issues[] = {
	{ "malformed_tool_call", "A tool call needs a name and arguments." },
	{ "invalid_json_in_arguments", "The arguments of a tool call must be JSON." },
	{ "non_json_when_tool_required", "Answer with a tool call, not with text." },
	{ "terminal_without_tool", "Answer with a tool call." },
	{ "empty_response", "Answer with something." },
};

static bool is_malformed(const struct json *call)
{
	const struct json *function =
		json_is(json_get(call, "function"), JSON_OBJECT) ? json_get(call, "function") : call;

	return !json_is(call, JSON_OBJECT) || !json_get_text(function, "name", "")[0] ||
		!json_get(function, "arguments");
}

static bool is_broken_json(struct arena *a, const struct json *call)
{
	const struct json *function =
		json_is(json_get(call, "function"), JSON_OBJECT) ? json_get(call, "function") : call;
	const char *text = json_text(json_get(function, "arguments"));
	struct json *parsed;

	return text && json_parse(a, bytes_of(text), "arguments", NULL, &parsed, NULL) != OK;
}

static struct json *issues_of(struct arena *a, const struct json *reply, bool tool_required)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const struct json *calls = json_get(reply, "tool_calls");
	const char *content = json_get_text(reply, "content", "");
	bool has_text = content[strspn(content, " \t\r\n")], has_calls = calls && calls->n, is_bad = false,
	     is_broken = false;

	json_each (call, calls) {
		is_bad |= is_malformed(call);
		is_broken |= !is_malformed(call) && is_broken_json(a, call);
	}
	if (!has_text && !has_calls)
		json_pushs(a, list, "empty_response");
	if (is_bad)
		json_pushs(a, list, "malformed_tool_call");
	if (is_broken)
		json_pushs(a, list, "invalid_json_in_arguments");
	if (tool_required && !has_calls)
		json_pushs(a, list, has_text ? "non_json_when_tool_required" : "terminal_without_tool");
	return list;
}

static bool has(const struct json *list, const char *code)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), code))
			return true;
	return false;
}

struct reply_rules evidence_reply_rules(struct arena *a, const struct json *own)
{
	static const char shipped[] =
		"{\"max_retries\":2,\"nudge_on\":[\"malformed_tool_call\",\"non_json_when_tool_required\","
		"\"invalid_json_in_arguments\",\"empty_response\"],\"abort_on\":[\"terminal_without_tool\"]}";
	struct json *doc;

	if (json_parse(a, BYTES_LITERAL(shipped), "rules", NULL, &doc, NULL))
		BUG("the shipped rules about answers are no JSON");
	if (own)
		doc_lay_over(a, doc, own);
	return (struct reply_rules){ json_get(doc, "nudge_on"), json_get(doc, "abort_on"),
		json_get_int(doc, "max_retries", 2) };
}

struct json *evidence_reply(struct arena *a, const struct reply_rules *rules, const struct json *reply,
	bool tool_required, int64_t attempt, bool is_shadow)
{
	struct json *doc = json_new(a, JSON_OBJECT), *found = issues_of(a, reply, tool_required);
	bool aborts = false, is_asked = false;
	const char *nudge = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(issues); i++)
		if (has(found, issues[i].code)) {
			aborts |= has(rules->abort_on, issues[i].code);
			is_asked |= has(rules->nudge_on, issues[i].code);
			nudge = nudge ? nudge : issues[i].nudge;
		}
	const char *verdict = !found->n			     ? "ok"
		: aborts				     ? "abort"
		: attempt >= rules->max_retries || !is_asked ? "give_up"
							     : "nudge_and_retry";
	bool retries = text_eq(verdict, "nudge_and_retry");
	json_sets(a, doc, "verdict", verdict);
	json_set(a, doc, "issues", found);
	json_sets(a, doc, "nudge", retries ? nudge : NULL);
	json_seti(a, doc, "next_attempt", retries ? attempt + 1 : attempt);
	json_setb(a, doc, "shadow_mode", is_shadow);
	return doc;
}
