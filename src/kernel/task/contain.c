/* contain.c — whether the shell calls of a client are contained here: a person's standing word, client by client.
 *
 * `helm setup CLIENT` says so where the client can be told another command.  To be contained is the stricter state, so anybody may begin
 * it; to end it is a person's act. */
#include "kernel/task/contain.h"
#include "base/doc.h"
#include "kernel/posture.h"

bool contain_is_decided(struct sys *s, const struct workspace *ws, const char *client)
{
	return json_get(json_get(posture_of(s, ws)->word, "contain"), client);
}

bool contain_is_on(struct sys *s, const struct workspace *ws, const char *client)
{
	return json_get_bool(json_get(posture_of(s, ws)->word, "contain"), client, false);
}

struct choice {
	const char *client;
	bool on;
};

static int choose(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct choice *c = arg;
	(void)e;
	json_setb(a, doc_part(a, word, "contain"), c->client, c->on);
	return OK;
}

int contain_set(struct kernel *k, struct arena *a, const char *client, bool on, const char *executor,
	struct json **ret_receipt, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);
	struct choice c = { client, on };

	json_sets(a, about, "client", client);
	json_sets(a, about, "contain", on ? "on" : "off");
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.setup/contain",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		choose, &c, ret_receipt, e);
}
