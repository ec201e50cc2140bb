/* tree.c — a checkpoint's entries as bytes: the manifest.
 *
 * One JSON document, one entry per line, nothing in it that depends on when it was made: two checkpoints of
 * the same tree have the same manifest, and so the same object.  A path or link target that is not UTF-8 is
 * written as base64 under another member name, because a name that was changed to fit into JSON would be
 * another name.
 *
 * The parser trusts nothing: what it accepts can be restored without a second look at the paths. */
#include "execute/checkpoint/parts.h"

#define TREE_FORMAT "helm-checkpoint-tree/1"

/* ---- writing ---- */

static void put_json_text(struct buf *to, const char *text, size_t n)
{
	struct json v = { .type = JSON_STRING, .n = (uint32_t)n, .text = text };

	json_write(to, &v, 0);
}

/* "name":"..." for UTF-8, else "name_b64":"..." with the bytes as they are. */
static void put_bytes(struct buf *to, const char *name, const char *text)
{
	size_t n = strlen(text);

	if (text_utf8_valid(text, n) == n) {
		buf_addf(to, "\"%s\":", name);
		put_json_text(to, text, n);
		return;
	}
	char *coded = base64_encode(to->a, (const uint8_t *)text, n, BASE64_STD, true);
	buf_addf(to, "\"%s_b64\":\"%s\"", name, coded);
}

static void put_digest(struct buf *to, const char *name, const struct object_id *id)
{
	char hex[SHA256_HEX];

	hex_encode(id->b, SHA256_SIZE, hex);
	buf_addf(to, ",\"%s\":\"%s\"", name, hex);
}

/* Mode, owner and time; seconds and nanoseconds as text, because JSON numbers lose digits. */
static void put_common(struct buf *to, const struct entry *x)
{
	int64_t seconds = x->mtime_ns / 1000000000, part = x->mtime_ns % 1000000000;

	if (part < 0) {
		seconds--;
		part += 1000000000;
	}
	buf_addf(to, ",\"mode\":\"%04o\",\"uid\":%u,\"gid\":%u,\"mtime\":\"%lld.%09lld\"", x->mode, x->uid,
		x->gid, (long long)seconds, (long long)part);
}

/* Extents only for sparse files; "chunks" only for content that is a list. */
static void put_file(struct buf *to, const struct entry *x)
{
	buf_addf(to, ",\"size\":%llu", (unsigned long long)x->size);
	if (x->is_sparse) {
		buf_adds(to, ",\"data\":[");
		for (uint32_t i = 0; i < x->extent_count; i++)
			buf_addf(to, "%s[%llu,%llu]", i ? "," : "", (unsigned long long)x->extents[i].at,
				(unsigned long long)x->extents[i].n);
		buf_addc(to, ']');
	}
	put_digest(to, "sha256", &x->content.sha);
	if (x->content.is_list)
		put_digest(to, "chunks", &x->content.list);
	if (x->is_unstable)
		buf_adds(to, ",\"unstable\":true");
}

static void put_entry(struct buf *to, const struct entry *x)
{
	static const char *const types[] = { "", "dir", "file", "link", "skipped" };
	TABLE_COVERS(types, ENTRY_TYPES);

	buf_addc(to, '{');
	put_bytes(to, "path", x->path);
	buf_addf(to, ",\"type\":\"%s\"", types[x->type]);
	if (x->type == ENTRY_SKIPPED)
		buf_addf(to, ",\"reason\":\"%s\"", x->text);
	else
		put_common(to, x);
	if (x->type == ENTRY_FILE)
		put_file(to, x);
	if (x->type == ENTRY_LINK) {
		buf_addc(to, ',');
		put_bytes(to, "target", x->text);
	}
	buf_addc(to, '}');
}

/* Each text is an object of its own, so that it can be given as base64. */
static void put_list(struct buf *to, const char *name, const char *const *v, size_t n)
{
	buf_addf(to, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		buf_adds(to, i ? ",{" : "{");
		put_bytes(to, "text", v[i]);
		buf_addc(to, '}');
	}
	buf_adds(to, "],\n");
}

/* The text depends on the selection and the entries only, never on the time: equal trees give equal
 * manifests. */
void tree_write(struct buf *to, const struct selection *sel, const struct entries *entries)
{
	buf_adds(to, "{\"format\":\"" TREE_FORMAT "\",\n");
	put_list(to, "paths", sel->paths, sel->path_count);
	put_list(to, "exclude", sel->rule_text, sel->rule_count);
	buf_addf(to, "\"exact\":%s,\"vcs\":%s,\"state\":%s,\n\"entries\":[",
		sel->are_exact ? "true" : "false", sel->with_vcs ? "true" : "false",
		sel->with_state ? "true" : "false");
	for (size_t i = 0; i < entries->n; i++) {
		buf_adds(to, i ? ",\n" : "\n");
		put_entry(to, &entries->v[i]);
	}
	buf_adds(to, "\n]}\n");
}

/* ---- reading ---- */

static int bad(struct err *e, const char *what)
{
	return err_set(e, E_CORRUPT, "CHECKPOINT_MANIFEST", "checkpoint manifest: %s", what);
}

/* The member `name`, or `name`_b64 decoded; never with a NUL inside, which would cut a path short. */
static const char *get_bytes(struct arena *a, const struct json *v, const char *name)
{
	const char *text = json_text(json_get(v, name));
	char coded_name[32];
	struct bytes raw;

	if (text)
		return text;
	snprintf(coded_name, sizeof(coded_name), "%s_b64", name);
	text = json_text(json_get(v, coded_name));
	if (!text || !base64_decode(a, text, strlen(text), BASE64_STD, true, &raw) || memchr(raw.p, 0, raw.n))
		return NULL;
	return arena_strndup(a, (const char *)raw.p, raw.n);
}

/* Whole numbers from 0 to max. */
static bool get_u64(const struct json *v, const char *name, uint64_t max, uint64_t *ret)
{
	int64_t n;

	if (!json_int(json_get(v, name), &n) || n < 0 || (uint64_t)n > max)
		return false;
	*ret = (uint64_t)n;
	return true;
}

static bool get_digest(const struct json *v, const char *name, struct object_id *ret)
{
	const char *hex = json_text(json_get(v, name));

	return hex && hex_decode(hex, strlen(hex), ret->b, SHA256_SIZE, true);
}

static bool get_mode(const struct json *v, uint32_t *ret)
{
	const char *text = json_get_text(v, "mode", "");

	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return false;
	*ret = (uint32_t)((text[0] - '0') << 9 | (text[1] - '0') << 6 | (text[2] - '0') << 3 |
		(text[3] - '0'));
	return true;
}

/* Bounded, so that the product in nanoseconds cannot overflow. */
static bool get_mtime(const struct json *v, int64_t *ret_ns)
{
	const char *text = json_get_text(v, "mtime", ""), *dot = strchr(text, '.');
	int64_t seconds, part;
	char number[24];

	if (!dot || dot - text > 20 || strlen(dot) != 10 || strspn(dot + 1, "0123456789") != 9)
		return false;
	memcpy(number, text, (size_t)(dot - text));
	number[dot - text] = '\0';
	if (!text_int(number, &seconds) || seconds > INT32_MAX * 4LL || seconds < -INT32_MAX * 4LL)
		return false;
	part = 0;
	for (const char *p = dot + 1; *p; p++)
		part = part * 10 + (*p - '0');
	*ret_ns = seconds * 1000000000 + part;
	return true;
}

/* Extents must be in order, not overlap and lie within the size: the restore writes at these offsets
 * without looking again. */
static bool get_extents(struct arena *a, const struct json *list, struct entry *x)
{
	uint64_t end = 0, total = 0;

	x->is_sparse = true;
	x->extents = arena_zalloc(a, list->n + 1u, sizeof(*x->extents));
	json_each (pair, list) {
		int64_t at, n;
		if (!json_int(json_at(pair, 0), &at) || !json_int(json_at(pair, 1), &n) || pair->n != 2)
			return false;
		if (at < 0 || n <= 0 || (uint64_t)at < end || (uint64_t)at > x->size ||
			(uint64_t)n > x->size - (uint64_t)at)
			return false;
		end = (uint64_t)at + (uint64_t)n;
		total += (uint64_t)n;
		x->extents[x->extent_count++] = (struct extent){ (uint64_t)at, (uint64_t)n };
	}
	x->held_bytes = total;
	return true;
}

/* Size, digests and extents must agree with each other before anything is allocated for them. */
static int parse_file(struct arena *a, const struct json *v, struct entry *x, struct err *e)
{
	const struct json *data = json_get(v, "data");

	if (!get_u64(v, "size", INT64_MAX, &x->size) || !get_digest(v, "sha256", &x->content.sha))
		return bad(e, "a file has no valid size or digest");
	x->held_bytes = x->size;
	if (data && (!json_is(data, JSON_ARRAY) || !get_extents(a, data, x)))
		return bad(e, "a sparse file's extents are wrong");
	x->content.n = x->held_bytes;
	x->content.is_list = json_get(v, "chunks") != NULL;
	if (x->content.is_list && !get_digest(v, "chunks", &x->content.list))
		return bad(e, "a chunk list's digest is wrong");
	x->is_unstable = json_get_bool(v, "unstable", false);
	return OK;
}

/* Reasons come from a fixed list of ours; what is printed to a terminal may hold nothing else. */
static bool is_reason(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz ");

	return n && n < 40 && !s[n];
}

/* Every path is checked here once and for all; a restore relies on it. */
static int parse_entry(struct arena *a, const struct json *v, struct entry *x, struct err *e)
{
	const char *type = json_get_text(v, "type", "");
	uint64_t uid, gid;

	x->path = get_bytes(a, v, "path");
	if (!x->path || !checkpoint_path_ok(x->path))
		return bad(e, "a path is missing, absolute or not clean");
	if (text_eq(type, "skipped")) {
		x->type = ENTRY_SKIPPED;
		x->text = json_get_text(v, "reason", "");
		return is_reason(x->text) ? OK : bad(e, "a skipped entry has no reason");
	}
	if (!get_mode(v, &x->mode) || !get_mtime(v, &x->mtime_ns) ||
		!get_u64(v, "uid", UINT32_MAX - 1, &uid) || !get_u64(v, "gid", UINT32_MAX - 1, &gid))
		return bad(e, "an entry has no valid mode, time or owner");
	x->uid = (uint32_t)uid;
	x->gid = (uint32_t)gid;
	if (text_eq(type, "dir")) {
		x->type = ENTRY_DIR;
		return OK;
	}
	if (text_eq(type, "file")) {
		x->type = ENTRY_FILE;
		return parse_file(a, v, x, e);
	}
	if (!text_eq(type, "link"))
		return bad(e, "an entry has an unknown type");
	x->type = ENTRY_LINK;
	x->text = get_bytes(a, v, "target");
	return x->text && *x->text ? OK : bad(e, "a link has no target");
}

/* The order is checked, so no path occurs twice.  In that order everything below an entry follows it
 * directly, so comparing with the entry before is enough to find something below a non-directory. */
static int parse_entries(struct arena *a, const struct json *list, struct entries *to, struct err *e)
{
	const struct entry *before = NULL;

	to->v = arena_zalloc(a, list->n + 1u, sizeof(*to->v));
	to->cap = list->n + 1u;
	json_each (v, list) {
		struct entry *x = &to->v[to->n];
		if (parse_entry(a, v, x, e))
			return e->rc;
		if (before && checkpoint_path_cmp(before->path, x->path) >= 0)
			return bad(e, "entries are not in order");
		if (before && before->type != ENTRY_DIR && checkpoint_path_covers(before->path, x->path))
			return bad(e, "an entry lies below something that is not a directory");
		to->n++;
		before = x;
	}
	return OK;
}

/* The chosen paths are as strict as those of the entries. */
static int parse_paths(struct arena *a, const struct json *list, struct selection *s, struct err *e)
{
	if (!json_is(list, JSON_ARRAY))
		return bad(e, "no list of paths");
	s->paths = arena_zalloc(a, list->n + 1u, sizeof(*s->paths));
	json_each (v, list) {
		const char *path = get_bytes(a, v, "text");
		if (!path || (!text_eq(path, ".") && !checkpoint_path_ok(path)))
			return bad(e, "a chosen path is not clean");
		s->paths[s->path_count++] = path;
	}
	return OK;
}

/* Accepts only what tree_write() makes.  The rules are read back, so that a restore looks at the same part
 * of the disk that was saved. */
int tree_parse(struct arena *a, struct bytes text, struct tree *ret, struct err *e)
{
	struct json_limits lim = { .depth = 8, .size_bytes = (size_t)1 << 30, .max_nodes = 1u << 30 };
	struct tree t = { 0 };
	struct json *doc;

	if (json_parse(a, text, "manifest", &lim, &doc, e))
		return bad(e, "not valid JSON");
	if (!text_eq(json_get_text(doc, "format", ""), TREE_FORMAT))
		return bad(e, "not of the format " TREE_FORMAT);
	if (parse_paths(a, json_get(doc, "paths"), &t.sel, e))
		return e->rc;
	json_each (v, json_get(doc, "exclude")) {
		const char *line = get_bytes(a, v, "text");
		if (!line)
			return bad(e, "an exclude rule is wrong");
		rules_add(a, &t.sel, line, strlen(line));
	}
	t.sel.are_exact = json_get_bool(doc, "exact", false);
	t.sel.with_vcs = json_get_bool(doc, "vcs", false);
	t.sel.with_state = json_get_bool(doc, "state", false);
	if (!json_is(json_get(doc, "entries"), JSON_ARRAY))
		return bad(e, "no list of entries");
	if (parse_entries(a, json_get(doc, "entries"), &t.entries, e))
		return e->rc;
	selection_seal(&t.sel);
	*ret = t;
	return OK;
}
