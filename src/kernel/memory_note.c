/* memory_note.c — notes move through their states, and summaries are made anew: decided, on record, and never over what a person wrote. */
#include "base/file.h"
#include "base/hash.h"
#include "kernel/memory_parts.h"
#include "kernel/person.h"
#include "privacy/privacy.h"
#include "remember/front_matter.h"

#include <string.h>

/* ---- notes ---- */

struct noting {
	const struct note_change *c;
	struct kernel *k;
	struct note_move move;
	struct json *answer;
};

static void set_text(struct arena *a, struct bytes *text, const char *name, const char *value)
{
	struct buf b;

	buf_init(&b, a);
	front_matter_set(&b, *text, name, value ? json_string(a, value) : NULL);
	*text = buf_bytes(&b);
}

/* Into the body, or beside it when the body is a person's. */
static void put_draft(struct noting *n, struct arena *a, const struct front_matter *f, struct bytes *text)
{
	bool is_edited = memory_note_is_edited(a, f->fields, f->body);
	size_t len;
	const char *safe = text_safe(a, n->c->draft, strlen(n->c->draft), true);
	const char *said = privacy_redact(a, safe, strlen(safe), &len);
	struct front_matter now;
	struct buf b;

	said = arena_strndup(a, said, len);
	json_sets(a, n->answer, "draft", is_edited ? "agent_redraft" : "body");
	if (is_edited) {
		set_text(a, text, "agent_redraft", said);
		set_text(a, text, "state", "reviewed");
		return;
	}
	const char *body = arena_printf(a, "%s\n", said);
	set_text(a, text, NOTE_BODY_DIGEST, sha256_hex(a, body, strlen(body)));
	front_matter_parse(a, *text, &now);
	buf_init(&b, a);
	buf_add(&b, text->p, (size_t)(now.body.p - text->p));
	buf_adds(&b, body);
	*text = buf_bytes(&b);
}

static int edit_note(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct noting *n = arg;
	struct front_matter f;

	front_matter_parse(a, text, &f);
	const char *why = n->c->to ? memory_note_refuses(f.fields, &n->move) : NULL;
	if (why)
		return err_set(e, E_USAGE, "MEMORY_NOTE", "'%s' is %s and does not become %s: %s", n->c->file,
			json_get_text(f.fields, "state", "captured"), n->c->to, why);
	if (n->c->draft)
		put_draft(n, a, &f, &text);
	if (n->c->to)
		set_text(a, &text, "state", n->c->to);
	if (n->c->to && text_eq(n->c->to, "promoted"))
		set_text(a, &text, "promoted_at", text_time_iso(a, n->k->sys->now_us(n->k->sys)));
	front_matter_parse(a, text, &f);
	const char *state = json_get_text(f.fields, "state", "captured");
	json_sets(a, n->answer, "state", state);
	json_sets(a, n->answer, "retention", memory_note_retention(state));
	buf_add(ret, text.p, text.n);
	return OK;
}

/* What would be refused is refused before anything is on record. */
static int try_note(struct noting *n, struct arena *a, const char *file, struct err *e)
{
	struct bytes text;
	struct buf unused;
	int rc = file_read(n->k->sys, a, n->k->ws->root_fd, file, MEMORY_FILE_BYTES, FILE_BENEATH, &text, e);

	buf_init(&unused, a);
	return rc ? rc : edit_note(n, a, text, &unused, e);
}

int memory_note(
	struct kernel *k, struct arena *a, const struct note_change *c, struct json **ret, struct err *e)
{
	struct memory_place m = memory_place_of(k->sys, k->ws);
	struct memory_act act = { .verb = "note", .path = c->file, .about = json_new(a, JSON_OBJECT) };
	struct noting n = { .c = c, .k = k, .answer = json_new(a, JSON_OBJECT) };
	AUTO(close_fd) int lock = -1;
	struct json *conflicts;
	const char *kept = NULL;
	struct err why = { 0 };
	int rc = memory_take_lock(k, &lock, e);

	n.move = (struct note_move){ c->to, person_is_outside(k->sys, a, k->ws, &why) == OK, c->incident };
	if (rc == OK && !memory_is_note(a, c->file))
		rc = err_set(e, E_USAGE, "MEMORY_FILE",
			"'%s' is no note: a Markdown file below notes/ or memory/ of the workspace", c->file);
	if (rc == OK)
		rc = try_note(&n, a, c->file, e);
	json_sets(a, act.about, "file", c->file);
	json_sets(a, act.about, "state", json_get_text(n.answer, "state", ""));
	if (c->incident)
		json_sets(a, act.about, "incident", c->incident);
	if (rc == OK)
		rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = memory_change_file(&m, a, c->file, edit_note, &n, &conflicts, &kept, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc)
		return rc;
	json_sets(a, n.answer, "file", c->file);
	json_sets(a, n.answer, "receipt_id", act.receipt_id);
	if (kept)
		json_sets(a, n.answer, "kept", kept);
	*ret = n.answer;
	return OK;
}

/* ---- summaries ---- */

struct refreshing {
	struct memory_place *m;
	struct tree_refresh *r;
	const char *file;
	const char *before, *after; /* digits of the digests */
};

static int edit_summary(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct refreshing *x = arg;
	int rc = memory_tree_text(x->m, a, x->r, x->file, text, ret, e);

	x->before = arena_strndup(a, sha256_hex(a, text.p, text.n), 16);
	x->after = arena_strndup(a, sha256_hex(a, ret->p, ret->n), 16);
	return rc;
}

static int refresh_row(
	struct kernel *k, struct arena *a, const struct refreshing *x, struct json **ret, struct err *e)
{
	struct json *row = json_new(a, JSON_OBJECT);
	struct tree_refresh *r = x->r;
	uint8_t random[4];
	char hex[9];

	if (k->sys->random(k->sys, random, sizeof(random)))
		return err_sys(e, "MEMORY_TREE", "no random bytes for an id");
	hex_encode(random, sizeof(random), hex);
	json_set(
		a, row, "task_id", json_stringf(a, "memtree-%lld-%s", (long long)(r->now_us / 1000000), hex));
	json_sets(a, row, "kind", "memory_refresh");
	json_sets(a, row, "layer", r->layer);
	json_sets(a, row, "target", r->id ? r->id : "current");
	json_sets(a, row, "trigger", r->trigger);
	json_sets(a, row, "reason", r->reason);
	json_sets(a, row, "before_hash", x->before);
	json_sets(a, row, "after_hash", x->after);
	json_set(a, row, "promoted_to_topic", json_new(a, JSON_ARRAY));
	json_sets(a, row, "path", x->file);
	json_sets(a, row, "timestamp", text_time_z(a, r->now_us));
	json_setb(a, row, "changed", !text_eq(x->before, x->after));
	*ret = row;
	return OK;
}

int memory_tree_refresh(
	struct kernel *k, struct arena *a, struct tree_refresh *r, struct json **ret, struct err *e)
{
	struct memory_place m = memory_place_of(k->sys, k->ws);
	struct refreshing x = { .m = &m, .r = r };
	AUTO(close_fd) int lock = -1;
	struct json *conflicts, *row;
	const char *kept;
	int rc = memory_take_lock(k, &lock, e);

	r->now_us = k->sys->now_us(k->sys);
	if (rc == OK)
		rc = memory_tree_file(a, r, &x.file, e);
	if (rc)
		return rc;
	struct memory_act act = { .verb = "tree", .path = x.file, .about = json_new(a, JSON_OBJECT) };
	json_sets(a, act.about, "file", x.file);
	json_sets(a, act.about, "trigger", r->trigger);
	rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = memory_change_file(&m, a, x.file, edit_summary, &x, &conflicts, &kept, e);
	if (rc == OK)
		rc = refresh_row(k, a, &x, &row, e);
	if (rc == OK)
		json_sets(a, row, "receipt_id", act.receipt_id);
	if (rc == OK)
		rc = memory_act_row(a, &act, MEMORY_TREE_ROWS, row, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = row;
	return rc;
}
