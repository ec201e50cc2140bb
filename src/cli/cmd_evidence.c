/* cmd_evidence.c — evidence export, verify, prove, summary: packs that prove themselves elsewhere.
 *
 * A pack is an archive of receipts and what belongs to them, with a signed manifest. Whoever gets one
 * needs only the public key of the signer. Three questions are kept apart in every answer: is the content
 * unchanged, is the signer trusted, is it complete. A pack that passes on its own key alone is never
 * called trusted. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "cli/cmd_log.h"
#include "kernel/verdict.h"
#include "kernel/workspace.h"
#include "proof/pack.h"

#include <fcntl.h>
#include <unistd.h>

const struct opt evidence_export_opts[] = {
	{ "out", OPT_VALUE, "FILE", "the archive to write; usually NAME.helmpack.tar", NULL, true },
	{ "all", OPT_FLAG, NULL, "everything recorded", NULL, false },
	{ "task", OPT_VALUE, "ID", "only what belongs to this task", NULL, false },
	{ "session", OPT_VALUE, "ID", "only what belongs to this session", NULL, false },
	{ "since", OPT_VALUE, "TIME", "only from this time on: 2d, yesterday, 2026-05-01", NULL, false },
	{ "until", OPT_VALUE, "TIME", "only before this time", NULL, false },
	{ "key", OPT_VALUE, "FILE", "sign with this NAME.key instead of the key of this user", NULL, false },
	{ "unsound", OPT_FLAG, NULL,
		"export a record that is not sound: the findings go along, and verifying the pack fails",
		NULL, false },
	{ 0 },
};

const struct opt evidence_verify_opts[] = {
	{ "key", OPT_LIST, "KEY", "a public key to trust: 64 hex digits, or a file with them", NULL, false },
	{ "trust", OPT_LIST, "FILE", "a file of trusted keys", NULL, false },
	{ "allow-self-attested", OPT_FLAG, NULL, "accept the pack's own key, as internal consistency only",
		NULL, false },
	{ 0 },
};

const struct opt evidence_prove_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write the proof there instead of printing it", NULL, false },
	{ 0 },
};

/* What to export must be said: everything, or a choice, but not both and not neither. A forgotten option
 * must not leak the whole record. */
static int read_choice(struct cli *r, struct evidence_choice *c, struct err *e)
{
	int rc = opt_since(r, "since", &c->since_us, e);

	if (rc == OK)
		rc = opt_until(r, "until", &c->until_us, e);
	if (rc)
		return rc;
	c->has_since = opt_text(r, "since", NULL) != NULL;
	c->has_until = opt_text(r, "until", NULL) != NULL;
	c->task = opt_text(r, "task", NULL);
	c->session = opt_text(r, "session", NULL);
	bool has_choice = c->task || c->session || c->has_since || c->has_until;
	/* Exactly one of the two. */
	if (has_choice == opt_flag(r, "all"))
		return err_set(e, E_USAGE, "CHOICE",
			"say what to export: --all, or --task, --session, --since, --until");
	return OK;
}

/* The key that signs the pack: the file that --key names, or the key of this user. */
static int load_key(struct cli *r, struct key **ret, struct err *e)
{
	const char *file = opt_text(r, "key", NULL), *home, *dir = ".";
	int rc;

	if (!file) {
		if ((rc = workspace_helm_home(r->sys, r->a, &home, e)))
			return rc;
		rc = keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), ret, e);
		/* A signer vouches for receipts, not for what else somebody puts beside them. */
		if (rc == OK && key_keeper(*ret)) {
			key_free(ret);
			return err_set(e, E_DENIED, "SIGNER_REFUSES",
				"the signer signs no packs; sign it with a key of your own: --key FILE");
		}
		/* Without a key there is no pack; the message says how to make one. */
		return rc == E_MISSING
			? err_wrap(e, "a pack must be signed; make a key with 'helm key create'")
			: rc;
	}
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	if (slash)
		dir = slash == file ? "/" : arena_strndup(r->a, file, (size_t)(slash - file));
	if (!text_ends(name, ".key"))
		return err_set(
			e, E_USAGE, "KEY_FILE", "--key names a file NAME.key, as 'helm key create' makes it");
	return key_load(r->sys, AT_FDCWD, dir, arena_strndup(r->a, name, strlen(name) - 4), ret, e);
}

/* Ends with the command by which others verify the pack. */
static void show_export(struct cli *r, const struct pack_written *w, const char *path, size_t n)
{
	const struct json *m = w->manifest;
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (!r->is_json) {
		out(r, "Exported %zu file%s to %s (%llu bytes).\n", n, n == 1 ? "" : "s", path,
			(unsigned long long)w->size_bytes);
		out(r, "pack_id=%s\nmanifest_hash=%s\nentries_merkle_root=%s\nsha256=%s\n",
			json_get_text(m, "pack_id", ""), json_get_text(m, "manifest_hash", ""),
			json_get_text(m, "entries_merkle_root", ""), hash_hex(r->a, &w->digest));
		out(r,
			"Verify it anywhere: helm evidence verify %s --key PUBLIC_KEY ('helm key export' "
			"prints yours)\n",
			path);
		return;
	}
	json_sets(r->a, doc, "file", path);
	json_sets(r->a, doc, "pack_id", json_get_text(m, "pack_id", ""));
	json_sets(r->a, doc, "manifest_hash", json_get_text(m, "manifest_hash", ""));
	json_sets(r->a, doc, "entries_merkle_root", json_get_text(m, "entries_merkle_root", ""));
	json_seti(r->a, doc, "entry_count", (int64_t)n);
	json_seti(r->a, doc, "size_bytes", (int64_t)w->size_bytes);
	json_sets(r->a, doc, "sha256", hash_hex(r->a, &w->digest));
	out_json(r, doc);
}

/* A signed head over everything recorded so far goes along, so that whoever has the pack can tell that
 * nothing inside was left out. A log that cannot be signed is no reason to withhold the evidence: then it
 * is a warning. */
static void sign_newest_head(struct cli *r, struct key *key)
{
	AUTO(recorder_close) struct recorder rec = { 0 };
	struct json *head;
	struct err why = { 0 };

	cmd_log_recorder(r, &rec, key);
	int rc = log_settle(&rec, r->a, &why);
	/* A head that covers everything already need not be signed again. */
	if (rc == OK && rec.at.clock > rec.at.heads_at)
		rc = log_sign_head(&rec, r->a, &head, &why);
	if (rc)
		warn(r, "the pack has no signed head over all receipts: %s", why.text);
}

/* Progress is shown in MiB. */
static void step(void *arg, uint64_t done, uint64_t total)
{
	(void)total;
	progress_step(arg, done >> 20);
}

/* Leaves that are not those of their receipts are made again first.  Where that would hide damage, the pack shows it. */
static int collect(
	struct cli *r, struct key *key, struct evidence_choice *choice, struct evidence *ret, struct err *e)
{
	AUTO(recorder_close) struct recorder recorder = { 0 };
	struct err why = { 0 };
	int rc = evidence_collect(r->sys, r->a, r->ws->state_fd, choice, ret, e);

	if (rc != E_CORRUPT || !text_eq(e->code, "LOG_LEAVES"))
		return rc;
	evidence_close(ret);
	cmd_log_recorder(r, &recorder, key);
	choice->any_leaves = log_refresh(&recorder, r->a, &why) != OK;
	if (choice->any_leaves)
		warn(r, "the pack will not verify: %s", why.text);
	return evidence_collect(r->sys, r->a, r->ws->state_fd, choice, ret, e);
}

/* The record is checked now, whatever was kept.  What is not sound leaves only when that is asked for, and says so itself. */
static int check_record(struct cli *r, struct record_verdict *ret, struct err *e)
{
	struct progress p;
	const struct verdict_ask ask = { .is_now = true, .all = true, .step = step, .arg = &p };

	if (r->ws->state_fd < 0)
		return err_set(e, E_MISSING, "PACK_EMPTY", "the workspace has recorded nothing yet");
	progress_begin(&p, r, "checking MiB", 0);
	int rc = workspace_verdict(r->sys, r->a, r->ws, &ask, ret, e);
	progress_end(&p);
	if (rc || ret->is_sound)
		return rc;
	if (!opt_flag(r, "unsound"))
		return err_set(e, E_CORRUPT, "RECORD_UNSOUND",
			"the record is not sound: %.200s; 'helm log check' names everything that is wrong. "
			"--unsound exports it all the same: the findings go along, and 'helm verify' refuses the pack",
			ret->why);
	warn(r, "the record is not sound, and the pack says so: %s", ret->why);
	return OK;
}

/* The order matters: the record is checked before a head is signed over it, and the head is signed before anything is collected, so that
 * it is part of the pack. */
int cmd_evidence_export(struct cli *r, struct err *e)
{
	struct record_verdict verdict;
	AUTO(key_free) struct key *key = NULL;
	const char *path = opt_text(r, "out", NULL);
	struct evidence_choice choice = { 0 };
	AUTO(evidence_close) struct evidence found = { 0 };
	struct pack_written written;
	struct progress p;
	int rc;

	if ((rc = read_choice(r, &choice, e)) || (rc = load_key(r, &key, e)) ||
		(rc = check_record(r, &verdict, e)))
		return rc;
	choice.verdict = &verdict;
	sign_newest_head(r, key);
	if ((rc = collect(r, key, &choice, &found, e)))
		return rc;
	if (found.away)
		warn(r, "receipts of %s are archived and cannot be read, so they are not in the pack",
			found.away);
	progress_begin(&p, r, "exporting MiB", found.total_bytes >> 20);
	found.step = step;
	found.arg = &p;
	rc = pack_write(r->sys, r->a, AT_FDCWD, path, &found.about, found.items, found.n, key, &written, e);
	progress_end(&p);
	if (rc)
		return rc;
	show_export(r, &written, path, found.n);
	return OK;
}

/* Only keys that the caller names are trusted. */
static int read_trust(struct cli *r, struct trust *t, struct err *e)
{
	const char **list;
	size_t n = opt_list(r, "key", &list);
	int rc;

	for (size_t i = 0; i < n; i++)
		if ((rc = trust_add_key(r->sys, r->a, list[i], t, e)))
			return rc;
	n = opt_list(r, "trust", &list);
	for (size_t i = 0; i < n; i++)
		if ((rc = trust_add_file(r->sys, r->a, list[i], t, e)))
			return rc;
	return OK;
}

/* Every check with its result; "-" is one that does not apply. */
static void show_checks(struct cli *r, const struct verification *v)
{
	static const char *const words[] = { "ok  ", "FAIL", "-   " };
	TABLE_COVERS(words, CHECK_STATUSES);

	for (size_t i = 0; i < v->check_count; i++) {
		const struct check *c = &v->checks[i];
		enum paint p = c->status == CHECK_PASS ? PAINT_GOOD
			: c->status == CHECK_FAIL      ? PAINT_BAD
						       : PAINT_MUTED;
		out(r, "  %s%s%s %s%s%s\n", paint(r, p), words[c->status], paint(r, PAINT_OFF),
			text_safe(r->a, c->name, strlen(c->name), false), *c->detail ? ": " : "",
			text_safe(r->a, c->detail, strlen(c->detail), false));
	}
}

/* The headline, then the checks, then the three answers on one line. */
static void show_verdict(struct cli *r, const struct verification *v)
{
	enum headline h = verification_headline(v);
	const char *id = json_get_text(v->values, "pack_id", "");

	out(r, "%s%s%s: %s %s\n", paint(r, h == HEADLINE_ADMISSIBLE ? PAINT_GOOD : PAINT_BAD),
		headline_name(h), paint(r, PAINT_OFF), v->kind, text_safe(r->a, id, strlen(id), false));
	show_checks(r, v);
	out(r, "unchanged: %s; signer trusted: %s; complete: %s\n", answer_name(v->integrity),
		answer_name(v->trusted), answer_name(v->complete));
	if (v->text)
		out(r, "first failure: %s: %s\n", v->error, text_safe(r->a, v->text, strlen(v->text), false));
	json_each (note, v->notes)
		out(r, "note: %s\n", json_text(note));
}

/* Verifies a pack. An unreadable archive and a file that is no pack are answers, too (exit code 2), the same
 * as those of 'helm verify'; a name that leads to no readable file is an error. */
static int judge(struct cli *r, const char *path, struct trust *trust, struct verification *v, struct pack *p,
	struct err *e)
{
	struct err why = { 0 };

	verification_begin(v, r->a, trust, "evidence pack");
	*p = (struct pack){ 0 };
	if (!may_be_pack(r, r->a, path)) {
		verify_no_record(v);
		return EXIT_USAGE;
	}
	if (!verify_pack_open(
		    r->sys, r->a, AT_FDCWD, path, &(struct pack_reading){ .trust = trust }, p, &why)) {
		if (verify_pack_is_one(p))
			verify_pack(v, p);
		else
			verify_no_record(v);
		return verify_pack_is_one(p) ? OK : EXIT_USAGE;
	}
	/* The file is not there or cannot be read: that says nothing about the pack. */
	if (why.rc == E_IO || why.rc == E_MISSING) {
		*e = why;
		return why.rc;
	}
	verify_pack_unreadable(v, &why);
	return EXIT_USAGE;
}

/* With --allow-self-attested a pack may pass on its own key, and the output says what that is worth. */
static bool is_accepted(const struct verification *v)
{
	if (verification_headline(v) == HEADLINE_ADMISSIBLE)
		return true;
	return v->trust->allow_self_attested && v->is_self_attested && v->integrity == ANSWER_YES &&
		!v->error;
}

/* The exit code follows the verdict: 0 accepted, 1 not accepted, 2 unreadable. */
int cmd_evidence_verify(struct cli *r, struct err *e)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct trust trust = { .allow_self_attested = opt_flag(r, "allow-self-attested"),
		.threads = cores > 1 ? (unsigned)cores : 1 };
	struct verification v;
	struct pack p;
	int rc = read_trust(r, &trust, e);

	if (rc || (rc = judge(r, r->args[0], &trust, &v, &p, e)) < 0)
		return rc;
	if (r->is_json) {
		struct json *doc = verification_json(r->a, &v);
		json_sets(r->a, doc, "bundle", r->args[0]);
		out_json(r, doc);
	} else {
		show_verdict(r, &v);
	}
	return rc ? rc : is_accepted(&v) ? OK : EXIT_NO;
}

/* The manifest of a pack whose content is as the manifest says. Who signed it is another question, which
 * `evidence verify` answers. */
static int read_manifest(struct cli *r, struct pack *p, struct json **ret, struct pack_entry **ret_entries,
	size_t *ret_n, struct err *e)
{
	/* Nobody is trusted here, because only the content is asked about. */
	struct trust nobody = { 0 };
	struct verification v;
	int rc = judge(r, r->args[0], &nobody, &v, p, e);
	const struct pack_file *f;

	if (rc < 0)
		return rc;
	if (v.integrity != ANSWER_YES)
		return err_set(e, E_INPUT, "PACK_TAMPERED", "%s: %s: %s", r->args[0],
			v.error ? v.error : "pack", v.text ? v.text : "it is not what it says");
	f = verify_pack_find(p, "manifest.json");
	if (!f || json_parse(r->a, f->content, "manifest.json", NULL, ret, e) ||
		pack_manifest_entries(r->a, *ret, ret_entries, ret_n, NULL))
		return err_set(e, E_INPUT, "PACK_LAYOUT",
			"%s is not in the manifest layout, which this needs", r->args[0]);
	return OK;
}

/* A proof that one file is in the pack, for somebody who must not see the others. */
int cmd_evidence_prove(struct cli *r, struct err *e)
{
	const char *to = opt_text(r, "out", NULL);
	struct json *manifest, *proof;
	struct pack_entry *entries;
	struct pack p;
	struct buf b;
	size_t n, i = 0;
	int rc = read_manifest(r, &p, &manifest, &entries, &n, e);

	if (rc)
		return rc;
	/* Paths are compared exactly, as the manifest spells them. */
	while (i < n && !text_eq(entries[i].path, r->args[1]))
		i++;
	if (i == n)
		return err_set(e, E_MISSING, "PACK_ENTRY",
			"'%s' is not in the pack; 'tar tf %s' lists what is", r->args[1], r->args[0]);
	if ((rc = pack_prove(r->a, manifest, entries, n, i, &proof, e)))
		return rc;
	if (!to) {
		out_json(r, proof);
		return OK;
	}
	buf_init(&b, r->a);
	json_write(&b, proof, JSON_INDENT);
	buf_addc(&b, '\n');
	return file_replace(r->sys, AT_FDCWD, to, 0644, buf_bytes(&b), e);
}

/* What is inside, not who signed it; the last line says so. */
int cmd_evidence_summary(struct cli *r, struct err *e)
{
	struct json *manifest, *summary;
	struct pack_entry *entries;
	struct pack p;
	size_t n;
	int rc = read_manifest(r, &p, &manifest, &entries, &n, e);

	if (rc)
		return rc;
	summary = pack_summary(r->a, manifest, entries, n, text_time_z(r->a, r->sys->now_us(r->sys)));
	if (!summary)
		return err_set(e, E_INPUT, "PACK_MANIFEST", "the manifest's created_at is not a time");
	if (r->is_json) {
		out_json(r, summary);
		return OK;
	}
	out(r, "%s: %zu file%s, %lld bytes, as of %s\n", json_get_text(summary, "pack_id", ""), n,
		n == 1 ? "" : "s", (long long)json_get_int(summary, "total_bytes", 0),
		json_get_text(summary, "last_event", ""));
	for (size_t i = 0; i < n; i++)
		out(r, "  %10lld  %s\n", (long long)entries[i].size_bytes,
			text_safe(r->a, entries[i].path, strlen(entries[i].path), false));
	out(r, "summary_hash=%s\nThis says what is inside, not who signed it: 'helm evidence verify' does.\n",
		json_get_text(summary, "summary_hash", ""));
	return OK;
}
