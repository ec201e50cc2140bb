/* log_ask.c — asks the keeper of a log's keys: over its socket, or in this process.
 *
 * What comes back counts only when it verifies under the key that whoever asks knows the log by; that is their business, and they have the key from where they
 * trust it.  Here it is only read. */
#include "base/text.h"
#include "kernel/log_keeper.h"
#include "record/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct log_line {
	struct arena a;
	struct log_keeper *keeper; /* in this process, or NULL */
	struct ask_line line;
};

int log_line_open(
	struct sys *s, const char *socket, struct log_keeper *keeper, struct log_line **ret, struct err *e)
{
	struct log_line *l;

	if (!keeper && socket[0] != '/')
		return err_set(e, E_USAGE, "LOG_AWAY",
			"the socket of a signer is a path from the root, not '%s'", socket);
	l = calloc(1, sizeof(*l));
	if (!l)
		mem_exhausted(0);
	l->keeper = keeper;
	ask_open(&l->line, s, keeper ? "" : arena_strdup(&l->a, socket));
	*ret = l;
	return OK;
}

void log_line_close(struct log_line **l)
{
	if (!*l)
		return;
	ask_close(&(*l)->line);
	arena_done(&(*l)->a);
	free(*l);
	*l = NULL;
}

/* The answer, in `a`; an error in it is ours.  With ret_refusal, what came with an error. */
static int question(struct log_line *l, struct arena *a, const char *op, struct json *record,
	struct json **ret, struct json **ret_refusal, struct err *e)
{
	struct bytes text = ask_question(a, op, record);
	struct json *answer;

	if (l->keeper)
		answer = log_keeper_answer(l->keeper, a, 0, (struct bytes){ text.p + 4, text.n - 4 });
	else if (ask(&l->line, text, &answer))
		answer = json_copy(a, answer);
	else
		return err_set(e, E_IO, "LOG_AWAY",
			"the signer of the log at %s does not answer (%s); its user starts it: helm signer log --socket %s",
			l->line.socket, strerror(errno), l->line.socket);
	const char *code = json_get_text(answer, "error", NULL), *why = json_get_text(answer, "text", "");
	if (ret_refusal)
		*ret_refusal = answer;
	if (code)
		return err_set(e, text_eq(code, "LOG_UNKNOWN") ? E_MISSING : E_DENIED, code,
			"the signer of the log refuses: %s", text_safe(a, why, strlen(why), false));
	*ret = answer;
	return OK;
}

static int not_understood(struct err *e)
{
	return err_set(e, E_INPUT, "LOG_FALSE", "the answer of the signer of the log is none");
}

static struct json *about(struct arena *a, const char *name)
{
	struct json *record = json_new(a, JSON_OBJECT);

	json_sets(a, record, "log", name);
	return record;
}

int log_ask_facts(struct log_line *l, struct arena *a, const char *name, struct log_facts *ret, struct err *e)
{
	struct log_facts got = { 0 };
	struct json *answer;
	int rc = question(l, a, "log_facts", about(a, name), &answer, NULL, e);

	if (rc)
		return rc;
	got.order_seq = json_get_int(answer, "order_seq", -1);
	got.order_hash = json_get_text(answer, "order_hash", "");
	if (note_key_parse(a, bytes_of(json_get_text(answer, "log", "")), "log", &got.log, NULL) ||
		note_key_parse(
			a, bytes_of(json_get_text(answer, "control", "")), "control", &got.control, NULL) ||
		tlog_head_parse(a, bytes_of(json_get_text(answer, "last", "")), "last", &got.last, NULL) ||
		got.order_seq < 0)
		return not_understood(e);
	*ret = got;
	return OK;
}

int log_ask_head(struct log_line *l, struct arena *a, const char *name, const struct tlog_head *next,
	const struct tlog_request *request, const char *newest, const char **ret_note, struct err *e)
{
	struct tlog_request bare = *request;
	struct json *record = about(a, name), *answer;

	bare.checkpoint = bytes_of(tlog_head_text(a, next));
	json_sets(a, record, "request", tlog_request_text(a, &bare));
	if (newest)
		json_sets(a, record, "newest", newest);
	int rc = question(l, a, "log_head", record, &answer, NULL, e);
	if (rc)
		return rc;
	const char *note = json_get_text(answer, "note", NULL);
	if (!note)
		return not_understood(e);
	*ret_note = note;
	return OK;
}

int log_ask_order(struct log_line *l, struct arena *a, const char *name, const struct json *order,
	struct json **ret, struct err *e)
{
	struct json *record = about(a, name), *answer, *refusal = NULL;

	json_set(a, record, "order", json_copy(a, order));
	int rc = question(l, a, "log_order", record, &answer, &refusal, e);
	struct json *whole = json_get(refusal, "order");
	if (json_is(whole, JSON_OBJECT))
		*ret = whole;
	return rc || json_is(whole, JSON_OBJECT) ? rc : not_understood(e);
}
