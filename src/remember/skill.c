/* skill.c — folders of skills: what is in them, and one digest for all of it. */
#include "remember/skill.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "remember/front_matter.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

enum { MAX_TEXT = 1 << 20, MAX_FILES = 2000, MAX_SKILL_BYTES = 64 << 20 };

bool skill_is_name(const char *name)
{
	size_t n = strlen(name);

	return n && n <= 64 && name[0] != '-' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static const char *source_of(const struct contract_place *at, const char *dir, const struct json *front)
{
	const char *said = json_get_text(front, "source", "");

	if (text_eq(said, "bundled") || text_eq(said, "hub") || text_eq(said, "workspace"))
		return said;
	if (file_exists(at->sys, at->root_fd, arena_printf(at->a, "%s/.bundled", dir)))
		return "bundled";
	return file_exists(at->sys, at->root_fd, arena_printf(at->a, "%s/.hub", dir)) ? "hub" : "workspace";
}

bool skill_read(const struct contract_place *at, const char *dir, const char *name, struct skill *ret)
{
	struct bytes text;
	struct front_matter f;

	if (file_read(at->sys, at->a, at->root_fd, arena_printf(at->a, "%s/SKILL.md", dir), MAX_TEXT,
		    FILE_BENEATH, &text, NULL))
		return false;
	front_matter_parse(at->a, text, &f);
	const char *id = json_get_text(f.fields, "name", "");
	*ret = (struct skill){ .name = name,
		.dir = dir,
		.id = *id ? id : name,
		.description = json_get_text(f.fields, "description", ""),
		.source = source_of(at, dir, f.fields),
		.front = f.fields,
		.is_draft = text_starts(dir, SKILL_DRAFTS "/"),
		.has_text = true };
	return true;
}

/* A folder, whatever of the two files is in it. */
static bool look(const struct contract_place *at, const char *room, const char *name, struct skill *ret)
{
	const char *dir = arena_printf(at->a, "%s/%s", room, name);
	bool has_contract = file_exists(at->sys, at->root_fd, arena_printf(at->a, "%s/contract.json", dir));

	if (!skill_read(at, dir, name, ret)) {
		if (!has_contract)
			return false;
		*ret = (struct skill){ .name = name,
			.dir = dir,
			.id = name,
			.description = "",
			.source = source_of(at, dir, NULL),
			.is_draft = text_eq(room, SKILL_DRAFTS) };
	}
	ret->has_contract = has_contract;
	return true;
}

static bool is_known(const struct skill *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(list[i].name, name))
			return true;
	return false;
}

int skill_list(const struct contract_place *at, const char *const *rooms, struct skill **ret, size_t *ret_n,
	struct err *e)
{
	struct skill *list = NULL;
	size_t n = 0, room_for = 0;

	for (; *rooms; rooms++) {
		char **names;
		size_t count = 0, before = n;
		int rc = file_list(at->sys, at->a, at->root_fd, *rooms, &names, &count, e);
		if (rc && rc != E_MISSING)
			return rc;
		for (size_t i = 0; rc == OK && i < count; i++) {
			struct skill one;
			if (names[i][0] == '.' || !text_is_id(names[i]) || is_known(list, before, names[i]) ||
				!look(at, *rooms, names[i], &one))
				continue;
			if (n == room_for) {
				room_for = room_for ? room_for * 2 : 32;
				list = arena_grow(at->a, list, n * sizeof(*list), room_for * sizeof(*list));
			}
			list[n++] = one;
		}
	}
	*ret = list;
	*ret_n = n;
	return OK;
}

static const char *nearest(const struct contract_place *at, const char *name)
{
	struct skill *list;
	size_t n;

	if (skill_list(at, skill_rooms, &list, &n, NULL))
		return NULL;
	const char **names = arena_zalloc(at->a, n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = list[i].name;
	return text_nearest(name, names, n);
}

int skill_find(const struct contract_place *at, const char *name, struct skill *ret, struct err *e)
{
	if (!text_is_id(name))
		return err_set(e, E_USAGE, "SKILL_NAME", "'%.100s' is no name of a skill", name);
	for (const char *const *room = skill_rooms; *room; room++)
		if (look(at, *room, name, ret))
			return OK;
	const char *near = nearest(at, name);
	return err_set(e, E_MISSING, "SKILL_UNKNOWN",
		"there is no skill '%s'%s%s; 'helm skill list' names them", name,
		near ? ", did you mean " : "", near ? near : "");
}

/* ---- digest ---- */

struct summing {
	const struct contract_place *at;
	struct json *files;
	size_t bytes;
};

static int sum_up(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct summing *x = arg;
	struct arena *a = x->at->a;
	struct sys *s = x->at->sys;
	struct bytes text;
	char link[4096];

	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") ? FILE_SKIP : 0;
	if (x->files->n >= MAX_FILES)
		return err_set(
			e, E_LIMIT, "SKILL_SIZE", "a skill with more than %d files is none", MAX_FILES);
	if (S_ISLNK(st->st_mode)) {
		ssize_t n = s->readlink(s, parent, name, link, sizeof(link));
		if (n < 0)
			return err_sys(e, "SKILL_READ", "cannot read the link '%s'", rel);
		text = (struct bytes){ (const uint8_t *)link, (size_t)n };
		json_sets(a, x->files, rel,
			arena_printf(a, "link:%s", sha256_prefixed(a, text.p, text.n) + strlen("sha256:")));
		return 0;
	}
	if (!S_ISREG(st->st_mode))
		return err_set(e, E_INPUT, "SKILL_FILE", "'%s' is no file", rel);
	int rc = file_read(s, a, parent, name, MAX_SKILL_BYTES, 0, &text, e);
	if (rc)
		return rc;
	x->bytes += text.n;
	if (x->bytes > MAX_SKILL_BYTES)
		return err_set(e, E_LIMIT, "SKILL_SIZE", "a skill of more than %d MiB is none",
			MAX_SKILL_BYTES >> 20);
	json_sets(a, x->files, rel, sha256_prefixed(a, text.p, text.n) + strlen("sha256:"));
	return 0;
}

int skill_digest(const struct contract_place *at, const char *dir, const char **ret_sha256,
	struct json **ret_files, struct err *e)
{
	struct summing x = { at, json_new(at->a, JSON_OBJECT), 0 };
	int rc = file_walk(at->sys, at->root_fd, dir, sum_up, &x, e);

	if (rc)
		return rc;
	*ret_sha256 = json_sha256(at->a, x.files);
	if (ret_files)
		*ret_files = x.files;
	return OK;
}

/* ---- contract ---- */

/* `Read, Grep, Bash(git diff:*)`, or the same as a list. */
static struct json *tool_words(struct arena *a, const struct json *said)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const char *text = json_text(said);

	json_each (one, said)
		if (json_text(one))
			json_pushs(a, list, json_text(one));
	for (const char *p = text; p && *p;) {
		size_t n = 0;
		int depth = 0;
		p += strspn(p, ", \t");
		for (; p[n] && (depth || !strchr(", \t", p[n])); n++)
			depth += (p[n] == '(') - (p[n] == ')' && depth);
		if (n)
			json_push(a, list, json_stringn(a, p, n));
		p += n;
	}
	return list;
}

/* Bash(x y:*) permits commands that begin so; Bash alone all of them. */
static void take_allowed(struct arena *a, const struct json *said, struct json *doc)
{
	struct json *tools = json_new(a, JSON_ARRAY), *commands = json_new(a, JSON_ARRAY);
	bool is_any = false;

	json_each (one, tool_words(a, said)) {
		const char *word = json_text(one), *open = strchr(word, '(');
		size_t n = strlen(word);
		if (!open || word[n - 1] != ')') {
			is_any |= strcasecmp(word, "bash") == 0;
			json_pushs(a, tools, word);
			continue;
		}
		json_push(a, tools, json_stringn(a, word, (size_t)(open - word)));
		if (strncasecmp(word, "bash(", 5) != 0)
			continue;
		char *command = arena_strndup(a, open + 1, n - (size_t)(open + 1 - word) - 1);
		size_t len = strlen(command);
		if (text_ends(command, ":*"))
			command[len - 2] = '\0';
		else if (text_ends(command, " *"))
			command[len - 2] = '\0';
		is_any |= !*command || text_eq(command, "*");
		json_pushs(a, commands, command);
	}
	if (!json_get(doc, "tools"))
		json_set(a, doc, "tools", tools);
	if (commands->n && !is_any && !json_get(doc, "commands"))
		json_set(a, doc, "commands", commands);
}

int skill_contract(const struct contract_place *at, const char *name, struct json **ret, struct err *e)
{
	struct json *contract;
	struct skill found;
	int rc = contract_read(at, name, &contract, e);

	*ret = contract;
	if (rc || skill_find(at, name, &found, NULL))
		return rc;
	const struct json *said = json_get(found.front, "allowed-tools");
	if (!said || said->type == JSON_NULL)
		return OK;
	*ret = contract ? json_copy(at->a, contract) : json_new(at->a, JSON_OBJECT);
	take_allowed(at->a, said, *ret);
	return OK;
}

struct json *skill_contract_whole(struct arena *a, const struct json *contract)
{
	static const char base[] =
		"{\"context\":{\"required\":false,\"query\":\"\",\"include\":[],\"limit\":6,\"failed_include\":[],"
		"\"failed_limit\":6},\"approval_keywords\":[],\"require_finalization_written\":true,"
		"\"browser_work\":{\"required\":false,\"required_fields\":[\"reason\",\"evidence\",\"api_reusable\","
		"\"next_action\"],\"when_any\":[]},"
		"\"retrieval_policy\":{\"required\":false,\"required_fields\":[\"attempt_stage\","
		"\"exit_classification\",\"recovery_artifact\"],\"when_any\":[]},"
		"\"file_intake\":{\"required\":false,\"required_fields\":[\"path\",\"claimed_type\",\"detected_type\","
		"\"detector\",\"route_decision\"],\"when_any\":[]},"
		"\"artifact_validation\":{\"required\":false,\"required_fields\":[\"ok\",\"checked_paths\"],"
		"\"when_any\":[]},"
		"\"route_decision\":{\"required\":false,\"task_type\":\"generic\",\"required_fields\":[\"task_type\","
		"\"stage\",\"chosen_tool\",\"next_action\"],\"allowed_stages\":[\"classify\",\"input_check\",\"route\","
		"\"execute\",\"review\",\"write\"],\"allowed_next_actions\":[\"ask\",\"run\",\"stop\",\"review\"],"
		"\"tool_rules\":[]},\"result_contract\":{\"required\":false},\"failure_downgrade\":{\"steps\":[]},"
		"\"runner\":{\"entrypoint\":\"\",\"strict_required\":false}}";
	struct json *whole;

	if (json_parse(a, BYTES_LITERAL(base), "contract", NULL, &whole, NULL))
		BUG("the base of contracts is no JSON");
	doc_lay_over(a, whole, contract);
	return whole;
}
