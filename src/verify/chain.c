/* chain.c — long chains of receipts, one per line.
 *
 * Signatures cost nearly all the time and depend on nothing but their line.  So lines are verified on all
 * cores first, and each leaves a small fixed record of facts.  Then one pass in file order follows the
 * links.  A line that fails is verified once more at the end, alone, to say exactly what is wrong with it;
 * the first pass keeps no words.
 *
 * Threads share nothing but the counter of the next line: each writes only the facts of its own lines and
 * allocates from its own scratch arena.  The facts are read after all threads have been joined, so no lock
 * is needed. */
#include "verify/receipt.h"

#include "proof/preimage.h"
#include "verify/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LINES_AT_ONCE = 32, MAX_THREADS = 64 };

enum prev { PREV_NONE, PREV_HASH, PREV_OTHER };

/* What the second pass needs to know about a line.  `session` is the hash of the session's name, so that
 * facts have a fixed size. */
struct facts {
	struct hash chain, previous, session;
	int64_t clock;
	unsigned order; /* of the signing key; then, of the newest key of its session up to here */
	uint8_t prev; /* enum prev */
	uint8_t integrity, trusted; /* enum answer */
	bool is_sound; /* nothing wrong with the line alone */
	bool is_hashed, is_legacy, is_self_attested, is_governed, is_observed;
	bool is_respelled, is_marked;
};

/* `next` is the first line that no thread has taken yet; everything else is constant while threads run,
 * but for facts. */
struct job {
	struct trust *trust;
	const struct bytes *lines;
	struct facts *facts;
	size_t n;
	atomic_size_t next;
};

/* Everything about one line but its place in the chain.  *ret is NULL when the line is not JSON.  Lines of
 * our own are canonical JSON to the byte; those of others may be spelled otherwise, and *respelled says so. */
static bool verify_line(struct verification *v, struct bytes line, const char *name, struct json **ret,
	struct hash *chain, bool *hashed, bool *respelled)
{
	struct err e = { 0 };

	if (line.n == 0)
		return verify_refute(v, "empty_line", "an empty line");
	if (json_parse(v->a, line, name, NULL, ret, &e)) {
		*ret = NULL;
		return verify_refute_err(v, &e);
	}
	if (!verify_receipt_core(v, *ret, chain, hashed))
		return false;
	*respelled = !is_canonical_text(v->a, line, *ret);
	if (!*respelled || !receipt_is_ours(*ret))
		return true;
	verify_at(v, NULL, NULL, "canonical JSON", "another spelling");
	return verify_refute(v, "receipt_form", "the line is not the canonical JSON of its receipt");
}

/* The hash the receipt continues, with or without prefix; PREV_OTHER when it is something else than a
 * hash. */
static uint8_t read_previous(const struct json *receipt, struct hash *ret)
{
	const char *prev = member_text(receipt, "prev_hash");

	if (text_starts(prev, "sha256:"))
		prev += strlen("sha256:");
	return !*prev ? PREV_NONE : hash_from_hex(prev, ret) ? PREV_HASH : PREV_OTHER;
}

/* The causal session: session_id of tagged receipts, the executor of untagged ones.  An absent one is a
 * session too, the one without name. */
static struct hash session_of(const struct json *receipt)
{
	const struct json *id =
		json_get(receipt, json_get(receipt, "signature_version") ? "session_id" : "executor_id");
	struct hash h;

	sha256(json_is(id, JSON_STRING) ? id->text : "", json_is(id, JSON_STRING) ? id->n : 0, h.b);
	return h;
}

/* The fast form: values and notes stay NULL, so no texts are made.  Everything in scratch is gone after
 * this line; the facts hold copies. */
static void take_line(struct job *job, struct arena *scratch, size_t i)
{
	struct facts *f = &job->facts[i];
	struct json *receipt = NULL;
	struct verification v;

	v = (struct verification){ .a = scratch, .trust = job->trust, .kind = "receipt" };
	f->is_sound = verify_line(&v, job->lines[i], "line", &receipt, &f->chain, &f->is_hashed,
			      &f->is_respelled) &&
		!v.error;
	f->integrity = (uint8_t)v.integrity;
	f->trusted = (uint8_t)v.trusted;
	f->is_legacy = v.is_legacy;
	f->is_self_attested = v.is_self_attested;
	f->order = v.signer_key ? v.signer_key->order : 0;
	if (!receipt)
		return;
	f->clock = json_get_int(receipt, "lamport_clock", -1);
	f->prev = read_previous(receipt, &f->previous);
	f->session = session_of(receipt);
	f->is_marked = receipt_id_mark(member_text(receipt, "receipt_id"));
	f->is_governed = *member_text(receipt, "policy_hash") || *member_text(receipt, "verdict");
	f->is_observed = *member_text(receipt, "args_hash") || *member_text(receipt, "output_hash");
}

/* Takes 32 lines at a time, so that threads rarely meet at the counter. */
static void *work(void *arg)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct job *job = arg;

	for (;;) {
		size_t from = atomic_fetch_add(&job->next, LINES_AT_ONCE), to = from + LINES_AT_ONCE;
		if (from >= job->n)
			return NULL;
		for (size_t i = from; i < to && i < job->n; i++) {
			take_line(job, &scratch, i);
			arena_reset(&scratch);
		}
	}
}

/* On this thread and as many others as could be started.  When a thread cannot be started the others do
 * its lines: it costs time, not the answer. */
static void run(struct job *job, unsigned threads)
{
	pthread_t others[MAX_THREADS];
	unsigned started = 0;

	threads = threads > MAX_THREADS ? MAX_THREADS : threads;
	for (; started + 1 < threads && (size_t)(started + 1) * LINES_AT_ONCE < job->n; started++)
		if (pthread_create(&others[started], NULL, work, job))
			break;
	(void)work(job);
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(others[i], NULL);
}

/* Open hash table of the sessions seen, by hash of their name.  A slot holds the index of the session's
 * last receipt plus one; 0 is free.  There are at least twice as many slots as lines, so a search always
 * ends. */
struct sessions {
	size_t *slots;
	size_t mask, count;
};

/* The slot of that session, or the free one where it belongs.  The name's hash is evenly spread already,
 * so its first bytes serve as the position. */
static size_t *session_slot(const struct sessions *s, const struct facts *facts, const struct hash *session)
{
	uint64_t at;

	memcpy(&at, session->b, sizeof(at));
	for (;; at++) {
		size_t *slot = &s->slots[at & s->mask];
		if (!*slot || hash_eq(&facts[*slot - 1].session, session))
			return slot;
	}
}

/* The second pass.  The faults hold the first failure of each check, as text for the report. */
struct walk {
	struct verification *v;
	const struct job *job;
	const char *name;
	struct sessions sessions;
	struct gaps gaps; /* that repairs in this text have put on record */
	bool has_gaps;
	uint64_t lost; /* in gaps */
	bool starts_late; /* some session's beginning is not here */
	const char *identity_fault, *hash_fault, *link_fault;
	bool is_governed, is_observed, is_respelled;
};

/* For the report: the number of the line and, where it can be read, the receipt's id. */
static const char *line_name(struct walk *w, size_t i)
{
	struct json *receipt;

	if (json_parse(w->v->a, w->job->lines[i], w->name, NULL, &receipt, NULL))
		return arena_printf(w->v->a, "line %zu", w->v->lines_before + i + 1);
	return arena_printf(
		w->v->a, "line %zu (%s)", w->v->lines_before + i + 1, member_text(receipt, "receipt_id"));
}

/* values.line is the first faulty line, from 1; the check of whole logs uses it to name the place. */
static void note_line(struct walk *w, size_t i)
{
	if (!json_get(w->v->values, "line"))
		json_seti(w->v->a, w->v->values, "line", (int64_t)(w->v->lines_before + i) + 1);
}

/* Verifies a failed line again, with words, and records it as the failure of the chain. */
static void explain_line(struct walk *w, size_t i)
{
	struct json *receipt = NULL;
	struct verification one;
	struct hash chain;
	bool hashed, respelled;

	verification_begin(&one, w->v->a, w->v->trust, "receipt");
	(void)verify_line(&one, w->job->lines[i], arena_printf(w->v->a, "%s:%zu", w->name, i + 1), &receipt,
		&chain, &hashed, &respelled);
	const char *record = line_name(w, i);
	note_line(w, i);
	verify_at(w->v, record, one.member ? one.member : "signature", one.expected, one.found);
	w->identity_fault = arena_printf(w->v->a, "%s: %s", record,
		one.text ? one.text : "the signature verifies only under the key the receipt carries");
	(void)verify_fail(w->v, one.error ? one.error : "signer_not_trusted", "%s", w->identity_fault);
}

/* Records the first receipt that does not follow the one before it. */
static void break_link(struct walk *w, size_t i, const char *member, const char *expected, const char *found)
{
	const char *record = line_name(w, i);

	w->link_fault = arena_printf(w->v->a, "%s: %s is %s, expected %s", record, member, found, expected);
	note_line(w, i);
	verify_at(w->v, record, member, expected, found);
	(void)verify_fail(w->v, "closure_failed", "%s", w->link_fault);
}

/* Whose signature counts: a trusted key, or the receipt's own when the caller brought no key and said that
 * this is enough. */
static bool is_identified(const struct walk *w, const struct facts *f)
{
	return f->is_sound &&
		(f->trusted == ANSWER_YES ||
			(w->v->trust->allow_self_attested && w->v->trust->key_count == 0));
}

/* A repair tells of holes that lie before it, so its receipt comes later in the file.  The text is
 * searched for such receipts when the first hole is met, and only those with a good signature are
 * believed: otherwise anybody could excuse missing receipts. */
static void load_gaps(struct walk *w)
{
	struct json *seam;

	for (size_t i = 0; !w->has_gaps && i < w->job->n; i++) {
		struct bytes line = w->job->lines[i];
		if (memmem(line.p, line.n, REPAIR_EFFECT, strlen(REPAIR_EFFECT)) &&
			is_identified(w, &w->job->facts[i]) &&
			json_parse(w->v->a, line, w->name, NULL, &seam, NULL) == OK &&
			gap_is_seam(w->v->a, seam))
			(void)gaps_take(&w->gaps, w->v->a, seam);
	}
	w->has_gaps = true;
}

/* The gap between two receipts, when it is on record in this text or where the caller looked; or NULL.
 * `before` is NULL for the beginning of the chain. */
static const struct gap *gap_between(struct walk *w, const struct facts *before, const struct facts *f)
{
	uint64_t after = before ? (uint64_t)before->clock : 0;
	const struct hash *hash = before ? &before->chain : NULL;

	load_gaps(w);
	const struct gap *g = f->clock < 1 || !f->is_hashed
		? NULL
		: gaps_find(&w->gaps, after, hash, (uint64_t)f->clock, &f->chain);
	if (!g && f->clock > 0 && f->is_hashed && w->v->trust->gaps)
		g = gaps_find(w->v->trust->gaps, after, hash, (uint64_t)f->clock, &f->chain);
	return g;
}

/* The receipt must carry the hash of the one before it in its session, and a later clock.  A hole is
 * accepted only when a repair has put exactly this one on record; the receipts lost in it are counted. */
static void check_link(struct walk *w, size_t i, size_t last)
{
	const struct facts *f = &w->job->facts[i], *before = &w->job->facts[last];
	struct arena *a = w->v->a;

	if (w->link_fault || !before->is_hashed)
		return;
	if (f->prev == PREV_HASH && hash_eq(&f->previous, &before->chain) && f->clock > before->clock)
		return;
	const struct gap *g = gap_between(w, before, f);
	if (g) {
		w->lost += g->next - g->after - 1;
		return;
	}
	if (f->prev != PREV_HASH || !hash_eq(&f->previous, &before->chain))
		break_link(w, i, "prev_hash", hash_hex(a, &before->chain),
			f->prev == PREV_HASH ? hash_hex(a, &f->previous) : "(empty)");
	else if (f->clock <= before->clock)
		break_link(w, i, "lamport_clock", arena_printf(a, "more than %lld", (long long)before->clock),
			arena_printf(a, "%lld", (long long)f->clock));
}

/* Behind a receipt of one key no older key signs.  `before` is the order of the newest one. */
static void check_order(struct walk *w, size_t i, unsigned before)
{
	struct facts *f = &w->job->facts[i];
	struct trusted_key key = { .order = f->order };
	struct verification one = { .a = w->v->a, .trust = w->v->trust, .signer_key = &key };

	f->order = verify_key_order(&one, before);
	if (!one.error)
		return;
	w->v->trusted = ANSWER_NO;
	if (w->identity_fault)
		return;
	const char *record = line_name(w, i);
	note_line(w, i);
	verify_at(w->v, record, one.member, one.expected, one.found);
	w->identity_fault = arena_printf(w->v->a, "%s: %s", record, one.text);
	(void)verify_fail(w->v, one.error, "%s", w->identity_fault);
}

/* Faults are explained once, for the first line that has them; the walk goes on to the end, since counts
 * and sessions are reported either way. */
static void take_facts(struct walk *w, size_t i)
{
	const struct facts *f = &w->job->facts[i];
	struct verification one = { .integrity = f->integrity,
		.trusted = f->trusted,
		.is_legacy = f->is_legacy,
		.is_self_attested = f->is_self_attested };

	verify_merge(w->v, &one, i == 0);
	if (!is_identified(w, f) && !w->identity_fault)
		explain_line(w, i);
	if (!f->is_hashed && !w->hash_fault)
		w->hash_fault =
			arena_printf(w->v->a, "line %zu has no chain hash", w->v->lines_before + i + 1);
	size_t *slot = session_slot(&w->sessions, w->job->facts, &f->session);
	check_order(w, i, *slot ? w->job->facts[*slot - 1].order : w->v->trust->key_order);
	w->v->key_order = f->order;
	if (*slot) {
		check_link(w, i, *slot - 1);
	} else {
		w->sessions.count++;
		w->starts_late |= f->prev != PREV_NONE || f->clock != 1;
	}
	*slot = i + 1;
	w->is_governed |= f->is_governed;
	w->is_observed |= f->is_observed;
	w->is_respelled |= f->is_respelled;
}

static void report(struct walk *w, const char *name, const char *fault, bool applies)
{
	verify_check(w->v, name,
		fault		  ? CHECK_FAIL
			: applies ? CHECK_PASS
				  : CHECK_NOT_APPLICABLE,
		fault ? fault : "");
}

/* What a chain does not establish. */
void verify_chain_notes(
	struct verification *v, uint64_t lost, bool starts_late, bool is_last_open, bool is_respelled)
{
	if (lost)
		verify_note(v,
			arena_printf(v->a,
				"%llu receipts are lost; repairs in this chain have put that on record",
				(unsigned long long)lost));
	if (starts_late)
		verify_note(v,
			"a session's first receipts are not in this file; what came before is not "
			"established");
	verify_note(v,
		"whether receipts after the last one existed is not established; a tree head from elsewhere "
		"shows it");
	if (is_last_open)
		verify_note(v, "unsigned members of the last receipt are protected by nothing in this file");
	if (is_respelled)
		verify_note(v,
			"some lines are not canonical JSON: their values were verified, not their spelling");
}

/* Reports the checks in a fixed order.  A broken link or a missing hash refutes the chain as a whole,
 * whatever the single receipts are worth. */
static void conclude(struct walk *w)
{
	struct verification *v = w->v;
	size_t n = w->job->n;

	report(w, "identity", w->identity_fault, true);
	report(w, "integrity", w->hash_fault, true);
	report(w, "policy", NULL, w->is_governed);
	report(w, "execution_observation", NULL, w->is_observed);
	report(w, "closure", w->link_fault, n > w->sessions.count);
	if (w->link_fault || w->hash_fault)
		v->integrity = ANSWER_NO;
	if (w->hash_fault)
		(void)verify_fail(v, "integrity_failed", "%s", w->hash_fault);
	json_seti(v->a, v->values, "receipts", (int64_t)n);
	json_seti(v->a, v->values, "sessions", (int64_t)w->sessions.count);
	verify_value(v, "head", hash_hex(v->a, &w->job->facts[n - 1].chain));
	if (w->lost)
		json_seti(v->a, v->values, "lost", (int64_t)w->lost);
	verify_chain_notes(v, w->lost, w->starts_late, !w->job->facts[n - 1].is_marked, w->is_respelled);
}

/* An empty line is kept and fails later: it is not part of the format. */
static size_t cut_lines(struct arena *a, struct bytes text, struct bytes **ret)
{
	size_t n = 0, cap = 64;
	struct bytes *lines = arena_alloc(a, cap * sizeof(*lines));

	while (text.n > 0) {
		if (n == cap) {
			lines = arena_grow(a, lines, cap * sizeof(*lines), 2 * cap * sizeof(*lines));
			cap *= 2;
		}
		lines[n++] = text_cut(&text, '\n');
	}
	*ret = lines;
	return n;
}

/* For callers that follow the log; a line without a hash has zeroes. */
static struct line_place *places_of(struct arena *a, const struct job *job)
{
	struct line_place *list = arena_zalloc(a, job->n + 1, sizeof(*list));

	for (size_t i = 0; i < job->n; i++)
		list[i] = (struct line_place){ job->facts[i].chain,
			job->facts[i].clock > 0 ? (uint64_t)job->facts[i].clock : 0 };
	return list;
}

/* With a root from elsewhere it can be known whether this is the whole log, and the unsigned members of
 * the last receipt are covered too. */
void verify_chain_root(struct verification *v, const struct merkle *tree)
{
	struct hash want, have = merkle_head(tree);

	verify_value(v, "root_hash", hash_hex(v->a, &have));
	if (!hash_from_hex(v->trust->root, &want)) {
		(void)verify_fail(v, "undecodable hash", "the trusted root does not decode to 32 bytes");
	} else if (hash_eq(&want, &have)) {
		v->complete = ANSWER_YES;
	} else {
		verify_at(v, "the chain", "root_hash", hash_hex(v->a, &want), hash_hex(v->a, &have));
		v->complete = ANSWER_NO;
		(void)verify_fail(v, "root_mismatch",
			"these are not exactly the receipts of that root: some are missing, added or "
			"changed");
	}
	verify_check(v, "log_root", v->complete == ANSWER_YES ? CHECK_PASS : CHECK_FAIL, "");
}

/* Leaves of receipts that are lost are put in where a repair tells of them. */
static void check_root(struct walk *w)
{
	const struct job *job = w->job;
	struct merkle tree = { 0 };

	for (size_t i = 0; i < job->n; i++) {
		const struct facts *f = &job->facts[i], *before = i ? f - 1 : NULL;
		const struct gap *g =
			f->clock == (before ? before->clock + 1 : 1) ? NULL : gap_between(w, before, f);
		for (uint64_t k = 0; g && k < g->next - g->after - 1; k++)
			merkle_append(&tree, &g->leaves[k]);
		struct hash leaf = merkle_leaf(job->facts[i].chain.b, SHA256_SIZE);
		merkle_append(&tree, &leaf);
	}
	verify_chain_root(w->v, &tree);
}

bool verify_receipt_line(struct verification *v, struct bytes line, const char *name, struct json **ret,
	struct hash *ret_chain)
{
	bool is_hashed = false, is_respelled = false;

	*ret = NULL;
	return verify_line(v, line, name, ret, ret_chain, &is_hashed, &is_respelled) && is_hashed;
}

size_t verify_lines_alone(
	struct arena *a, const struct trust *trust, struct bytes text, struct line_fact **ret)
{
	struct job job = { .trust = arena_alloc(a, sizeof(*job.trust)) };
	struct bytes *lines;

	*job.trust = *trust;
	job.n = cut_lines(a, text, &lines);
	job.lines = lines;
	job.facts = arena_zalloc(a, job.n + 1, sizeof(*job.facts));
	run(&job, trust->threads ? trust->threads : 1);
	*ret = arena_zalloc(a, job.n + 1, sizeof(**ret));
	for (size_t i = 0; i < job.n; i++) {
		const struct facts *f = &job.facts[i];
		(*ret)[i] = (struct line_fact){ lines[i], f->chain, f->session,
			f->clock > 0 ? (uint64_t)f->clock : 0, f->order, f->is_hashed,
			f->is_sound && f->trusted == ANSWER_YES, f->integrity == ANSWER_NO || !f->is_hashed };
	}
	return job.n;
}

/* First the keys that the chain itself tells of, then all lines by themselves, then the walk, then the root:
 * the root is only meaningful once every line has its hash. */
void verify_receipt_places(
	struct verification *v, struct bytes text, const char *name, struct line_place **ret, size_t *ret_n)
{
	struct bytes *lines;
	size_t slots = 16;
	struct job job = { .trust = arena_alloc(v->a, sizeof(*job.trust)) };

	*job.trust = *v->trust;
	(void)trust_add_seam_lines(v->a, text, job.trust);
	v->trust = job.trust;
	v->key_order = v->trust->key_order;
	job.n = cut_lines(v->a, text, &lines);
	*ret = NULL;
	*ret_n = 0;
	if (job.n == 0) {
		(void)verify_fail(v, "no receipts supplied", "the file holds no receipts");
		return;
	}
	job.lines = lines;
	job.facts = arena_zalloc(v->a, job.n, sizeof(*job.facts));
	run(&job, v->trust->threads ? v->trust->threads : 1);
	while (slots < 2 * job.n)
		slots *= 2;
	struct walk w = { .v = v,
		.job = &job,
		.name = name,
		.sessions = { arena_zalloc(v->a, slots, sizeof(size_t)), slots - 1, 0 } };
	for (size_t i = 0; i < job.n; i++)
		take_facts(&w, i);
	conclude(&w);
	if (v->trust->root)
		check_root(&w);
	*ret = places_of(v->a, &job);
	*ret_n = job.n;
}

void verify_receipt_lines(struct verification *v, struct bytes text, const char *name)
{
	struct line_place *places;
	size_t n;

	verify_receipt_places(v, text, name, &places, &n);
}
