/* fuzz_guard.c — parser, evaluator, knowledge of programs and rules together, on any bytes.
 *
 * The first byte chooses the profile and whether the rest is shell text or an argv.  Whatever it is, there is an answer,
 * what could not be read is not allowed, and the answer can be written down. */
#include "fuzz.h"

#include "base/err.h"
#include "base/json.h"
#include "decide/decide.h"
#include "propose/propose.h"

#include <string.h>

static struct arena keep;
static struct profiles profiles;
static const struct policy *policy;

static void begin(void)
{
	profiles_builtin(&keep, &profiles);
	policy = policy_compile(&keep, NULL);
}

/* Words of an argv are separated by NUL. */
static void propose_words(struct arena *a, const struct surroundings *at, const uint8_t *data, size_t size,
	struct proposal *ret)
{
	enum { MAX_WORDS = 64 };
	const char **argv = arena_zalloc(a, MAX_WORDS, sizeof(*argv));
	char *copy = arena_strndup(a, (const char *)data, size);
	size_t argc = 0;

	for (size_t i = 0; i <= size && argc < MAX_WORDS; i += strlen(copy + i) + 1)
		argv[argc++] = copy + i;
	propose_argv(a, at, argv, argc, ret);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct surroundings at = { .cwd = "/home/user/work",
		.home = "/home/user",
		.workspace = "/home/user/work",
		.state_dir = "/home/user/work/.helm",
		.tmpdir = "/tmp",
		.inside_run = true };
	struct decide_context context = { .a = &a, .workspace = at.workspace };
	struct proposal p = { 0 };
	struct decision d;
	struct buf text;

	if (!policy)
		begin();
	if (size == 0)
		return;
	if (data[0] & 0x80)
		propose_words(&a, &at, data + 1, size - 1, &p);
	else
		propose_shell(&a, &at, (struct bytes){ data + 1, size - 1 }, &p);
	decide(policy, &profiles.list[data[0] % profiles.count], &p, &context, &d);
	if (!p.readable && d.verdict == V_ALLOW)
		BUG("unreadable, and allowed");
	if (d.action >= ACTION_ASK && d.verdict == V_ALLOW)
		BUG("a person is asked, and it is allowed");
	buf_init(&text, &a);
	json_write(&text, decision_to_json(&a, &d), 0);
	if (text_utf8_valid(text.p, text.n) < text.n)
		BUG("the decision is not UTF-8");
}
