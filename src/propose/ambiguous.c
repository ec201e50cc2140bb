/* ambiguous.c — texts that other programs read differently from us.
 *
 * A decision is about one reading of the input.  open(2) ends a path at a NUL, a server in another language does not; a resolver takes
 * 0x7f.1 for an address; a line with bidirectional controls shows another name than the one that is opened.  So the whole input is looked
 * at before its effects count.  NUL and ill-formed UTF-8 anywhere, a host with more than one reading and a path longer than any system
 * opens are not understood, which is denied.  Paths that only a reader can mistake are asked about, and are shown escaped.
 *
 * One scan over the bytes; nothing is allocated unless something is found. */
#include "base/text.h"
#include "model/egress.h"
#include "propose/propose.h"
#include "propose/walk.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_PATH = 4095, LONGEST_NAME = 255, SHOWN = 200 };

#define LEAVE_OUT \
	"leave the character out; text tools cannot write it, a program that produces binary data can (printf)"
#define PLAIN_BYTES \
	"write the text in UTF-8; a file whose name has other bytes is found by a shell pattern, as in sh -c 'cat caf?.txt'"
#define PLAIN_NAME "write the name in visible characters, or let an operator approve it as it is shown"
#define PLAIN_HOST "write the host as a plain name or as an address like 192.0.2.1"

void ambiguity_raise(struct proposal *p, enum ambiguity ambiguity, const char *text, const char *instead)
{
	if (ambiguity <= p->ambiguity)
		return;
	p->ambiguity = ambiguity;
	p->ambiguity_text = text;
	p->ambiguity_instead = instead;
}

static const char *shown(struct arena *a, const char *text, size_t n)
{
	return text_seen(a, text, n < SHOWN ? n : SHOWN, false);
}

/* ---- every text ---- */

static bool has_nul(const char *text, size_t n)
{
	return n && memchr(text, '\0', n);
}

static bool is_clear(const char *text, size_t n)
{
	return !has_nul(text, n) && text_utf8_valid(text, n) == n;
}

/* Names the text and the place in it, never what it says: that may be a secret. */
static void deny_text(struct arena *a, const char *what, const char *text, size_t n, struct proposal *p)
{
	const char *nul = n ? memchr(text, '\0', n) : NULL;

	if (nul)
		ambiguity_raise(p, AMBIGUITY_DENIED,
			arena_printf(a,
				"%s holds a NUL character (byte %zu), where some programs end a text and others go on",
				what, (size_t)(nul - text) + 1),
			LEAVE_OUT);
	else
		ambiguity_raise(p, AMBIGUITY_DENIED,
			arena_printf(a,
				"%s is not valid UTF-8 (byte %zu), so programs read different characters in it",
				what, text_utf8_valid(text, n) + 1),
			PLAIN_BYTES);
}

void ambiguity_check_text(struct arena *a, const char *what, const char *text, size_t n, struct proposal *p)
{
	if (!is_clear(text, n))
		deny_text(a, what, text, n, p);
}

const char *ambiguity_seen_as(struct arena *a, const char *text, size_t n, size_t *ret_n)
{
	struct buf b;
	bool has_more = false;

	/* Nothing to do for plain letters, nearly all there are. */
	if (text_first_unseen(text, n) == n)
		return NULL;
	buf_init(&b, a);
	for (size_t i = 0; i < n;) {
		uint32_t cp = 0;
		size_t len = text_decode(text + i, n - i, &cp), step = len ? len : 1;
		if (len > 1 && text_first_unseen(text + i, len) == 0)
			has_more = true;
		else
			buf_add(&b, text + i, step);
		i += step;
	}
	*ret_n = b.n;
	return has_more ? b.p : NULL;
}

/* Where in a document a text stands; the innermost place is the first. */
struct place {
	const struct place *outer;
	const struct json_member *member; /* NULL: an item of a list */
	size_t at;
};

static const char *place_text(struct arena *a, const struct place *place)
{
	const char *text = "";

	for (; place; place = place->outer)
		text = place->member
			? arena_printf(a, "%s%s%s", shown(a, place->member->name, place->member->name_n),
				  *text && *text != '[' ? "." : "", text)
			: arena_printf(a, "[%zu]%s%s", place->at, *text && *text != '[' ? "." : "", text);
	return text;
}

/* The first text of the document that is not clear, and where; only its members' names are not values.  False: all are clear. */
static bool find_unclear(const struct json *v, const struct place *outer, struct arena *a, const char *what,
	struct proposal *p)
{
	struct place here = { .outer = outer };

	if (json_is(v, JSON_STRING) && !is_clear(v->text, v->n)) {
		const char *at = place_text(a, outer);
		deny_text(a, *at ? arena_printf(a, "the %s %s", what, at) : arena_printf(a, "the %s", what),
			v->text, v->n, p);
		return true;
	}
	json_each (item, v) {
		if (find_unclear(item, &here, a, what, p))
			return true;
		here.at++;
	}
	json_each_member (m, v) {
		here.member = m;
		if (!is_clear(m->name, m->name_n)) {
			deny_text(a,
				arena_printf(a, "the name of the %s %s", what, shown(a, m->name, m->name_n)),
				m->name, m->name_n, p);
			return true;
		}
		if (find_unclear(m->value, &here, a, what, p))
			return true;
	}
	return false;
}

void propose_check_document(
	struct arena *a, const char *what, const struct json *document, struct proposal *p)
{
	if (document && p->ambiguity != AMBIGUITY_DENIED)
		(void)find_unclear(document, NULL, a, what, p);
}

/* ---- paths ---- */

static bool is_too_long(const char *path)
{
	size_t n = strlen(path);

	if (n > LONGEST_PATH)
		return true;
	for (size_t here; n > LONGEST_NAME && *path; path += here + (path[here] == '/')) {
		here = strcspn(path, "/");
		if (here > LONGEST_NAME)
			return true;
	}
	return false;
}

static void check_path(struct arena *a, const char *path, bool is_whole, struct proposal *p)
{
	size_t n = strlen(path);

	if (is_whole && is_too_long(path))
		ambiguity_raise(p, AMBIGUITY_DENIED,
			arena_printf(a, "no system opens a path or a name of this length (%zu bytes): %s...",
				n, shown(a, path, n)),
			"name the file by a path of at most 4095 bytes, each name of at most 255");
	if (text_first_unseen(path, n) < n)
		ambiguity_raise(p, AMBIGUITY_ASKED,
			arena_printf(a, "the path holds characters that are not seen: %s", shown(a, path, n)),
			PLAIN_NAME);
}

/* CON, NUL, COM1: on some systems a device in every directory. */
static bool is_device_name(const char *name, size_t n)
{
	static const char *const names[] = { "con", "prn", "aux", "nul", "conin$", "conout$" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], name, n) == 0)
			return true;
	return n == 4 && (strncasecmp(name, "com", 3) == 0 || strncasecmp(name, "lpt", 3) == 0) &&
		name[3] >= '0' && name[3] <= '9';
}

static bool has_device_name(const char *path)
{
	for (size_t n;; path += n + 1) {
		n = strcspn(path, "/\\");
		if (is_device_name(path, n))
			return true;
		if (!path[n])
			return false;
	}
}

static bool has_drive(const char *path)
{
	return ((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':' &&
		(path[2] == '\\' || path[2] == '/');
}

/* Without the blanks and control characters around it, which many programs drop. */
static const char *trimmed(struct arena *a, const char *text)
{
	size_t n;

	while (*text && (unsigned char)*text <= ' ')
		text++;
	n = strlen(text);
	while (n && (unsigned char)text[n - 1] <= ' ')
		n--;
	return arena_strndup(a, text, n);
}

/* Escapes of a URI undone, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		unsigned value = 0;
		int used = 0;
		if (*p == '%' && sscanf(p + 1, "%2x%n", &value, &used) == 1 && used == 2 && value) {
			*to++ = (char)value;
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* file:///x, file:/x, FILE://localhost/x, with escapes.  NULL: it is none. */
static const char *uri_path(struct arena *a, const char *text, struct proposal *p)
{
	char *path;

	if (strncasecmp(text, "file:", 5) != 0)
		return NULL;
	text += 5;
	if (strcasestr(text, "%00"))
		ambiguity_raise(p, AMBIGUITY_DENIED,
			arena_printf(a, "the address of a file holds a NUL character (%%00): %s",
				shown(a, text, strlen(text))),
			LEAVE_OUT);
	if (text[0] == '/' && text[1] == '/') { /* a host stands behind two slashes */
		text += 2;
		text += strcspn(text, "/");
	}
	path = arena_strdup(a, text);
	unescape(path);
	return path;
}

const char *ambiguity_foreign_path(
	struct arena *a, const char *name, const char *path, bool is_path, struct proposal *p)
{
	const char *bare = trimmed(a, path), *uri = uri_path(a, bare, p), *why = NULL;
	bool is_foreign = has_drive(bare) || text_starts(bare, "\\\\"), is_word = !strpbrk(bare, " \t\r\n");

	if (uri) {
		check_path(a, uri, true, p);
		return uri;
	}
	if (!is_path && !is_foreign)
		return NULL;
	if (strlen(bare) > LONGEST_PATH && !strpbrk(bare, "\n"))
		check_path(a, bare, true, p);
	if (is_foreign || (is_word && strchr(bare, '\\')))
		why = "is a path of another system, which may lead elsewhere there";
	else if (is_word && has_device_name(bare))
		why = "names a device on some systems";
	else if (!text_eq(bare, path) && !strchr(bare, '\n'))
		why = "has blanks around it, which some programs drop and others keep";
	if (!why)
		return NULL;
	ambiguity_raise(p, AMBIGUITY_ASKED,
		arena_printf(a, "the argument %s %s: %s", shown(a, name, strlen(name)), why,
			shown(a, path, strlen(path))),
		"name the file by a plain path with slashes");
	char *plain = arena_strdup(a, has_drive(bare) ? bare + 2 : bare);
	for (char *at = plain; *at; at++)
		if (*at == '\\')
			*at = '/';
	return plain;
}

/* ---- hosts ---- */

static void deny_host(struct arena *a, const char *why, const char *target, struct proposal *p)
{
	ambiguity_raise(p, AMBIGUITY_DENIED, arena_printf(a, "%s: %s", why, shown(a, target, strlen(target))),
		PLAIN_HOST);
}

/* Programs that read a web address take any number of either slash behind these words. */
static const char *behind_web_scheme(const char *target)
{
	static const char *const schemes[] = { "https:", "http:", "wss:", "ws:", "ftp:", "ftps:" };

	target += strspn(target, " \t\r\n");
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);
		if (strncasecmp(target, schemes[i], n) == 0 && (target[n] == '/' || target[n] == '\\'))
			return target + n;
	}
	return NULL;
}

static bool is_ascii(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

/* 2130706433 is the same address for all that take it for one, and rules know it (egress_reached); 017700000001 is not. */
static bool is_number(const char *host, size_t n)
{
	return n >= 8 && host[0] != '0' && strspn(host, "0123456789") >= n;
}

/* The host of an address without the name of a user before it and the port behind it. */
static void check_host(
	struct arena *a, const char *target, const char *host, size_t n, bool is_certain, struct proposal *p)
{
	char name[EGRESS_HOST], reached[EGRESS_HOST];
	uint8_t address[EGRESS_ADDRESS];
	bool is_address = false, leads = egress_reached(target, reached, &is_address, address);

	if (!is_ascii(host, n)) {
		if (leads && is_ascii(reached, strlen(reached)))
			deny_host(
				a, arena_printf(a, "the host is another spelling of %s", reached), target, p);
		else
			ambiguity_raise(p, AMBIGUITY_ASKED,
				arena_printf(a,
					"the host has letters outside ASCII, which can look like others: %s",
					shown(a, target, strlen(target))),
				PLAIN_HOST);
		return;
	}
	bool is_plain = is_number(host, n) || egress_host(host, n, name, &(bool){ false }, address);
	if (!is_plain && leads && is_address)
		deny_host(a, arena_printf(a, "the host is another spelling of the address %s", reached),
			target, p);
	else if (!is_plain && is_certain)
		deny_host(a, "the host is neither a name nor an address", target, p);
}

/* A web address: its part up to the path has one reading, or none. */
static void check_web(
	struct arena *a, const char *target, const char *slashes, bool is_certain, struct proposal *p)
{
	const char *at = slashes + 2, *user, *host;
	size_t n, host_n;
	uint16_t port = 0;

	if (strspn(slashes, "/\\") != 2 || slashes[0] != '/' || slashes[1] != '/') {
		deny_host(a, "the address has other signs than two slashes before its host", target, p);
		return;
	}
	n = strcspn(at, "/?#");
	if (memchr(at, '\\', n)) {
		deny_host(a, "the address has a backslash in its host, which some programs take for a slash",
			target, p);
		return;
	}
	if ((user = memrchr(at, '@', n))) {
		size_t user_n = (size_t)(user - at);
		if (memchr(at, '@', user_n)) {
			deny_host(a, "the address has two names of users before its host", target, p);
			return;
		}
		const char *colon = memchr(at, ':', user_n);
		if (memchr(at, '.', colon ? (size_t)(colon - at) : user_n))
			ambiguity_raise(p, AMBIGUITY_ASKED,
				arena_printf(a,
					"the address leads to %s; the host before the @ is only a name of a user: %s",
					shown(a, user + 1, n - user_n - 1), shown(a, target, strlen(target))),
				"leave out the part up to the @");
		at = user + 1;
		n -= user_n + 1;
	}
	if (!n && !is_certain)
		return;
	if (memchr(at, '%', n) && at[0] != '[')
		deny_host(a, "the host has escapes in it", target, p);
	else if (!egress_split(at, n, &host, &host_n, &port)) {
		if (is_certain)
			deny_host(a, "the port of the address is no number", target, p);
	} else {
		check_host(a, target, host, host_n, is_certain, p);
	}
}

/* curl 0x7f.1:80/x.  A number without a dot may be a port or a count. */
static void check_bare_host(struct arena *a, const char *target, struct proposal *p)
{
	char reached[EGRESS_HOST], name[EGRESS_HOST];
	uint8_t address[EGRESS_ADDRESS];
	bool is_address = false;
	const char *host;
	size_t n;
	uint16_t port;

	if (strpbrk(target, " @") || !egress_split(target, strcspn(target, "/?#"), &host, &n, &port) ||
		egress_host(host, n, name, &is_address, address))
		return;
	if (host[0] != '0' && !memchr(host, '.', n))
		return;
	if (egress_reached(target, reached, &is_address, address) && is_address)
		deny_host(a, arena_printf(a, "the host is another spelling of the address %s", reached),
			target, p);
}

static void check_target(
	struct arena *a, const struct effect *e, const char *target, bool is_certain, struct proposal *p)
{
	const char *slashes = behind_web_scheme(target), *scheme = strstr(target, "://"),
		   *at = scheme ? scheme + 3 : target;
	size_t n = strlen(target), odd = text_first_unseen(target, n),
	       end = (size_t)(at - target) + strcspn(at, "/?#");

	if (odd < end)
		deny_host(a, "the host holds characters that are not seen", target, p);
	else if (odd < n)
		ambiguity_raise(p, AMBIGUITY_ASKED,
			arena_printf(
				a, "the address holds characters that are not seen: %s", shown(a, target, n)),
			PLAIN_NAME);
	if (slashes) {
		check_web(a, target, slashes, is_certain, p);
	} else if (!scheme && e->kind == FX_NETWORK && is_certain) {
		check_bare_host(a, target, p);
	}
}

void ambiguity_check_effects(struct arena *a, struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count && p->ambiguity != AMBIGUITY_DENIED; i++) {
		const struct effect *e = &p->effects[i];
		bool is_certain = e->certainty == CERTAIN;
		if (!e->target || (e->flags & FXF_DECODED))
			continue;
		if (e->path_class != PATH_NONE)
			check_path(a, e->target, is_certain, p);
		else if (e->kind == FX_NETWORK || e->kind == FX_REMOTE)
			check_target(a, e, e->target, is_certain, p);
		if (e->kind == FX_NETWORK && e->resolved)
			check_target(a, e, e->resolved, is_certain, p);
	}
}
