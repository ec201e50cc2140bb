/* grant_cover_test.c — grants and questions made by hand: from a pair that fits, one thing changed at a time, and the answer no longer
 * holds. */
#include "base/text.h"
#include "decide/decide.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

enum { NOW = 1000000 };

/* A question about one effect (or, with is_whole, about the command itself), and the grant that was given for one. */
struct pair {
	struct effect asked, granted;
	const char *asked_rule, *granted_rule;
	bool asked_whole, granted_whole;
	enum reach reach;
	bool is_once, is_unreadable, has_more;
	const char *path, *host, *asked_request, *granted_request;
};

static struct decision decision_of(const struct effect *e, const char *rule, bool is_whole)
{
	struct ask *ask = arena_zalloc(&a, 1, sizeof(*ask));
	struct proposal *p = arena_zalloc(&a, 1, sizeof(*p));
	struct effect *kept = arena_zalloc(&a, 1, sizeof(*kept));

	*kept = *e;
	p->readable = true;
	*ask = (struct ask){ .rule = rule, .effect = is_whole ? NULL : kept };
	return (struct decision){
		.verdict = V_ESCALATE, .action = ACTION_ASK, .asks = ask, .ask_count = 1, .proposal = p
	};
}

static bool is_answered(const struct pair *x)
{
	struct decision d = decision_of(&x->asked, x->asked_rule, x->asked_whole),
			was = decision_of(&x->granted, x->granted_rule, x->granted_whole);
	struct grant g = { .id = "grant-1",
		.reach = x->reach,
		.is_once = x->is_once,
		.profile = "p",
		.args_sha256 = "args",
		.cwd = "/w",
		.path = x->path,
		.host = x->host,
		.expires_us = NOW + 1,
		.request_id = x->granted_request };
	struct question q = { .principal = "agent:x",
		.profile = "p",
		.cwd = "/w",
		.args_sha256 = "args",
		.request_id = x->asked_request,
		.now_us = NOW };
	bool used;

	((struct proposal *)d.proposal)->readable = !x->is_unreadable;
	d.has_more_asks = x->has_more;
	g.covers = covers_of(&a, &was, &g.cover_count);
	return grants_answer(&a, &d, &q, &g, 1, &used);
}

static struct pair pair_of(enum reach reach, struct effect e)
{
	return (struct pair){
		.asked = e, .granted = e, .asked_rule = "r", .granted_rule = "r", .reach = reach
	};
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* The pair fits; with the change it must answer as said. */
#define CHANGED(change, answered) \
	do { \
		struct pair x = good; \
		assert_true(is_answered(&x)); \
		change; \
		assert_int_equal(is_answered(&x), answered); \
	} while (0)

static void a_shape_is_rule_kind_tag_class_and_flags(void **state)
{
	const struct pair good = pair_of(REACH_SHAPE,
		(struct effect){ .kind = FX_DELETE,
			.tag = "delete.file",
			.path_class = PATH_IN,
			.flags = FXF_RECURSIVE,
			.target = "/w/a" });

	(void)state;
	CHANGED(x.asked.target = "/w/b", true);
	CHANGED(x.asked_rule = "other", false);
	CHANGED(x.asked.kind = FX_WRITE, false);
	CHANGED(x.asked.tag = "delete.shred", false);
	CHANGED(x.asked.tag = NULL, false);
	CHANGED(x.asked.path_class = PATH_TMP, false);
	CHANGED(x.asked.certainty = PREFIXED, false);
	CHANGED(x.granted.certainty = PREFIXED, true); /* known better than what was granted */
	CHANGED(x.asked.flags = 0, true); /* less than was granted */
	CHANGED(x.asked.flags |= FXF_FORCE, false);
	CHANGED(x.granted.flags |= FXF_INSIDE_CONTAINER, false); /* there, not here */
	CHANGED(x.granted_whole = true, false);
	CHANGED(x.asked_whole = true, false);
	CHANGED((x.asked.path_class = x.granted.path_class = PATH_STATE), false);
	CHANGED((x.asked.kind = x.granted.kind = FX_SECRET_READ), false);
}

/* What has no name of its own is alike only when it is the same. */
static void outside_of_known_places_each_operand_is_its_own(void **state)
{
	const struct pair good = pair_of(REACH_SHAPE,
		(struct effect){ .kind = FX_PACKAGE, .tag = "package.install", .target = "left-pad" });

	(void)state;
	CHANGED(x.asked.target = "right-pad", false);
	CHANGED(x.asked.target = NULL, false);
	CHANGED((x.asked.certainty = x.granted.certainty = PREFIXED), false);
	CHANGED((x.asked.tag = x.granted.tag = NULL), true);
	/* The same letters, divided otherwise, are something else. */
	CHANGED((x.granted.target = "ab", x.granted.resolved = "c", x.asked.target = "a",
			x.asked.resolved = "bc"),
		false);
	CHANGED((x.granted.target = x.asked.target = "ab", x.granted.resolved = x.asked.resolved = "c"),
		true);
	CHANGED((x.granted.resolved = "", x.asked.resolved = NULL), false);
}

static void unknown_tools_are_granted_by_name_only(void **state)
{
	const struct pair good = pair_of(REACH_SHAPE,
		(struct effect){ .kind = FX_UNKNOWN, .tag = "mcp.call", .target = "server.tool" });

	(void)state;
	CHANGED((x.asked.tag = x.granted.tag = "tool.unknown"), true);
	CHANGED((x.asked.tag = x.granted.tag = "unknown.program"), false);
	CHANGED(x.asked.target = "server.other", false);
}

static void a_shape_says_nothing_about_hosts_it_cannot_see(void **state)
{
	const struct pair good = pair_of(REACH_SHAPE,
		(struct effect){
			.kind = FX_REMOTE, .tag = "remote.shell", .target = "h", .flags = FXF_ONE_HOST });

	(void)state;
	CHANGED((x.asked.kind = x.granted.kind = FX_NETWORK), true);
	CHANGED((x.asked.flags = x.granted.flags = 0), false);
	CHANGED((x.asked.kind = x.granted.kind = FX_NETWORK, x.asked.flags = x.granted.flags = 0), false);
}

static void a_path_grant_holds_below_its_directory(void **state)
{
	struct pair good = pair_of(REACH_PATH,
		(struct effect){
			.kind = FX_DELETE, .tag = "delete.file", .path_class = PATH_IN, .target = "/w/d/a" });

	(void)state;
	good.path = "/w/d";
	CHANGED(x.asked.target = "/w/d/a/b", true);
	CHANGED(x.asked.target = "/w/d", false);
	CHANGED(x.asked.target = "/w/dd/a", false);
	CHANGED(x.asked.target = "d/a", false);
	CHANGED(x.asked.target = "/w/d/../a", false);
	CHANGED(x.asked.target = NULL, false);
	CHANGED(x.asked.resolved = "/w/d/real", true);
	CHANGED(x.asked.resolved = "/etc/real", false); /* a link led out */
	CHANGED(x.asked.resolved = "/w/d", false);
	CHANGED(x.asked.path_class = PATH_UP, false);
	CHANGED(x.asked_rule = "other", false);
	CHANGED((x.asked.kind = x.granted.kind = FX_PROCESS), false);
}

/* A glob that stands in the last component removes entries of one directory; any other could leave it. */
static void a_path_grant_and_globs(void **state)
{
	struct pair good = pair_of(REACH_PATH,
		(struct effect){ .kind = FX_DELETE,
			.tag = "delete.file",
			.path_class = PATH_IN,
			.certainty = PREFIXED,
			.target = "/w/d/*.o" });

	(void)state;
	good.path = "/w/d";
	CHANGED(x.asked.target = "/w/d/x?", true);
	CHANGED(x.asked.target = "/w/d/*/x", false);
	CHANGED(x.asked.target = "/w/d/.*", false); /* also .. */
	CHANGED(x.asked.target = "*.o", false);
	CHANGED((x.asked.kind = x.granted.kind = FX_WRITE), false); /* a link would be followed */
}

static void a_host_grant_holds_for_its_host(void **state)
{
	struct pair good = pair_of(REACH_HOST,
		(struct effect){ .kind = FX_NETWORK,
			.tag = "network.post",
			.target = "https://a.example/x",
			.flags = FXF_ONE_HOST });

	(void)state;
	good.host = "a.example";
	CHANGED(x.asked.target = "https://a.example/y", true);
	CHANGED((x.asked.kind = x.granted.kind = FX_REMOTE), true);
	CHANGED(x.asked.target = "https://b.example/x", false);
	CHANGED(x.asked.target = "https://-a.example/", false);
	CHANGED(x.asked.target = NULL, false);
	CHANGED(x.asked.certainty = PREFIXED, false);
	CHANGED((x.asked.flags = x.granted.flags = 0), false);
	CHANGED(x.asked.tag = "network.put", false);
	CHANGED((x.asked.kind = x.granted.kind = FX_LISTEN), false);
	CHANGED(x.granted.certainty = x.asked.certainty = DYNAMIC, false);
}

/* What cannot be known beforehand passes once, for a person who saw this very input. */
static void an_exact_grant_that_stays_needs_a_known_effect(void **state)
{
	struct pair good = pair_of(REACH_EXACT,
		(struct effect){ .kind = FX_GIT, .tag = "git.clean", .target = "/w", .certainty = CERTAIN });

	(void)state;
	CHANGED(x.asked.target = "/other", false);
	CHANGED((x.asked.certainty = x.granted.certainty = DYNAMIC), false);
	CHANGED((x.asked.certainty = x.granted.certainty = DYNAMIC, x.is_once = true), true);
	CHANGED((x.asked.flags = x.granted.flags = FXF_OPEN_END), false);
	CHANGED((x.asked.kind = x.granted.kind = FX_FETCH_EXEC), false);
	CHANGED((x.asked_whole = x.granted_whole = true), true);
	CHANGED((x.asked_whole = x.granted_whole = true, x.asked_rule = x.granted_rule = "read.limit"),
		false);
	CHANGED(x.is_unreadable = true, false);
	CHANGED((x.is_unreadable = true, x.is_once = true), true);
	CHANGED(x.has_more = true, false);
	CHANGED((x.has_more = true, x.is_once = true), true);
	CHANGED((x.asked_request = "q1", x.granted_request = "q2"), false);
	CHANGED(x.reach = (enum reach)9, false);
	CHANGED(x.reach = REACH_COUNT, false);
}

/* Even for one use, anything but the exact input must have been seen whole. */
static void what_was_not_seen_whole_is_not_widened(void **state)
{
	struct pair good = pair_of(REACH_SHAPE,
		(struct effect){
			.kind = FX_DELETE, .tag = "delete.file", .path_class = PATH_IN, .target = "/w/a" });

	(void)state;
	good.is_once = true;
	CHANGED(x.is_unreadable = true, false);
	CHANGED(x.has_more = true, false);
}

/* Would this grant have saved the question?  Only a shape is proposed, and no question is saved by nothing. */
static void a_grant_covers_questions_by_their_shape(void **state)
{
	struct effect in = {
		.kind = FX_DELETE, .tag = "delete.file", .path_class = PATH_IN, .target = "/w/a"
	};
	struct effect out = {
		.kind = FX_DELETE, .tag = "delete.file", .path_class = PATH_OUT, .target = "/x"
	};
	struct decision d_in = decision_of(&in, "r", false), d_out = decision_of(&out, "r", false);
	struct grant g = { .reach = REACH_SHAPE };
	size_t n_in, n_out;
	struct cover *asked_in = covers_of(&a, &d_in, &n_in), *asked_out = covers_of(&a, &d_out, &n_out);

	(void)state;
	g.covers = asked_in;
	g.cover_count = n_in;
	assert_true(grant_covers(&g, asked_in, n_in));
	assert_false(grant_covers(&g, asked_out, n_out));
	assert_false(grant_covers(&g, asked_in, 0));
	g.reach = REACH_EXACT;
	assert_false(grant_covers(&g, asked_in, n_in));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shape_is_rule_kind_tag_class_and_flags),
		cmocka_unit_test(outside_of_known_places_each_operand_is_its_own),
		cmocka_unit_test(unknown_tools_are_granted_by_name_only),
		cmocka_unit_test(a_shape_says_nothing_about_hosts_it_cannot_see),
		cmocka_unit_test(a_path_grant_holds_below_its_directory),
		cmocka_unit_test(a_path_grant_and_globs),
		cmocka_unit_test(a_host_grant_holds_for_its_host),
		cmocka_unit_test(an_exact_grant_that_stays_needs_a_known_effect),
		cmocka_unit_test(what_was_not_seen_whole_is_not_widened),
		cmocka_unit_test(a_grant_covers_questions_by_their_shape),
	};
	return cmocka_run_group_tests_name("grant_cover", tests, NULL, done);
}
