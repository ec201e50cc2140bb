/* hosts.c — rules for hosts: collecting those that hold, and a person's act that adds or takes away one. */
#include "kernel/hosts.h"

#include "base/text.h"
#include "kernel/posture.h"
#include "model/terms.h"

/* A contract that names hosts leaves none that it does not name. */
static bool is_contracted(const struct profile *p, const char *rule)
{
	if (!p->terms || !p->terms->has_hosts)
		return true;
	for (const char *const *host = p->terms->hosts; *host; host++)
		if (text_eq(*host, rule))
			return true;
	return false;
}

/* A rule in the word that is none was written by a later version: it opens nothing. */
void hosts_of(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	struct egress_rules *ret)
{
	*ret = (struct egress_rules){ 0 };
	for (size_t i = 0; i < p->egress_count; i++)
		(void)egress_add(a, ret, p->egress[i], arena_printf(a, "profile %s", p->name), NULL);
	if (ws)
		json_each (rule, json_get(posture_of(s, ws)->word, "egress"))
			if (json_text(rule) && is_contracted(p, json_text(rule)))
				(void)egress_add(a, ret, json_text(rule), "a person", NULL);
}

struct change {
	const char *rule;
	bool is_removed;
};

static int edit(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct change *c = arg;
	struct json *list = json_new(a, JSON_ARRAY);
	bool was_there = false;

	json_each (rule, json_get(word, "egress")) {
		if (json_text(rule) && text_eq(json_text(rule), c->rule))
			was_there = true;
		else
			json_push(a, list, rule);
	}
	if (c->is_removed && !was_there)
		return err_set(e, E_MISSING, "HOST_NOT_ALLOWED", "nobody has allowed '%s' here", c->rule);
	if (!c->is_removed)
		json_pushs(a, list, c->rule);
	json_set(a, word, "egress", list);
	return OK;
}

int hosts_allow(struct kernel *k, struct arena *a, const char *rule, bool is_removed, const char *executor,
	struct json **ret_receipt, struct err *e)
{
	struct egress_rules one = { 0 };
	struct json *about = json_new(a, JSON_OBJECT);
	int rc = egress_add(a, &one, rule, "a person", e);

	if (rc)
		return rc;
	/* A list keeps its name, so that it grows with the program; everything else is kept as it would be written again. */
	struct change c = { rule[0] == '@' ? rule : one.list[0].text, is_removed };
	json_sets(a, about, "host", c.rule);
	return posture_change(k, a,
		&(struct act){ .effect_id = is_removed ? "helm.host/forbid" : "helm.host/allow",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		edit, &c, ret_receipt, e);
}

struct json *hosts_row(struct arena *a, const struct json *record, const char *task_id, const char *profile)
{
	static const char *const texts[] = { "host", "address", "via", "verdict", "reason", "rule" };
	static const char *const numbers[] = { "port", "bytes_out", "bytes_in", "duration_ms" };
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "task_id", task_id);
	json_sets(a, row, "profile", profile);
	json_sets(a, row, "at", text_time_iso(a, json_get_int(record, "at", 0)));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_sets(a, row, texts[i], json_get_text(record, texts[i], NULL));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_seti(a, row, numbers[i], json_get_int(record, numbers[i], 0));
	return row;
}
