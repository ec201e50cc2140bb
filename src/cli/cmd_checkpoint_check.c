/* cmd_checkpoint_check.c — checkpoint check and repair: is what was saved still there, and what to do when it is not. */
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/workspace.h"
#include "record/record.h"

#include <inttypes.h>

/* A screen's worth; --json lists everything. */
enum { FINDINGS_SHOWN = 40 };

const struct opt checkpoint_check_opts[] = {
	{ "read-data", OPT_FLAG, NULL, "read and hash every saved byte, too", NULL, false },
	{ 0 },
};
const struct opt checkpoint_repair_opts[] = {
	CONFIRM_OPTIONS,
	{ 0 },
};

static const char *shown_member(struct cli *r, const struct json *row, const char *name)
{
	const char *text = json_get_text(row, name, "");

	return text_safe(r->a, text, strlen(text), false);
}

/* ---- check ---- */

static void put_finding(struct cli *r, const struct json *f)
{
	static const char *const names[] = { "checkpoint_id", "path", "pack" };
	struct buf where;

	buf_init(&where, r->a);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get_text(f, names[i], NULL))
			buf_addf(&where, "%s%s", where.n ? " " : "", shown_member(r, f, names[i]));
	out(r, "%sdamaged%s  %s%s%s\n", paint(r, PAINT_BAD), paint(r, PAINT_OFF), where.n ? where.p : "",
		where.n ? ": " : "", shown_member(r, f, "text"));
}

static void say_checked(struct cli *r, const struct checkpoint_checked *found, bool read_data)
{
	json_each (f, found->findings)
		if (f_p - found->findings->items < FINDINGS_SHOWN)
			put_finding(r, f);
	if (found->findings->n > FINDINGS_SHOWN)
		out(r, "... and %u more; --json lists them all\n", found->findings->n - FINDINGS_SHOWN);
	out(r, "%" PRIu64 " checkpoints, %" PRIu64 " packs, %" PRIu64 " objects, %s\n", found->checkpoints,
		found->packs, found->objects,
		read_data ? "every byte read" : "content not read (--read-data reads it)");
	if (found->lost)
		out(r, "%" PRIu64 " files were lost and named by an earlier repair\n", found->lost);
	if (found->findings->n)
		out(r, "repair with:\n  %s\n", hint(r, CHECKPOINT_REMEDY));
	else
		out(r, "no damage found\n");
}

int cmd_checkpoint_check(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct shown shown = { .r = r };
	struct checkpoint_progress progress = { show_step, &shown };
	struct checkpoint_check how = { .read_data = opt_flag(r, "read-data"), .progress = &progress };
	struct checkpoint_checked found;

	if (checkpoint_cli_open(r, &st, e))
		return e->rc;
	int rc = checkpoint_check_store(&st, &how, &found, e);
	show_end(&shown);
	if (rc)
		return rc;
	if (!r->is_json) {
		say_checked(r, &found, how.read_data);
		return found.findings->n ? EXIT_NO : 0;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_setb(r->a, doc, "sound", !found.findings->n);
	json_setb(r->a, doc, "read_data", how.read_data);
	json_seti(r->a, doc, "checkpoints", (int64_t)found.checkpoints);
	json_seti(r->a, doc, "packs", (int64_t)found.packs);
	json_seti(r->a, doc, "objects", (int64_t)found.objects);
	json_seti(r->a, doc, "lost", (int64_t)found.lost);
	json_set(r->a, doc, "findings", found.findings);
	json_sets(r->a, doc, "remedy", found.findings->n ? CHECKPOINT_REMEDY : NULL);
	out_json(r, doc);
	return found.findings->n ? EXIT_NO : 0;
}

/* ---- repair ---- */

static struct json *repaired_json(struct cli *r, const struct checkpoint_repaired *done, bool is_dry_run)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_setb(r->a, doc, "dry_run", is_dry_run);
	json_setb(r->a, doc, "changed", done->is_changed);
	json_sets(r->a, doc, "index", done->index);
	json_seti(r->a, doc, "checkpoints", done->checkpoints);
	json_seti(r->a, doc, "recovered", done->recovered);
	json_set(r->a, doc, "packs", done->packs);
	json_seti(r->a, doc, "bad_objects", (int64_t)done->bad_objects);
	json_seti(r->a, doc, "resaved", (int64_t)done->resaved);
	json_set(r->a, doc, "lost", done->lost);
	return doc;
}

static void say_repaired(struct cli *r, const struct checkpoint_repaired *done, bool is_dry_run)
{
	const char *would = is_dry_run ? "would be " : "";
	uint32_t n = 0;

	if (!done->is_changed) {
		out(r, "nothing to repair: %u checkpoints, every byte read\n", done->checkpoints);
		return;
	}
	if (done->index) {
		out(r, "%s\n", text_safe(r->a, done->index, strlen(done->index), false));
		out(r, "the list %smade anew: %u checkpoints", would, done->checkpoints);
		if (done->recovered)
			out(r, ", %u of them only known by their files (labelled recovered)",
				done->recovered);
		out(r, "\n");
	}
	json_each (name, done->packs)
		out(r, "damaged, %smoved to checkpoints/damaged: %s\n", would, json_text(name));
	if (done->resaved)
		out(r, "%ssaved anew from the work tree: %" PRIu64 " files\n", would, done->resaved);
	json_each (row, done->lost) {
		if (n++ == FINDINGS_SHOWN)
			break;
		out(r, "%slost%s  %s  %s: %s\n", paint(r, PAINT_BAD), paint(r, PAINT_OFF),
			shown_member(r, row, "checkpoint_id"),
			json_get_text(row, "path", NULL) ? shown_member(r, row, "path") : "all of it",
			shown_member(r, row, "reason"));
	}
	if (done->lost->n > FINDINGS_SHOWN)
		out(r, "... and %u more; --json lists them all\n", done->lost->n - FINDINGS_SHOWN);
	out(r, done->lost->n ? "%u lost; everything else can be restored\n" : "nothing is lost\n",
		done->lost->n);
}

/* A repair that changed something is on record: what was wrong, and what is lost. */
static int record_repair(struct cli *r, const struct checkpoint_repaired *done, struct err *e)
{
	struct json *task = json_new(r->a, JSON_OBJECT), *about = repaired_json(r, done, false),
		    *digests = json_new(r->a, JSON_ARRAY);
	char digest[SHA256_HEX];
	const char *now = text_time_iso(r->a, r->sys->now_us(r->sys));
	char *id;

	if (!done->is_changed)
		return OK;
	if (record_new_task_id(r->a, r->sys, &id, e))
		return e->rc;
	/* The ledger names the first of what is lost; the manifests name all. */
	json_seti(r->a, about, "lost_count", done->lost->n);
	struct json *first = json_new(r->a, JSON_ARRAY);
	for (uint32_t i = 0; i < done->lost->n && i < FINDINGS_SHOWN; i++)
		json_push(r->a, first, done->lost->items[i]);
	json_set(r->a, about, "lost", first);
	json_sets(r->a, task, "task_id", id);
	json_sets(r->a, task, "task_name", "checkpoint repair");
	json_sets(r->a, task, "command_preview", "helm checkpoint repair");
	json_sets(r->a, task, "status", "completed");
	json_sets(r->a, task, "started_at", now);
	json_sets(r->a, task, "finished_at", now);
	json_set(r->a, task, "repair", about);
	if (ledger_append(r->sys, r->a, r->ws->state_fd, TASK_LEDGER, task, digest, e))
		return e->rc;
	json_pushs(r->a, digests, digest);
	cmd_task_bind(r, "repair", id, digests);
	return OK;
}

/* Exit code 1 says that something is lost, and was named. */
static int repair(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct shown shown = { .r = r };
	struct checkpoint_progress progress = { show_step, &shown };
	struct checkpoint_repair how = { .is_dry_run = is_dry, .progress = &progress };
	struct checkpoint_repaired done;

	if (checkpoint_cli_open(r, &st, e))
		return e->rc;
	int rc = checkpoint_repair_store(&st, &how, &done, e);
	show_end(&shown);
	if (rc)
		return rc;
	if (!how.is_dry_run && record_repair(r, &done, e))
		return e->rc;
	if (r->is_json)
		out_json(r, repaired_json(r, &done, how.is_dry_run));
	else
		say_repaired(r, &done, how.is_dry_run);
	*ret_has_work = done.is_changed;
	return done.lost->n ? EXIT_NO : 0;
}

int cmd_checkpoint_repair(struct cli *r, struct err *e)
{
	return confirm_and_do(r, repair, "repair it?", e);
}
