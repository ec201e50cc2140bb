/* egress.c — may this leave: destinations against the policy's list, and labelled data.
 *
 * The order is that of the contract: what is denied, protocol, size, names, networks; what is not listed stays here.  A destination
 * that is in doubt is not listed, and one that must be named and is not is refused, too. */
#include "decide/authority/parts.h"

#include "model/egress.h"

#include <string.h>
#include <strings.h>

/* Does the entry of a list, host or host:port, name this authority? */
static bool names(struct arena *a, const struct json *list, const struct authority *to)
{
	const char *why;

	json_each (item, list) {
		struct authority entry;
		if (json_text(item) && authority_of(a, json_text(item), &entry, &why) &&
			text_eq(entry.host, to->host) && (!entry.port || entry.port == to->port))
			return true;
	}
	return false;
}

static bool networks_have(const struct json *list, const struct authority *to)
{
	json_each (item, list)
		if (to->is_address && json_text(item) && egress_in_network(json_text(item), to->address))
			return true;
	return false;
}

const char *egress_objection(struct arena *a, const struct json *policy, const char *destination,
	const char *protocol, int64_t payload_bytes)
{
	const struct json *protocols = json_get(policy, "allowed_protocols");
	int64_t most = json_get_int(policy, "max_payload_bytes", 0);
	struct authority to;
	const char *why;

	if (!authority_of(a, destination, &to, &why))
		return why;
	if (!protocol)
		protocol = to.scheme ? to.scheme : "https";
	if (names(a, json_get(policy, "denied_domains"), &to))
		return "the policy denies this host";
	if (json_is(protocols, JSON_ARRAY) && protocols->n && !texts_have_caseless(protocols, protocol))
		return "the policy does not allow this protocol";
	if (most > 0 && (payload_bytes < 0 || payload_bytes > most))
		return "it is more than the policy allows to leave at once, or its size is not known";
	if (names(a, json_get(policy, "allowed_domains"), &to) ||
		networks_have(json_get(policy, "allowed_cidrs"), &to))
		return NULL;
	return "the policy does not list this host";
}

/* ---- where it goes ---- */

struct outward {
	struct judging *j;
	const struct json *policy;
	const char *protocol;
	int64_t payload;
	size_t count; /* of destinations */
	unsigned values; /* of arguments, so far */
	const char *to, *why; /* of the first that may not be; why NULL: none */
};

/* The first objection is the one that is told; why NULL: there is none. */
static void refuse(struct outward *o, const char *to, const char *why)
{
	o->count++;
	if (!why || o->why)
		return;
	o->why = why;
	o->to = to;
}

static void look_at(struct outward *o, const char *destination)
{
	refuse(o, destination,
		o->why ? NULL : egress_objection(o->j->a, o->policy, destination, o->protocol, o->payload));
}

static bool leaves(enum effect_kind k)
{
	return k == FX_NETWORK || k == FX_REMOTE || k == FX_PUBLISH || k == FX_FETCH_EXEC ||
		k == FX_REVERSE_SHELL;
}

/* Everywhere a command would go, not only the first. */
static void look_at_effects(struct outward *o, const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		if (!leaves(e->kind))
			continue;
		look_at(o, e->target && e->certainty == CERTAIN ? e->target : "");
	}
}

/* ---- addresses among the arguments ---- */

enum { MOST_VALUES = 512, DEEPEST = 16 };

/* Members whose value is an address whatever it looks like. */
static bool is_address_name(const char *name)
{
	static const char *const whole[] = { "url", "uri", "endpoint", "host", "hostname", "href", "webhook",
		"proxy" };
	static const char *const ends[] = { "_url", "_uri", "_endpoint", "_host", "-url", "-uri", "Url",
		"Uri", "URL", "URI" };

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (strcasecmp(name, whole[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends(name, ends[i]))
			return true;
	return false;
}

/* Where a command stands. */
static bool is_command_name(const char *name)
{
	static const char *const names_of[] = { "command", "cmd", "script", "argv", "args", "code" };

	for (size_t i = 0; i < ARRAY_SIZE(names_of); i++)
		if (strcasecmp(name, names_of[i]) == 0)
			return true;
	return false;
}

/* One word with a scheme before it.  A file here is nowhere else. */
static bool is_address(const char *text)
{
	const char *at = text + strspn(text, " \t\r\n"), *mark = strstr(at, "://");

	return mark && mark > at && mark == at + strcspn(at, ":/?# \t\r\n") && !strpbrk(at, " \t\r\n");
}

static void look_at_value(struct outward *o, const char *name, const struct json *v, int depth)
{
	const char *text = json_text(v);
	bool is_named = is_address_name(name);

	if (depth > DEEPEST || ++o->values > MOST_VALUES) {
		refuse(o, name, "it has more arguments than are looked at");
		return;
	}
	if (text && strncasecmp(text, "file:///", strlen("file:///")) == 0)
		return;
	if (text && (is_named || is_address(text)))
		look_at(o, text);
	if (is_named && v->type > JSON_NULL && v->type < JSON_STRING)
		look_at(o, "");
	json_each (item, v)
		look_at_value(o, name, item, depth + 1);
	json_each_member (m, v)
		look_at_value(o, m->name, m->value, depth + 1);
}

/* Texts of a command that was understood have told where they go; objects among them are no part of it. */
static void look_beside_command(struct outward *o, const char *name, const struct json *v)
{
	if (json_is(v, JSON_OBJECT))
		look_at_value(o, name, v, 0);
	json_each (item, v)
		look_beside_command(o, name, item);
}

/* Every address that the arguments name, at any depth: a tool may go to each of them.  A call that was understood, and of which nothing leaves, goes
 * nowhere, whatever stands in its texts. */
static void look_at_params(struct outward *o, const struct json *params)
{
	const struct proposal *p = o->j->ask->proposal;
	bool is_understood = p && p->readable, leaves_here = false;

	for (size_t i = 0; p && i < p->effect_count; i++) {
		is_understood &= p->effects[i].kind != FX_UNKNOWN;
		leaves_here |= leaves(p->effects[i].kind);
	}
	if (is_understood && !leaves_here)
		return;
	json_each_member (m, params)
		if (is_understood && is_command_name(m->name))
			look_beside_command(o, m->name, m->value);
		else
			look_at_value(o, m->name, m->value, 0);
}

/* All destinations that are known of this question. */
static void look_around(struct outward *o, const struct egress_facts *f)
{
	for (size_t i = 0; f && i < f->destination_count; i++)
		look_at(o, f->destinations[i]);
	if (o->j->ask->proposal)
		look_at_effects(o, o->j->ask->proposal);
	look_at_params(o, o->j->ask->params);
	/* Of a copy it is a path. */
	if (!o->count && !o->j->ask->proposal && json_get(o->j->ask->params, "destination"))
		look_at(o, json_get_text(o->j->ask->params, "destination", ""));
}

static void begin(struct outward *o, struct judging *j)
{
	const struct egress_facts *f = j->facts->egress;

	*o = (struct outward){ .j = j,
		.policy = f && f->policy ? f->policy : section_of(j, "egress"),
		.protocol = f ? f->protocol : NULL,
		.payload = f ? f->payload_bytes : -1 };
}

void gate_egress(struct judging *j, struct gate_answer *ret)
{
	struct outward o;

	begin(&o, j);
	if (!o.policy)
		return;
	ret->is_active = true;
	look_around(&o, j->facts->egress);
	if (!o.count && texts_have(json_get(o.policy, "effects"), j->ask->effect_type)) {
		o.why = "it does not say where it goes";
		o.to = "";
	}
	if (!o.why)
		return;
	gate_deny(ret, REASON_DATA_EGRESS_BLOCKED, "egress",
		arena_printf(j->a, "It may not leave to '%.200s': %s.", o.to, o.why));
	bind_text(j, ret, "destination_hash", json_sha256(j->a, json_string(j->a, o.to)));
}

/* ---- labels ---- */

/* Words of a text, cut at blanks, commas and semicolons. */
static void add_words(struct arena *a, struct json *to, const char *text)
{
	static const char cuts[] = ",; \n\t\r";

	for (const char *at = text + strspn(text, cuts); *at; at += strspn(at, cuts)) {
		size_t n = strcspn(at, cuts);
		const char *word = text_fold(a, at, n);
		if (!texts_have(to, word))
			json_pushs(a, to, word);
		at += n;
	}
}

static void add_labels(struct arena *a, struct json *to, const struct json *from)
{
	if (json_text(from))
		add_words(a, to, json_text(from));
	json_each (item, from)
		if (json_text(item))
			add_words(a, to, json_text(item));
}

const struct json *taint_labels(struct arena *a, const struct json *facts_taint, const struct json *context)
{
	struct json *labels = json_new(a, JSON_ARRAY);

	add_labels(a, labels, facts_taint);
	add_labels(a, labels, json_get(context, "taint"));
	add_labels(a, labels, json_get(context, "taint_labels"));
	return labels;
}

bool taint_has(const struct json *labels, const char *label)
{
	return texts_have(labels, label);
}

/* Labelled data that would leave.  The policy may name other labels, or hosts to which some may go. */
void gate_taint(struct judging *j, struct gate_answer *ret)
{
	static const char *const kept[] = { "pii", "credential", "secret" };
	const struct json *labels = taint_labels(j->a, j->facts->taint, j->ask->context);
	const struct json *section = section_of(j, "taint"), *more = json_get(section, "stays");
	const char *held = NULL;
	struct outward o;

	ret->is_active = section || j->facts->taint || labels->n;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (taint_has(labels, kept[i]))
			held = kept[i];
	json_each (label, labels)
		if (texts_have(more, label->text))
			held = label->text;
	if (!held)
		return;
	/* An empty list: wherever it goes, there is an objection. */
	begin(&o, j);
	o.policy = json_get(section, "may_go");
	o.payload = 0;
	look_around(&o, j->facts->egress);
	if (j->ask->proposal && json_get(j->ask->params, "destination"))
		look_at(&o, json_get_text(j->ask->params, "destination", ""));
	if (!o.why)
		return;
	gate_deny(ret, REASON_TAINTED_DATA_EGRESS_DENY, "taint",
		arena_printf(j->a, "What led here is labelled '%.40s', and it would leave.", held));
	bind_text(j, ret, "taint_label", held);
}
