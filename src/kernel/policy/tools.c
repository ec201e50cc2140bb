/* tools.c — which programs a command starts, by the names that policies have for them. */
#include "kernel/policy/policy.h"

#include "base/file.h"
#include "base/text.h"

#include <string.h>

enum { MOST_TOOLS = 64, LONGEST_NAME = 4096 };

/* Where only the system's own programs lie, so that the name says which one it is. */
static bool is_of_system(const char *path)
{
	static const char *const places[] = { "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/",
		"/usr/local/sbin/" };
	size_t n = strlen(path) - strlen(path_base(path));

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strlen(places[i]) == n && memcmp(places[i], path, n) == 0)
			return true;
	return false;
}

static const char *tool_name(const char *head)
{
	return strchr(head, '/') && is_of_system(head) ? path_base(head) : head;
}

/* What cannot be known beforehand, or finds programs elsewhere than their names say. */
static bool hides_programs(const struct effect *f)
{
	return f->kind == FX_DYNAMIC_EXEC || f->kind == FX_DECODE_EXEC || f->kind == FX_FETCH_EXEC ||
		f->kind == FX_STDIN_SHELL || f->kind == FX_ENVIRONMENT;
}

static void add(struct arena *a, struct json *list, const char *name)
{
	json_each (one, list)
		if (name ? json_text(one) && text_eq(json_text(one), name) : json_is(one, JSON_NULL))
			return;
	if (name && list->n < MOST_TOOLS)
		json_pushs(a, list, name);
	else
		json_push(a, list, json_new(a, JSON_NULL));
}

void policy_tools(struct arena *a, struct policy_question *q, bool is_command)
{
	const struct proposal *p = q->proposal;
	struct json *list = json_new(a, JSON_ARRAY);
	bool is_partial = !p->readable;

	for (size_t i = 0; i < p->step_count && list->n <= MOST_TOOLS; i++) {
		const char *head = p->steps[i].head;
		bool is_known = head && strlen(head) < LONGEST_NAME;
		is_partial |= !is_known;
		if (is_known && *head)
			add(a, list, tool_name(head));
	}
	/* A shell is what would read the text. */
	if (is_command && !list->n)
		json_pushs(a, list, "sh");
	for (size_t i = 0; i < p->effect_count; i++)
		is_partial |= hides_programs(&p->effects[i]);
	if (is_partial)
		add(a, list, NULL);
	if (is_command)
		q->tool = json_text(json_at(list, 0));
	q->tools = list->n ? list : NULL;
}
