/* grant.c — does an answer that was given beforehand answer this question?
 *
 * A question is a list of reasons: this rule, about this effect.  An answer must meet every one of them.  What is compared is what
 * the command would do, never how it is spelled, so a grant for deleting below build/ holds for any program that deletes there and
 * for none that does more.  Where the effect is not known beforehand (a text from a variable, a script from the network, an operand
 * with an open end) only the very same input may pass, and only once: a person has seen that one. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/decide.h"

#include <ctype.h>
#include <string.h>

/* Effects whose operand is a path that was followed through its links. */
static bool is_path_kind(enum effect_kind k)
{
	return k == FX_WRITE || k == FX_DELETE || k == FX_MOVE || k == FX_PERMISSION;
}

/* Effects that run a text which is not known when the question is asked. */
static bool is_opaque_kind(enum effect_kind k)
{
	return k == FX_DYNAMIC_EXEC || k == FX_DECODE_EXEC || k == FX_FETCH_EXEC || k == FX_STDIN_SHELL;
}

/* What cannot be known beforehand: a person's answer about it says nothing about the next time, even for
 * the same input. */
bool cover_is_once_only(const struct cover *c)
{
	if (c->is_whole)
		return text_starts(c->rule, "read.");
	return c->certainty == DYNAMIC || (c->flags & FXF_OPEN_END) || is_opaque_kind(c->kind);
}

/* Only kinds of effects whose operand says all that matters may be covered by more than the exact input.
 * The list names what is allowed, so a new kind cannot be widened until somebody adds it. The guard's
 * own state, and every class above it, never can. */
bool cover_may_widen(const struct cover *c)
{
	static const uint64_t wide = UINT64_C(1) << FX_WRITE | UINT64_C(1) << FX_DELETE |
		UINT64_C(1) << FX_MOVE | UINT64_C(1) << FX_PERMISSION | UINT64_C(1) << FX_PROCESS |
		UINT64_C(1) << FX_NETWORK | UINT64_C(1) << FX_LISTEN | UINT64_C(1) << FX_REMOTE |
		UINT64_C(1) << FX_PACKAGE | UINT64_C(1) << FX_PUBLISH | UINT64_C(1) << FX_DATABASE |
		UINT64_C(1) << FX_CLOUD | UINT64_C(1) << FX_CONTAINER | UINT64_C(1) << FX_GIT;
	bool is_tool = !c->is_whole && c->kind == FX_UNKNOWN &&
		(text_eq(c->tag, "mcp.call") || text_eq(c->tag, "tool.unknown"));

	return !c->is_whole && !cover_is_once_only(c) && (is_tool || (wide >> c->kind & 1)) &&
		c->path_class < PATH_STATE;
}

/* ---- reasons ---- */

/* Each part is hashed with its length in front, so that no two different operands give the same bytes. */
static void add_part(struct sha256 *h, const char *text)
{
	uint64_t n = text ? strlen(text) + 1 : 0; /* nothing and empty differ */

	sha256_add(h, &n, sizeof(n));
	if (text)
		sha256_add(h, text, strlen(text));
}

/* A digest of what the effect is about: the operand as it is written, where its links lead, and the
 * directory it is relative to. A grant holds the digest instead of the text, which may be private. */
static const char *operand_digest(struct arena *a, const struct effect *e)
{
	struct sha256 h;
	uint8_t hash[SHA256_SIZE];
	char *hex = arena_text(a, SHA256_HEX);

	sha256_begin(&h);
	add_part(&h, e->target);
	add_part(&h, e->resolved);
	add_part(&h, e->cwd);
	sha256_end(&h, hash);
	hex_encode(hash, SHA256_SIZE, hex);
	return hex;
}

/* A reason to ask in the form that grants use. Without an effect it is about the command as a whole. */
static struct cover cover_of(struct arena *a, const struct ask *ask)
{
	const struct effect *e = ask->effect;

	if (!e)
		return (struct cover){ .rule = ask->rule, .is_whole = true };
	return (struct cover){ .rule = ask->rule,
		.kind = e->kind,
		.tag = e->tag ? e->tag : "",
		.path_class = e->path_class,
		.certainty = e->certainty,
		.flags = e->flags,
		.operand = operand_digest(a, e) };
}

struct cover *covers_of(struct arena *a, const struct decision *d, size_t *ret_n)
{
	struct cover *all = arena_zalloc(a, d->ask_count + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < d->ask_count; i++) {
		struct cover c = cover_of(a, &d->asks[i]);
		size_t k = 0;
		while (k < n && !cover_eq(&all[k], &c))
			k++;
		if (k == n)
			all[n++] = c;
	}
	*ret_n = n;
	return all;
}

/* ---- hosts ---- */

/* Letters, digits, and . - _ only; everything else could be read differently by the program that
 * connects. */
static bool is_plain_host(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(".-_", s[i]))
			return false;
	return n > 0 && isalnum((unsigned char)s[0]);
}

/* The order of the steps is that of URL parsers: the host stands behind the LAST `@` of the authority
 * ("a@b@host"), and the port is cut off after that. Programs disagree about backslashes and blanks, so a
 * text with them has no host. */
const char *host_of(struct arena *a, const char *target)
{
	const char *scheme = target ? strstr(target, "://") : NULL, *start = scheme ? scheme + 3 : target;

	if (!target || strpbrk(target, "\\ \t\r\n"))
		return NULL;
	size_t n = strcspn(start, scheme ? "/?#" : "/:?#");
	if (!scheme && start[n] == ':' && memchr(start + n, '@', strlen(start + n)))
		return NULL; /* user:password@host without a scheme: whose colon is it? */
	for (size_t i = n; i-- > 0;)
		if (start[i] == '@') {
			start += i + 1;
			n -= i + 1;
			break;
		}
	const char *port = memchr(start, ':', n);
	if (port)
		n = (size_t)(port - start);
	if (!is_plain_host(start, n))
		return NULL;
	char *host = arena_strndup(a, start, n);
	for (char *p = host; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return host;
}

/* ---- matching ---- */

/* The command may not do more than was granted. Where it happens (container, remote side) and whether it
 * only appends must be exactly the same, because there less is not safer. */
static bool flags_fit(unsigned have, unsigned granted)
{
	static const unsigned same = FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE | FXF_APPEND | FXF_HOST_MOUNT;

	return !(have & ~granted) && (have & same) == (granted & same);
}

/* The common ground of all wider grants: the same rule asked about the same kind of effect in the same
 * place. */
static bool is_same_effect(const struct cover *granted, const struct cover *c)
{
	return !granted->is_whole && text_eq(granted->rule, c->rule) && granted->kind == c->kind &&
		text_eq(granted->tag, c->tag) && flags_fit(c->flags, granted->flags);
}

/* A grant by shape: paths in the workspace are alike, and so are paths in a temporary directory. Any
 * other operand must be the very same one. */
static bool shape_covers(const struct cover *granted, const struct cover *c)
{
	/* Many programs take further hosts from options and files. FXF_ONE_HOST says that the operand is
	 * the only one. */
	if ((c->kind == FX_NETWORK || c->kind == FX_REMOTE) && !(c->flags & FXF_ONE_HOST))
		return false;
	bool is_alike = is_path_kind(c->kind) && (c->path_class == PATH_IN || c->path_class == PATH_TMP);

	if (!is_same_effect(granted, c) || granted->path_class != c->path_class ||
		c->certainty > granted->certainty)
		return false;
	return is_alike || (c->certainty == CERTAIN && text_eq(granted->operand, c->operand));
}

static bool is_strictly_below(const char *path, const char *dir)
{
	return path[0] == '/' && !text_eq(path, dir) && path_is_below(path, dir);
}

/* A glob may be covered by a grant for a directory only when it deletes and has its pattern in the last
 * component: then it names entries of one directory, and removing an entry follows no link. Names with a
 * leading dot are left to a new question. */
static bool glob_is_tame(const struct effect *e)
{
	const char *slash = strrchr(e->target, '/');
	size_t fixed = strcspn(e->target, "*?[");

	return e->kind == FX_DELETE && slash && fixed > (size_t)(slash - e->target) && slash[1] != '.';
}

/* A grant for a directory covers paths strictly below it, as written and after following links. "/../"
 * is refused because its meaning depends on links. */
static bool path_covers(
	const struct grant *g, const struct cover *granted, const struct cover *c, const struct effect *e)
{
	if (!is_same_effect(granted, c) || !is_path_kind(c->kind) || c->path_class >= PATH_UP || !e->target ||
		strstr(e->target, "/../"))
		return false;
	if (c->certainty != CERTAIN && !glob_is_tame(e))
		return false;
	return is_strictly_below(e->target, g->path) &&
		(!e->resolved || is_strictly_below(e->resolved, g->path));
}

static bool host_covers(struct arena *a, const struct grant *g, const struct cover *granted,
	const struct cover *c, const struct effect *e)
{
	const char *host = c->certainty == CERTAIN ? host_of(a, e->target) : NULL;

	return is_same_effect(granted, c) && (c->kind == FX_NETWORK || c->kind == FX_REMOTE) &&
		(c->flags & FXF_ONE_HOST) && host && text_eq(host, g->host);
}

/* Whether one part of a grant answers one reason. An exact grant must be equal; all other reaches hold
 * only for what may widen. */
static bool cover_answers(struct arena *a, const struct grant *g, const struct cover *granted,
	const struct cover *c, const struct effect *e)
{
	switch (g->reach) {
	case REACH_EXACT:
		return cover_eq(granted, c) && (g->is_once || !cover_is_once_only(c));
	case REACH_SHAPE:
		return cover_may_widen(c) && shape_covers(granted, c);
	case REACH_PATH:
		return cover_may_widen(c) && path_covers(g, granted, c, e);
	case REACH_HOST:
		return cover_may_widen(c) && host_covers(a, g, granted, c, e);
	case REACH_COUNT:
		break;
	}
	return false;
}

/* Whether the grant is meant for who asks, and in force now. A member that the grant leaves open holds
 * for everybody; an exact grant also names the input and the directory. */
static bool is_for(const struct grant *g, const struct question *q)
{
	if (q->now_us < g->created_us || q->now_us >= g->expires_us || !text_eq(g->profile, q->profile))
		return false;
	if (g->principal && !text_eq(g->principal, q->principal))
		return false;
	if (g->session && (!q->session || !text_eq(g->session, q->session)))
		return false;
	if (q->request_id && (!g->request_id || !text_eq(g->request_id, q->request_id)))
		return false;
	return g->reach != REACH_EXACT ||
		(q->cwd && text_eq(g->args_sha256, q->args_sha256) && text_eq(g->cwd, q->cwd));
}

/* When not everything the command does is known (unreadable, or too many asks to keep), only an exact
 * grant for one use counts: then a person has seen this very input. */
static bool answers(struct arena *a, const struct grant *g, const struct question *q,
	const struct decision *d, const struct cover *c, const struct effect *e)
{
	bool is_seen_whole = d->proposal->readable && !d->has_more_asks;

	if (!is_for(g, q) || (!is_seen_whole && !(g->reach == REACH_EXACT && g->is_once)))
		return false;
	/* What takes several people is answered by as many, about this very input, once. */
	if (d->approvers > 1 && (g->approvers < d->approvers || g->reach != REACH_EXACT || !g->is_once))
		return false;
	for (size_t i = 0; i < g->cover_count; i++)
		if (cover_answers(a, g, &g->covers[i], c, e))
			return true;
	return false;
}

/* A grant that stays valid is preferred to one that is used up by this use. */
static const struct grant *find(struct arena *a, const struct grant *grants, size_t n,
	const struct question *q, const struct decision *d, const struct cover *c, const struct effect *e)
{
	for (int once = 0; once < 2; once++)
		for (size_t i = 0; i < n; i++)
			if (grants[i].is_once == once && answers(a, &grants[i], q, d, c, e))
				return &grants[i];
	return NULL;
}

/* Used to find out whether an existing grant makes a new one unnecessary. False for an empty list:
 * nothing asked is nothing covered. */
bool grant_covers(const struct grant *g, const struct cover *asked, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (k < g->cover_count &&
			!(cover_may_widen(&asked[i]) && shape_covers(&g->covers[k], &asked[i])))
			k++;
		if (k == g->cover_count)
			return false;
	}
	return n > 0 && g->reach == REACH_SHAPE;
}

/* All or nothing: one reason without a grant leaves the whole question open. ret_used is then
 * meaningless and must not be used to consume grants. */
bool grants_answer(struct arena *a, const struct decision *d, const struct question *q,
	const struct grant *grants, size_t n, bool *ret_used)
{
	memset(ret_used, 0, n * sizeof(*ret_used));
	if (d->verdict != V_ESCALATE || d->action != ACTION_ASK || !d->ask_count)
		return false;
	for (size_t i = 0; i < d->ask_count; i++) {
		struct cover c = cover_of(a, &d->asks[i]);
		const struct grant *g = find(a, grants, n, q, d, &c, d->asks[i].effect);
		if (!g)
			return false;
		ret_used[g - grants] = true;
	}
	return true;
}
