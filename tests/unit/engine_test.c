/* engine_test.c — the row of gates, and what a policy document says about a question. */
#include "tools/engine_fixture.h"
#include "tools/unit.h"

#include <string.h>

/* One policy of one layer. */
#define POLICY(rules) \
	"{'format':'helm.policy.v1','name':'t','layers':[{'name':'L','priority':0,'rules':[" rules "]}]}"
#define RULE(id, verdict, rest) "{'id':'" id "','actions':['act'],'verdict':'" verdict "'" rest "}"

struct row {
	const char *policy, *question, *known, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = judged(&a, rows[i].policy, rows[i].question, rows[i].known);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s\n%s\n%s\n  expected %s\n  got      %s",
				rows[i].policy ? rows[i].policy : "-", rows[i].question,
				rows[i].known ? rows[i].known : "-", rows[i].want, got);
	}
}

static const struct row rule_rows[] = {
	/* the strictest wins, whatever the order */
	{ POLICY(RULE("a", "ALLOW", "")), "{}", NULL, "ALLOW a" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "DENY", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules b" },
	{ POLICY(RULE("b", "DENY", "") "," RULE("a", "ALLOW", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules b" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", "")), "{}", NULL,
		"ESCALATE APPROVAL_REQUIRED rules b" },
	{ POLICY(RULE("a", "ESCALATE", "") "," RULE("b", "ESCALATE", "") "," RULE("0", "ALLOW", "")), "{}",
		NULL, "ESCALATE APPROVAL_REQUIRED rules a" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", "") "," RULE("c", "DENY", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules c" },
	/* coverage */
	{ POLICY(RULE("a", "ALLOW", "")), "{'effect_type':'other'}", NULL,
		"DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ESCALATE", "")), "{}", NULL, "ESCALATE APPROVAL_REQUIRED rules a" },
	{ POLICY(RULE("a", "DENY", "")), "{}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(""), "{}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ALLOW", ",'all':[{'field':'params.x','op':'equals','value':1}]")), "{}", NULL,
		"DENY POLICY_VIOLATION rules" },
	{ "{'format':'helm.policy.v1','name':'t','coverage':'open','layers':[]}", "{}", NULL, "ALLOW" },
	{ NULL, "{}", NULL, "ALLOW" },
	/* an expression that fails: forbids, or does not allow */
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", ",'when':'input.params.x > 1'")), "{}",
		NULL, "DENY PRG_EVALUATION_ERROR rules b" },
	{ POLICY(RULE("a", "ALLOW", ",'when':'input.params.x > 1'")), "{}", NULL,
		"DENY POLICY_VIOLATION rules" },
	{ POLICY(RULE("a", "ALLOW", ",'when':'input.params.x > 1'")), "{'params':{'x':2}}", NULL, "ALLOW a" },
	/* the tool counts as well; a tool that only the request names permits nothing */
	{ POLICY("{'id':'a','actions':['read_file'],'verdict':'ALLOW'}"), "{'tool':'read_file'}", NULL,
		"ALLOW a" },
	{ POLICY("{'id':'a','actions':['read_file'],'verdict':'ALLOW'}"),
		"{'params':{'tool_name':'read_file'}}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ALLOW", "") ",{'id':'b','actions':['rm'],'verdict':'DENY'}"),
		"{'params':{'tool_name':'rm'}}", NULL, "DENY POLICY_VIOLATION rules b" },
	/* patterns */
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp_call'}", NULL,
		"ALLOW a" },
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp'}", NULL,
		"DENY NO_POLICY_DEFINED coverage" },

	{ POLICY("{'id':'a','actions':['*'],'verdict':'ALLOW'}"), "{'effect_type':'x'}", NULL, "ALLOW a" },
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp_*'}", NULL,
		"ALLOW a" },
};

static void rules_decide(void **state)
{
	(void)state;
	check_rows(rule_rows, ARRAY_SIZE(rule_rows));
}

/* One condition on a rule that denies beside one that allows: DENY when it holds, and the same condition on the rule that allows. */
#define COND(test) POLICY(RULE("a", "ALLOW", "") "," RULE("d", "DENY", ",'all':[{" test "}]"))
#define MAY(test) POLICY(RULE("a", "ALLOW", ",'all':[{" test "}]"))
#define REGIONS ",'regions':[{'match':'eu-*','region':'EU'},{'match':'US-*','region':'US'}]}"
#define IN_REGIONS(rules) \
	"{'format':'helm.policy.v1','name':'t','layers':[{'name':'L','priority':0,'rules':[" rules \
	"]}]" REGIONS
#define REGION(verdict, op, name) \
	IN_REGIONS(RULE("a", "ALLOW", "") "," RULE( \
		"d", verdict, ",'all':[{'field':'params.x','op':'" op "','values':['" name "']}]"))
#define MAY_REGION(name) \
	IN_REGIONS(RULE("a", "ALLOW", ",'all':[{'field':'params.x','op':'region_in','values':['" name "']}]"))
#define YES "DENY POLICY_VIOLATION rules d"
#define NO "ALLOW a"
#define ERROR "DENY PRG_EVALUATION_ERROR rules d"
#define X(value) "{'params':{'x':" value "}}"

static const struct row condition_rows[] = {
	{ COND("'field':'params.x','op':'equals','value':1"), X("1"), NULL, YES },
	{ COND("'field':'params.x','op':'equals','value':1"), X("1.0"), NULL, YES },
	{ COND("'field':'params.x','op':'equals','value':1"), X("2"), NULL, NO },
	{ COND("'field':'params.x','op':'equals','value':1"), X("'1'"), NULL, NO },
	{ COND("'field':'params.x','op':'equals','value':'abc'"), X("'abc'"), NULL, YES },
	{ COND("'field':'params.x','op':'equals','value':'abc'"), X("'abd'"), NULL, NO },
	{ COND("'field':'params.x','op':'equals','value':{'a':[1]}"), X("{'a':[1]}"), NULL, YES },
	{ COND("'field':'params.x','op':'equals','value':1e99999999999"), X("1e99999999998"), NULL, NO },
	{ COND("'field':'params.x','op':'equals','value':1"), X("null"), NULL, NO },
	{ COND("'field':'params.x','op':'equals','value':1"), "{}", NULL, NO },
	{ COND("'field':'params.x','op':'not_equals','value':1"), X("2"), NULL, YES },
	{ COND("'field':'params.x','op':'not_equals','value':1"), "{}", NULL, NO },
	{ COND("'field':'params.x','op':'in','values':['a','b']"), X("'b'"), NULL, YES },
	{ COND("'field':'params.x','op':'in','value':'b'"), X("'b'"), NULL, YES },
	{ COND("'field':'params.x','op':'in','values':['a','b']"), X("'c'"), NULL, NO },
	{ COND("'field':'params.x','op':'not_in','values':['a','b']"), X("'c'"), NULL, YES },
	{ COND("'field':'params.x','op':'not_in','values':['a','b']"), "{}", NULL, NO },
	{ COND("'field':'params.x','op':'empty'"), "{}", NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("null"), NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("false"), NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("''"), NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("[]"), NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("{}"), NULL, YES },
	{ COND("'field':'params.x','op':'empty'"), X("0"), NULL, NO },
	{ COND("'field':'params.x','op':'empty'"), X("true"), NULL, NO },
	{ COND("'field':'params.x','op':'not_empty'"), X("'a'"), NULL, YES },
	{ COND("'field':'params.x','op':'missing'"), "{}", NULL, YES },
	{ COND("'field':'params.x','op':'missing'"), X("null"), NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("6"), NULL, YES },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("5"), NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("5.5"), NULL, YES },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("-6"), NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("99999999999999999999"), NULL, YES },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("1e99999999999"), NULL, ERROR },
	{ COND("'field':'params.x','op':'greater_than','value':5.5"), X("6"), NULL, YES },
	{ COND("'field':'params.x','op':'greater_than','value':5"), X("'6'"), NULL, ERROR },
	{ COND("'field':'params.x','op':'less_than','value':5"), X("4"), NULL, YES },
	{ COND("'field':'params.x','op':'at_least','value':5"), X("5"), NULL, YES },
	{ COND("'field':'params.x','op':'at_most','value':5"), X("5"), NULL, YES },
	{ COND("'field':'params.x','op':'at_most','value':5"), X("6"), NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value_field':'params.y'"), "{'params':{'x':2,'y':1}}",
		NULL, YES },
	{ COND("'field':'params.x','op':'greater_than','value_field':'params.y'"), "{'params':{'x':2}}", NULL,
		NO },
	{ COND("'field':'params.x','op':'greater_than','value_field':'params.y'"),
		"{'params':{'x':2,'y':null}}", NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value_field':'params.y'"),
		"{'params':{'x':2,'y':'1'}}", NULL, ERROR },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'abcd'"), NULL, YES },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'abdbbc'"), NULL, YES },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'abd'"), NULL, NO },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'b'"), NULL, NO },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'xxxb'"), NULL, NO },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("'bbbb'"), NULL, NO },
	{ COND("'field':'params.x','op':'contains','value':''"), X("'a'"), NULL, YES },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("['a','bc']"), NULL, YES },
	{ COND("'field':'params.x','op':'contains','value':7"), X("[7]"), NULL, YES },
	{ COND("'field':'params.x','op':'contains','value':7"), X("'7'"), NULL, ERROR },
	{ COND("'field':'params.x','op':'contains','value':'bc'"), X("7"), NULL, ERROR },
	{ COND("'field':'params.x','op':'not_contains','value':'bc'"), X("'abd'"), NULL, YES },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/'"), X("'/srv/a'"), NULL, YES },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/'"), X("'/srx/a'"), NULL, NO },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/'"), X("'/sr'"), NULL, NO },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/abcdefghi'"), X("'/srv/abcdefghi'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/abcdefghi'"), X("'/srv/abcdefgxi'"), NULL,
		NO },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/abcdefghi'"), X("'/srx/abcdefghi'"), NULL,
		NO },
	{ COND("'field':'params.x','op':'starts_with','value':'/srv/abcdefghijklmnop'"),
		X("'/srv/abcdefghijklmnopq'"), NULL, YES },
	{ COND("'field':'params.x','op':'starts_with','value':'ab'"), X("'ac'"), NULL, NO },
	{ COND("'field':'params.x','op':'starts_with','value':'ab'"), X("'abc'"), NULL, YES },
	{ COND("'field':'params.x','op':'starts_with','value':'abcdef'"), X("'abcdxf'"), NULL, NO },
	{ COND("'field':'params.x','op':'starts_with','value':'a'"), X("7"), NULL, ERROR },
	{ COND("'field':'params.x','op':'equals_field','value':'params.y'"), "{'params':{'x':1,'y':1}}", NULL,
		YES },
	{ COND("'field':'params.x','op':'equals_field','value':'params.y'"), "{'params':{'x':1,'y':2}}", NULL,
		NO },
	{ COND("'field':'params.x','op':'equals_field','value':'params.y'"), "{'params':{'x':1}}", NULL, NO },
	{ COND("'field':'params.x','op':'intersects','values':['a','b']"), X("['c','b']"), NULL, YES },
	{ COND("'field':'params.x','op':'intersects','values':['a','b']"), X("['c']"), NULL, NO },
	{ COND("'field':'params.x','op':'intersects','values':['a','b']"), X("'a'"), NULL, YES },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open[].set'"), X("['a']"),
		"{'open':[{'set':['b']},{'set':['a']}]}", YES },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open[].set'"), X("['a']"),
		"{'open':[{'set':['b']}]}", NO },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open[].set'"), X("['a']"), "{'open':3}",
		NO },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open[].set'"), X("['a']"), NULL, NO },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open.set'"), X("['a']"),
		"{'open':{'set':'a'}}", YES },
	{ COND("'field':'params.x','op':'intersects','value':'facts.open'"), X("['a']"),
		"{'other':1,'nope':2}", NO },
	{ COND("'field':'params.x','op':'path_under','values':['/etc','/usr']"), X("'/usr/bin/x'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/tmp/../etc/passwd'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/etcetera'"), NULL, NO },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'../etc/x'"), NULL, YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'..'"), NULL, YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'..x'"), NULL, NO },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'.x'"), NULL, NO },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'../srv/x'"), NULL,
		"DENY POLICY_VIOLATION rules" },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("7"), NULL, ERROR },
	/* where links lead, as a door found it: a rule that forbids holds for either place, one that allows for both */
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/srv/l/x'"),
		"{'places':{'/srv/l/x':'/etc/x'}}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/etc/l'"),
		"{'places':{'/etc/l':'/srv/x'}}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/opt/x'}}", NO },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/etc/x'}}", "DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/opt/l'"),
		"{'places':{'/opt/l':'/srv/x'}}", "DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/srv/x'}}", "ALLOW a" },
	/* also where the place that the rule names is a link */
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/x'"),
		"{'places':{'/srv':'/data/srv','/srv/x':'/data/srv/x'}}", "ALLOW a" },
	{ COND("'field':'params.x','op':'path_under','values':['/srv/']"), X("'/data/srv/x'"),
		"{'places':{'/srv/':'/data/srv'}}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/srv']"), X("'/opt/x'"),
		"{'places':{'/srv':'/data'}}", NO },
	{ COND("'field':'params.x','op':'path_under','values':['/']"), X("'/opt/x'"), NULL, YES },
	/* from where the call is made */
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'l/x'"),
		"{'cwd':'/srv','places':{'l/x':'/etc/x'}}", YES },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'l/x'"), "{'cwd':'/srv'}",
		"ALLOW a" },
	/* names that only others can follow */
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'~/x'"), "{'cwd':'/srv'}",
		"DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'a://x'"), "{'cwd':'/srv'}",
		"DENY POLICY_VIOLATION rules" },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/proc/self/root/x'"),
		"{'cwd':'/srv'}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'../dev/fd/3'"),
		"{'cwd':'/srv'}", YES },
	/* what could not be found out is a doubt */
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/srv/x'},'places_partial':true}", NO },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/srv/l'"),
		"{'places':{'/srv/l':''}}", YES },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/l'"),
		"{'places':{'/srv/l':''}}", "DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/l'"),
		"{'places_partial':true}", "DENY POLICY_VIOLATION rules" },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/home/u/.ssh/id'}}", YES },
	/* for names, too */
	{ COND("'field':'params.x','op':'path_names','values':['.ssh']"), X("'/srv/l'"),
		"{'places_partial':true}", YES },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh']"), X("'/srv/l'"),
		"{'places':{'/srv/l':'/srv/x'},'places_partial':true}", NO },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh']"), X("'/srv/l'"),
		"{'places':{'/srv/l':''}}", YES },
	{ MAY("'field':'params.x','op':'path_names','values':['l']"), X("'/srv/l'"),
		"{'places':{'/srv/l':''}}", "DENY POLICY_VIOLATION rules" },
	/* a text that no door looks up */
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'/srv/a\\nb'"), NULL, YES },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv']"), X("'/srv/a\\nb'"), NULL,
		"DENY POLICY_VIOLATION rules" },
	{ COND("'field':'params.x','op':'path_names','values':['.env']"), X("'/srv/a\\nb'"), NULL, YES },
	/* where the path without its ".." leads */
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'l/../x'"),
		"{'cwd':'/srv','places':{'/srv/x':'/etc/x'}}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'l/../x'"),
		"{'cwd':'/srv','places':{'/srv/x':''}}", YES },
	{ COND("'field':'params.x','op':'path_under','values':['/etc']"), X("'l/../x'"),
		"{'cwd':'/srv','places':{'l/../x':'/opt/x','/srv/x':'/opt/y'}}", NO },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv','/opt']"), X("'l/../x'"),
		"{'cwd':'/srv','places':{'l/../x':'/opt/x','/srv/x':'/etc/x'}}",
		"DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'path_under','values':['/srv','/opt']"), X("'l/../x'"),
		"{'cwd':'/srv','places':{'l/../x':'/opt/x','/srv/x':'/opt/y'}}", "ALLOW a" },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh','.env.*','/etc/shadow']"),
		X("'/home/u/.ssh/id'"), NULL, YES },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh','.env.*','/etc/shadow']"),
		X("'/srv/.env.local'"), NULL, YES },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh','.env.*','/etc/shadow']"),
		X("'/etc/shadow'"), NULL, YES },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh','.env.*','/etc/shadow']"),
		X("'/srv/environment'"), NULL, NO },
	{ COND("'field':'params.x','op':'path_names','values':['.ssh']"), X("7"), NULL, ERROR },
	{ COND("'field':'params.x','op':'host_in','values':['evil.example','*.bad.example']"),
		X("'https://evil.example/x'"), NULL, YES },
	{ COND("'field':'params.x','op':'host_in','values':['evil.example','*.bad.example']"),
		X("'https://a.bad.example/x'"), NULL, YES },
	{ COND("'field':'params.x','op':'host_in','values':['evil.example']"), X("'https://good.example/x'"),
		NULL, NO },
	{ COND("'field':'params.x','op':'host_not_in','values':['good.example']"),
		X("'https://good.example/x'"), NULL, NO },
	{ COND("'field':'params.x','op':'host_not_in','values':['good.example']"),
		X("'https://good.example@evil.example/x'"), NULL, YES },
	{ MAY("'field':'params.x','op':'host_in','values':['good.example']"),
		X("'https://good.example@evil.example/x'"), NULL, "DENY POLICY_VIOLATION rules" },
	{ MAY("'field':'params.x','op':'host_in','values':['good.example']"), X("'good.example'"), NULL,
		"ALLOW a" },
	{ COND("'field':'params.x','op':'host_not_in','values':['good.example']"), X("7"), NULL, YES },
	/* an address in another spelling is that address; what only looks like one is a doubt */
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://10.0.0.1/'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://167772161/'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://0xA000001/'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://10.1:80/'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://012.0.0.1./'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://10.2/'"), NULL, NO },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://a.10.0.0.300/'"), NULL,
		YES },
	{ COND("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://10.0.0.example/'"),
		NULL, NO },
	{ MAY("'field':'params.x','op':'host_in','values':['10.0.0.1']"), X("'http://012.0.0.1/'"), NULL,
		"ALLOW a" },
	{ COND("'field':'params.x','op':'host_in','values':['99999999999','0xa.1']"), X("'http://10.1/'"),
		NULL, YES },
	{ MAY("'field':'params.x','op':'host_in','values':['99999999999']"), X("'http://99999999999/'"), NULL,
		"DENY POLICY_VIOLATION rules" },
	{ COND("'field':'params.x','op':'region_in','values':['UNKNOWN']"), X("'moon'"), NULL, YES },
	{ COND("'field':'params.x','op':'region_not_in','values':['EU']"), X("'moon'"), NULL, YES },
	{ COND("'field':'params.x','op':'region_not_in','values':['EU']"), X("7"), NULL, ERROR },
	{ COND("'field':'params.x','op':'region_not_in','values':['EU']"), "{}", NULL, NO },
	/* a region by its name, in whatever case; a name with blanks is a doubt */
	{ REGION("DENY", "region_in", "US"), X("'us-east-1'"), NULL, YES },
	{ REGION("DENY", "region_in", "US"), X("'US-East-1'"), NULL, YES },
	{ REGION("DENY", "region_in", "US"), X("'us-east-1 '"), NULL, YES },
	{ REGION("DENY", "region_in", "US"), X("''"), NULL, YES },
	{ REGION("DENY", "region_in", "US"), X("'eu-west-1'"), NULL, NO },
	{ REGION("DENY", "region_not_in", "EU"), X("'EU-WEST-1'"), NULL, NO },
	{ REGION("DENY", "region_not_in", "EU"), X("' eu-west-1'"), NULL, YES },
	{ MAY_REGION("EU"), X("'Eu-West-1'"), NULL, "ALLOW a" },
	{ MAY_REGION("EU"), X("'eu-west-1 '"), NULL, "DENY POLICY_VIOLATION rules" },
	/* fields from everywhere */
	{ COND("'field':'action','op':'equals','value':'act'"), "{}", NULL, YES },
	{ COND("'field':'input.action','op':'equals','value':'act'"), "{}", NULL, YES },
	{ COND("'field':'principal','op':'equals','value':'agent:a'"), "{}", NULL, YES },
	{ COND("'field':'tool','op':'equals','value':'t'"), "{'tool':'t'}", NULL, YES },
	{ COND("'field':'context.y','op':'equals','value':1"), "{'context':{'y':1}}", NULL, YES },
	{ COND("'field':'context.y','op':'equals','value':1"), "{'context':null}", NULL, NO },
	{ COND("'field':'input.effect.params.x','op':'equals','value':1"), X("1"), NULL, YES },
	{ COND("'field':'params.x.y.z','op':'equals','value':1"), X("{'y':{'z':1}}"), NULL, YES },
	{ COND("'field':'params.x.y','op':'equals','value':1"), X("[1]"), NULL, NO },
	{ COND("'field':'facts.k','op':'equals','value':1"), "{'context':{'k':1},'params':{'k':1}}", NULL,
		NO },
	{ COND("'field':'facts.k','op':'equals','value':1"), "{}", "{'k':1}", YES },
	{ COND("'field':'facts.now','op':'equals','value':1700000000"), "{}", "{'now':5}", YES },
	{ COND("'field':'facts.tenant','op':'equals','value':'t'"), "{}", "{'tenant':'t'}", NO },
	{ COND("'field':'taint','op':'contains','value':'pii'"), "{}", NULL, NO },
	/* several: what does not hold settles it, also beside an error */
	{ COND("'field':'params.x','op':'greater_than','value':5},{'field':'params.y','op':'equals','value':1"),
		X("'6'"), NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value':5},{'field':'params.y','op':'equals','value':1"),
		"{'params':{'x':'6','y':2}}", NULL, NO },
	{ COND("'field':'params.x','op':'greater_than','value':5},{'field':'params.x','op':'less_than','value':9"),
		X("7"), NULL, YES },
};

static void conditions_hold(void **state)
{
	(void)state;
	check_rows(condition_rows, ARRAY_SIZE(condition_rows));
}

/* 4096 bytes are more than a path can have, so nobody has looked where it leads. */
static void a_path_has_less_than_4096_bytes(void **state)
{
	static char shorter[64 + 4096], longer[64 + 4096];
	const struct row rows[] = {
		{ COND("'field':'params.x','op':'path_under','values':['/etc']"), shorter, NULL, NO },
		{ COND("'field':'params.x','op':'path_under','values':['/etc']"), longer, NULL, YES },
	};

	(void)state;
	(void)snprintf(shorter, sizeof(shorter), "{'params':{'x':'/%04094d'}}", 0);
	(void)snprintf(longer, sizeof(longer), "{'params':{'x':'/%04095d'}}", 0);
	check_rows(rows, ARRAY_SIZE(rows));
}

/* A second statement that changes something, a hidden end, a second select; quotes that pair are texts. */
static void sql_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *query;
		bool is_bad;
	} rows[] = {
		{ "SELECT 1", false },
		{ "SELECT * FROM users; DROP TABLE users;--", true },
		{ "select 1; select 2", false },
		{ "select 1 ;  update t set a = 1", true },
		{ "select a -- note", true },
		{ "select a -- note\\nfrom t", false },
		{ "select a - -1", false },
		{ "select /* x */ 1", true },
		{ "select a from t union select p from u", true },
		{ "select a from t UNION ALL select p from u", true },
		{ "select a from t union distinct (select p from u)", true },
		{ "select a from t union (select p from u)", true },
		{ "select a from t union values (1)", false },
		{ "select reunion select", false },
		{ "select a from union_select", false },
		{ "select updated; dropped_things", false },
		{ "select 'a; drop table t'", false },
		{ "select \\\"a; drop table t\\\"", false },
		{ "select 'it; drop table t", true },
		{ "select 'a\\\\' ; drop table t --'", true },
		{ "select 'a\\\\b'", false },
		{ "select 'a''; b'", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct ruleset *r = compiled(&a, COND("'field':'params.q','op':'sql_destructive'"));
		char *text = arena_printf(&a, "{\"q\":\"%s\"}", rows[i].query);
		struct json *params;
		assert_int_equal(json_parse(&a, bytes_of(text), "q", NULL, &params, NULL), OK);
		struct submission q = {
			.effect_type = "act", .effect_id = "e", .principal = "p", .params = params
		};
		struct facts f = { 0 };
		struct judgement j;
		engine_judge(&a, r, &q, &f, &j);
		if ((j.verdict != V_ALLOW) != rows[i].is_bad)
			fail_msg("%s: %s", rows[i].query, outcome(&a, &j));
	}
}

#define NEEDS(set) \
	"{'format':'helm.policy.v1','name':'t','requirements':{'act':" set "}," \
	"'layers':[{'name':'L','priority':0,'rules':[]}]}"

static const struct row requirement_rows[] = {
	{ NEEDS("{}"), "{}", NULL, "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'has(input.params.x)'}]}"), "{}", NULL,
		"DENY MISSING_REQUIREMENT requirements act" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'has(input.params.x)'}]}"), "{'params':{'x':1}}",
		NULL, "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'input.params.x == 1'}]}"), "{}", NULL,
		"DENY PRG_EVALUATION_ERROR requirements act" },
	{ NEEDS("{'logic':'OR','requirements':[{'id':'r','expression':'false'},{'id':'s','expression':'true'}]}"),
		"{}", NULL, "ALLOW" },
	{ NEEDS("{'logic':'NOT','requirements':[{'id':'r','expression':'true'}]}"), "{}", NULL,
		"DENY MISSING_REQUIREMENT requirements act" },
	{ NEEDS("{'requirements':[{'id':'r','artifact_type':'review','signer_id':'k'}]}"), "{}",
		"{'artifacts':[{'type':'review','signer_id':'k'}]}", "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','artifact_type':'review','signer_id':'k'}]}"), "{}",
		"{'artifacts':[{'type':'review','signer_id':'z'}]}",
		"DENY MISSING_REQUIREMENT requirements act" },
};

static void requirements_decide(void **state)
{
	(void)state;
	check_rows(requirement_rows, ARRAY_SIZE(requirement_rows));
}

/* A question that has no shape is refused before any rule is asked. */
static void a_malformed_question_is_refused(void **state)
{
	(void)state;
	static const char *const questions[] = { "{'effect_type':''}", "{'effect_id':''}", "{'principal':''}",
		"{'params':[]}", "{'params':null}", "{'context':3}" };

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		assert_string_equal(judged(&a, POLICY(RULE("a", "ALLOW", "")), questions[i], NULL),
			"DENY ENVELOPE_INVALID shape");
	}
}

/* Every gate stands in the roster of every judgement, and the digest is over that. */
static void the_roster_is_complete(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a, compiled(&a, POLICY(RULE("a", "ALLOW", ""))), &q, &f, &j);
	struct json *out = judgement_to_json(&a, &j), *roster = json_get(out, "roster");
	assert_int_equal(json_get(roster, "active")->n + json_get(roster, "inactive")->n, GATE_COUNT);
	assert_string_equal(json_get_text(out, "roster_sha256", ""), json_sha256(&a, roster));
	assert_string_equal(json_get_text(out, "verdict", ""), "ALLOW");
	assert_string_equal(json_text(json_at(json_get(out, "rules_fired"), 0)), "a");
}

static void a_required_gate_must_be_active(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char policy[] =
		"{'format':'helm.policy.v1','name':'t','coverage':'open','requires_gates':['tenant']}";
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY POLICY_NOT_READY policy");
	f.tenant = "t1";
	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "ALLOW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_decide),
		cmocka_unit_test(conditions_hold),
		cmocka_unit_test(a_path_has_less_than_4096_bytes),
		cmocka_unit_test(sql_is_read),
		cmocka_unit_test(requirements_decide),
		cmocka_unit_test(a_malformed_question_is_refused),
		cmocka_unit_test(the_roster_is_complete),
		cmocka_unit_test(a_required_gate_must_be_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
