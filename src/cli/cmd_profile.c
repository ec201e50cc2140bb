/* cmd_profile.c — profile list, show, policy: the profiles there are, one of them, and which skills may
 * use which.
 *
 * Outside a workspace the shipped profiles are shown, so the commands work before anything is set up. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/allow.h"
#include "kernel/task/homes.h"
#include "kernel/workspace.h"
#include "model/profile.h"

#include <fcntl.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* Warnings about rights that a file does not mention are told every time it is read. */
static int load(struct cli *r, struct profiles *ret, struct err *e)
{
	int rc = OK;

	/* Outside of a workspace nobody has profiles of their own. */
	if (r->ws)
		rc = workspace_profiles(r->sys, r->a, r->ws, ret, e);
	else
		profiles_builtin(r->a, ret);
	for (size_t i = 0; rc == OK && i < ret->warning_count; i++)
		warn(r, "%s", ret->warnings[i]);
	return rc;
}

/* The profile's document with its name in front. */
static struct json *profile_row(struct arena *a, const struct profile *p)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "name", p->name);
	json_each_member (m, profile_document(a, p))
		json_set(a, v, m->name, json_copy(a, m->value));
	return v;
}

/* Texts of a workspace's own profiles are made safe: anybody may have written them. */
/* What a run under it may write, in words. */
static const char *may_write(struct cli *r, const struct profile *p)
{
	struct buf text;

	if (p->writes != ALLOWANCE_YES)
		return p->writes == ALLOWANCE_NO ? "nothing" : "as its target allows";
	if (!p->write_paths)
		return "work tree";
	buf_init(&text, r->a);
	for (size_t i = 0; i < p->write_path_count; i++)
		buf_addf(&text, "%s%s", i ? ", " : "", p->write_paths[i]);
	return text.p;
}

static const char *may_reach(struct cli *r, const struct profile *p)
{
	static const char *const words[] = { "none", "loopback", NULL, "open" };
	TABLE_COVERS(words, NETWORK_REACHES);
	const enum network_reach reach = profile_reach(p);

	if (reach == NETWORK_NAMED)
		return arena_printf(r->a, "%zu named hosts", p->egress_count);
	return p->network == ALLOWANCE_TARGET ? "as its target allows" : words[reach];
}

static const char *saves_first(const struct profile *p)
{
	static const char *const words[] = { "never", "what is lost", "always", "by hand" };
	TABLE_COVERS(words, CHECKPOINT_RULES);

	return words[p->checkpoint];
}

int cmd_profile_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "PROFILE", "MAY WRITE", "NETWORK", "SAVES FIRST", "WHAT FOR" };
	struct json *list = json_new(r->a, JSON_ARRAY);
	struct profiles p;
	int rc = load(r, &p, e);

	if (rc)
		return rc;
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	for (size_t i = 0; i < p.count; i++) {
		const struct profile *one = &p.list[i];
		const char *cells[] = { one->name, may_write(r, one), may_reach(r, one), saves_first(one),
			one->description };
		for (size_t k = 0; k < ARRAY_SIZE(cells); k++)
			cells[k] = text_safe(r->a, cells[k], strlen(cells[k]), false);
		out_row(t, cells, NULL);
		json_push(r->a, list, profile_row(r->a, &p.list[i]));
	}
	if (r->is_json)
		out_json(r, list);
	else
		out_table_end(t);
	return 0;
}

int cmd_profile_show(struct cli *r, struct err *e)
{
	const struct profile *found;
	struct profiles p;
	int rc = load(r, &p, e);

	if (rc || (rc = profiles_get(&p, r->args[0], &found, e)))
		return rc;
	struct json *doc = json_copy(r->a, profile_document(r->a, found));
	if (r->ws && r->ws->home)
		json_set(r->a, doc, "home",
			homes_list(r->sys, r->a, r->ws->home, r->ws->helm_home, found,
				allowed_to_read(r->sys, r->a, r->ws)));
	out_result(r, doc);
	return 0;
}

/* --- policy: the central file, and what each skill's contract says ---------------------------------------------------- */

/* A missing file is no error and no document. */
static int read_json(struct cli *r, const char *path, struct json **ret, struct err *e)
{
	int rc = doc_read(r->sys, r->a, AT_FDCWD, path, MAX_FILE_BYTES, FILE_FOLLOW, ret, e);

	if (rc == E_MISSING)
		*ret = NULL;
	return rc == E_MISSING ? OK : rc;
}

/* Copies the two members that matter, if they are there. */
static void take_policy(struct arena *a, struct json *skills, const char *skill, const struct json *from)
{
	static const char *const members[] = { "allowed_profiles", "default_profile" };
	struct json *row = json_get(skills, skill);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct json *v = json_get(from, members[i]);
		if (!v)
			continue;
		if (!row)
			/* Skills without either member do not appear. */
			json_set(a, skills, skill, row = json_new(a, JSON_OBJECT));
		json_set(a, row, members[i], json_copy(a, v));
	}
}

/* What each skill's contract says. One that cannot be read is a warning; the others are still shown. */
static void take_contracts(struct cli *r, struct json *skills)
{
	const char *dir = arena_printf(r->a, "%s/skills", r->ws->root);
	char **names;
	size_t n;

	if (file_list(r->sys, r->a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		struct json *contract = NULL;
		struct err e;
		if (read_json(r, arena_printf(r->a, "%s/%s/contract.json", dir, names[i]), &contract, &e))
			warn(r, "%s", e.text);
		else
			take_policy(r->a, skills, names[i], contract);
	}
}

/* Contracts are read last, so that they win over the central file. */
int cmd_profile_policy(struct cli *r, struct err *e)
{
	struct json *skills = json_new(r->a, JSON_OBJECT), *doc = json_new(r->a, JSON_OBJECT),
		    *central = NULL;
	int rc = OK;

	if (r->ws)
		rc = read_json(r,
			arena_printf(r->a, "%s/references/skill_profile_policies.json", r->ws->root),
			&central, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(central, "skills"))
		take_policy(r->a, skills, m->name, m->value);
	if (r->ws)
		take_contracts(r, skills);
	/* No policy is an answer, too, and not an empty screen. */
	if (skills->n == 0 && !r->is_json) {
		out(r, "no skill has a profile policy; every skill may use every profile\n");
		return 0;
	}
	json_set(r->a, doc, "skills", skills);
	out_json(r, doc);
	return 0;
}
