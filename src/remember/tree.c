/* tree.c — summaries in three layers: what a source says, what is known about a topic, and one page over all topics.
 *
 * The page has a budget, and it is kept: topics that nobody refreshed for long, and that little is linked to, are left out first, and named.
 * A summary that a person edited is theirs. */
#include "base/file.h"
#include "base/hash.h"
#include "privacy/privacy.h"
#include "record/record.h"
#include "remember/front_matter.h"
#include "remember/parts.h"

#include <fcntl.h>
#include <string.h>

enum { ID_MOST = 96, DEFAULT_BUDGET = 3000, HASH_DIGITS = 16 };
#define NO_TOPICS "No topic has a summary yet."

/* ---- status ---- */

static struct json *names_in(struct sys *s, struct arena *a, int dirfd, const char *dir)
{
	struct json *list = json_new(a, JSON_ARRAY);
	char **names;
	size_t n;

	if (file_list(s, a, dirfd, dir, &names, &n, NULL))
		return list;
	for (size_t i = 0; i < n; i++)
		if (names[i][0] != '.' && text_ends(names[i], ".md"))
			json_push(a, list, json_stringn(a, names[i], strlen(names[i]) - strlen(".md")));
	return list;
}

int memory_tree_status(
	struct sys *s, struct arena *a, int dirfd, const char *root, struct json **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	(void)e;
	json_sets(a, doc, "root", root);
	json_set(a, doc, "sources", names_in(s, a, dirfd, path_join(a, root, "source")));
	json_set(a, doc, "topics", names_in(s, a, dirfd, path_join(a, root, "topic")));
	json_setb(a, doc, "global_summary_present",
		file_exists(s, dirfd, path_join(a, root, "global/current.md")));
	*ret = doc;
	return OK;
}

/* ---- which file ---- */

static bool is_id(const char *id)
{
	return *id && strlen(id) <= ID_MOST &&
		strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(id) && !strchr("-._", id[0]);
}

int memory_tree_file(struct arena *a, const struct tree_refresh *r, const char **ret_file, struct err *e)
{
	static const char *const allowed[][2] = { { "cron", "source" }, { "telegram_answer", "source" },
		{ "telegram_answer", "topic" }, { "task_ledger_change", "topic" },
		{ "obsidian_user_edit", "source" }, { "obsidian_user_edit", "topic" },
		{ "global_compact", "global" } };
	bool is_allowed = false;

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		is_allowed |= text_eq(r->trigger, allowed[i][0]) && text_eq(r->layer, allowed[i][1]);
	if (!is_allowed)
		return err_set(e, E_USAGE, "MEMORY_TREE", "the trigger %s does not refresh a %s", r->trigger,
			r->layer);
	if (!text_eq(r->layer, "global") && (!r->id || !is_id(r->id)))
		return err_set(e, E_USAGE, "MEMORY_TREE",
			"an id has 1 to %d characters a-z 0-9 . _ - and begins with a letter or digit",
			ID_MOST);
	*ret_file = text_eq(r->layer, "global") ? MEMORY_TREE "/global/current.md"
						: arena_printf(a, MEMORY_TREE "/%s/%s.md", r->layer, r->id);
	return OK;
}

/* ---- was it edited? ---- */

struct last_refresh {
	const char *file;
	char hash[HASH_DIGITS + 1];
};

static int find_refresh(void *arg, struct json *row)
{
	struct last_refresh *l = arg;

	if (!text_eq(json_get_text(row, "path", ""), l->file))
		return 0;
	memcpy(l->hash, json_get_text(row, "after_hash", "                "), HASH_DIGITS);
	return 1;
}

static int check_edited(struct memory_place *m, struct arena *a, const struct tree_refresh *r,
	const char *file, struct bytes was, struct err *e)
{
	struct last_refresh last = { .file = file };
	bool is_more;

	if (!was.n || r->always || text_eq(r->trigger, "obsidian_user_edit"))
		return OK;
	int rc = rows_back_recent(
		m->sys, a, m->state_fd, MEMORY_TREE_ROWS, NULL, find_refresh, &last, &is_more, e);
	if (rc < 0)
		return rc;
	if (last.hash[0] && strncmp(last.hash, sha256_hex(a, was.p, was.n), HASH_DIGITS) == 0)
		return OK;
	return err_set(e, E_INPUT, "MEMORY_EDITED",
		"'%s' was edited by hand since the last refresh; --trigger obsidian_user_edit takes it as it is, --force writes over it",
		file);
}

/* ---- one page over all topics ---- */

/* About four letters, or one sign of a script without blanks, are one token. */
static int64_t tokens(struct bytes t)
{
	int64_t quarters = 0;

	for (size_t i = 0; i < t.n; i++)
		quarters += t.p[i] < 0x80 ? 1 : (t.p[i] & 0xc0) == 0x80 ? 0 : t.p[i] >= 0xe0 ? 4 : 2;
	return (quarters + 3) / 4;
}

struct topic {
	const char *id;
	struct bytes body;
	int64_t refreshed_us;
	uint32_t links;
	bool is_out;
};

static struct bytes trimmed(struct bytes t)
{
	while (t.n && memchr(" \t\r\n", t.p[t.n - 1], 4))
		t.n--;
	while (t.n && memchr(" \t\r\n", t.p[0], 4)) {
		t.p++;
		t.n--;
	}
	return t;
}

static void load_topic(struct memory_place *m, struct arena *a, const char *id, struct topic *ret)
{
	struct front_matter f;
	struct bytes text;
	const char *file = arena_printf(a, MEMORY_TREE "/topic/%s.md", id);

	*ret = (struct topic){ .id = id, .refreshed_us = INT64_MIN };
	if (file_read(m->sys, a, m->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, NULL))
		return;
	front_matter_parse(a, text, &f);
	const char *at = json_get_text(f.fields, "last_refresh", "");
	const struct json *sources = json_get(f.fields, "linked_sources"),
			  *tasks = json_get(f.fields, "linked_tasks");
	if (!memory_time(at, &ret->refreshed_us))
		ret->refreshed_us = INT64_MIN;
	ret->links =
		(json_is(sources, JSON_ARRAY) ? sources->n : 0) + (json_is(tasks, JSON_ARRAY) ? tasks->n : 0);
	ret->body = trimmed(f.body);
}

/* The one to leave out next: the oldest, of these the one with the fewest links. */
static struct topic *weakest(struct topic *list, size_t n)
{
	struct topic *found = NULL;

	for (size_t i = 0; i < n; i++) {
		struct topic *t = &list[i];
		if (!t->is_out &&
			(!found || t->refreshed_us < found->refreshed_us ||
				(t->refreshed_us == found->refreshed_us && t->links < found->links)))
			found = t;
	}
	return found;
}

static int64_t cost(const struct topic *t)
{
	return tokens(t->body) + tokens(bytes_of(t->id)) + 2;
}

static void compose(struct memory_place *m, struct arena *a, const struct tree_refresh *r,
	struct json *fields, struct buf *ret)
{
	struct json *ids = names_in(m->sys, a, m->root_fd, MEMORY_TREE "/topic"),
		    *in = json_new(a, JSON_ARRAY), *out = json_new(a, JSON_ARRAY);
	struct topic *list = arena_zalloc(a, ids->n + 1, sizeof(*list)), *t;
	int64_t budget = r->budget > 0 ? r->budget : DEFAULT_BUDGET, sum = 0;

	for (uint32_t i = 0; i < ids->n; i++) {
		load_topic(m, a, json_text(ids->items[i]), &list[i]);
		list[i].is_out = !list[i].body.n;
		sum += list[i].is_out ? 0 : cost(&list[i]);
	}
	while (sum > budget && (t = weakest(list, ids->n))) {
		t->is_out = true;
		sum -= cost(t);
	}
	for (uint32_t i = 0; i < ids->n; i++) {
		json_pushs(a, list[i].is_out ? out : in, list[i].id);
		if (list[i].is_out)
			continue;
		buf_addf(ret, "%s## %s\n", ret->n ? "\n" : "", list[i].id);
		buf_add(ret, list[i].body.p, list[i].body.n);
		buf_addc(ret, '\n');
	}
	if (!ret->n)
		buf_adds(ret, NO_TOPICS "\n");
	json_sets(a, fields, "generated_at", text_time_z(a, r->now_us));
	json_seti(a, fields, "token_budget", budget);
	json_set(a, fields, "included_topics", in);
	json_set(a, fields, "excluded_topics", out);
}

/* ---- the new text ---- */

static void set_default(struct arena *a, struct json *fields, const char *name, struct json *value)
{
	if (!json_get(fields, name))
		json_set(a, fields, name, value);
}

static void set_fields(struct arena *a, const struct tree_refresh *r, struct json *fields)
{
	const char *now = text_time_z(a, r->now_us);
	bool is_source = text_eq(r->layer, "source");
	struct json *linked = json_new(a, JSON_ARRAY);

	json_sets(a, fields, "kind", is_source ? "source_summary" : "topic_summary");
	json_sets(a, fields, is_source ? "source_id" : "topic_id", r->id);
	if (is_source) {
		json_sets(a, fields, "last_seen", now);
		json_sets(a, fields, "last_success", now);
		set_default(a, fields, "freshness_sla_minutes", json_number(a, 60));
		set_default(a, fields, "provenance", json_string(a, "agent"));
		set_default(a, fields, "chunk_count", json_number(a, 0));
		set_default(a, fields, "hot_chunks", json_new(a, JSON_ARRAY));
	} else {
		for (size_t i = 0; i < r->linked_count; i++)
			json_pushs(a, linked, r->linked[i]);
		if (r->linked_count)
			json_set(a, fields, "linked_sources", linked);
		set_default(a, fields, "linked_sources", linked);
		set_default(a, fields, "linked_tasks", json_new(a, JSON_ARRAY));
		json_sets(a, fields, "last_refresh", now);
	}
	json_sets(a, fields, "refresh_reason", r->trigger);
}

int memory_tree_text(struct memory_place *m, struct arena *a, const struct tree_refresh *r, const char *file,
	struct bytes was, struct buf *ret, struct err *e)
{
	struct front_matter f;
	struct bytes body;
	struct buf page;
	size_t n;
	int rc = check_edited(m, a, r, file, was, e);

	if (rc)
		return rc;
	front_matter_parse(a, was, &f);
	body = f.body;
	if (text_eq(r->layer, "global")) {
		json_sets(a, f.fields, "kind", "global_summary");
		buf_init(&page, a);
		compose(m, a, r, f.fields, &page);
		body = buf_bytes(&page);
	} else {
		set_fields(a, r, f.fields);
		if (r->text)
			body = bytes_of(text_safe(a, r->text, strlen(r->text), true));
	}
	const char *kept = privacy_redact(a, (const char *)body.p, body.n, &n);
	front_matter_write(ret, f.fields, (struct bytes){ (const uint8_t *)kept, n });
	return OK;
}
