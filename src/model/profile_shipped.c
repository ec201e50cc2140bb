/* profile_shipped.c — the shipped profiles, from tables: reading their text would take longer than most of what a hook does. */
#include "model/profile_shipped.h"

#include "base/json.h"

static const char *text_at(uint16_t distance)
{
	return distance ? profile_texts + distance : NULL;
}

static size_t list_at(struct arena *a, struct shipped_list where, const char *const **ret)
{
	const char **list = where.from ? arena_zalloc(a, where.n + 1u, sizeof(*list)) : NULL;

	for (size_t i = 0; i < where.n; i++)
		list[i] = text_at(profile_lists[where.from + i]);
	*ret = list;
	return where.n;
}

static void hosts_at(struct arena *a, struct shipped_list where, struct egress_rules *ret)
{
	if (!where.n)
		return;
	*ret = (struct egress_rules){ arena_zalloc(a, where.n, sizeof(*ret->list)), where.n, where.n };
	for (size_t i = 0; i < where.n; i++) {
		const struct shipped_host *h = &profile_hosts[where.from + i];
		struct egress_rule *to = &ret->list[i];
		to->text = text_at(h->text);
		to->from = text_at(h->from);
		to->host = text_at(h->host);
		to->is_below = h->is_below;
		to->port = h->port;
		memcpy(to->address, h->address, sizeof(to->address));
	}
}

static void read_row(struct arena *a, const struct shipped_profile *s, struct profile *p)
{
	*p = (struct profile){ .name = text_at(s->name),
		.description = text_at(s->description),
		.backend = text_at(s->backend),
		.runtime_backend = text_at(s->runtime_backend),
		.runtime_target_kind = text_at(s->runtime_target_kind),
		.isolation = text_at(s->isolation),
		.browser_policy_ref = text_at(s->browser_policy_ref),
		.handoff_required = s->handoff_required,
		.writes = (enum allowance)s->writes,
		.network = (enum allowance)s->network,
		.checkpoint = (enum checkpoint_rule)s->checkpoint,
		.reach = (enum network_reach)s->reach,
		.sandbox = (enum sandbox_rule)s->sandbox,
		.destructive = (enum destructive_rule)s->destructive,
		.unknown_tool = (enum unknown_rule)s->unknown_tool,
		.unread = (enum unread_rule)s->unread,
		.contained = (enum contained_rule)s->contained,
		.requires = s->requires,
		.limits = s->limits };
	p->secret_count = list_at(a, s->secrets, &p->secrets);
	p->egress_count = list_at(a, s->egress, &p->egress);
	p->own_path_count = list_at(a, s->own_paths, &p->own_paths);
	p->layer_count = list_at(a, s->layers, &p->layers);
	p->write_path_count = list_at(a, s->write_paths, &p->write_paths);
	p->intended_for_count = list_at(a, s->intended_for, &p->intended_for);
	hosts_at(a, s->hosts, &p->hosts);
	for (size_t i = 0; i < GROUP_COUNT; i++)
		p->tool_rules[i] = (enum tool_rule)s->tool_rules[i];
}

void profiles_builtin(struct arena *a, struct profiles *ret)
{
	*ret = (struct profiles){ .list = arena_zalloc(a, profile_row_count + 1, sizeof(*ret->list)),
		.count = profile_row_count,
		.origin = "built-in" };
	for (size_t i = 0; i < profile_row_count; i++)
		read_row(a, &profile_rows[i], &ret->list[i]);
}

const struct json *profile_document(struct arena *a, const struct profile *p)
{
	struct json *doc;

	if (p->document)
		return p->document;
	if (json_parse(a, profiles_shipped("execution_profiles.json"), "built-in", NULL, &doc, NULL))
		BUG("the shipped profiles are not valid");
	return json_get(json_get(doc, "profiles"), p->name);
}
