/* doctor.c — is this workspace, and what protects it, in order?
 *
 * Every check is a row { name, ok, detail }.  `ok` false makes the workspace unhealthy; what is only worth
 * knowing stays ok with a hint.  Nothing is written and nothing leaves the machine: providers are known by
 * the names of environment variables, local model servers by whether their port on loopback answers.
 *
 * For people and for scripts: `helm doctor` prints the rows, `--json` gives the document, and the exit code
 * follows `healthy`.  It reads much more than `helm status` does (whole ledgers, leftovers, clients), so it
 * may take its time. */
#include "audit/keys.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/freeze.h"
#include "kernel/guard.h"
#include "kernel/hook.h"
#include "kernel/operator_files.h"
#include "kernel/posture.h"
#include "kernel/setup/setup.h"
#include "kernel/shipped.h"
#include "kernel/sources.h"
#include "kernel/standing.h"
#include "kernel/state_files.h"
#include "kernel/task/task.h"
#include "kernel/verdict.h"
#include "record/shown.h"
#include "remember/health.h"
#include "remember/memory.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

struct exam {
	struct sys *s;
	struct arena *a;
	struct workspace *ws;
	struct json *checks;
	bool healthy;
	const struct doctor_options *options;
	const char *key_says;
};

/* One row.  A single failed check makes the workspace unhealthy. */
static void check(struct exam *x, const char *name, bool ok, const char *detail)
{
	struct json *row = json_new(x->a, JSON_OBJECT);

	json_sets(x->a, row, "name", name);
	json_setb(x->a, row, "ok", ok);
	json_sets(x->a, row, "detail", detail);
	json_push(x->a, x->checks, row);
	x->healthy &= ok;
}

/* Puts the remedy to the row before. */
static void remedy(struct exam *x, const char *text)
{
	json_sets(x->a, x->checks->items[x->checks->n - 1], "remedy", text);
}

/* How a shipped file stands to this release; no answer is a defect. */
static const char *shipped_says(struct exam *x, const char *path, struct bytes text)
{
	struct bytes accepted;

	switch (shipped_age(path, text)) {
	case SHIPPED_NOW:
		return "present";
	case SHIPPED_EARLIER:
		return accepted_read(x->s, x->a, x->ws, path, &accepted, NULL) == OK &&
				bytes_eq(accepted, text)
			? "present, accepted as an earlier release shipped it, and in force like that; 'helm reconcile "
			  "--apply --force' and then 'helm workspace trust' take the one of this release"
			: "present, as an earlier release shipped it; 'helm reconcile --apply' brings it up to date";
	default:
		return "present, with changes; 'helm reconcile --diff' shows them";
	}
}

static void check_mendable(struct exam *x, const char *name, const char *text, const char *remedy)
{
	check(x, name, false, text);
	json_sets(x->a, x->checks->items[x->checks->n - 1], "remedy", remedy);
}

/* A file that `helm init` made and that must be there; JSON must parse. */
static void check_reference(struct exam *x, const char *path)
{
	struct bytes text;
	struct json *doc;
	struct err e = { 0 };

	if (file_read(x->s, x->a, x->ws->root_fd, path, 16 << 20, 0, &text, &e))
		check(x, path, false,
			e.rc == E_MISSING ? "missing; 'helm init' restores it" : arena_strdup(x->a, e.text));
	else if (text_ends(path, ".json") && json_parse(x->a, text, path, NULL, &doc, &e))
		check_mendable(x, path, arena_strdup(x->a, e.text), WORKSPACE_REPAIR);
	else
		check(x, path, true, shipped_says(x, path, text));
}

/* A directory that `helm init` made. */
static void check_directory(struct exam *x, const char *path)
{
	bool ok = file_is_dir(x->s, x->ws->root_fd, path);

	check(x, path, ok, ok ? "present" : "missing; 'helm init' creates it");
}

/* What interrupted checkpoints and restores left behind, where one stands.  A prune that is not applied only looks. */
static void check_leftovers(struct exam *x)
{
	static const char name[] = "checkpoint_leftovers";
	struct checkpoint_store store;
	struct checkpoint_policy policy;
	struct checkpoint_pruned found;
	struct err e = { 0 };

	if (x->ws->state_fd < 0)
		return;
	if (x->ws->no_tree ? checkpoint_open(&store, x->s, x->a, x->ws->root_fd, x->ws->state_fd,
				     x->ws->state_name, &e)
			   : workspace_checkpoints(x->s, x->a, x->ws, false, &store, &e)) {
		check(x, name, false, arena_strdup(x->a, e.text));
		return;
	}
	if (checkpoint_policy(&store, &policy, &e))
		check(x, "checkpoint_policy", false, arena_strdup(x->a, e.text));
	else if (checkpoint_prune(&store, &policy, NULL, false, &found, &e))
		check(x, name, false, arena_strdup(x->a, e.text));
	else
		/* A note: they take room and nothing else. */
		check(x, name, true,
			found.leftovers->n
				? arena_printf(x->a,
					  "%u of an interrupted checkpoint or restore, the first is '%s'; harmless, "
					  "'helm checkpoint prune --apply' removes them",
					  found.leftovers->n, json_text(json_at(found.leftovers, 0)))
				: "none");
	checkpoint_close(&store);
}

/* Checkpoints that are listed and whose saved files are not there.  Whether those are whole says --deep. */
static void check_archives(struct exam *x)
{
	static const char name[] = "checkpoint-archives";
	struct json *all;
	const char *first = NULL;
	uint32_t gone = 0;

	if (x->ws->state_fd < 0 ||
		doc_read(x->s, x->a, x->ws->state_fd, "checkpoints/index.json", 64 << 20, 0, &all, NULL) ||
		!json_is(all, JSON_ARRAY))
		return; /* none yet; a list that cannot be read has a row of its own */
	json_each (one, all) {
		const char *path = json_get_text(one, "archive", NULL);
		if (path && file_exists(x->s, x->ws->root_fd, path))
			continue;
		if (!gone++)
			first = arena_printf(x->a, "%s (%s)", json_get_text(one, "checkpoint_id", "?"),
				path ? path : "names no archive");
	}
	check(x, name, !gone,
		gone ? arena_printf(x->a,
			       "%u of %u cannot be restored, their archive is gone; the first is %s", gone,
			       all->n, first)
		     : arena_printf(x->a, "%u listed, each has its archive", all->n));
	if (gone)
		remedy(x,
			"put the archive back from a copy; 'helm checkpoint create' saves what is there now");
}

/* Values that belong to people: nobody else may read them. */
static void check_vault(struct exam *x)
{
	struct stat st;

	if (x->ws->state_fd < 0 ||
		x->s->stat(x->s, x->ws->state_fd, "privacy-vault.json", &st, AT_SYMLINK_NOFOLLOW))
		return;
	check(x, "privacy-vault", S_ISREG(st.st_mode) && !(st.st_mode & 077),
		!S_ISREG(st.st_mode) ? "is no regular file"
			: st.st_mode & 077
			? arena_printf(x->a, "others can read it (mode %03o)", st.st_mode & 0777)
			: "only its owner can read it");
	if (S_ISREG(st.st_mode) && st.st_mode & 077)
		remedy(x,
			arena_printf(x->a, "chmod 600 %s",
				text_quote(x->a, path_join(x->a, x->ws->state_dir, "privacy-vault.json"))));
}

/* Who may approve, call, be trusted: a file that is damaged refuses every command that needs it. */
static void check_operator_files(struct exam *x)
{
	struct json *findings = json_new(x->a, JSON_ARRAY);

	operator_files_check(x->s, x->a, x->ws, findings);
	json_each (f, findings) {
		check(x, arena_printf(x->a, "operator-file:%s", json_get_text(f, "name", "")), false,
			json_get_text(f, "text", ""));
		remedy(x, json_get_text(f, "remedy", ""));
	}
	if (!findings->n)
		check(x, "operator-files", true, "each is what was written last");
}

/* The key history, and that the key in force is its last one. */
static void check_keys(struct exam *x)
{
	struct log_report report = audit_report_new(x->a);
	struct err e = { 0 };
	const char *home;

	if (workspace_helm_home(x->s, x->a, &home, &e) || audit_keys(x->s, x->a, home, &report, &e))
		return;
	json_each (f, json_get(report.doc, "findings")) {
		check(x, arena_printf(x->a, "keys:%s", json_get_text(f, "what", "")), false,
			json_get_text(f, "text", ""));
		remedy(x, json_get_text(f, "remedy", ""));
	}
	if (report.is_sound)
		check(x, "keys", true, "the key in force is the last one of an unbroken history");
}

/* ---- deep ---- */

static void step_log(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
	const struct doctor_options *o = arg;

	o->step(o->arg, "receipts, MiB", done_bytes >> 20, total_bytes >> 20);
}

/* Every receipt, link, leaf, head and anchor, and every row that they speak of, as `helm log check` does it: what that finds is wrong here.
 * With --deep all of it is read now; else a verdict that was kept answers while nothing has changed. */
static void check_verdict(struct exam *x, const struct json *wrong)
{
	const struct doctor_options *o = x->options;
	struct verdict_ask ask = { .is_now = o->deep,
		.all = o->deep,
		.step = o->deep && o->step ? step_log : NULL,
		.arg = (void *)o };
	struct record_verdict v;
	struct err e = { 0 };

	if (workspace_verdict(x->s, x->a, x->ws, &ask, &v, &e)) {
		check(x, "record:all", false, arena_printf(x->a, "cannot be checked: %s", e.text));
		remedy(x, "helm log check");
		return;
	}
	bool is_told = false;
	json_each (w, wrong)
		is_told |= text_eq(json_get_text(w, "name", ""), "record");
	const char *upto = o->deep && v.is_sound
		? arena_printf(x->a, "%s, all verified", text_count(x->a, (int64_t)v.receipts, "receipt"))
		: audit_verdict_text(x->a, &v);
	check(x, "record:all", v.is_sound,
		v.is_sound ? upto
			   : arena_printf(x->a, "not sound: %s%s%s", is_told ? "" : v.why,
				     is_told ? "" : "; ", upto));
	if (!v.is_sound)
		remedy(x, v.remedy);
}

/* One store: adds to `sum`.  False, with the row, when it cannot be read at all. */
static bool check_store(
	struct exam *x, const char *name, struct checkpoint_store *store, struct checkpoint_checked *sum)
{
	struct checkpoint_progress progress = { x->options->step, x->options->arg };
	struct checkpoint_check how = { .read_data = true, .progress = progress.step ? &progress : NULL };
	struct checkpoint_checked found;
	struct err e = { 0 };
	int rc = checkpoint_check_store(store, &how, &found, &e);

	if (rc) {
		check(x, name, false, arena_printf(x->a, "%s: %s", store->where, e.text));
		return false;
	}
	sum->checkpoints += found.checkpoints;
	json_each (one, found.findings)
		json_push(x->a, sum->findings, one);
	return true;
}

/* Those of work trees, below the helm home. */
static bool check_trees(struct exam *x, const char *name, struct checkpoint_checked *sum)
{
	const char *trees = x->ws->helm_home ? path_join(x->a, x->ws->helm_home, "trees") : NULL;
	char **names;
	size_t n = 0;
	struct err e = { 0 };
	bool ok = true;

	if (!trees || file_list(x->s, x->a, AT_FDCWD, trees, &names, &n, &e))
		return true; /* there are none */
	for (size_t i = 0; i < n; i++) {
		struct checkpoint_store store;
		const char *where = path_join(x->a, trees, names[i]);
		int fd;
		if (file_open_dir(x->s, AT_FDCWD, where, &fd, &e) ||
			checkpoint_open_beside(
				&store, x->s, x->a, x->ws->root_fd, fd, where, x->ws->state_fd, &e)) {
			check(x, name, false, arena_strdup(x->a, e.text));
			ok = false;
			continue;
		}
		ok &= check_store(x, name, &store, sum);
		checkpoint_close(&store);
	}
	return ok;
}

/* Every object that any checkpoint needs, of the workspace and of every work tree. */
static void check_whole_store(struct exam *x)
{
	static const char name[] = "checkpoints:all";
	struct checkpoint_checked sum = { .findings = json_new(x->a, JSON_ARRAY) };
	struct checkpoint_store store;
	struct err e = { 0 };
	bool ok = checkpoint_open(
			  &store, x->s, x->a, x->ws->root_fd, x->ws->state_fd, x->ws->state_name, &e) == OK;

	if (ok) {
		ok = check_store(x, name, &store, &sum);
		checkpoint_close(&store);
	} else {
		check(x, name, false, arena_strdup(x->a, e.text));
	}
	bool is_here = sum.findings->n > 0;
	ok &= check_trees(x, name, &sum);
	if (sum.findings->n) {
		const struct json *first = json_at(sum.findings, 0);
		check(x, name, false,
			arena_printf(x->a, "damaged: %u findings in %llu checkpoints, the first is %s%s%s",
				sum.findings->n, (unsigned long long)sum.checkpoints,
				json_get_text(first, "checkpoint_id", json_get_text(first, "pack", "")),
				json_get(first, "checkpoint_id") || json_get(first, "pack") ? ": " : "",
				json_get_text(first, "text", "")));
		remedy(x,
			is_here ? CHECKPOINT_REMEDY
				: CHECKPOINT_REMEDY ", in the work tree whose files were saved");
	} else if (ok) {
		check(x, name, true,
			arena_printf(x->a, "%llu, all can be restored", (unsigned long long)sum.checkpoints));
	}
}

/* ---- what is adopted ---- */

/* Directories that were adopted as context and have gone since. */
static void check_sources(struct exam *x)
{
	struct context_place at = sources_place(x->s, x->a, x->ws);
	struct json *warnings = json_new(x->a, JSON_ARRAY), *list = sources_load(&at, warnings);
	const char *name = arena_printf(x->a, "%s/" CONTEXT_SOURCES, x->ws->state_name);

	json_each (one, warnings)
		check(x, name, false, json_text(one));
	if (!list->n && !warnings->n)
		check(x, name, true, "none adopted");
	json_each (source, list) {
		const char *root = json_get_text(source, "root", "");
		bool ok = file_is_dir(x->s, AT_FDCWD, root);
		check(x, arena_printf(x->a, "context-source:%s", json_get_text(source, "name", "?")), ok,
			ok ? root : arena_printf(x->a, "%s is gone", root));
	}
}

/* Other tools that were found; only worth knowing. */
static void check_onboarding(struct exam *x)
{
	struct json *found = sources_detect(x->s, x->a, x->ws->home);

	json_each_member (m, found) {
		struct json *first = json_at(m->value, 0);
		check(x, arena_printf(x->a, "onboarding:%s", m->name), true,
			arena_printf(x->a, "found %s", json_text(first)));
	}
}

/* What a ledger holds, counted line by line.  `first_bad` and `first_raw` count within the piece that `place` names. */
struct ledger_count {
	struct arena a;
	const char *file;
	size_t rows, bad, raw, line, first_bad, first_raw;
	off_t place, bad_place; /* of the newest line; of the first bad one */
};

static unsigned piece_of(off_t place)
{
	return (unsigned)(place >> LEDGER_PLACE_BITS) + 1;
}

static int count_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct ledger_count *c = arg;
	size_t n;

	(void)line;
	(void)is_whole;
	(void)e;
	c->line = piece_of(place) == piece_of(c->place) ? c->line + 1 : 1;
	c->place = place;
	if (row_is_blank(text))
		return OK;
	c->rows++;
	if (text_utf8(&c->a, (const char *)text.p, text.n, TEXT_BYTE_JSON, &n) != (const char *)text.p &&
		!c->raw++)
		c->first_raw = c->line;
	if (!row_parse(&c->a, text, c->file) && !c->bad++) {
		c->first_bad = c->line;
		c->bad_place = place;
	}
	arena_reset(&c->a);
	return OK;
}

/* How to look at the first bad line: older pieces are packed. */
static const char *how_to_look(struct exam *x, const struct ledger_count *c, const char *path)
{
	int stem = (int)(strlen(path) - strlen(".jsonl")), dir = (int)(path_base(path) - path);

	return piece_of(c->bad_place) == piece_of(c->place)
		? arena_printf(x->a,
			  "sed -n %zup %s shows it; 'helm log repair --yes' keeps such lines aside, on record",
			  c->first_bad, path)
		: arena_printf(x->a,
			  "zstd -dc %.*ssegments/%.*s-%06u.jsonl.zst | sed -n %zup shows it; helm log check says "
			  "what is proven",
			  dir, path, stem - dir, path + dir, piece_of(c->bad_place), c->first_bad);
}

/* Counts lines that are not JSON objects, which other views pass over silently.  Rows with bytes that are
 * not UTF-8, as older versions wrote them, are readable and only worth knowing. */
static void check_ledger(struct exam *x, const char *file)
{
	const char *path = arena_printf(x->a, "%s/%s", x->ws->state_name, file);
	struct ledger_count c = { .file = file };
	struct err e = { 0 };
	int rc = x->ws->state_fd < 0 ? OK : ledger_lines(x->s, x->ws->state_fd, file, 0, count_line, &c, &e);

	arena_done(&c.a);
	if (rc) {
		check(x, path, false, arena_strdup(x->a, e.text));
		return;
	}
	check(x, path, c.bad == 0,
		c.bad ? arena_printf(x->a, "%zu of %zu lines cannot be read, the first is line %zu", c.bad,
				c.rows, c.first_bad)
			: !c.rows ? "no rows yet"
			: c.raw	  ? arena_printf(x->a,
					    "%s; %zu of them, the first is line %zu, with bytes that are "
					      "not UTF-8, as older versions wrote them: they are shown as \\xHH, "
					      "and nothing needs to be done",
					    text_count(x->a, (int64_t)c.rows, "row"), c.raw, c.first_raw)
				  : text_count(x->a, (int64_t)c.rows, "row"));
	if (c.bad)
		json_sets(x->a, x->checks->items[x->checks->n - 1], "remedy", how_to_look(x, &c, path));
}

struct shown_count {
	size_t lines, changed;
};

static int count_shown(void *arg, const char *sha256, const struct json *shown, struct err *e)
{
	struct shown_count *c = arg;

	(void)sha256;
	(void)e;
	c->lines++;
	c->changed += !shown;
	return 0;
}

/* What was asked is kept with limits.  A line that was changed counts as one that is not kept, so it is told and nothing is wrong. */
static void check_shown(struct exam *x)
{
	const char *path = arena_printf(x->a, "%s/" SHOWN_DIR, x->ws->state_name);
	struct shown_usage u = { 0 };
	struct shown_count c = { 0 };
	struct err e = { 0 };
	int rc = shown_usage(x->s, x->a, x->ws->state_fd, &u, &e);

	if (rc == OK)
		rc = shown_each(x->s, x->ws->state_fd, count_shown, &c, &e);
	if (rc) {
		check(x, path, false, arena_strdup(x->a, e.text));
		return;
	}
	const char *text = arena_printf(x->a, "%s of what was asked, %llu KiB of at most %d MiB, for %d days",
		text_count(x->a, (int64_t)c.lines, "line"), (unsigned long long)(u.bytes + 1023) >> 10,
		SHOWN_MOST_BYTES >> 20, SHOWN_MOST_DAYS);
	if (u.oldest_us)
		text = arena_printf(x->a, "%s; the oldest is of %s", text, text_time_z(x->a, u.oldest_us));
	if (c.changed)
		text = arena_printf(x->a, "%s; %s changed, and counts as not kept", text,
			c.changed == 1 ? "1 line was" : arena_printf(x->a, "%zu lines were", c.changed));
	check(x, path, true, text);
}

/* The table for people and programs: guarantee, mechanism, whether it was tried. */
static struct json *sandbox_table(struct exam *x, const struct machine *m, unsigned waived)
{
	const enum sandbox_kind kind = machine_sandbox(m);
	struct json *doc = json_new(x->a, JSON_OBJECT), *rows = json_new(x->a, JSON_ARRAY),
		    *not_given = json_new(x->a, JSON_ARRAY);

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		struct json *row = json_new(x->a, JSON_OBJECT);
		json_sets(x->a, row, "guarantee", guarantee_name((enum guarantee)g));
		json_sets(x->a, row, "promise", guarantee_promise((enum guarantee)g));
		json_sets(x->a, row, "mechanism", m->how[kind][g]);
		json_sets(x->a, row, "tested", m->how[kind][g] ? "tried" : "not met");
		json_push(x->a, rows, row);
	}
	for (const char *const *one = sandbox_not_given(kind); *one; one++)
		json_pushs(x->a, not_given, *one);
	json_sets(x->a, doc, "kind", machine_unmet(m) ? NULL : sandbox_kind_name(kind));
	json_sets(x->a, doc, "text", machine_line(x->a, m));
	json_sets(x->a, doc, "place", machine_place(x->s));
	json_seti(x->a, doc, "landlock_abi", m->landlock_abi);
	json_set(x->a, doc, "guarantees", rows);
	json_set(x->a, doc, "not_given", not_given);
	json_set(x->a, doc, "unmet", guarantees_list(x->a, machine_unmet(m)));
	json_set(x->a, doc, "accepted", guarantees_list(x->a, waived));
	json_sets(x->a, doc, "why_not_namespaces", m->why_not_namespaces);
	json_sets(x->a, doc, "why_not_supervised", m->why_not_supervisor);
	json_sets(x->a, doc, "remedy", machine_remedy(x->s, x->a, m));
	return doc;
}

/* Whether a run would have every guarantee, found out by putting up the sandbox.  A machine where an operator has accepted less is never
 * healthy. */
static struct json *check_walls(struct exam *x)
{
	const unsigned waived = posture_waived(x->s, x->a, x->ws);
	struct machine m;

	walls_probe(x->s, x->a, x->ws, &m);
	const unsigned unmet = machine_unmet(&m), refused = unmet & ~waived;
	const char *line = machine_line(x->a, &m);
	check(x, "walls", !unmet && !waived,
		refused		? arena_printf(x->a, "runs are refused: this machine cannot guarantee: %s",
					  guarantees_text(x->a, refused, ", "))
			: unmet ? arena_printf(x->a, "runs go on without: %s; an operator accepted that",
					  guarantees_text(x->a, unmet, ", "))
			: waived
			? arena_printf(x->a,
				  "every guarantee is met, and an operator has accepted that runs go on without: %s",
				  guarantees_text(x->a, waived, ", "))
			: line);
	if (refused)
		remedy(x,
			arena_printf(x->a, "%s; or accept less: helm workspace trust --degraded %s",
				machine_remedy(x->s, x->a, &m), guarantees_text(x->a, unmet, ",")));
	else if (waived)
		remedy(x, "helm workspace trust --degraded no");
	return sandbox_table(x, &m, waived);
}

/* What the kernel lacks is only told: profiles that need it refuse by themselves. */
static void check_protections(struct exam *x)
{
	struct json *have = json_get(kernel_about(x->s, x->a), "protections");
	int64_t abi = json_get_int(have, "landlock_abi", 0);

	check(x, "kernel:landlock", true,
		abi ? arena_printf(x->a, "ABI %d", (int)abi)
		    : "not offered by this kernel; profiles cannot be enforced here");
	check(x, "kernel:seccomp", true,
		json_get_bool(have, "seccomp", false) ? "offered" : "not offered by this kernel");
}

/* A guard that looks installed and is not armed is worse than none, so it is a failure.  No guard at all is
 * only told. */
static void check_clients(struct exam *x)
{
	struct setup s;
	struct err e = { 0 };

	if (setup_open(x->s, x->a, x->ws, NULL, &s, &e))
		return;
	const struct json *rows = setup_status(&s, NULL);
	json_each (row, rows) {
		const char *client = json_get_text(row, "client", ""),
			   *scope = json_get_text(row, "scope", ""), *state = json_get_text(row, "state", ""),
			   *file = json_get_text(row, "file", "");
		bool is_absent = text_eq(state, "absent");
		bool is_well = is_absent || text_eq(state, "unknown") || json_get_bool(row, "armed", false);
		char *dir = arena_strndup(x->a, file, (size_t)(path_base(file) - file) - 1);
		if (is_absent && !file_is_dir(x->s, AT_FDCWD, dir))
			continue;
		check(x, arena_printf(x->a, "agent:%s:%s", client, scope), is_well,
			arena_printf(x->a, "%s: %s", state, json_get_text(row, "detail", "")));
		json_each (w, json_get(row, "warnings"))
			check(x, arena_printf(x->a, "agent:%s:%s", client, scope), true,
				arena_printf(x->a, "note: %s", json_text(w)));
	}
}

/* Was this found wrong by standing()?  A name can be there more than once; each time is a row. */
static void check_standing(struct exam *x, const struct json *now, const char *name, const char *fine)
{
	bool ok = true;

	json_each (w, json_get(now, "wrong")) {
		if (!text_eq(json_get_text(w, "name", ""), name))
			continue;
		ok = false;
		check(x, name, false, json_get_text(w, "text", ""));
		json_sets(
			x->a, x->checks->items[x->checks->n - 1], "remedy", json_get_text(w, "remedy", NULL));
	}
	if (ok)
		check(x, name, true, fine);
}

/* How agents' calls came out, in words. */
static const char *counted(struct exam *x, const struct json *n)
{
	return arena_printf(x->a, "%lld passed, %lld asked, %lld refused",
		(long long)json_get_int(n, "passed", 0), (long long)json_get_int(n, "asked", 0),
		(long long)json_get_int(n, "refused", 0));
}

/* What a killed rotation leaves is no defect: whoever loads the key next settles it, which may be the doctor himself.  So this is asked
 * first. */
static const char *key_says(const struct exam *x)
{
	const char *home = x->ws->helm_home;

	return home && keys_are_changing(x->s, x->a, AT_FDCWD, arena_printf(x->a, "%s/keys", home))
		? "readable, and the one that signs; a rotation is under way or was interrupted (keys/next.key): "
		  "whoever loads the key next finishes or undoes it"
		: "readable, and the one that signs";
}

/* The facts of standing() as rows.  A freeze is no defect of the machinery, but nothing works while it
 * lasts. */
static void check_state(struct exam *x, const struct json *now)
{
	const struct json *profile = json_get(now, "profile"), *calls = json_get(now, "calls"),
			  *approvals = json_get(now, "approvals"), *freeze = json_get(now, "freeze");
	struct arena *a = x->a;

	check_standing(x, now, "state", "can be written");
	if (json_get(now, "free_bytes"))
		check_standing(x, now, "free-space",
			arena_printf(a, "%lld MiB", (long long)(json_get_int(now, "free_bytes", 0) >> 20)));
	check_standing(x, now, "record", "the newest receipts continue each other");
	check_standing(x, now, "key", x->key_says);
	check_standing(x, now, "profiles", "readable");
	check_standing(x, now, "settings",
		arena_printf(a, "profile %s, destructive=%s", json_get_text(profile, "name", "-"),
			json_get_text(profile, "destructive", "-")));
	check_standing(x, now, "policy", "readable");
	check_standing(x, now, "autorun", "every run has cleaned up behind itself");
	check_standing(x, now, "trust", "the tree says nothing that nobody accepted");
	json_each (f, freeze) {
		const char *who = json_get_text(f, "principal", "*");
		check(x, "freeze", false,
			arena_printf(a, "%s is frozen since %s%s%s: %s",
				text_eq(who, "*") ? "everything" : who, json_get_text(f, "since", "?"),
				json_get(f, "by") ? " by " : "", json_get_text(f, "by", ""),
				json_get_text(f, "reason", "")));
		json_sets(a, x->checks->items[x->checks->n - 1], "remedy",
			text_eq(who, "*") ? "helm unfreeze"
				: text_starts(who, FREEZE_FLEET_PERSON)
				? "a person whom the fleet's root key names lifts it"
				: text_eq(who, FREEZE_FLEET)
				? "the centre of the fleet lifts it"
				: arena_printf(a, "helm unfreeze --principal %s", who));
	}
	if (!freeze || !freeze->n)
		check_standing(x, now, "freeze", "nothing is frozen");
	json_each (p, json_get(now, "paused")) {
		const char *name = json_get_text(p, "profile", "");
		check(x, "pauses", false,
			arena_printf(a, "the profile %s is paused since %s: %s", name,
				json_get_text(p, "since", "?"), json_get_text(p, "reason", "")));
		json_sets(a, x->checks->items[x->checks->n - 1], "remedy",
			arena_printf(a, "helm profile resume %s --token TOKEN", name));
	}
	if (!json_get(now, "paused") || !json_get(now, "paused")->n)
		check_standing(x, now, "pauses", "no profile is paused");
	check_standing(
		x, now, "fleet", "nothing is wrong with what this machine and a fleet say of each other");
	check_standing(x, now, "checkpoints", "readable");
	check_standing(x, now, "files", "every other file of the state is readable");
	check_standing(x, now, "approvals",
		arena_printf(a, "%lld waiting, %s in force%s",
			(long long)json_get_int(approvals, "pending", 0),
			text_count(a, json_get_int(approvals, "grants_in_force", 0), "grant"),
			json_get_int(approvals, "pending", 0) ? "; 'helm approval list' shows them" : ""));
	check(x, "agent-calls", true,
		arena_printf(a, "last hour: %s; last 24 hours: %s", counted(x, json_get(calls, "last_hour")),
			counted(x, json_get(calls, "last_24_hours"))));
	check(x, "containment", true, json_get_text(json_get(now, "containment"), "text", ""));
}

/* What kind of machine this is, for advice about local models. */
static struct json *hardware(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct utsname host;
	struct sysinfo info;

	if (uname(&host) == 0) {
		json_sets(a, doc, "os_name", host.sysname);
		json_sets(a, doc, "machine", host.machine);
	}
	if (sysinfo(&info) == 0) {
		int64_t gib = (int64_t)(info.totalram * info.mem_unit >> 30);
		json_seti(a, doc, "memory_total_gb", gib);
		json_setb(a, doc, "low_ram", gib <= 17);
	}
	return doc;
}

/* How commands are judged here. */
static struct json *guard_facts(struct exam *x)
{
	static const char *const unknown[] = {
		[UNKNOWN_ALLOW] = "allow", [UNKNOWN_ASK] = "require_approval", [UNKNOWN_DENY] = "deny"
	};
	TABLE_COVERS(unknown, UNKNOWN_RULES);
	struct json *doc = json_new(x->a, JSON_OBJECT);
	const struct profile *p;
	const char *name;
	struct guard g;
	bool is_open = x->ws->exists && guard_open(x->s, x->a, x->ws, NULL, &g, NULL) == OK;

	json_sets(x->a, doc, "default_mode", is_open ? guard_mode_name(policy_default_mode(g.policy)) : NULL);
	json_sets(x->a, doc, "unknown_command_action",
		is_open && guard_profile(&g, x->a, NULL, &name, NULL) == OK &&
				(p = profiles_find(&g.profiles, name))
			? unknown[p->unknown_tool]
			: NULL);
	json_sets(x->a, doc, "policy_file",
		x->ws->exists && file_exists(x->s, x->ws->root_fd, "references/guard_policy.json")
			? "references/guard_policy.json"
			: NULL);
	return doc;
}

/* What the tree says about models; none is called. */
static struct json *model_health(struct exam *x)
{
	static const char policy[] = "references/model_recovery_policy.json";
	struct arena *a = x->a;
	struct json *doc = json_new(a, JSON_OBJECT), *names = json_new(a, JSON_ARRAY), *rules = NULL,
		    *state = NULL, *last;

	if (x->ws->exists)
		(void)doc_read(x->s, a, x->ws->root_fd, policy, 16 << 20, 0, &rules, NULL);
	const char *path = json_get_text(
		rules, "state_path", arena_printf(a, "%s/model-health-state.json", x->ws->state_name));
	json_each (m, json_get(rules, "models"))
		json_pushs(a, names, json_get_text(m, "ref", json_get_text(m, "model", json_text(m))));
	if (x->ws->exists)
		(void)doc_read(x->s, a, x->ws->root_fd, path, 16 << 20, FILE_BENEATH, &state, NULL);
	last = json_get(state, "selected_model");
	json_sets(a, doc, "policy_path", policy);
	json_sets(a, doc, "state_path", path);
	json_set(a, doc, "configured_models", names);
	json_set(a, doc, "selected_model", last ? last : json_new(a, JSON_NULL));
	json_sets(a, doc, "last_selection", json_get_text(last, "checked_at", NULL));
	return doc;
}

/* What could be reached.  Nothing is called: both switches say that no model is used by helm itself. */
static void discover(struct exam *x, struct json *doc)
{
	struct arena *a = x->a;
	struct json *found = json_new(a, JSON_OBJECT), *runtime = json_new(a, JSON_OBJECT),
		    *mind = json_new(a, JSON_OBJECT), *state = health_providers(x->s, a);
	bool cloud = json_get(state, "cloud")->n, local = json_get(state, "local")->n;

	json_sets(a, runtime, "kind", layout_name(x->ws->layout));
	json_sets(a, runtime, "root", x->ws->root);
	json_set(a, runtime, "markers", x->ws->markers);
	json_sets(a, mind, "mode",
		cloud && local	? "optional_hybrid_available"
			: cloud ? "optional_cloud_available"
			: local ? "optional_local_available"
				: "deterministic_only");
	json_setb(a, mind, "cloud_calls_enabled", false);
	json_setb(a, mind, "local_model_calls_enabled", false);
	struct json *machine = hardware(a), *strategy = json_new(a, JSON_OBJECT),
		    *warnings = json_new(a, JSON_ARRAY), *index = NULL;
	json_sets(a, strategy, "mode", json_get_text(mind, "mode", ""));
	json_sets(a, strategy, "reason", "nothing in helm needs a model");
	if (!cloud && !local)
		json_pushs(a, warnings,
			"no provider of models is known from the environment, and none answers here");
	if (x->ws->state_fd >= 0)
		(void)index_status(
			&(struct index_place){ x->s, a, x->ws->state_dir, x->ws->state_fd }, &index);
	json_set(a, found, "runtime", runtime);
	json_set(a, found, "hardware", machine);
	json_set(a, found, "runtime_model_state", state);
	json_set(a, found, "helm_intelligence_state", mind);
	json_set(a, found, "strategy", strategy);
	json_set(a, found, "warnings", warnings);
	json_set(a, found, "ops_db", index ? index : json_new(a, JSON_NULL));
	json_set(a, doc, "discovery", found);
	json_set(a, doc, "hardware", machine);
	json_set(a, doc, "runtime_model_state", state);
	json_set(a, doc, "helm_intelligence_state", mind);
	json_set(a, doc, "guard", guard_facts(x));
}

static void step_index(void *arg, uint64_t done, uint64_t total)
{
	const struct doctor_options *options = arg;

	options->step(options->arg, "receipts brought into the index", done, total);
}

/* Goes on after every failure, so that one report shows everything. */
struct json *doctor_run(
	struct sys *s, struct arena *a, struct workspace *ws, const struct doctor_options *options)
{
	static const char *const directories[] = { "skills", "skill_drafts", "memory" };
	struct exam x = { s, a, ws, json_new(a, JSON_ARRAY), true, options, NULL };
	x.key_says = key_says(&x);
	struct machine m;
	machine_look(s, a, ws->helm_home, &m); /* for standing(), which only recalls it */
	const struct index_progress shown = { step_index, (void *)options };
	struct json *doc = json_new(a, JSON_OBJECT),
		    *now = standing_patient(s, a, ws, options->step ? &shown : NULL);

	check(&x, "workspace", ws->exists,
		ws->exists ? ws->root
			   : arena_printf(a, "%s does not exist; 'helm init --path %s' creates it", ws->root,
				     ws->root));
	for (size_t i = 0; i < SHIPPED_COUNT && ws->exists; i++)
		if (SHIPPED_FILES[i].use == SHIPPED_REQUIRED)
			check_reference(&x, SHIPPED_FILES[i].to);
	for (size_t i = 0; i < ARRAY_SIZE(directories) && ws->exists; i++)
		check_directory(&x, directories[i]);
	if (ws->exists) {
		check_directory(&x, ws->state_name);
		check_directory(&x, arena_printf(a, "%s/checkpoints", ws->state_name));
		check_leftovers(&x);
		check_archives(&x);
		check_vault(&x);
		check_sources(&x);
		check_ledger(&x, TASK_LEDGER);
		check_ledger(&x, COMMAND_LOG);
		check_ledger(&x, TOOL_CALLS);
		check_ledger(&x, EGRESS_LOG);
		check_ledger(&x, MEMORY_ENTRIES);
		check_ledger(&x, MEMORY_OPERATIONS);
		check_shown(&x);
		if (ws->state_fd >= 0)
			check_state(&x, now);
		if (ws->state_fd >= 0)
			check_verdict(&x, json_get(now, "wrong"));
		if (options->deep && ws->state_fd >= 0)
			check_whole_store(&x);
	}
	check_keys(&x);
	check_operator_files(&x);
	check_onboarding(&x);
	bool foreign = ws->layout == LAYOUT_OPENCLAW || ws->layout == LAYOUT_HERMES;
	check(&x, "workspace-separation", !foreign,
		foreign ? "this is another runtime's workspace; give Helm one of its own with 'helm init "
			  "--path DIR'"
			: "separate");
	check(&x, "ops-db", true,
		ws->exists && file_exists(s, ws->root_fd, path_join(a, ws->state_name, INDEX_FILE))
			? "present; 'helm db verify' compares it with the ledgers"
			: "not made yet; views make it");
	struct json *health = model_health(&x);
	check(&x, "model-health", true,
		arena_printf(a, "%u models are named in %s", json_get(health, "configured_models")->n,
			json_get_text(health, "policy_path", "")));
	check_clients(&x);
	check_protections(&x);
	struct json *sandbox = ws->exists ? check_walls(&x) : NULL;
	json_sets(a, doc, "workspace", ws->root);
	json_sets(a, doc, "layout", layout_name(ws->layout));
	json_setb(a, doc, "healthy", x.healthy);
	json_set(a, doc, "reasons", json_get(now, "reasons"));
	json_set(a, doc, "notes", json_get(now, "notes"));
	json_set(a, doc, "checks", x.checks);
	if (sandbox)
		json_set(a, doc, "sandbox", sandbox);
	if (!options->skip_discovery)
		discover(&x, doc);
	json_set(a, doc, "model_health", health);
	return doc;
}
