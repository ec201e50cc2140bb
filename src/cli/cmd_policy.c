/* cmd_policy.c — helm policy: what an expression of a policy says, before it is part of one.
 *
 * The value is printed as JSON, because that is what it is made from. Nothing is opened but the input. */
#include "base/file.h"
#include "cli/cmd.h"
#include "decide/expression/expression.h"

#include <fcntl.h>

enum { LARGEST_INPUT_BYTES = 64 << 20 };

const struct opt policy_eval_opts[] = {
	{ "input", OPT_VALUE, "FILE", "a JSON object whose members are the variables; - is standard input",
		NULL, false },
	{ "check", OPT_FLAG, NULL, "only compile it, and name what can never work", NULL, false },
	{ "requirement", OPT_FLAG, NULL,
		"print SATISFIED, MISSING_REQUIREMENT or PRG_EVALUATION_ERROR instead of the value", NULL,
		false },
	{ 0 },
};

/* Without --input there are no variables. */
static int read_variables(struct cli *r, struct json **ret, struct err *e)
{
	const char *path = opt_text(r, "input", NULL);
	struct bytes text;
	struct json *doc;

	if (!path) {
		*ret = json_new(r->a, JSON_OBJECT);
		return OK;
	}
	const char *name = text_eq(path, "-") ? "standard input" : path;
	if (file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_INPUT_BYTES, FILE_FOLLOW, &text, e) ||
		json_parse(r->a, text, name, NULL, &doc, e))
		return e->rc;
	if (!json_is(doc, JSON_OBJECT))
		return err_set(e, E_INPUT, "POLICY_INPUT",
			"%s holds %s; give an object whose members are the variables, {\"name\": value}",
			name, json_type_name(doc));
	*ret = doc;
	return OK;
}

static int check(struct cli *r, const struct expression *x)
{
	const char *doubt = expression_doubt(x, r->a);
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_setb(r->a, doc, "compiles", true);
	json_setb(r->a, doc, "may_be_bool", expression_may_be_bool(x));
	json_sets(r->a, doc, "doubt", doubt);
	if (r->is_json) {
		out_json(r, doc);
		return OK;
	}
	out(r, "compiles\n");
	if (!expression_may_be_bool(x))
		out(r, "It is never true or false: no condition of a policy.\n");
	if (doubt)
		out(r, "A part of it can only fail: %s\n", doubt);
	return OK;
}

/* Exit 0 only when it is met.  x is NULL when it does not compile, and *why says why: to a requirement that is no difference. */
static int requirement(
	struct cli *r, const struct expression *x, const struct json *variables, struct err *why)
{
	enum requirement result = x ? expression_requirement(x, variables, r->a, why) : REQUIREMENT_ERROR;
	const char *text = result == REQUIREMENT_ERROR ? why->text : NULL;

	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "requirement", requirement_name(result));
		json_sets(r->a, doc, "why", text);
		out_json(r, doc);
	} else {
		out(r, "%s%s%s\n", requirement_name(result), text ? ": " : "", text ? text : "");
	}
	return result == REQUIREMENT_SATISFIED ? 0 : EXIT_NO;
}

static void print_value(struct cli *r, struct json *value)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct buf b;

	json_set(r->a, doc, "value", value);
	if (r->is_json) {
		out_json(r, doc);
		return;
	}
	buf_init(&b, r->a);
	json_write(&b, value, 0);
	buf_addc(&b, '\n');
	buf_add(r->out, b.p, b.n);
}

int cmd_policy_eval(struct cli *r, struct err *e)
{
	struct expression *x = NULL;
	struct json *variables, *value;
	bool is_requirement = opt_flag(r, "requirement");

	int rc = expression_compile(r->a, bytes_of(r->args[0]), "expression", &x, e);
	if (rc)
		return is_requirement ? requirement(r, NULL, NULL, e) : rc;
	if (opt_flag(r, "check"))
		return check(r, x);
	if (read_variables(r, &variables, e))
		return e->rc;
	if (is_requirement)
		return requirement(r, x, variables, e);
	if (expression_value(x, variables, r->a, &value, e))
		return e->rc;
	print_value(r, value);
	return OK;
}
