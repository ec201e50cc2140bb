/* egress.c — the door of a run whose profile names hosts: its rules, its rows, and what the receipt says about it.
 *
 * What a run may reach is said by kernel/hosts.h.  Every connection becomes a row of egress.jsonl when it ends.  There can be many, so the receipt
 * carries the digests of the first ones, the sums of all, and one digest: the SHA-256 over the digests of the rows, as hexadecimal text, in the order they were written.
 * The digests of the others stand in notes, rows of TOOL_CALLS, which the next receipt binds; those of a session of contained calls, which
 * has no receipt of its own, stand in the rows of its calls. */
#include "execute/egress/egress.h"
#include "base/text.h"
#include "execute/machine.h"
#include "kernel/hosts.h"
#include "kernel/task/parts.h"

#include <poll.h>
#include <string.h>

enum { ROWS_NAMED = 256 }; /* whose digests stand in the receipt, or in one note, one by one */

int task_egress_open(struct task *t, struct err *e)
{
	struct egress_rules rules;

	sha256_begin(&t->egress.rows);
	t->door_fd = -1;
	if (t->profile->reach != NETWORK_NAMED)
		return OK;
	hosts_of(t->k->sys, t->a, t->k->ws, t->profile, &rules);
	for (const char *const *host = t->spec->session ? t->spec->session->hosts : NULL; host && *host;
		host++)
		if (egress_add(t->a, &rules, *host, t->spec->session->client, e))
			return E_INPUT;
	for (size_t i = 0; i < t->opening_count; i++)
		if (t->openings[i].what == OPENS_HOST &&
			egress_add(t->a, &rules, t->openings[i].target, "an approval", e))
			return E_INPUT;
	int rc = egress_start(
		t->k->sys, t->a, &rules, arena_printf(t->a, "profile %s", t->profile->name), &t->door, e);
	if (rc)
		return rc;
	t->door_fd = egress_records(t->door);
	if (machine_kind(t->k->sys, t->a, t->k->ws->helm_home) == SANDBOX_SUPERVISED &&
		!egress_listen(t->door, e))
		return E_IO;
	return OK;
}

/* The digests that wait, into this row; `a` is its memory. */
static void take_unbound(struct task *t, struct arena *a, struct json *row)
{
	if (t->egress.unbound)
		json_set(a, row, "rows_sha256", json_copy(a, t->egress.unbound));
	t->egress.unbound = NULL;
}

static int put_note(struct task *t, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = json_new(&a, JSON_OBJECT);

	if (!t->egress.unbound)
		return OK;
	json_sets(&a, row, "at", text_time_iso(&a, t->k->sys->now_us(t->k->sys)));
	json_sets(&a, row, "event", "egress");
	json_sets(&a, row, "task_id", t->id);
	take_unbound(t, &a, row);
	return ledger_note(t->k->sys, &a, t->k->ws->state_fd, TOOL_CALLS, row, e);
}

/* A session of calls has no list of digests. */
static int bind_later(struct task *t, const char *digest, struct err *e)
{
	struct egress_sums *sums = &t->egress;

	if (t->digests && sums->admitted + sums->refused < ROWS_NAMED) {
		json_pushs(t->a, t->digests, digest);
		return OK;
	}
	if (!sums->unbound)
		sums->unbound = json_new(t->a, JSON_ARRAY);
	json_pushs(t->a, sums->unbound, digest);
	return sums->unbound->n >= ROWS_NAMED ? put_note(t, e) : OK;
}

static int put_row(void *arg, const struct json *record, struct err *e)
{
	struct task *t = arg;
	struct egress_sums *sums = &t->egress;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = hosts_row(&a, record, t->id, t->profile->name);
	char digest[SHA256_HEX];
	int rc = recorder_row(&t->k->recorder, &a, EGRESS_LOG, row, digest, e);

	if (rc == OK)
		rc = bind_later(t, digest, e);
	if (rc)
		return rc;
	sha256_add(&sums->rows, digest, strlen(digest));
	sums->bytes_out += json_get_int(row, "bytes_out", 0);
	sums->bytes_in += json_get_int(row, "bytes_in", 0);
	if (text_eq(json_get_text(row, "verdict", ""), "admitted")) {
		sums->admitted++;
		return OK;
	}
	sums->refused++;
	const char *host = json_get_text(row, "host", "");
	int64_t port = json_get_int(row, "port", 0);
	if (!sums->refused_first && *host)
		sums->refused_first = port == 80 || port == 443
			? arena_strdup(t->a, host)
			: arena_printf(
				  t->a, strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, (long long)port);
	return OK;
}

/* A row that cannot be written closes the door: what is not on record does not go on. */
static void on_door(void *arg)
{
	struct task *t = arg;
	struct err e = { 0 };

	if (egress_hear(t->door, put_row, t, &e)) {
		t->egress.lost = arena_strdup(t->a, e.text);
		(void)egress_stop(t->door, NULL, NULL, NULL);
	}
	t->door_fd = egress_records(t->door);
}

void task_egress_listen(struct task *t)
{
	if (!t->door)
		return;
	t->run.on_side = on_door;
	t->run.side_arg = t;
	t->run.side_fd = &t->door_fd;
}

int task_egress_close(struct task *t, struct err *e)
{
	struct egress_sums *sums = &t->egress;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct arena *a = t->a;

	if (!t->door)
		return OK;
	int rc = egress_stop(t->door, put_row, t, e);
	if (rc == OK)
		rc = put_note(t, e);
	if (sums->lost)
		rc = err_set(e, E_IO, "EGRESS_ROW", "a connection could not be recorded: %s", sums->lost);
	struct json *doc = json_new(a, JSON_OBJECT);
	sha256_end(&sums->rows, digest);
	hex_encode(digest, SHA256_SIZE, hex);
	json_seti(a, doc, "admitted", sums->admitted);
	json_seti(a, doc, "refused", sums->refused);
	json_seti(a, doc, "bytes_out", sums->bytes_out);
	json_seti(a, doc, "bytes_in", sums->bytes_in);
	json_sets(a, doc, "rows_sha256", hex);
	json_set(a, t->happened, "egress", doc);
	json_set(a, t->row, "egress", doc);
	return rc;
}

/* What a program made of the refusal may say little: one line says which host, and how a person opens just that. */
static void tell_refused(struct task *t, const char *host, int64_t refused)
{
	if (!host)
		return;
	host = text_safe(t->a, host, strlen(host), false);
	const char *text = arena_printf(t->a, "the door refused %lld connection%s, the first to %s; %s",
		(long long)refused, refused == 1 ? "" : "s", host,
		t->profile->terms ? arena_printf(t->a, "the contract of skill '%s' does not have it",
					    t->profile->terms->skill)
				  : arena_printf(t->a, "a person can allow it: helm allow host %s", host));
	t->report->hint = t->report->hint ? arena_printf(t->a, "%s\n%s", t->report->hint, text) : text;
}

void task_egress_tell(struct task *t)
{
	tell_refused(t, t->egress.refused_first, t->egress.refused);
}

/* A connection is told when it ends, which for the last one of a call may be a moment later than the call itself. */
void task_egress_tell_call(struct task *t, struct task *of)
{
	enum { MOMENT_MS = 20 };
	struct egress_sums *sums = &t->egress;
	struct pollfd more = { .fd = t->door_fd, .events = POLLIN };

	if (!t->door)
		return;
	if (more.fd >= 0 && poll(&more, 1, of->result->exit_code ? MOMENT_MS : 0) > 0)
		on_door(t);
	int64_t admitted = sums->admitted - sums->admitted_told, refused = sums->refused - sums->refused_told;
	if (!admitted && !refused)
		return;
	struct json *doc = json_new(of->a, JSON_OBJECT);
	json_seti(of->a, doc, "admitted", admitted);
	json_seti(of->a, doc, "refused", refused);
	if (sums->refused_first)
		json_sets(of->a, doc, "refused_first", sums->refused_first);
	json_set(of->a, of->row, "egress", doc);
	take_unbound(t, of->a, of->row);
	tell_refused(of, sums->refused_first, refused);
	sums->admitted_told = sums->admitted;
	sums->refused_told = sums->refused;
	sums->refused_first = NULL;
}
