/* draft.c — scaffolds, drafts and their way into skills/.
 *
 * A folder is made beside its place under a name that nobody reads, and takes its place by one rename: whoever looks sees all of it or none. */
#include "remember/draft.h"

#include "base/diff.h"
#include "base/doc.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, SEEN_COMMANDS = 5 };
static const char *const parts[] = { "references", "templates", "scripts", "checks" };

/* ---- making a folder ---- */

struct making {
	const struct contract_place *at;
	const char *dir; /* where it is made */
};

static int put(struct making *m, const char *path, struct bytes text, struct err *e)
{
	const char *whole = arena_printf(m->at->a, "%s/%s", m->dir, path), *slash = strrchr(whole, '/');
	int rc = file_mkdirs(
		m->at->sys, m->at->root_fd, arena_strndup(m->at->a, whole, (size_t)(slash - whole)), 0755, e);

	return rc ? rc : file_put(m->at->sys, m->at->root_fd, whole, 0644, text, e);
}

static int put_json(struct making *m, const char *path, const struct json *doc, struct err *e)
{
	struct buf text;

	buf_init(&text, m->at->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	return put(m, path, buf_bytes(&text), e);
}

static int begin(
	struct making *m, const struct contract_place *at, const char *room, const char *name, struct err *e)
{
	uint8_t some[6];
	struct buf hex;

	if (!skill_is_name(name))
		return err_set(e, E_USAGE, "SKILL_NAME",
			"'%.100s' is no name for a skill: a-z, 0-9 and '-', at most 64, not beginning with '-'",
			name);
	if (file_exists(at->sys, at->root_fd, arena_printf(at->a, "%s/%s", room, name)))
		return err_set(e, E_INPUT, "SKILL_EXISTS", "there is a %s/%s already", room, name);
	if (at->sys->random(at->sys, some, sizeof(some)))
		return err_sys(e, "SKILL_MAKE", "no random numbers");
	buf_init(&hex, at->a);
	for (size_t i = 0; i < sizeof(some); i++)
		buf_addf(&hex, "%02x", some[i]);
	*m = (struct making){ at, arena_printf(at->a, "%s/.%s.%s.tmp", room, name, hex.p) };
	return file_mkdirs(at->sys, at->root_fd, m->dir, 0755, e);
}

int skill_move(const struct contract_place *at, const char *from, const char *to, struct err *e)
{
	struct sys *s = at->sys;
	const char *slash = strrchr(to, '/'), *room = arena_strndup(at->a, to, (size_t)(slash - to));
	int rc = file_mkdirs(s, at->root_fd, room, 0755, e);
	AUTO(close_fd) int fd = -1;

	if (rc)
		return rc;
	if (s->rename(s, at->root_fd, from, at->root_fd, to, RENAME_NOREPLACE))
		return errno == EEXIST || errno == ENOTEMPTY
			? err_set(e, E_INPUT, "SKILL_EXISTS", "there is a %s already", to)
			: err_sys(e, "SKILL_MOVE", "cannot move '%s' to '%s'", from, to);
	rc = file_open_dir(s, at->root_fd, room, &fd, e);
	if (rc == OK && s->fsync(s, fd))
		return err_sys(e, "SKILL_MOVE", "cannot make '%s' durable", to);
	return rc;
}

/* What is there is on disk before it gets its name. */
static int finish(struct making *m, int rc, const char *to, struct err *e)
{
	struct sys *s = m->at->sys;

	if (rc == OK && s->syncfs(s, m->at->root_fd))
		rc = err_sys(e, "SKILL_MAKE", "cannot make '%s' durable", to);
	if (rc == OK)
		rc = skill_move(m->at, m->dir, to, e);
	if (rc)
		file_remove_tree(s, m->at->root_fd, m->dir);
	return rc;
}

/* ---- scaffold ---- */

/* The workspace's own template where there is one. */
static struct bytes template(const struct contract_place *at, const char *name)
{
	struct bytes text;

	if (file_read(at->sys, at->a, at->root_fd, arena_printf(at->a, "references/%s", name), MAX_TEXT,
		    FILE_BENEATH, &text, NULL) &&
		!embed_find(arena_printf(at->a, "share/workspace/references/%s", name), &text))
		BUG("a template of skills is not in the program");
	return text;
}

static void replace_all(struct buf *to, struct bytes text, const struct draft_spec *d)
{
	const struct {
		const char *mark, *value;
	} marks[] = { { "__SKILL_NAME__", d->name }, { "__SKILL_DESCRIPTION__", d->description },
		{ "__EMOJI__", d->emoji ? d->emoji : "" } };

	for (size_t at = 0; at < text.n;) {
		size_t i = 0;
		while (i < ARRAY_SIZE(marks) &&
			(text.n - at < strlen(marks[i].mark) ||
				memcmp(text.p + at, marks[i].mark, strlen(marks[i].mark)) != 0))
			i++;
		if (i < ARRAY_SIZE(marks)) {
			buf_adds(to, marks[i].value);
			at += strlen(marks[i].mark);
		} else {
			buf_addc(to, (char)text.p[at++]);
		}
	}
}

static struct json *text_list(struct arena *a, const char *const *texts, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, list, texts[i]);
	return list;
}

/* `metadata.requires`, inside the front matter of the template. */
static void put_requires(struct arena *a, struct buf *text, const struct draft_spec *d)
{
	const char *end = strstr(text->p, "\n---\n");
	struct buf with;

	if (!end || (!d->bin_count && !d->env_count))
		return;
	buf_init(&with, a);
	buf_add(&with, text->p, (size_t)(end - text->p));
	buf_adds(&with, "\n  requires:");
	const struct {
		const char *name;
		const struct json *list;
	} lists[] = { { "bins", text_list(a, d->bins, d->bin_count) },
		{ "env", text_list(a, d->env, d->env_count) } };
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!lists[i].list->n)
			continue;
		buf_addf(&with, "\n    %s: ", lists[i].name);
		json_write(&with, lists[i].list, JSON_SPACED);
	}
	buf_adds(&with, end);
	*text = with;
}

static const char *one_line(struct arena *a, const char *text)
{
	char *line = arena_strdup(a, text);

	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	return line;
}

/* What was done under a profile is done again under it: no other one is said to be enough. */
static void put_profile(struct arena *a, struct buf *contract, const char *profile)
{
	struct json *doc, *allowed = json_new(a, JSON_ARRAY);

	if (!profile || !*profile || json_parse(a, buf_bytes(contract), "contract.json", NULL, &doc, NULL) ||
		!json_is(doc, JSON_OBJECT))
		return;
	json_pushs(a, allowed, profile);
	json_set(a, doc, "allowed_profiles", allowed);
	json_sets(a, doc, "default_profile", profile);
	buf_init(contract, a);
	json_write(contract, doc, JSON_INDENT);
	buf_addc(contract, '\n');
}

static int put_scaffold(struct making *m, const struct draft_spec *given, struct buf *text, struct err *e)
{
	struct arena *a = m->at->a;
	struct draft_spec d = *given;
	struct buf contract;

	d.description = one_line(a, given->description);
	buf_init(text, a);
	replace_all(text, template(m->at, "skill-capture-template.md"), &d);
	put_requires(a, text, &d);
	buf_init(&contract, a);
	replace_all(&contract, template(m->at, "skill-contract-template.json"), &d);
	put_profile(a, &contract, d.profile);
	int rc = put(m, "contract.json", buf_bytes(&contract), e);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && rc == OK; i++)
		rc = put(m, arena_printf(a, "%s/README.md", parts[i]),
			bytes_of(arena_printf(a, "# %s\n\nFiles of this skill that are %s.\n", parts[i],
				i == 0		 ? "read when it is used"
					: i == 1 ? "filled in"
					: i == 2 ? "run"
						 : "run to see whether it worked")),
			e);
	return rc;
}

static struct json *made(struct arena *a, const char *name, const char *path)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "skill", name);
	json_sets(a, doc, "path", path);
	return doc;
}

int skill_create(
	const struct contract_place *at, const struct draft_spec *d, struct json **ret, struct err *e)
{
	struct making m;
	struct buf text;
	const char *to = arena_printf(at->a, "skills/%s", d->name);
	int rc = begin(&m, at, "skills", d->name, e);

	if (rc)
		return rc;
	rc = put_scaffold(&m, d, &text, e);
	if (rc == OK)
		rc = put(&m, "SKILL.md", buf_bytes(&text), e);
	rc = finish(&m, rc, to, e);
	if (rc == OK)
		*ret = made(at->a, d->name, to);
	return rc;
}

/* ---- from a task ---- */

static const char *command_words(struct arena *a, const struct json *row)
{
	const char *preview = json_get_text(row, "command_preview", NULL);
	struct buf text;

	if (preview)
		return preview;
	buf_init(&text, a);
	json_each (word, json_get(row, "command"))
		buf_addf(&text, "%s%s", text.n ? " " : "", json_text(word) ? json_text(word) : "?");
	return text.p;
}

static void put_provenance(
	struct arena *a, struct buf *text, const struct json *task, const struct json *commands)
{
	static const char *const names[] = { "task_id", "skill", "profile", "task_name" };
	size_t seen = 0;

	buf_adds(text, "\n## Provenance\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		buf_addf(text, "- %s: %s\n", names[i], one_line(a, json_get_text(task, names[i], "-")));
	buf_addf(text, "- command: `%s`\n\n## Observed commands\n\n", one_line(a, command_words(a, task)));
	json_each (row, commands)
		if (seen++ < SEEN_COMMANDS)
			buf_addf(text, "- %s: `%s`\n", one_line(a, json_get_text(row, "label", "command")),
				one_line(a, command_words(a, row)));
	if (!seen)
		buf_adds(text, "- no commands were logged for this task\n");
	buf_adds(text,
		"\n## Review Checklist\n\n"
		"- [ ] The steps above are those that matter, in their order.\n"
		"- [ ] The profile is the narrowest that does.\n"
		"- [ ] The contract names the paths, hosts and commands it needs, and no others.\n"
		"- [ ] A file below checks/ shows that it worked.\n");
}

#define NOTES "What was done here, and what to look out for, goes into this file.\n"
#define SMOKE "How to see in one minute that the skill still works goes into this file.\n"

int skill_draft(const struct contract_place *at, const struct draft_spec *d, const struct json *task,
	const struct json *commands, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct making m;
	struct buf text;
	struct json *summary = json_new(a, JSON_OBJECT);
	const char *to = arena_printf(a, SKILL_DRAFTS "/%s", d->name);

	if (!text_eq(json_get_text(task, "status", ""), "completed"))
		return err_set(e, E_INPUT, "SKILL_DRAFT_TASK",
			"the task '%.128s' is %s; a draft is made of one that was completed",
			json_get_text(task, "task_id", "?"), json_get_text(task, "status", "not known"));
	int rc = begin(&m, at, SKILL_DRAFTS, d->name, e);
	if (rc)
		return rc;
	struct draft_spec under = *d;
	under.profile = json_get_text(task, "profile", NULL);
	rc = put_scaffold(&m, &under, &text, e);
	put_provenance(a, &text, task, commands);
	json_set(a, summary, "task", json_copy(a, task));
	json_set(a, summary, "commands", json_copy(a, commands));
	if (rc == OK)
		rc = put(&m, "SKILL.md", buf_bytes(&text), e);
	if (rc == OK)
		rc = put(&m, "references/workflow-notes.md",
			bytes_of(arena_printf(a, "# Notes of %s\n\n" NOTES, d->name)), e);
	if (rc == OK)
		rc = put(&m, "checks/smoke-test.md",
			bytes_of(arena_printf(a, "# Smoke test of %s\n\n" SMOKE, d->name)), e);
	if (rc == OK)
		rc = put_json(&m, "meta/task-summary.json", summary, e);
	rc = finish(&m, rc, to, e);
	if (rc == OK)
		*ret = made(a, d->name, to);
	return rc;
}

/* ---- what is missing ---- */

struct assessing {
	const struct contract_place *at;
	struct json *artifacts, *scaffold;
};

/* Files that say something; READMEs of the scaffold do not. */
static int look_at(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct assessing *x = arg;
	struct arena *a = x->at->a;
	struct bytes text;
	const char *slash = strchr(rel, '/');
	bool is_part = false;

	for (size_t i = 0; slash && i < ARRAY_SIZE(parts); i++)
		is_part |= strlen(parts[i]) == (size_t)(slash - rel) && text_starts(rel, parts[i]);
	if (S_ISDIR(st->st_mode) || !is_part || !S_ISREG(st->st_mode) || !st->st_size)
		return 0;
	int rc = file_read(x->at->sys, a, parent, name, MAX_TEXT, 0, &text, e);
	if (rc)
		return rc;
	if (text_eq(name, "README.md") && text.n > 1 && memcmp(text.p, "# ", 2) == 0)
		return 0;
	json_pushs(a, x->artifacts, rel);
	if (strstr((const char *)text.p, NOTES) || strstr((const char *)text.p, SMOKE))
		json_pushs(a, x->scaffold, rel);
	return 0;
}

/* Words of name and description, longer than two characters, each once. */
static struct json *similar_words(struct arena *a, const char *name, const char *description)
{
	size_t n;
	const char *text = arena_printf(a, "%s %s", name, description);
	const char *clean = text_utf8(a, text, strlen(text), "?", &n), *folded = text_fold(a, clean, n);
	struct json *words = json_new(a, JSON_OBJECT);

	for (const char *p = folded; *p;) {
		size_t len = 0, chars = 0;
		while (p[len] &&
			((unsigned char)p[len] >= 0x80 ||
				strchr("abcdefghijklmnopqrstuvwxyz0123456789", p[len]))) {
			chars += ((unsigned char)p[len] & 0xc0) != 0x80;
			len++;
		}
		if (chars > 2)
			json_setb(a, words, arena_strndup(a, p, len), true);
		p += len ? len : 1;
	}
	return words;
}

/* Jaccard, in thousandths. */
static int64_t similarity(const struct json *x, const struct json *y)
{
	size_t both = 0;

	json_each_member (m, x)
		both += json_get(y, m->name) != NULL;
	size_t all = x->n + y->n - both;
	return all ? (int64_t)((both * 1000 + all / 2) / all) : 0;
}

enum { LISTED = 450, BLOCKING = 700, MOST_LISTED = 5 };

static bool find_duplicates(const struct contract_place *at, const struct skill *draft, struct json *list)
{
	static const char *const live[] = { "skills", NULL };
	struct arena *a = at->a;
	struct skill *all;
	size_t n;
	bool is_blocked = false;
	const struct json *words = similar_words(a, draft->name, draft->description);

	if (skill_list(at, live, &all, &n, NULL))
		return false;
	for (size_t i = 0; i < n; i++) {
		int64_t like = similarity(words, similar_words(a, all[i].id, all[i].description));
		bool is_same = text_eq(all[i].name, draft->name);
		if (like < LISTED && !is_same)
			continue;
		is_blocked |= is_same || like >= BLOCKING;
		if (list->n >= MOST_LISTED)
			continue;
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "skill", all[i].name);
		json_set(a, one, "similarity", json_double(a, (double)like / 1000));
		json_sets(a, one, "description", all[i].description);
		json_push(a, list, one);
	}
	return is_blocked;
}

static bool has_text_of(const struct json *list, const char *text)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

/* Profiles that the text names, and those of them that the contract does not have. */
static void find_profiles(const struct contract_place *at, const char *text, const struct json *entry,
	struct json *hits, struct json *conflicts)
{
	static const char *const names[] = { "inspect_local", "workspace_edit", "risky_edit", "service_ops",
		"remote_handoff" };
	const struct json *allowed = json_get(entry, "allowed_profiles");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strstr(text, names[i]))
			continue;
		json_pushs(at->a, hits, names[i]);
		if (allowed && allowed->n && !has_text_of(allowed, names[i]))
			json_pushs(at->a, conflicts, names[i]);
	}
}

static int find_draft(const struct contract_place *at, const char *name, struct skill *ret, struct err *e)
{
	const char *dir = arena_printf(at->a, SKILL_DRAFTS "/%s", name);

	if (!text_is_id(name) || !file_is_dir(at->sys, at->root_fd, dir))
		return err_set(e, E_MISSING, "SKILL_DRAFT",
			"there is no draft '%.100s' below " SKILL_DRAFTS "/", name);
	if (!skill_read(at, dir, name, ret))
		return err_set(e, E_MISSING, "SKILL_DRAFT", "the draft '%s' has no SKILL.md", name);
	return OK;
}

int skill_assess(const struct contract_place *at, const char *name, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct assessing x = { at, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY) };
	struct json *doc = json_new(a, JSON_OBJECT), *checks = json_new(a, JSON_OBJECT),
		    *details = json_new(a, JSON_OBJECT), *hits = json_new(a, JSON_ARRAY),
		    *conflicts = json_new(a, JSON_ARRAY), *alike = json_new(a, JSON_ARRAY), *contract;
	struct skill draft;
	struct bytes text;
	int rc = find_draft(at, name, &draft, e);

	if (rc == OK)
		rc = file_read(at->sys, a, at->root_fd, arena_printf(a, "%s/SKILL.md", draft.dir), MAX_TEXT,
			FILE_BENEATH, &text, e);
	if (rc == OK)
		rc = file_walk(at->sys, at->root_fd, draft.dir, look_at, &x, e);
	if (rc)
		return rc;
	const char *said = (const char *)text.p;
	if (doc_read(at->sys, a, at->root_fd, arena_printf(a, "%s/contract.json", draft.dir), MAX_TEXT,
		    FILE_BENEATH, &contract, NULL))
		contract = NULL;
	struct json *entry = contract_profiles(at, name, contract), *left = skill_placeholders(a, said);
	const char *summary = arena_printf(a, "%s/meta/task-summary.json", draft.dir);
	find_profiles(at, said, entry, hits, conflicts);
	json_setb(a, checks, "missing_placeholders", left->n == 0);
	json_setb(a, checks, "has_execution_profile", hits->n > 0);
	json_setb(a, checks, "has_substantive_artifact", x.artifacts->n > x.scaffold->n);
	json_setb(a, checks, "has_task_summary", file_exists(at->sys, at->root_fd, summary));
	json_setb(a, checks, "has_review_checklist", strstr(said, "## Review Checklist") != NULL);
	json_setb(a, checks, "no_policy_conflict", conflicts->n == 0);
	json_setb(a, checks, "no_duplicate_skill_conflict", !find_duplicates(at, &draft, alike));
	json_set(a, details, "placeholder_hits", left);
	json_set(a, details, "profile_hits", hits);
	json_set(a, details, "artifacts", x.artifacts);
	json_set(a, details, "artifact_placeholders", x.scaffold);
	json_sets(a, details, "task_summary",
		json_get_bool(checks, "has_task_summary", false) ? summary : NULL);
	json_set(a, details, "policy_entry", entry);
	json_set(a, details, "policy_conflicts", conflicts);
	json_set(a, details, "duplicate_candidates", alike);
	bool is_passed = true;
	json_each_member (m, checks)
		is_passed &= json_get_bool(checks, m->name, false);
	json_sets(a, doc, "draft", draft.dir);
	json_setb(a, doc, "passed", is_passed);
	json_set(a, doc, "checks", checks);
	json_set(a, doc, "details", details);
	*ret = doc;
	struct making m = { at, draft.dir };
	return put_json(&m, "meta/assessment.json", doc, e);
}

bool skill_assess_passes(const struct json *assessment, const char *name, bool replace)
{
	static const char check[] = "no_duplicate_skill_conflict";
	bool is_passed = true;

	json_each_member (m, json_get(assessment, "checks"))
		is_passed &= text_eq(m->name, check) || m->value->type == JSON_TRUE;
	if (json_get_bool(json_get(assessment, "checks"), check, false) || !is_passed)
		return is_passed;
	json_each (one, json_get(json_get(assessment, "details"), "duplicate_candidates"))
		is_passed &= text_eq(json_get_text(one, "skill", ""), name);
	return is_passed && replace;
}

struct json *skill_assess_words(struct arena *a, const struct json *assessment)
{
	static const struct {
		const char *check, *text, *list;
	} words[] = {
		{ "missing_placeholders", "sentences of the template are left in SKILL.md",
			"placeholder_hits" },
		{ "has_execution_profile", "SKILL.md names no profile that it runs under", NULL },
		{ "has_substantive_artifact",
			"no file below references, templates, scripts or checks says something",
			"artifact_placeholders" },
		{ "has_task_summary", "meta/task-summary.json is missing: make the draft from a task", NULL },
		{ "has_review_checklist", "SKILL.md has no '## Review Checklist'", NULL },
		{ "no_policy_conflict", "SKILL.md names profiles that the contract does not allow",
			"policy_conflicts" },
		{ "no_duplicate_skill_conflict", "a live skill does the same", "duplicate_candidates" },
	};
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (json_get_bool(json_get(assessment, "checks"), words[i].check, false))
			continue;
		struct buf text;
		buf_init(&text, a);
		buf_adds(&text, words[i].text);
		const struct json *of =
			words[i].list ? json_get(json_get(assessment, "details"), words[i].list) : NULL;
		json_each (one, of)
			buf_addf(&text, "%s%s", one == of->items[0] ? ": " : ", ",
				json_text(one) ? json_text(one) : json_get_text(one, "skill", "?"));
		json_pushs(a, list, text.p);
	}
	return list;
}

/* ---- into skills/ ---- */

struct copying {
	struct making *to;
	const struct contract_place *at;
};

/* Plain files only: a link would be something else there.  What the draft's review left in meta/ stays behind. */
static int copy_one(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct copying *c = arg;
	struct bytes text;

	if (S_ISDIR(st->st_mode))
		return text_eq(rel, "meta") ? FILE_SKIP : 0;
	if (!S_ISREG(st->st_mode))
		return err_set(e, E_INPUT, "SKILL_FILE", "'%s' of the draft is no plain file", rel);
	int rc = file_read(c->at->sys, c->at->a, parent, name, 64 << 20, 0, &text, e);
	if (rc == OK)
		rc = put(c->to, rel, text, e);
	if (rc == OK && st->st_mode & 0111) {
		AUTO(close_fd)
		int fd = c->at->sys->open(c->at->sys, c->at->root_fd,
			arena_printf(c->at->a, "%s/%s", c->to->dir, rel), O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
			0, 0);
		if (fd < 0 || c->at->sys->chmod(c->at->sys, fd, 0755))
			return err_sys(e, "SKILL_MAKE", "cannot make '%s' executable", rel);
	}
	return rc;
}

int skill_promote(const struct contract_place *at, const char *name, bool replace, const char **ret_target,
	struct err *e)
{
	const char *from = arena_printf(at->a, SKILL_DRAFTS "/%s", name),
		   *to = arena_printf(at->a, "skills/%s", name);
	bool is_there = file_exists(at->sys, at->root_fd, to);
	struct making m;
	struct copying c = { &m, at };
	int rc;

	if (is_there && !replace)
		return err_set(e, E_INPUT, "SKILL_EXISTS",
			"there is a skill '%s' already; see 'helm skill-diff --name %s', then --replace",
			name, name);
	/* begin() refuses a name that is taken, so the folder is made under another one. */
	rc = begin(&m, at, "skills", is_there ? arena_printf(at->a, "%.50s-next", name) : name, e);
	if (rc)
		return rc;
	rc = file_walk(at->sys, at->root_fd, from, copy_one, &c, e);
	if (rc == OK && is_there)
		rc = skill_move(at, to,
			arena_printf(at->a, "skills/.archive/%s-%s", name,
				text_time_compact(at->a, at->sys->now_us(at->sys))),
			e);
	rc = finish(&m, rc, to, e);
	if (rc == OK)
		*ret_target = to;
	return rc;
}

/* ---- review ---- */

struct comparing {
	const struct contract_place *at;
	const char *draft, *live;
	struct json *lines, *seen;
};

static struct bytes text_at(const struct contract_place *at, const char *path)
{
	struct bytes text = { (const uint8_t *)"", 0 };

	(void)file_read(at->sys, at->a, at->root_fd, path, MAX_TEXT, FILE_BENEATH, &text, NULL);
	return text;
}

static void compare(struct comparing *c, const char *rel)
{
	struct arena *a = c->at->a;
	const char *live = arena_printf(a, "%s/%s", c->live, rel),
		   *draft = arena_printf(a, "%s/%s", c->draft, rel);
	struct bytes was = text_at(c->at, live), is = text_at(c->at, draft);
	const char *diff = bytes_eq(was, is) ? "" : diff_unified(a, live, was, draft, is);

	json_setb(a, c->seen, rel, true);
	if (!diff)
		diff = arena_printf(a, "Binary files %s and %s differ\n", live, draft);
	for (struct bytes rest = bytes_of(diff); rest.n;) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end ? (size_t)(end - rest.p) : rest.n;
		json_push(a, c->lines, json_stringn(a, (const char *)rest.p, n));
		n += end != NULL;
		rest = (struct bytes){ rest.p + n, rest.n - n };
	}
}

static int compare_one(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct comparing *c = arg;

	(void)parent;
	(void)name;
	(void)e;
	if (S_ISDIR(st->st_mode))
		return text_eq(rel, "meta") ? FILE_SKIP : 0;
	if (S_ISREG(st->st_mode) && !json_get(c->seen, rel))
		compare(c, rel);
	return 0;
}

int skill_compare(const struct contract_place *at, const char *name, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct skill draft;
	struct json *doc = json_new(a, JSON_OBJECT);
	int rc = find_draft(at, name, &draft, e);

	if (rc)
		return rc;
	struct comparing c = { at, draft.dir, arena_printf(a, "skills/%s", name), json_new(a, JSON_ARRAY),
		json_new(a, JSON_OBJECT) };
	bool is_live = file_is_dir(at->sys, at->root_fd, c.live);
	rc = file_walk(at->sys, at->root_fd, draft.dir, compare_one, &c, e);
	if (rc == OK && is_live)
		rc = file_walk(at->sys, at->root_fd, c.live, compare_one, &c, e);
	json_sets(a, doc, "draft", draft.dir);
	json_sets(a, doc, "live", is_live ? c.live : NULL);
	json_set(a, doc, "diff", c.lines);
	*ret = doc;
	return rc;
}

int skill_reject(const struct contract_place *at, const char *name, const char *reason, struct json **ret,
	struct err *e)
{
	struct arena *a = at->a;
	struct skill draft;
	struct json *doc = json_new(a, JSON_OBJECT);
	int rc = find_draft(at, name, &draft, e);

	if (rc)
		return rc;
	json_sets(a, doc, "draft", draft.dir);
	json_sets(a, doc, "status", "rejected");
	json_sets(a, doc, "reason", reason);
	json_sets(a, doc, "rejected_at", text_time_iso(a, at->sys->now_us(at->sys)));
	struct making m = { at, draft.dir };
	*ret = doc;
	return put_json(&m, "meta/rejection.json", doc, e);
}
