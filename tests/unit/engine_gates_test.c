/* engine_gates_test.c — gates that compare a question with facts, rules about effects and packs, and what a policy may not say. */
#include "proof/sign.h"
#include "tools/engine_fixture.h"
#include "tools/unit.h"

#include <string.h>

#define HEAD "'format':'helm.policy.v1','name':'t'"
#define LAYER(rules) "'layers':[{'name':'L','priority':0,'rules':[" rules "]}]"
#define POLICY(rules) "{" HEAD "," LAYER(rules) "}"
#define ALLOW_ACT "{'id':'a','actions':['act'],'verdict':'ALLOW'}"
#define OPEN "{" HEAD ",'coverage':'open'}"

/* ---- what a policy may not say ---- */

static const struct {
	const char *policy, *want; /* the error contains this */
} mistakes[] = {
	{ "[]", "POLICY_DOCUMENT: policy: a document must be an object" },
	{ "{'format':'x','name':'t'}", "\"format\" must be helm.policy.v1" },
	{ "{'format':'helm.policy.v1'}", "needs a text that is not empty: 'name'" },
	{ "{" HEAD ",'colour':1}", "member is not known: 'colour'" },
	{ "{" HEAD ",'epoch':-1}", "'epoch'" },
	{ "{" HEAD ",'epoch':'x'}", "'epoch'" },
	{ "{" HEAD ",'coverage':'ajar'}", "\"coverage\" must be" },
	{ "{" HEAD ",'coverage':1}", "\"coverage\" must be" },
	{ "{" HEAD ",'missing_is':'x'}", "\"missing_is\" must be" },
	{ "{" HEAD ",'requires_gates':'x'}", "must be a list of gates" },
	{ "{" HEAD ",'requires_gates':['heaven']}",
		"POLICY_GATE: policy: \"requires_gates\" names 'heaven'" },
	{ "{" HEAD ",'requires_gates':[3]}", "names 'number'" },
	{ "{" HEAD ",'layers':3}", "\"layers\" must be a list" },
	{ "{" HEAD ",'packs':3}", "\"packs\" must be a list" },
	{ "{" HEAD ",'layers':[3]}", "a layer: an object is needed, not number" },
	{ "{" HEAD ",'layers':[{'name':'L','priority':-1,'rules':[]}]}",
		"a layer needs a name and a priority" },
	{ "{" HEAD ",'layers':[{'priority':1,'rules':[]}]}", "a layer needs a name and a priority" },
	{ "{" HEAD ",'layers':[{'name':'L','priority':'x','rules':[]}]}",
		"a layer needs a name and a priority" },
	{ "{" HEAD ",'layers':[{'name':'L','priority':1,'rules':3}]}", "\"rules\" must be a list" },
	{ "{" HEAD ",'layers':[{'name':'L','priority':1,'rules':[]},{'name':'L','priority':1,'rules':[]}]}",
		"two layers or packs have the name 'L'" },
	{ "{" HEAD ",'packs':[{'id':'p','kind':'planet','activates_on':['X'],'rules':[]}]}",
		"pack 'p' needs" },
	{ "{" HEAD ",'packs':[{'kind':'industry','activates_on':['X'],'rules':[]}]}", "pack '' needs" },
	{ "{" HEAD ",'packs':[{'id':'p','kind':'industry','rules':[]}]}", "pack 'p' needs" },
	{ "{" HEAD ",'packs':[{'id':'p','kind':'industry','activates_on':[3],'rules':[]}]}",
		"must be texts" },
	{ "{" HEAD ",'packs':[{'id':'p','kind':'industry','activates_on':['X'],'rules':[],'x':1}]}",
		"a pack: member 'x' is not known" },
	{ POLICY("3"), "rule 1: an object is needed" },
	{ POLICY("{'id':'a','verdict':'ALLOW'}"), "rule 'a': must be a list of 1 to 1024 action names" },
	{ POLICY("{'id':'a','actions':[],'verdict':'ALLOW'}"), "must be a list of 1 to 1024" },
	{ POLICY("{'id':'a','actions':[''],'verdict':'ALLOW'}"), "texts that are not empty" },
	{ POLICY("{'id':'a','actions':[1],'verdict':'ALLOW'}"), "texts that are not empty" },
	{ POLICY("{'id':'a','actions':['*x'],'verdict':'ALLOW'}"), "a pattern is" },
	{ POLICY("{'id':'a','actions':['0123456789012345678901234567890123456789012345678901234567890123*'],"
		 "'verdict':'ALLOW'}"),
		"a pattern is" },
	{ POLICY("{'actions':['x'],'verdict':'ALLOW'}"), "rule 1: needs a text that is not empty: 'id'" },
	{ POLICY("{'id':'','actions':['x'],'verdict':'ALLOW'}"), "'id'" },
	{ POLICY("{'id':'a','actions':['x']}"), "verdict must be" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'MAYBE'}"), "not 'MAYBE'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','reason_code':'NO_SUCH'}"),
		"no such reason code" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','reason_code':3}"), "no such reason code" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'ALLOW','reason_code':'PDP_DENY'}"),
		"has no reason code" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'ESCALATE','reason_code':'PDP_DENY'}"),
		"not for that verdict" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','text':3}"), "must be a text: 'text'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'ESCALATE','approvers':0}"), "'approvers'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'ESCALATE','approvers':101}"), "'approvers'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'ESCALATE','approvers':'x'}"), "'approvers'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','approvers':1}"), "'approvers'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':{}}"), "'binds'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':['x']}"), "'binds'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':{'a':1}}"), "'a'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':{'A':'params.a'}}"), "'A'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':{'approvers':'params.a'}}"),
		"'approvers'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','binds':{'a':'parms.a'}}"), "'parms.a'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','effects':[]}"), "'effects'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','effects':3}"), "'effects'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','effects':['magic']}"),
		"no such kind of effect: 'magic'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','effects':[3]}"), "must be texts: 'kind'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','all':3}"), "'all'" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','when':3}"), "must be an expression" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','when':'1 +'}"),
		"POLICY_EXPRESSION: L: rule 'a':" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','when':'1 +','origin':'f.yaml:3:1'}"),
		"f.yaml:3:1" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','when':'1 + 1'}"),
		"can never be true or false" },
	{ POLICY("{'id':'a','actions':['x'],'verdict':'DENY','colour':1}"), "member 'colour' is not known" },
	{ POLICY(ALLOW_ACT "," ALLOW_ACT), "two rules have the id 'a'" },
#define TEST(test) POLICY("{'id':'a','actions':['x'],'verdict':'DENY','all':[" test "]}")
	{ TEST("3"), "an object is needed" },
	{ TEST("{'field':'params.x'}"), "needs \"field\" and \"op\"" },
	{ TEST("{'op':'empty'}"), "needs \"field\" and \"op\"" },
	{ TEST("{'field':'params.x','op':'empt'}"), "did you mean 'empty'?" },
	{ TEST("{'field':'params.x','op':'zzzzzzzz'}"), "no operator 'zzzzzzzz'" },
	{ TEST("{'field':'x','op':'empty'}"), "field 'x' is not known" },
	{ TEST("{'field':'params','op':'empty'}"), "field 'params' is not known" },
	{ TEST("{'field':'params..x','op':'empty'}"), "is not known" },
	{ TEST("{'field':'effect.kind','op':'empty'}"), "is not known" },
	{ TEST("{'field':'effect','op':'empty'}"), "is not known" },
	{ TEST("{'field':'params.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p','op':'empty'}"), "is not known" },
	{ TEST("{'field':'params.x','op':'empty','value':1}"), "does not take that value" },
	{ TEST("{'field':'params.x','op':'empty','values':[1]}"), "does not take that value" },
	{ TEST("{'field':'params.x','op':'equals'}"), "needs \"value\"" },
	{ TEST("{'field':'params.x','op':'equals','values':[1]}"), "does not take that value" },
	{ TEST("{'field':'params.x','op':'equals','value_field':'params.y'}"), "does not take that value" },
	{ TEST("{'field':'params.x','op':'less_than','value':'x'}"), "needs a number" },
	{ TEST("{'field':'params.x','op':'less_than','value':1,'value_field':'params.y'}"),
		"does not take that value" },
	{ TEST("{'field':'params.x','op':'less_than','value_field':3}"), "needs the name of a field" },
	{ TEST("{'field':'params.x','op':'less_than','value_field':'y'}"), "field 'y' is not known" },
	{ TEST("{'field':'params.x','op':'starts_with','value':3}"), "needs a text" },
	{ TEST("{'field':'params.x','op':'starts_with'}"), "needs a text" },
	{ TEST("{'field':'params.x','op':'in','values':3}"), "needs either" },
	{ TEST("{'field':'params.x','op':'in','value':1,'values':[1]}"), "needs either" },
	{ TEST("{'field':'params.x','op':'path_under','values':[1]}"), "takes texts" },
	{ TEST("{'field':'params.x','op':'equals_field','value':3}"), "needs the name of a field" },
	{ "{" HEAD ",'requirements':3}", "\"requirements\" must be an object" },
	{ "{" HEAD ",'requirements':{'*':{}}}", "are for actions by name" },
	{ "{" HEAD ",'requirements':{'':{}}}", "are for actions by name" },
	{ "{" HEAD ",'requirements':{'x':3}}", "an object is needed" },
	{ "{" HEAD ",'requirements':{'x':{'logic':'XOR'}}}", "is no logic" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':3}}}", "needs lists" },
	{ "{" HEAD ",'requirements':{'x':{'children':3}}}", "needs lists" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[3]}}}", "an object is needed" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[{}]}}}", "a requirement needs an id" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[{'id':'r'}]}}}", "nothing is no requirement" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[{'id':'r','expression':3}]}}}", "needs a text" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[{'id':'r','expression':'('}]}}}",
		"POLICY_EXPRESSION" },
	{ "{" HEAD ",'requirements':{'x':{'requirements':[{'id':'r','expression':'1'}]}}}",
		"can never be true or false" },
	{ "{" HEAD ",'requirements':{'x':{'children':[{'logic':'XOR'}]}}}", "is no logic" },
	{ "{" HEAD ",'schemas':3}", "must be an object of JSON schemas" },
	{ "{" HEAD ",'schemas':{'x':{'type':'colour'}}}", "POLICY_SCHEMA" },
	{ "{" HEAD ",'output_schemas':{'x':{'type':'colour'}}}", "POLICY_SCHEMA" },
	{ "{" HEAD ",'regions':3}", "must be a list: 'regions'" },
	{ "{" HEAD ",'regions':[{'match':'x'}]}", "each needs" },
	{ "{" HEAD ",'regions':[{'region':'x'}]}", "each needs" },
	{ "{" HEAD ",'regions':[{'match':'x','region':'y','z':1}]}", "member 'z' is not known" },
	{ "{" HEAD ",'sandbox':3}", "sandbox: an object is needed" },
	{ "{" HEAD ",'sandbox':{'actions':['x'],'runtimes':['w'],'commands':['c']}}", "'sandbox'" },
	{ "{" HEAD ",'sandbox':{'actions':3,'runtimes':['w'],'commands':['c'],'min_gas':1}}", "'sandbox'" },
	{ "{" HEAD ",'sandbox':{'actions':['x'],'runtimes':[1],'commands':['c'],'min_gas':1}}", "'sandbox'" },
	{ "{" HEAD ",'sandbox':{'actions':['x'],'runtimes':['w'],'min_gas':1}}", "'sandbox'" },
	{ "{" HEAD ",'graph':3}", "must be a text: 'graph'" },
	{ "{" HEAD ",'graph':'rule'}", "graph:1:" },
};

static void mistakes_are_named(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = compile_error(&a, mistakes[i].policy);
		if (!strstr(got, mistakes[i].want))
			fail_msg("%s\n  expected %s\n  got      %s", mistakes[i].policy, mistakes[i].want,
				got);
	}
}

/* A policy that is too large, or too deep, is refused and not cut. */
static void size_is_bounded(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;

	buf_init(&b, &a);
	buf_adds(&b, "{" HEAD ",'requirements':{'x':");
	for (int i = 0; i < 20; i++)
		buf_adds(&b, "{'children':[");
	buf_adds(&b, "{}");
	for (int i = 0; i < 20; i++)
		buf_adds(&b, "]}");
	buf_adds(&b, "}}");
	assert_true(text_starts(compile_error(&a, b.p), "POLICY_SIZE: "));
	buf_init(&b, &a);
	buf_adds(&b, "{" HEAD ",'layers':[");
	for (int i = 0; i < 1001; i++)
		buf_addf(&b, "%s{'name':'L%d','priority':1,'rules':[]}", i ? "," : "", i);
	buf_adds(&b, "]}");
	assert_true(text_starts(compile_error(&a, b.p), "POLICY_SIZE: "));
	buf_init(&b, &a);
	buf_adds(&b, "{" HEAD ",'layers':[{'name':'L','priority':1,'rules':[");
	for (int i = 0; i < 100; i++) {
		buf_addf(&b, "%s{'id':'r%d','actions':['x'],'verdict':'DENY','all':[", i ? "," : "", i);
		for (int k = 0; k < 60; k++)
			buf_addf(&b, "%s{'field':'params.f%d','op':'empty'}", k ? "," : "", i * 60 + k);
		buf_adds(&b, "]}");
	}
	buf_adds(&b, "]}]}");
	assert_true(text_starts(compile_error(&a, b.p), "POLICY_SIZE: "));
}

/* ---- packs and layers ---- */

#define PACKS \
	"{" HEAD ",%s" LAYER( \
		ALLOW_ACT) ",'regions':[{'match':'eu-*','region':'EU'}],'packs':[" \
			   "{'id':'eu','kind':'jurisdiction','activates_on':['EU','EEA'],'rules':[{'id':'e','actions':['act'],'verdict':'DENY'," \
			   "'reason_code':'JURISDICTION_VIOLATION','all':[{'field':'params.to','op':'region_not_in','values':['EU']}]}]}," \
			   "{'id':'us','kind':'jurisdiction','activates_on':['US'],'rules':[{'id':'u','actions':['act'],'verdict':'DENY'," \
			   "'all':[{'field':'params.to','op':'equals','value':'moon'}]},{'id':'v','actions':['sell'],'verdict':'ALLOW'}," \
			   "{'id':'w','actions':['run'],'effects':['read'],'verdict':'ALLOW'}]}," \
			   "{'id':'bank','kind':'industry','activates_on':['finance'],'rules':[]}," \
			   "{'id':'big','kind':'preset','activates_on':['enterprise'],'rules':[]}]}"

static const char *packs_say(struct arena *a, const char *more, const char *question, const char *known)
{
	return judged(a, arena_printf(a, PACKS, more), question, known);
}

static void packs_speak_when_active(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char strict[] = "'missing_is':'escalate',", *const moon = "{'params':{'to':'moon'}}";

	assert_string_equal(packs_say(&a, "", moon, NULL), "ALLOW a");
	assert_string_equal(
		packs_say(&a, "", moon, "{'jurisdiction':'EU'}"), "DENY JURISDICTION_VIOLATION rules e");
	assert_string_equal(
		packs_say(&a, "", moon, "{'jurisdictions':['US','EU']}"), "DENY POLICY_VIOLATION rules u");
	assert_string_equal(packs_say(&a, "", moon, "{'jurisdictions':['EEA','US','EU']}"),
		"DENY JURISDICTION_VIOLATION rules e");
	assert_string_equal(
		packs_say(&a, "", "{'params':{'to':'eu-1'}}", "{'jurisdiction':'EU'}"), "ALLOW a");
	assert_string_equal(packs_say(&a, "", "{}", "{'jurisdiction':'EU'}"), "ALLOW a");
	assert_string_equal(
		packs_say(&a, strict, "{}", "{'jurisdiction':'EU'}"), "ESCALATE MISSING_REQUIREMENT rules e");
	assert_string_equal(
		packs_say(&a, strict, "{}", "{'jurisdiction':'XX'}"), "DENY JURISDICTION_VIOLATION rules");
	assert_string_equal(packs_say(&a, "", "{}", "{'jurisdiction':'XX'}"), "ALLOW a");
	assert_string_equal(
		packs_say(&a, "", "{'effect_type':'sell'}", NULL), "DENY NO_POLICY_DEFINED coverage");
	assert_string_equal(packs_say(&a, "", "{'effect_type':'sell'}", "{'jurisdiction':'US'}"), "ALLOW v");
	assert_string_equal(packs_say(&a, "", "{'effect_type':'run'}", "{'jurisdiction':'US'}"),
		"DENY POLICY_VIOLATION rules");
	/* What the caller says about where it is activates nothing. */
	assert_string_equal(
		packs_say(&a, "", "{'params':{'to':'moon'},'context':{'jurisdiction':'EU'}}", NULL),
		"ALLOW a");
}

static void packs_are_listed_in_order(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{}");
	struct facts f = {
		.known = quoted(&a,
			"{'business_preset':'enterprise','industry':'finance','jurisdictions':['US','XX',3,'EU','US']}")
	};
	struct judgement j;

	engine_judge(&a, compiled(&a, arena_printf(&a, PACKS, "")), &q, &f, &j);
	struct json *out = judgement_to_json(&a, &j);
	struct buf b;
	buf_init(&b, &a);
	json_write(&b, json_get(out, "active_packs"), 0);
	json_write(&b, json_get(out, "unknown_packs"), 0);
	assert_string_equal(b.p, "[\"us\",\"eu\",\"bank\",\"big\"][\"XX\"]");
}

/* The higher layer names the rule; the order in the file does not matter. */
static void ties_go_to_the_higher_layer(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
#define TWO(x, y) "{" HEAD ",'layers':[" x "," y "]}"
#define HIGH "{'name':'H','priority':0,'rules':[{'id':'z','actions':['act'],'verdict':'DENY'}]}"
#define LOW "{'name':'B','priority':5,'rules':[{'id':'b','actions':['act'],'verdict':'DENY'}," ALLOW_ACT "]}"
#define SAME \
	"{'name':'A','priority':0,'rules':[{'id':'zz','actions':['act'],'verdict':'DENY'}," ALLOW_ACT "]}"

	assert_string_equal(judged(&a, TWO(HIGH, LOW), "{}", NULL), "DENY POLICY_VIOLATION rules z");
	assert_string_equal(judged(&a, TWO(LOW, HIGH), "{}", NULL), "DENY POLICY_VIOLATION rules z");
	assert_string_equal(judged(&a, TWO(HIGH, SAME), "{}", NULL), "DENY POLICY_VIOLATION rules zz");
}

/* Everything that held is named, the strictest first, also when it is much. */
static void all_that_held_is_named(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;
	static const char policy[] = POLICY(
		"{'id':'1','actions':['act','a*','*','act'],'verdict':'ALLOW'},"
		"{'id':'2','actions':['act'],'verdict':'ESCALATE','approvers':2},"
		"{'id':'3','actions':['ac*'],'verdict':'DENY','text':'no','detail_code':'X','origin':'f:1:2'},"
		"{'id':'4','actions':['*'],'verdict':'ALLOW'},"
		"{'id':'5','actions':['zzzzzzzz*'],'verdict':'DENY'}");

	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_int_equal(j.fired_count, 4);
	assert_string_equal(j.fired[0], "3");
	assert_string_equal(j.fired[1], "2");
	assert_string_equal(j.fired[2], "1");
	assert_string_equal(j.fired[3], "4");
	assert_string_equal(j.text, "no");
	assert_string_equal(j.origin, "f:1:2");
	assert_string_equal(j.detail_code, "X");
}

/* What a rule wants to be bound is bound: a digest where it is to be one, and that nothing was there where nothing was. */
static void a_rule_binds_what_it_names(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char hash[] = "sha256:4fc82b26aecb47d2868c4efbe3581732a3e7cbcc6c2efb32062c08170a05eeb8";
	struct submission q = asked(&a,
		arena_printf(&a,
			"{'params':{'plan':'11','pinned':'%s','n':7,'list':[1],'urls':['11',null],'long':'%s','no':null,'nul':'a\\u0000b','o':{}}}",
			hash, arena_printf(&a, "%0300d", 0)));
	struct facts f = { .known = quoted(&a, "{'run':true}") };
	struct judgement j;
	static const char policy[] = POLICY(
		"{'id':'0','actions':['act'],'verdict':'ALLOW'},"
		"{'id':'1','actions':['act'],'verdict':'ESCALATE','approvers':2,'binds':{'plan_hash':'params.plan',"
		"'pinned_hash':'params.pinned','n':'params.n','list':'params.list','url_hashes':'params.urls',"
		"'long':'params.long','nul':'params.nul','o':'params.o','gone':'params.gone','no':'params.no','run':'facts.run','who':'principal'}}");

	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_int_equal(j.verdict, V_ESCALATE);
	assert_int_equal(json_get_int(j.bound, "approvers", 0), 2);
	assert_string_equal(json_get_text(j.bound, "plan_hash", ""), json_sha256(&a, json_string(&a, "11")));
	assert_string_equal(json_get_text(j.bound, "pinned_hash", ""), hash);
	assert_int_equal(json_get_int(j.bound, "n", 0), 7);
	assert_true(text_starts(json_get_text(j.bound, "list", ""), "sha256:"));
	assert_true(text_starts(json_get_text(j.bound, "long", ""), "sha256:"));
	assert_true(text_starts(json_get_text(j.bound, "nul", ""), "sha256:"));
	assert_true(text_starts(json_get_text(j.bound, "o", ""), "sha256:"));
	assert_string_equal(json_text(json_at(json_get(j.bound, "url_hashes"), 0)),
		json_sha256(&a, json_string(&a, "11")));
	assert_string_equal(json_text(json_at(json_get(j.bound, "url_hashes"), 1)), "absent");
	assert_string_equal(json_get_text(j.bound, "gone", ""), "absent");
	assert_string_equal(json_get_text(j.bound, "no", ""), "absent");
	assert_true(json_get_bool(j.bound, "run", false));
	assert_string_equal(json_get_text(j.bound, "who", ""), "agent:a");
}

/* Also one that allows, by the short way to an answer. */
static void a_rule_that_allows_binds(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{'params':{'ticket':'T-1'}}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a,
		compiled(&a,
			POLICY("{'id':'0','actions':['act'],'verdict':'ALLOW','binds':{'ticket':'params.ticket'}}")),
		&q, &f, &j);
	assert_int_equal(j.verdict, V_ALLOW);
	assert_string_equal(json_get_text(judgement_answer(&j, GATE_RULES).bound, "ticket", ""), "T-1");
}

static void an_escalation_binds_how_many_must_approve(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a,
		compiled(&a,
			POLICY(ALLOW_ACT ",{'id':'e','actions':['act'],'verdict':'ESCALATE','approvers':2}")),
		&q, &f, &j);
	assert_string_equal(outcome(&a, &j), "ESCALATE APPROVAL_REQUIRED rules e");
	assert_int_equal(json_get_int(j.bound, "approvers", 0), 2);
	assert_int_equal(json_get_int(json_get(judgement_to_json(&a, &j), "bound"), "approvers", 0), 2);
}

/* ---- effects ---- */

#define EFFECT_RULES \
	POLICY("{'id':'r','actions':['act'],'effects':['read','write'],'verdict':'ALLOW'," \
	       "'all':[{'field':'effect.class','op':'in','values':['in','tmp']}]}," \
	       "{'id':'d','actions':['act'],'effects':['delete'],'verdict':'DENY','when':'effect.target.startsWith(\\\"/etc\\\")'}," \
	       "{'id':'k','actions':['act'],'effects':['delete'],'verdict':'ALLOW','when':'effect.kind == \\\"delete\\\"'}," \
	       "{'id':'g','actions':['act'],'effects':['git'],'verdict':'ESCALATE','all':[{'field':'effect.tags','op':'contains'," \
	       "'value':'git.reset_hard'}]}")

static const char *effects_say(struct arena *a, struct effect *effects, size_t n, bool readable)
{
	struct proposal p = { .effects = effects, .effect_count = n, .readable = readable };
	struct submission q = asked(a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	q.proposal = &p;
	engine_judge(a, compiled(a, EFFECT_RULES), &q, &f, &j);
	return outcome(a, &j);
}

/* Each effect of a command needs a rule that allows it; one that is forbidden forbids the command. */
static void rules_speak_about_effects(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct effect read = { .kind = FX_READ, .path_class = PATH_IN, .target = "/w/a" };
	struct effect out = { .kind = FX_READ, .path_class = PATH_OUT, .certainty = DYNAMIC };
	struct effect gone = {
		.kind = FX_DELETE, .path_class = PATH_IN, .target = "/w/b", .certainty = PREFIXED
	};
	struct effect worse = {
		.kind = FX_DELETE, .path_class = PATH_SYS, .target = "/etc/x", .program = "rm"
	};
	struct effect lost = { .kind = FX_DELETE };
	struct effect git = { .kind = FX_GIT, .tag = "git.reset_hard" };
	struct effect net = { .kind = FX_NETWORK };

	assert_string_equal(effects_say(&a, &read, 1, true), "ALLOW r");
	/* What cannot be read may be what `d` is about, and nobody can say whether it is. */
	assert_string_equal(effects_say(&a, &read, 1, false), "DENY PRG_EVALUATION_ERROR rules d");
	assert_string_equal(effects_say(&a, &out, 1, true), "DENY POLICY_VIOLATION rules");
	assert_string_equal(effects_say(&a, (struct effect[]){ read, gone }, 2, true), "ALLOW k");
	assert_string_equal(
		effects_say(&a, (struct effect[]){ read, net }, 2, true), "DENY POLICY_VIOLATION rules");
	assert_string_equal(
		effects_say(&a, (struct effect[]){ read, worse }, 2, true), "DENY POLICY_VIOLATION rules d");
	assert_string_equal(effects_say(&a, &lost, 1, true), "DENY PRG_EVALUATION_ERROR rules d");
	assert_string_equal(effects_say(&a, (struct effect[]){ read, git, git }, 3, true),
		"ESCALATE APPROVAL_REQUIRED rules g");
	assert_string_equal(effects_say(&a, NULL, 0, true), "ALLOW");
	assert_string_equal(judged(&a, EFFECT_RULES, "{}", NULL), "DENY POLICY_VIOLATION rules");
}

/* A rule that allows the action as a whole leaves what rules say about its effects as it is. */
static void a_whole_action_does_not_hide_its_effects(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct effect gone = { .kind = FX_DELETE, .path_class = PATH_IN, .target = "/w/b" };
	struct proposal p = { .effects = &gone, .effect_count = 1, .readable = true };
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	q.proposal = &p;
	engine_judge(&a,
		compiled(&a,
			POLICY("{'id':'a','actions':['act'],'verdict':'ALLOW'},"
			       "{'id':'d','actions':['act'],'effects':['delete'],'verdict':'DENY'}")),
		&q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY POLICY_VIOLATION rules d");
}

/* What the guard said is one gate among others. */
static void the_guard_is_a_gate(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct decision d = { .verdict = V_DENY,
		.reason_code = REASON_absolute_deny,
		.detail_code = "deny.rm_root",
		.summary = "It would delete everything." };
	struct submission q = asked(&a, "{}");
	struct facts f = { .guard = &d };
	struct judgement j;

	engine_judge(&a, NULL, &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY absolute_deny effects deny.rm_root");
	assert_string_equal(j.text, "It would delete everything.");
	d.mode = GUARD_AUDIT;
	engine_judge(&a, NULL, &q, &f, &j);
	assert_int_equal(j.verdict, V_ALLOW);
	assert_true(j.active >> GATE_EFFECTS & 1);
}

/* ---- the world as facts ---- */

static const char *with(struct arena *a, const char *policy, const char *question, struct facts f)
{
	struct submission q = asked(a, question);
	struct judgement j;

	f.now_us = 1000000000;
	engine_judge(a, policy ? compiled(a, policy) : NULL, &q, &f, &j);
	return outcome(a, &j);
}

static void a_policy_must_be_there_and_fresh(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_facts p = { .is_required = true };
	struct facts f = { .policy = &p };

	assert_string_equal(with(&a, NULL, "{}", f), "DENY POLICY_NOT_READY policy");
	assert_string_equal(with(&a, OPEN, "{}", f), "ALLOW");
	p.is_required = false;
	assert_string_equal(with(&a, NULL, "{}", f), "ALLOW");
	p = (struct policy_facts){ .verified_us = 999000000, .fresh_us = 1000000 };
	assert_string_equal(with(&a, OPEN, "{}", f), "ALLOW");
	p.verified_us--;
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY POLICY_NOT_READY policy");
	p.verified_us = 1000000001; /* a clock that went back is no proof either */
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY POLICY_NOT_READY policy");
	p = (struct policy_facts){ .is_refused = true, .refused_code = REASON_POLICY_SIGNATURE_INVALID };
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY POLICY_SIGNATURE_INVALID policy");
	p = (struct policy_facts){ .has_promised_epoch = true, .promised_epoch = 7 };
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY POLICY_EPOCH_CHANGED policy");
	assert_string_equal(with(&a, NULL, "{}", f), "DENY POLICY_EPOCH_CHANGED policy");
	assert_string_equal(with(&a, "{" HEAD ",'coverage':'open','epoch':7}", "{}", f), "ALLOW");
}

static void params_must_fit_their_schema(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char policy[] =
		"{" HEAD
		",'coverage':'open','schemas':{'act':{'type':'object','required':['x'],'properties':{'x':{'type':'string'}}}}}";

	assert_string_equal(judged(&a, policy, "{'params':{'x':'y'}}", NULL), "ALLOW");
	assert_string_equal(judged(&a, policy, "{'params':{'x':1}}", NULL), "DENY SCHEMA_VIOLATION schema");
	assert_string_equal(judged(&a, policy, "{}", NULL), "DENY SCHEMA_VIOLATION schema");
	assert_string_equal(judged(&a, policy, "{'effect_type':'other'}", NULL), "ALLOW");
}

static void tenants_stay_apart(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct facts f = { .tenant = "t1" };

	assert_string_equal(with(&a, OPEN, "{'params':{'tenant_id':'t1'}}", f), "ALLOW");
	assert_string_equal(with(&a, OPEN, "{}", f), "ALLOW");
	assert_string_equal(
		with(&a, OPEN, "{'params':{'tenant_id':'T1'}}", f), "DENY TENANT_ISOLATION tenant");
	assert_string_equal(with(&a, OPEN, "{'params':{'tenant_id':1}}", f), "DENY TENANT_ISOLATION tenant");
}

static void claims_are_checked_against_the_record(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char *const parents[] = { "sha256:aa", "sha256:bb" };
	struct ledger_facts l = { .parents = parents, .parent_count = 2 };
	struct facts f = { .ledger = &l };

	assert_string_equal(with(&a, OPEN, "{'context':{'claimed_parent_hash':'sha256:bb'}}", f), "ALLOW");
	assert_string_equal(with(&a, OPEN, "{'context':{'claimed_parent_hash':'sha256:cc'}}", f),
		"DENY PROVENANCE_FAILURE provenance");
	assert_string_equal(with(&a, OPEN, "{'context':{'claimed_parent_hash':1}}", f),
		"DENY PROVENANCE_FAILURE provenance");
}

/* Over the one hash that the request names, by a key that is trusted here. */
static void signatures_are_verified(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const uint8_t seed[SIGN_SEED] = { 9 };
	uint8_t secret[SIGN_SECRET], keys[2][32] = { { 0 } }, sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct ledger_facts l = { .keys = (const uint8_t(*)[32])keys, .key_count = 2 };
	struct facts f = { .ledger = &l };

	sign_expand(seed, secret, keys[1]);
	sign_message(secret, bytes_of("sha256:abc"), sig);
	for (size_t i = 0; i < SIGN_SIZE; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", sig[i]);
#define SIGNED(more) with(&a, OPEN, arena_printf(&a, "{'params':{" more ",'signature':'%s'}}", hex), f)
	assert_string_equal(SIGNED("'bundle_hash':'sha256:abc'"), "ALLOW");
	assert_string_equal(SIGNED("'hash':'sha256:abc'"), "ALLOW");
	assert_string_equal(SIGNED("'bundle_hash':'sha256:abd'"), "DENY VERIFICATION_FAILURE verification");
	assert_string_equal(SIGNED("'bundle_hash':'sha256:abc','other_hash':'sha256:abc'"),
		"DENY VERIFICATION_FAILURE verification");
	assert_string_equal(SIGNED("'x':1"), "DENY VERIFICATION_FAILURE verification");
	assert_string_equal(SIGNED("'bundle_hash':1"), "DENY VERIFICATION_FAILURE verification");
	assert_string_equal(with(&a, OPEN, "{'params':{'hash':'x','signature':1}}", f),
		"DENY VERIFICATION_FAILURE verification");
	assert_string_equal(with(&a, OPEN, "{'params':{'hash':'x','signature':'junk'}}", f),
		"DENY VERIFICATION_FAILURE verification");
	l.key_count = 0;
	assert_string_equal(SIGNED("'bundle_hash':'sha256:abc'"), "DENY VERIFICATION_FAILURE verification");
}

static void pins_hold(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct pin_facts p = { .schema_version = "1", .presented_schema_version = "1" };
	struct facts f = { .pins = &p };
	struct submission q = asked(&a, "{}");
	struct judgement j;

	assert_string_equal(with(&a, OPEN, "{}", f), "ALLOW");
	p.presented_schema_version = "2";
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY SCHEMA_DRIFT_DETECTED pins");
	p.presented_schema_version = NULL;
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY SCHEMA_DRIFT_DETECTED pins");
	p = (struct pin_facts){ .schema_version = "sha256:1", .presented_schema_version = "sha256:2" };
	engine_judge(&a, NULL, &q, &f, &j);
	assert_string_equal(json_get_text(j.bound, "pinned_schema_hash", ""), "sha256:1");
	assert_string_equal(json_get_text(j.bound, "schema_hash", ""), "sha256:2");
	p = (struct pin_facts){ .has_lamport = true, .presented_lamport = 5, .consumed_lamport = 5 };
	assert_string_equal(with(&a, OPEN, "{}", f), "DENY REPLAY_DETECTED pins");
	p.presented_lamport = 6;
	assert_string_equal(with(&a, OPEN, "{}", f), "ALLOW");
}

/* ---- sandbox ---- */

#define BOX \
	"{" HEAD \
	",'coverage':'open','sandbox':{'actions':['exec'],'runtimes':['wasi'],'min_gas':10,'commands':['echo','sleep']}}"
#define EXEC(params) "{'effect_type':'exec','params':{'sandbox':'wasi'" params "}}"

static void the_sandbox_is_guarded(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char *const open[] = { "/in" };
	struct sandbox_facts s = { .preopens = open, .preopen_count = 1, .may_run_generated = true };
	static const struct {
		const char *question, *granted, *bare; /* with the grant above, and without one */
	} rows[] = {
		{ "{'effect_type':'act'}", "ALLOW", "ALLOW" },
		{ "{'effect_type':'exec'}", "DENY SANDBOX_VIOLATION sandbox",
			"DENY SANDBOX_VIOLATION sandbox" },
		{ EXEC(",'command':'echo hi'"), "ALLOW", "ALLOW" },
		{ EXEC(",'command':'  echo hi | echo x; echo'"), "ALLOW", "ALLOW" },
		{ EXEC(",'command':'echo hi; rm -rf /'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'rm'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':';;'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(""), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo `rm`'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo $(rm)'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo <(rm)'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'while true; do echo; done'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo hi','gas_limit':9"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo hi','gas_limit':'x'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'echo hi','gas_limit':10"), "ALLOW", NULL },
		{ EXEC(",'command':'sleep 5','timeout_ms':5000"), "ALLOW", NULL },
		{ EXEC(",'command':'sleep   6','timeout_ms':5000"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'sleep -6','timeout_ms':5000"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'sleep x','timeout_ms':5000"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'sleep 1','timeout_ms':'x'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'command':'sleep 1'"), "ALLOW", NULL },
		{ EXEC(",'command':'sleepy'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'attempt':'fuel_exhaustion'"), "DENY BUDGET_EXCEEDED sandbox", NULL },
		{ EXEC(",'attempt':'socket_connect'"), "DENY SANDBOX_VIOLATION sandbox",
			"DENY SANDBOX_VIOLATION sandbox" },
		{ EXEC(",'attempt':3"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'attempt':'fly'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'code_hash':'x','attempt':'read','path':'/in/a'"), "ALLOW",
			"DENY SANDBOX_VIOLATION sandbox" },
		{ EXEC(",'code_hash':'x','attempt':'write','path':'/in/../out'"),
			"DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'code_hash':'x','attempt':'write','path':'in'"), "DENY SANDBOX_VIOLATION sandbox",
			NULL },
		{ EXEC(",'code_hash':'x','attempt':'write'"), "DENY SANDBOX_VIOLATION sandbox", NULL },
		{ EXEC(",'code_hash':'x'"), "ALLOW", "DENY SANDBOX_VIOLATION sandbox" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = with(&a, BOX, rows[i].question, (struct facts){ .sandbox = &s });
		if (strcmp(got, rows[i].granted) != 0)
			fail_msg("%s: %s", rows[i].question, got);
		got = with(&a, BOX, rows[i].question, (struct facts){ 0 });
		if (rows[i].bare && strcmp(got, rows[i].bare) != 0)
			fail_msg("without a grant, %s: %s", rows[i].question, got);
	}
	s.has_network = true;
	s.may_run_generated = false;
	assert_string_equal(with(&a, BOX, EXEC(",'command':'echo','attempt':'socket_connect'"),
				    (struct facts){ .sandbox = &s }),
		"ALLOW");
	assert_string_equal(with(&a, BOX, EXEC(",'code_hash':'x'"), (struct facts){ .sandbox = &s }),
		"DENY SANDBOX_VIOLATION sandbox");
	char *longest = arena_printf(&a, EXEC(",'command':'echo %0300d'"), 1);
	assert_string_equal(with(&a, BOX, longest, (struct facts){ 0 }), "ALLOW");
}

static const struct json *bound_by(struct arena *a, const char *question, const struct facts *facts)
{
	const struct submission q = asked(a, question);
	struct judgement j;

	engine_judge(a, compiled(a, BOX), &q, facts, &j);
	return j.bound;
}

/* A refusal binds the grant by which it was refused, and the path it was about. */
static void a_refusal_binds_the_grant(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char outside[] = EXEC(",'code_hash':'x','attempt':'write','path':'/out'");
	static const char *const open[] = { "/in" };
	const struct sandbox_facts wide = { .preopens = open, .preopen_count = 1, .may_run_generated = true },
				   bare = { 0 };
	const struct facts by_wide = { .now_us = 1, .sandbox = &wide },
			   by_bare = { .now_us = 1, .sandbox = &bare }, by_none = { .now_us = 1 };
	const struct json *x = bound_by(&a, outside, &by_wide), *y = bound_by(&a, outside, &by_bare),
			  *z = bound_by(&a, outside, &by_none);

	assert_non_null(json_get_text(x, "sandbox_grant_hash", NULL));
	assert_string_not_equal(
		json_get_text(x, "sandbox_grant_hash", ""), json_get_text(y, "sandbox_grant_hash", ""));
	/* No grant permits what an empty one does. */
	assert_true(json_eq(y, z));
	assert_string_equal(json_get_text(x, "path_hash", ""), json_get_text(y, "path_hash", "-"));
	assert_null(json_get(bound_by(&a, EXEC(",'attempt':'fly'"), &by_wide), "path_hash"));
	assert_null(bound_by(&a, EXEC(",'command':'echo'"), &by_wide));
}

/* ---- graph ---- */

#define GRAPH \
	"{" HEAD \
	",'coverage':'open','graph':'module licenses { rule r [priority = 1] { scope: agent(node_type == \\\"ENTITY\\\") when: " \
	"has_tag(delta.node, \\\"crypto\\\") enforce: deny explain: CPI.LICENSE.MISSING_PRIMITIVE.MICA } }'}"
#define CHANGE(tag) \
	"{'params':{'delta':{},'subjects':[{'target':'agent','value':{'node_type':'ENTITY','tags':['" tag \
	"'],'primitives':[]}}]}}"

/* A change of the graph that a request describes is judged by the rules over it. */
static void the_graph_is_a_gate(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char world[] = "{'graph':{}}";

	assert_string_equal(
		judged(&a, GRAPH, CHANGE("crypto"), world), "DENY POLICY_VIOLATION graph licenses.r");
	assert_string_equal(judged(&a, GRAPH, CHANGE("wood"), world), "ALLOW");
	assert_string_equal(judged(&a, GRAPH, "{}", world), "ALLOW");
	assert_string_equal(
		judged(&a, GRAPH, "{'params':{'subjects':3}}", world), "DENY PRG_EVALUATION_ERROR graph");
}

/* ---- what comes out, and looking at a policy ---- */

static void outputs_must_fit(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct ruleset *r = compiled(&a,
		"{" HEAD
		",'output_schemas':{'s':{'type':'object','properties':{'data':{}},'additionalProperties':false}}}");
	struct gate_answer x;

	engine_output(&a, r, "s", quoted(&a, "{'data':1}"), &x);
	assert_int_equal(x.verdict, V_ALLOW);
	engine_output(&a, r, "s", quoted(&a, "{'leak':1}"), &x);
	assert_int_equal(x.verdict, V_DENY);
	assert_int_equal(x.code, REASON_SCHEMA_VIOLATION);
	engine_output(&a, r, "s", NULL, &x);
	assert_int_equal(x.verdict, V_DENY);
	engine_output(&a, r, "other", quoted(&a, "{}"), &x);
	assert_int_equal(x.verdict, V_DENY);
	engine_output(&a, NULL, "s", quoted(&a, "{}"), &x);
	assert_int_equal(x.verdict, V_DENY);
}

static void a_policy_can_be_looked_at(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct ruleset *r = compiled(&a,
		"{" HEAD ",'version':'2','epoch':3,'egress':{}," LAYER(ALLOW_ACT
			",{'id':'d','actions':['a_name_that_is_longer_than_what_fits'],'verdict':'DENY','text':'why'}") "}");
	struct ruleset_rule rule;

	assert_string_equal(ruleset_name(r), "t");
	assert_string_equal(ruleset_version(r), "2");
	assert_int_equal(ruleset_epoch(r), 3);
	assert_int_equal(ruleset_rule_count(r), 2);
	assert_string_equal(ruleset_sha256(r), json_sha256(&a, ruleset_document(r)));
	assert_non_null(ruleset_section(r, "egress"));
	assert_null(ruleset_section(r, "mcp"));
	assert_null(ruleset_section(r, "layers"));
	assert_true(ruleset_rule(r, 0, &rule));
	assert_string_equal(rule.layer, "L");
	assert_null(rule.text);
	assert_true(ruleset_rule(r, 1, &rule));
	assert_string_equal(rule.text, "why");
	assert_false(ruleset_rule(r, 2, &rule));
	assert_string_equal(
		judged(&a,
			POLICY("{'id':'d','actions':['a_name_that_is_longer_than_what_fits'],'verdict':'ALLOW'}"),
			"{'effect_type':'a_name_that_is_longer_than_what_fits'}", NULL),
		"ALLOW d");
	assert_string_equal(
		judged(&a,
			POLICY("{'id':'d','actions':['a_name_that_is_longer_than_what_fits'],'verdict':'ALLOW'}"),
			"{'effect_type':'a_name_that_is_longer_than_what_fitz'}", NULL),
		"DENY NO_POLICY_DEFINED coverage");
}

/* DENY ends the row; an ESCALATE before it is not the answer, and one behind another is not the first. */
static void the_first_escalation_is_kept_until_a_denial(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct decision d = {
		.verdict = V_ESCALATE, .reason_code = REASON_destructive, .detail_code = "risk.x"
	};
	struct submission q = asked(&a, "{}");
	struct facts f = { .guard = &d };
	struct judgement j;
	static const char policy[] = "{" HEAD ",'requires_gates':['rules']," LAYER(
		ALLOW_ACT ",{'id':'e','actions':['act'],'verdict':'ESCALATE'}") "}";

	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "ESCALATE APPROVAL_REQUIRED rules e");
	assert_int_equal(judgement_answer(&j, GATE_EFFECTS).verdict, V_ESCALATE);
	d.verdict = V_DENY;
	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY destructive effects risk.x");
	assert_false(j.asked >> GATE_BUDGET & 1);
	d.verdict = (enum verdict)0; /* neither yes nor ask is no */
	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_int_equal(j.verdict, V_DENY);
	/* A required gate that is not there does not lift a denial. */
	engine_judge(&a, compiled(&a, "{" HEAD ",'requires_gates':['tenant']}"), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY NO_POLICY_DEFINED coverage");
}

static void gates_have_names(void **state)
{
	(void)state;
	enum gate_id g;

	assert_true(gate_parse("sandbox", &g));
	assert_int_equal(g, GATE_SANDBOX);
	assert_false(gate_parse("sandbo", &g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(packs_speak_when_active),
		cmocka_unit_test(packs_are_listed_in_order),
		cmocka_unit_test(ties_go_to_the_higher_layer),
		cmocka_unit_test(all_that_held_is_named),
		cmocka_unit_test(a_rule_binds_what_it_names),
		cmocka_unit_test(a_rule_that_allows_binds),
		cmocka_unit_test(an_escalation_binds_how_many_must_approve),
		cmocka_unit_test(rules_speak_about_effects),
		cmocka_unit_test(a_whole_action_does_not_hide_its_effects),
		cmocka_unit_test(the_guard_is_a_gate),
		cmocka_unit_test(a_policy_must_be_there_and_fresh),
		cmocka_unit_test(params_must_fit_their_schema),
		cmocka_unit_test(tenants_stay_apart),
		cmocka_unit_test(claims_are_checked_against_the_record),
		cmocka_unit_test(signatures_are_verified),
		cmocka_unit_test(pins_hold),
		cmocka_unit_test(the_sandbox_is_guarded),
		cmocka_unit_test(a_refusal_binds_the_grant),
		cmocka_unit_test(the_graph_is_a_gate),
		cmocka_unit_test(outputs_must_fit),
		cmocka_unit_test(a_policy_can_be_looked_at),
		cmocka_unit_test(the_first_escalation_is_kept_until_a_denial),
		cmocka_unit_test(gates_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
