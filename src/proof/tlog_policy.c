/* tlog_policy.c — reads a policy, and says whether a checkpoint satisfies it.
 *
 * A line speaks only of names that came before it, and each name is a member of one group at most.  So groups form trees, no witness
 * counts twice, and whether each is met follows in the order of the lines: no recursion, no cycles. */
#include "proof/tlog_policy.h"

#include "base/text.h"

#include <string.h>

enum { WORDS = TLOG_POLICY_MOST * 2 + 4 };

struct reading {
	struct arena *a;
	struct tlog_policy p;
	/* Names in the order of their lines: what each stands for, and whether it is in a group. */
	struct {
		struct bytes name;
		bool is_group, is_taken;
		size_t at;
	} names[2 * TLOG_POLICY_MOST];
	size_t name_count;
	bool has_quorum;
	size_t quorum_name;
};

/* Space and tab only. */
static size_t words_of(struct bytes line, struct bytes *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < line.n && n < WORDS;) {
		size_t from;
		while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
			i++;
		from = i;
		while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t')
			i++;
		if (i > from)
			ret[n++] = (struct bytes){ line.p + from, i - from };
	}
	return n;
}

/* ---- each returns NULL, or what is wrong with the line ---- */

static size_t find_name(const struct reading *r, struct bytes name)
{
	for (size_t i = 0; i < r->name_count; i++)
		if (bytes_eq(r->names[i].name, name))
			return i;
	return SIZE_MAX;
}

static const char *new_name(struct reading *r, struct bytes name, bool is_group, size_t at)
{
	if (bytes_is(name, "none"))
		return "the name 'none' stands for nobody, and cannot be given";
	if (find_name(r, name) != SIZE_MAX)
		return "that name is taken";
	r->names[r->name_count].name = name;
	r->names[r->name_count].is_group = is_group;
	r->names[r->name_count++].at = at;
	return NULL;
}

static const char *take_key(
	struct reading *r, struct bytes text, enum note_type type, struct tlog_party *list, size_t n)
{
	struct note_key *key = &list[n].key;

	if (note_key_parse(r->a, text, "it", key, NULL))
		return "that is no key that can be checked here";
	if (key->type != type)
		return type == NOTE_ED25519 ? "a log signs with a key of type 0x01"
					    : "a witness signs with a key of type 0x04";
	for (size_t i = 0; i < n; i++)
		if (memcmp(list[i].key.pub, key->pub, SIGN_PUBLIC) == 0)
			return "that key stands in this policy already";
	return NULL;
}

static const char *url_of(struct arena *a, const struct bytes *words, size_t n, size_t at)
{
	return n > at ? arena_strndup(a, (const char *)words[at].p, words[at].n) : NULL;
}

static const char *take_log(struct reading *r, const struct bytes *words, size_t n)
{
	const char *wrong;

	if (n != 2 && n != 3)
		return "it has to read: log KEY [URL]";
	if (r->p.log_count == TLOG_POLICY_MOST)
		return "too many logs";
	wrong = take_key(r, words[1], NOTE_ED25519, r->p.logs, r->p.log_count);
	if (!wrong)
		r->p.logs[r->p.log_count++].url = url_of(r->a, words, n, 2);
	return wrong;
}

static const char *take_witness(struct reading *r, const struct bytes *words, size_t n)
{
	struct tlog_party *w = &r->p.witnesses[r->p.witness_count];
	const char *wrong;

	if (n != 3 && n != 4)
		return "it has to read: witness NAME KEY [URL]";
	if (r->p.witness_count == TLOG_POLICY_MOST)
		return "too many witnesses";
	wrong = take_key(r, words[2], NOTE_COSIGNATURE, r->p.witnesses, r->p.witness_count);
	if (!wrong)
		wrong = new_name(r, words[1], false, r->p.witness_count);
	if (wrong)
		return wrong;
	w->name = arena_strndup(r->a, (const char *)words[1].p, words[1].n);
	w->url = url_of(r->a, words, n, 3);
	r->p.witness_count++;
	return NULL;
}

static size_t threshold(struct bytes word, size_t members)
{
	uint64_t k;

	if (bytes_is(word, "all"))
		return members;
	if (bytes_is(word, "any"))
		return 1;
	return note_number(word, &k) && k <= members ? (size_t)k : 0;
}

static const char *take_group(struct reading *r, const struct bytes *words, size_t n)
{
	struct tlog_group *g = &r->p.groups[r->p.group_count];
	const char *wrong;

	if (n < 4)
		return "it has to read: group NAME all|any|NUMBER MEMBER...";
	if (r->p.group_count == TLOG_POLICY_MOST)
		return "too many groups";
	g->n = n - 3;
	g->needed = threshold(words[2], g->n);
	if (!g->needed)
		return "how many are needed has to be 'all', 'any', or a number from 1 to that of the members";
	g->members = arena_zalloc(r->a, g->n, sizeof(*g->members));
	for (size_t i = 0; i < g->n; i++) {
		size_t at = find_name(r, words[3 + i]);
		if (at == SIZE_MAX)
			return "a member is not defined above";
		if (r->names[at].is_taken)
			return "a member is in a group already";
		r->names[at].is_taken = true;
		g->members[i] = at; /* the place among the names, until all witnesses are known */
	}
	wrong = new_name(r, words[1], true, r->p.group_count);
	if (wrong)
		return wrong;
	g->name = arena_strndup(r->a, (const char *)words[1].p, words[1].n);
	r->p.group_count++;
	return NULL;
}

static const char *take_quorum(struct reading *r, const struct bytes *words, size_t n)
{
	if (n != 2)
		return "it has to read: quorum NAME";
	if (r->has_quorum)
		return "there is a quorum above already";
	r->has_quorum = true;
	r->quorum_name = find_name(r, words[1]);
	return r->quorum_name != SIZE_MAX || bytes_is(words[1], "none") ? NULL
									: "that name is not defined above";
}

static const char *take_line(struct reading *r, struct bytes line)
{
	struct bytes words[WORDS];
	size_t n;

	for (size_t i = 0; i < line.n; i++)
		if ((line.p[i] < 0x20 && line.p[i] != '\t') || line.p[i] == 0x7f)
			return "it has a control character";
	n = words_of(line, words);
	if (!n || words[0].p[0] == '#')
		return NULL;
	if (n == WORDS)
		return "it has too many words";
	if (bytes_is(words[0], "log"))
		return take_log(r, words, n);
	if (bytes_is(words[0], "witness"))
		return take_witness(r, words, n);
	if (bytes_is(words[0], "group"))
		return take_group(r, words, n);
	if (bytes_is(words[0], "quorum"))
		return take_quorum(r, words, n);
	return "it begins with none of log, witness, group, quorum";
}

/* Members as numbers: witnesses first, then groups. */
static size_t number_of(const struct reading *r, size_t name)
{
	return r->names[name].is_group ? r->p.witness_count + r->names[name].at : r->names[name].at;
}

static void number_members(struct reading *r)
{
	for (size_t g = 0; g < r->p.group_count; g++)
		for (size_t i = 0; i < r->p.groups[g].n; i++)
			r->p.groups[g].members[i] = number_of(r, r->p.groups[g].members[i]);
	r->p.quorum = r->quorum_name == SIZE_MAX ? TLOG_NO_QUORUM : number_of(r, r->quorum_name);
}

int tlog_policy_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_policy *ret, struct err *e)
{
	struct reading r = { .a = a };
	size_t line = 0;

	if (text.n > TLOG_POLICY_LIMIT)
		return err_set(
			e, E_LIMIT, "TLOG_POLICY", "%s is longer than %d bytes", where, TLOG_POLICY_LIMIT);
	r.p.logs = arena_zalloc(a, TLOG_POLICY_MOST + 1, sizeof(*r.p.logs));
	r.p.witnesses = arena_zalloc(a, TLOG_POLICY_MOST + 1, sizeof(*r.p.witnesses));
	r.p.groups = arena_zalloc(a, TLOG_POLICY_MOST + 1, sizeof(*r.p.groups));
	while (text.n) {
		const char *wrong = take_line(&r, text_cut(&text, '\n'));
		line++;
		if (wrong)
			return err_set(e, E_INPUT, "TLOG_POLICY", "%s, line %zu: %s", where, line, wrong);
	}
	if (!r.has_quorum)
		return err_set(e, E_INPUT, "TLOG_POLICY",
			"%s has no quorum line; 'quorum none' says that no witness is needed", where);
	number_members(&r);
	*ret = r.p;
	return OK;
}

struct tlog_policy tlog_policy_of(
	struct arena *a, const struct note_key *log, const struct note_key *witnesses, size_t n)
{
	struct tlog_policy p = { .log_count = 1, .witness_count = n, .quorum = TLOG_NO_QUORUM };

	p.logs = arena_zalloc(a, 1, sizeof(*p.logs));
	p.logs[0].key = *log;
	p.witnesses = arena_zalloc(a, n + 1, sizeof(*p.witnesses));
	p.groups = arena_zalloc(a, 1, sizeof(*p.groups));
	p.groups[0] = (struct tlog_group){ .name = "all", .needed = n, .n = n };
	p.groups[0].members = arena_zalloc(a, n + 1, sizeof(*p.groups[0].members));
	for (size_t i = 0; i < n; i++) {
		p.witnesses[i].key = witnesses[i];
		p.witnesses[i].name = witnesses[i].name;
		p.groups[0].members[i] = i;
	}
	if (n) {
		p.group_count = 1;
		p.quorum = n;
	}
	return p;
}

bool tlog_policy_met(const struct tlog_policy *p, const bool *has_cosigned)
{
	bool is_met[2 * TLOG_POLICY_MOST] = { false };

	if (p->quorum == TLOG_NO_QUORUM)
		return true;
	for (size_t i = 0; i < p->witness_count; i++)
		is_met[i] = has_cosigned[i];
	for (size_t g = 0; g < p->group_count; g++) {
		size_t n = 0;
		for (size_t i = 0; i < p->groups[g].n; i++)
			n += is_met[p->groups[g].members[i]];
		is_met[p->witness_count + g] = n >= p->groups[g].needed;
	}
	return is_met[p->quorum];
}

/* ---- a checkpoint ---- */

/* A log signs in the name of its origin; another log of the policy says nothing about it. */
static const struct tlog_party *log_of(const struct tlog_policy *p, const struct tlog_head *head,
	const struct note_seen *seen, bool *ret_is_known)
{
	*ret_is_known = false;
	for (size_t i = 0; i < p->log_count; i++)
		if (text_eq(p->logs[i].key.name, head->origin)) {
			*ret_is_known = true;
			if (seen[i].has_signed)
				return &p->logs[i];
		}
	return NULL;
}

static void count(const struct note_seen *seen, size_t n, bool *ret_cosigned, struct tlog_seen *ret)
{
	for (size_t i = 0; i < n; i++) {
		ret_cosigned[i] = seen[i].has_signed;
		if (!seen[i].has_signed)
			continue;
		if (!ret->cosigned || seen[i].time < ret->first_time)
			ret->first_time = seen[i].time;
		if (seen[i].time > ret->last_time)
			ret->last_time = seen[i].time;
		ret->cosigned++;
	}
}

int tlog_policy_check(struct arena *a, const struct tlog_policy *p, struct bytes checkpoint,
	const char *where, struct tlog_seen *ret, struct err *e)
{
	struct note_key keys[2 * TLOG_POLICY_MOST];
	struct note_seen seen[2 * TLOG_POLICY_MOST];
	bool cosigned[TLOG_POLICY_MOST] = { false }, is_known;
	struct tlog_seen got = { .note = checkpoint };
	struct note note;
	size_t n = 0;
	int rc = note_parse(a, checkpoint, where, &note, e);

	if (rc == OK)
		rc = tlog_head_parse(a, note.text, where, &got.head, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < p->log_count; i++)
		keys[n++] = p->logs[i].key;
	for (size_t i = 0; i < p->witness_count; i++)
		keys[n++] = p->witnesses[i].key;
	rc = note_verify(a, &note, keys, n, seen, e);
	if (rc)
		return rc;
	got.log = log_of(p, &got.head, seen, &is_known);
	if (!got.log)
		return err_set(e, E_INPUT, "TLOG_LOG", "%s is a checkpoint of the log '%s', which %s", where,
			got.head.origin,
			is_known ? "did not sign it" : "is not among those whose key is known");
	count(seen + p->log_count, p->witness_count, cosigned, &got);
	if (!tlog_policy_met(p, cosigned))
		return err_set(e, E_INPUT, "TLOG_QUORUM",
			"%s is cosigned by %zu of %zu known witnesses, which is not the quorum that the policy asks for",
			where, got.cosigned, p->witness_count);
	*ret = got;
	return OK;
}
