/* cmd_policy_files.c — helm policy new, compile, import, sign, verify, and helm pack show: policies as files, before one is in use.
 *
 * Nothing here changes what is governed.  Only `sign` uses a key, and that is for a person. */
#include "cli/cmd_policy_files.h"

#include "base/embed.h"
#include "base/file.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_policy.h"
#include "decide/engine/engine.h"
#include "kernel/person.h"
#include "proof/key.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>

static const char shipped[] = "share/policies/";

const struct opt policy_new_opts[] = {
	{ "out", OPT_VALUE, "FILE",
		"write the policy there, and its tests beside it; without it the policy is printed", NULL,
		false },
	{ "name", OPT_VALUE, "NAME", "the name that the policy gets", NULL, false },
	{ 0 },
};

const struct opt policy_compile_opts[] = {
	{ "as", OPT_VALUE, "WAY",
		"policy: compile the rules of a compliance pack, too; mapping: it decides nothing",
		"mapping|policy", false },
	{ "compose", OPT_VALUE, "HOW", "several bundles as one: for each id the strictest rule, or the first",
		"strictest|first", false },
	{ "hash", OPT_FLAG, NULL, "print only the digests", NULL, false },
	{ 0 },
};

const struct opt policy_import_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write the policy there instead of printing it", NULL, false },
	{ 0 },
};

const struct opt policy_sign_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write the signed policy there instead of printing it", NULL, false },
	{ 0 },
};

const struct opt policy_verify_opts[] = {
	{ "key", OPT_LIST, "KEY",
		"a trusted key: hex digits, 'ed25519:' in front allowed, or a file that holds them", NULL,
		false },
	{ "revoked", OPT_VALUE, "FILE", "a JSON list of digests that must not be used", NULL, false },
	{ "epoch", OPT_INT, "N", "the epoch of what is in use: a smaller one is refused", NULL, false },
	{ 0 },
};

const struct opt pack_show_opts[] = {
	{ "as", OPT_VALUE, "WAY", "policy: also what its rules would need to be enforced", "mapping|policy",
		false },
	{ 0 },
};

static const char *shown_name(const char *path)
{
	return text_eq(path, "-") ? "standard input" : path;
}

/* ---- lint, fmt ---- */

static void show_problems(struct cli *r, const struct policy_problems *problems)
{
	static const enum paint paints[] = { PAINT_BAD, PAINT_WARN, PAINT_MUTED };
	TABLE_COVERS(paints, POLICY_SEVERITIES);

	for (size_t i = 0; i < problems->n; i++) {
		const struct policy_problem *p = &problems->items[i];
		out(r, "%s", p->file);
		if (p->line)
			out(r, ":%u:%u", p->line, p->column);
		out(r, ": %s%s%s: %s: %s", paint(r, paints[p->severity]), policy_severity_name(p->severity),
			paint(r, PAINT_OFF), p->code, p->text);
		out(r, p->word[0] ? ", at '%s'\n" : "%s\n", p->word);
		if (p->fix[0])
			out(r, "  %s\n", p->fix);
	}
	if (problems->left_out)
		out(r, "and %zu more, which are not shown\n", problems->left_out);
}

/* What the engine says of the document is the last word about whether it can be used. */
static struct ruleset *compile(struct cli *r, struct policy_reading *reading)
{
	struct ruleset *rules = NULL;
	struct err why;

	if (!reading->document)
		return NULL;
	policy_lint(r->a, reading->document, shown_name(r->args[0]), &reading->problems);
	if (reading->problems.errors)
		return NULL;
	if (ruleset_compile(r->a, reading->document, &rules, &why) == OK) {
		policy_lint_absences(
			r->a, ruleset_absences(r->a, rules), shown_name(r->args[0]), &reading->problems);
		return rules;
	}
	(void)policy_compile_error(r->a, reading, &why);
	return NULL;
}

int policy_lint_file(struct cli *r, const struct policy_reading *given)
{
	struct policy_reading reading = *given;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	const struct ruleset *rules = compile(r, &reading);
	bool is_usable = rules && !(opt_flag(r, "strict") && reading.problems.warnings);

	if (!r->is_json) {
		show_problems(r, &reading.problems);
		if (rules)
			out(r, "%s: can be used (%s, %zu rules, %s)\n", shown_name(r->args[0]),
				policy_shape_name(reading.shape), ruleset_rule_count(rules),
				ruleset_sha256(rules));
		return is_usable ? 0 : EXIT_NO;
	}
	json_sets(r->a, doc, "file", r->args[0]);
	json_sets(r->a, doc, "shape", policy_shape_name(reading.shape));
	json_setb(r->a, doc, "valid", rules != NULL);
	json_sets(r->a, doc, "policy_hash", rules ? ruleset_sha256(rules) : NULL);
	json_sets(r->a, doc, "content_hash", reading.content_hash);
	json_set(r->a, doc, "problems", policy_problems_json(r->a, &reading.problems));
	json_seti(r->a, doc, "left_out", (int64_t)reading.problems.left_out);
	out_json(r, doc);
	return is_usable ? 0 : EXIT_NO;
}

int policy_fmt_file(struct cli *r, struct bytes text, const struct policy_reading *reading)
{
	bool is_check = opt_flag(r, "check");
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (!reading->document) {
		show_problems(r, &reading->problems);
		return EXIT_NO;
	}
	struct bytes made = policy_format(r->a, text, reading->shape, reading->source);
	bool is_same = bytes_eq(text, made);
	if (r->is_json) {
		json_sets(r->a, doc, "file", r->args[0]);
		json_setb(r->a, doc, "formatted", is_same);
		json_set(r->a, doc, "text", json_stringn(r->a, (const char *)made.p, made.n));
		out_json(r, doc);
	} else if (!is_check) {
		buf_add(r->out, made.p, made.n);
	} else if (!is_same) {
		out(r, "%s: not in its layout; 'helm policy fmt' prints it\n", shown_name(r->args[0]));
	}
	return is_check && !is_same ? EXIT_NO : OK;
}

/* ---- new ---- */

/* "share/policies/two-people.yaml" -> "two-people"; NULL for tests and anything that is no sample to start from. */
static const char *template_name(struct arena *a, const char *file)
{
	if (!text_starts(file, shipped) || !text_ends(file, ".yaml") || text_ends(file, ".test.yaml") ||
		strchr(file + strlen(shipped), '/'))
		return NULL;
	return arena_strndup(a, file + strlen(shipped), strlen(file) - strlen(shipped) - strlen(".yaml"));
}

/* The first line of the file, which is a comment that says what it is for. */
static const char *first_comment(struct arena *a, struct bytes text)
{
	struct bytes line = text_cut(&text, '\n');

	return line.n > 2 && line.p[0] == '#' ? arena_strndup(a, (const char *)line.p + 2, line.n - 2) : "";
}

static int list_templates(struct cli *r)
{
	static const char *const heads[] = { "TEMPLATE", "FOR" };
	struct json *list = json_new(r->a, JSON_ARRAY);
	struct bytes text;
	const char *file;

	for (size_t i = 0; embed_at(i, &file, &text); i++) {
		const char *name = template_name(r->a, file);
		if (!name)
			continue;
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "template", name);
		json_sets(r->a, row, "for", first_comment(r->a, text));
		json_push(r->a, list, row);
	}
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "templates", list);
		out_json(r, doc);
		return OK;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (row, list) {
		const char *cells[] = { json_get_text(row, "template", ""), json_get_text(row, "for", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return OK;
}

/* The text with another value behind "KEY: " at the start of a line. */
static struct bytes with_value(struct arena *a, struct bytes text, const char *key, const char *value)
{
	size_t n = strlen(key);
	struct buf b;

	buf_init(&b, a);
	while (text.p && text.n > 0) {
		struct bytes line = text_cut(&text, '\n');
		if (value && line.n > n && memcmp(line.p, key, n) == 0)
			buf_addf(&b, "%s%s\n", key, value);
		else
			buf_addf(&b, "%.*s\n", (int)line.n, (const char *)line.p);
	}
	return buf_bytes(&b);
}

/* prod.yaml -> prod.test.yaml */
static const char *test_path(struct arena *a, const char *path)
{
	const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
	size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);

	return arena_printf(a, "%.*s.test.yaml", (int)n, path);
}

static int write_new(struct cli *r, const char *to, struct bytes policy, const char *template, struct err *e)
{
	const char *slash = strrchr(to, '/'), *tests_to = test_path(r->a, to);
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct bytes tests;

	if (file_create(r->sys, AT_FDCWD, to, 0644, policy, e))
		return e->rc;
	json_sets(r->a, doc, "policy", to);
	if (embed_find(arena_printf(r->a, "%s%s.test.yaml", shipped, template), &tests)) {
		if (file_create(r->sys, AT_FDCWD, tests_to, 0644,
			    with_value(r->a, tests, "policy: ", slash ? slash + 1 : to), e))
			return e->rc;
		json_sets(r->a, doc, "tests", tests_to);
	}
	out_result(r, doc);
	return OK;
}

int cmd_policy_new(struct cli *r, struct err *e)
{
	const char *to = opt_text(r, "out", NULL);
	struct bytes text;

	if (r->arg_count == 0)
		return list_templates(r);
	if (!text_is_id(r->args[0]) ||
		!embed_find(arena_printf(r->a, "%s%s.yaml", shipped, r->args[0]), &text))
		return err_set(e, E_MISSING, "POLICY_TEMPLATE",
			"there is no template '%s'; 'helm policy new' lists them", r->args[0]);
	const char *name = opt_text(r, "name", NULL);
	if (name && !text_is_id(name))
		return err_set(e, E_USAGE, "USAGE", "--name takes letters, digits, '.', '_' and '-'");
	text = with_value(r->a, text, "name: ", name);
	if (to)
		return write_new(r, to, text, r->args[0], e);
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "text", json_stringn(r->a, (const char *)text.p, text.n));
		out_json(r, doc);
	} else {
		buf_add(r->out, text.p, text.n);
	}
	return OK;
}

/* ---- compile, import ---- */

static void put_document(struct cli *r, const struct json *doc)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b, doc, JSON_INDENT);
	buf_addc(&b, '\n');
	buf_add(r->out, b.p, b.n);
}

/* To a new file, or to the output. */
static int deliver(struct cli *r, const struct json *doc, struct err *e)
{
	const char *to = opt_text(r, "out", NULL);
	struct buf b;

	if (!to) {
		put_document(r, doc);
		return OK;
	}
	buf_init(&b, r->a);
	json_write(&b, doc, JSON_INDENT);
	buf_addc(&b, '\n');
	return file_create(r->sys, AT_FDCWD, to, 0644, buf_bytes(&b), e);
}

/* Problems that do not stop it are told beside the document, not in it. */
static void warn_problems(struct cli *r, const struct policy_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		if (problems->items[i].severity == POLICY_WARNING)
			warn(r, "%s", policy_problem_line(r->a, &problems->items[i]));
}

static int check_compiles(struct cli *r, struct policy_reading *reading, struct ruleset **ret, struct err *e)
{
	return ruleset_compile(r->a, reading->document, ret, e) ? policy_compile_error(r->a, reading, e) : OK;
}

/* Rules of several bundles, by id; each keeps the place it was written at. */
static int compose(struct cli *r, struct json **ret, struct err *e)
{
	const struct json **trees = arena_zalloc(r->a, r->arg_count, sizeof(*trees));
	struct json *document = NULL, *origins = json_new(r->a, JSON_OBJECT),
		    *rules = json_new(r->a, JSON_ARRAY);
	bool is_first = text_eq(opt_text(r, "compose", "strictest"), "first");
	struct bundle_composed made;

	for (size_t i = 0; i < r->arg_count; i++) {
		struct policy_reading reading;
		if (policy_source_read(r->sys, r->a, r->args[i], (struct policy_way){ 0 }, NULL, &reading, e))
			return e->rc;
		if (reading.shape != POLICY_SHAPE_BUNDLE)
			return err_set(e, E_INPUT, "POLICY_COMPOSE",
				"%s is no bundle (it is '%s'); only bundles become one",
				shown_name(r->args[i]), policy_shape_name(reading.shape));
		trees[i] = reading.source;
		document = document ? document : reading.document;
		json_each (rule, json_get(json_at(json_get(reading.document, "layers"), 0), "rules"))
			json_set(r->a, origins,
				arena_printf(r->a, "%s %s", json_get_text(rule, "id", ""),
					json_get_text(rule, "verdict", "")),
				rule);
	}
	bundle_compose(r->a, trees, r->arg_count, is_first, &made);
	json_each (rule, made.rules)
		json_push(r->a, rules,
			json_get(origins,
				arena_printf(r->a, "%s %s", json_get_text(rule, "id", ""),
					bundle_verdict(json_get_text(rule, "verdict", "")))));
	json_each (c, made.conflicts)
		warn(r, "rule '%s' has different verdicts; the %s counts", json_get_text(c, "rule", ""),
			is_first ? "first" : "strictest");
	json_set(r->a, json_at(json_get(document, "layers"), 0), "rules", rules);
	*ret = document;
	return OK;
}

int cmd_policy_compile(struct cli *r, struct err *e)
{
	struct policy_way way = { .as_policy = text_eq(opt_text(r, "as", "mapping"), "policy") };
	struct policy_reading reading = { .file = shown_name(r->args[0]) };
	struct ruleset *rules;
	struct json *document;

	if (r->arg_count > 1) {
		if (compose(r, &document, e))
			return e->rc;
	} else {
		if (policy_source_read(r->sys, r->a, r->args[0], way, NULL, &reading, e))
			return e->rc;
		document = reading.document;
		warn_problems(r, &reading.problems);
	}
	reading.document = document;
	if (check_compiles(r, &reading, &rules, e))
		return e->rc;
	if (!opt_flag(r, "hash")) {
		put_document(r, document);
		return OK;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "policy_hash", ruleset_sha256(rules));
	if (reading.content_hash)
		json_sets(r->a, doc, "content_hash", reading.content_hash);
	out_result(r, doc);
	return OK;
}

int cmd_policy_import(struct cli *r, struct err *e)
{
	struct policy_reading reading;
	struct ruleset *rules;

	if (policy_source_read(
		    r->sys, r->a, r->args[0], (struct policy_way){ .is_import = true }, NULL, &reading, e))
		return e->rc;
	warn_problems(r, &reading.problems);
	return check_compiles(r, &reading, &rules, e) ? e->rc : deliver(r, reading.document, e);
}

/* ---- sign, verify ---- */

/* A bundle or document is signed as it stands; anything else as what it becomes. */
static const struct json *signed_form(const struct policy_reading *reading)
{
	return reading->shape == POLICY_SHAPE_DOCUMENT || reading->shape == POLICY_SHAPE_BUNDLE
		? reading->source
		: reading->document;
}

int cmd_policy_sign(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	struct policy_reading reading;
	uint8_t sig[SIGN_SIZE];
	struct ruleset *rules;
	const char *home;

	if (policy_source_read(r->sys, r->a, r->args[0], (struct policy_way){ 0 }, NULL, &reading, e) ||
		check_compiles(r, &reading, &rules, e) || person_is_outside(r->sys, r->a, r->ws, e) ||
		workspace_helm_home(r->sys, r->a, &home, e) ||
		keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), &k, e))
		return e->rc;
	if (key_keeper(k))
		return err_set(e, E_INPUT, "POLICY_SIGN",
			"this user's key is kept by another user, who signs receipts only; sign with a key of your own");
	key_sign(k, policy_signed_bytes(r->a, signed_form(&reading)), sig);
	return deliver(r, policy_signed(r->a, signed_form(&reading), key_public(k), sig), e);
}

/* Both kinds of keys are as many digits, so the file says it: NAME.key beside NAME.pub, or what other programs write above it. */
static bool is_private_key(const char *path, struct bytes text)
{
	static const char mark[] = "PRIVATE KEY";

	return text_ends(path, ".key") || memmem(text.p, text.n, mark, strlen(mark));
}

/* Keys as given: their text, or the file that holds it. */
static int read_keys(struct cli *r, const char ***ret, size_t *ret_n, struct err *e)
{
	const char **words;
	size_t n = opt_list(r, "key", &words);

	*ret = arena_zalloc(r->a, n + 1, sizeof(**ret));
	for (size_t i = 0; i < n; i++) {
		struct bytes text = bytes_of(words[i]);
		uint8_t pub[SIGN_PUBLIC];
		char *id = arena_alloc(r->a, KEY_ID);
		bool is_file = file_exists(r->sys, AT_FDCWD, words[i]);
		if (is_file && file_read(r->sys, r->a, AT_FDCWD, words[i], 4096, FILE_FOLLOW, &text, e))
			return e->rc;
		if (is_file && is_private_key(words[i], text))
			return err_set(e, E_INPUT, "KEY_PRIVATE",
				"'%s' is a private key; --key takes the public one (the file that ends in .pub)",
				words[i]);
		if (key_parse_public(text, words[i], pub, e))
			return e->rc;
		key_id(pub, id);
		(*ret)[i] = id;
	}
	*ret_n = n;
	return OK;
}

static int read_revoked(struct cli *r, const struct json **ret, struct err *e)
{
	const char *path = opt_text(r, "revoked", NULL);
	struct bytes text;
	struct json *doc;

	*ret = NULL;
	if (!path)
		return OK;
	if (file_read(r->sys, r->a, AT_FDCWD, path, POLICY_MAX_BYTES, FILE_FOLLOW, &text, e) ||
		json_parse(r->a, text, path, NULL, &doc, e))
		return e->rc;
	if (!json_is(doc, JSON_ARRAY))
		return err_set(e, E_INPUT, "POLICY_REVOKED", "%s holds %s; it must be a list of digests",
			path, json_type_name(doc));
	*ret = doc;
	return OK;
}

/* Whose it is can be said without --key; whether that is whom one trusts cannot. */
static int check_trust(
	struct cli *r, const struct policy_reading *reading, struct policy_trust *trust, struct err *e)
{
	const struct json *signature = json_get(signed_form(reading), "signature");
	const char *own = json_get_text(signature, "key", "");
	bool is_nobody = !trust->key_count && signature;

	if (is_nobody) {
		trust->keys = &own;
		trust->key_count = 1;
	}
	if (policy_trust_check(r->a, signed_form(reading), reading->content_hash, trust, e))
		return e->rc;
	return is_nobody
		? err_set(e, E_INPUT, "POLICY_SIGNATURE_INVALID",
			  "the policy is signed by %s, and no key was named to trust; if it is whom you expect, add --key %s",
			  own, own)
		: OK;
}

int cmd_policy_verify(struct cli *r, struct err *e)
{
	struct policy_trust trust = { .must_be_signed = true };
	struct policy_reading reading;
	struct ruleset *rules;
	const char **keys;

	if (read_keys(r, &keys, &trust.key_count, e) || read_revoked(r, &trust.revoked, e) ||
		policy_source_read(r->sys, r->a, r->args[0], (struct policy_way){ 0 }, NULL, &reading, e) ||
		check_compiles(r, &reading, &rules, e))
		return e->rc;
	if (opt_int(r, "epoch", 0) < 0)
		return err_set(e, E_USAGE, "USAGE", "--epoch takes 0 or more");
	trust.keys = keys;
	trust.least_epoch = (uint64_t)opt_int(r, "epoch", 0);
	if (check_trust(r, &reading, &trust, e)) {
		e->rc = E_INPUT; /* a judgement about a file, no decision about an effect */
		return err_wrap(e, "%s", shown_name(r->args[0]));
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "policy", reading.name);
	json_setb(r->a, doc, "verified", true);
	json_sets(
		r->a, doc, "signer", json_get_text(json_get(signed_form(&reading), "signature"), "key", ""));
	json_sets(r->a, doc, "policy_hash", ruleset_sha256(rules));
	out_result(r, doc);
	return OK;
}

/* ---- pack show ---- */

static void show_program(struct cli *r, const struct json *program)
{
	out(r, "%s: %s (%s)\n", json_get_text(program, "program_id", ""), json_get_text(program, "label", ""),
		json_get_text(program, "status", ""));
	json_each (control, json_get(program, "controls"))
		out(r, "  control %s: %s (in receipts as %s)\n", json_get_text(control, "control_id", ""),
			json_get_text(control, "description", ""), json_get_text(control, "detail_code", ""));
	json_each (rule, json_get(program, "rules"))
		out(r, "  rule %s: %s when %s\n", json_get_text(rule, "id", ""),
			json_get_text(rule, "action", ""), json_get_text(rule, "condition", ""));
}

/* What its rules do, as they are compiled. */
static void show_pack_rules(struct cli *r, const struct json *document, const char *name)
{
	json_each (pack, json_get(document, "packs")) {
		if (!text_eq(json_get_text(pack, "id", ""), name))
			continue;
		json_each (rule, json_get(pack, "rules"))
			out(r, "  rule %s: %s %s, %s (%s)\n", safe_member(r, rule, "id"),
				json_get_text(rule, "verdict", ""),
				policy_shown(r, json_text(json_at(json_get(rule, "actions"), 0))),
				json_get(rule, "detail_code") ? safe_member(r, rule, "detail_code")
							      : json_get_text(rule, "reason_code", ""),
				safe_member(r, rule, "origin"));
	}
}

/* A compliance pack has programs with controls; the others are packs of rules, one or several in a file. */
static void show_pack(struct cli *r, const struct json *report, const struct json *document)
{
	if (json_get(report, "pack_id"))
		out(r, "%s: %s, as %s\n", json_get_text(report, "pack_id", ""),
			json_get_text(report, "label", ""), json_get_text(report, "as", ""));
	json_each (program, json_get(report, "programs"))
		show_program(r, program);
	json_each (v, json_get(report, "variables"))
		if (!json_get_bool(v, "supplied", false))
			out(r, "nothing here supplies %s\n", json_get_text(v, "name", ""));
	json_each (pack, json_get(report, "packs")) {
		out(r, "%s %s: %s, %lld rules\n", safe_member(r, pack, "name"),
			safe_member(r, pack, "version"), json_get_text(pack, "kind", ""),
			(long long)json_get_int(pack, "rules", 0));
		show_pack_rules(r, document, json_get_text(pack, "name", ""));
	}
}

int cmd_pack_show(struct cli *r, struct err *e)
{
	struct policy_way way = { .as_policy = text_eq(opt_text(r, "as", "mapping"), "policy") };
	struct policy_reading reading;

	if (policy_source_read(r->sys, r->a, r->args[0], way, NULL, &reading, e))
		return e->rc;
	if (reading.shape != POLICY_SHAPE_MAPPING && reading.shape != POLICY_SHAPE_PACKS)
		return err_set(e, E_INPUT, "POLICY_SHAPE",
			"%s is no pack (it is '%s'); 'helm policy compile' shows what it says",
			shown_name(r->args[0]), policy_shape_name(reading.shape));
	if (r->is_json) {
		out_json(r, reading.report);
		return OK;
	}
	show_pack(r, reading.report, reading.document);
	for (size_t i = 0; i < reading.problems.n; i++)
		out(r, "%s\n", policy_problem_line(r->a, &reading.problems.items[i]));
	return OK;
}
