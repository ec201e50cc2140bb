/* records.c — a second copy of the records: checkpoints/records.jsonl.
 *
 * index.json is one document: one wrong byte in it and nothing can be read, or worse, something else is read.  So every record
 * stands a second time in a file of lines, each with the digest of its record: damage costs one line, and is seen.
 *
 * The order of writing makes one rule hold at every moment, also after a kill: each record of the copies is in the index, as
 * one of the versions that the copies have of it.  A new record goes to the index first; a changed one (pinned) to the copies
 * first; one that is removed leaves the copies first.  When the rule does not hold the index is damaged, or an older one was
 * put in its place.
 *
 * The copies are never needed while the index is whole.  Copies that are missing or damaged are written again by the next
 * checkpoint. */
#include "base/doc.h"
#include "base/file.h"
#include "execute/checkpoint/parts.h"

enum { RECORDS_LIMIT = 64 << 20 };
#define RECORDS "records.jsonl"
#define RECORDS_HEAD "{\"format\":\"helm-checkpoint-records/1\"}"

static void record_digest(struct arena *a, const struct json *record, char ret[SHA256_HEX])
{
	uint8_t digest[SHA256_SIZE];
	struct buf text;

	buf_init(&text, a);
	json_canonical(&text, record);
	sha256(text.p, text.n, digest);
	hex_encode(digest, SHA256_SIZE, ret);
}

static void put_line(struct arena *a, struct buf *to, const struct json *record)
{
	char hex[SHA256_HEX];

	record_digest(a, record, hex);
	buf_addf(to, "%s{\"sha256\":\"%s\",\"record\":", to->n ? "\n" : "", hex);
	json_write(to, record, 0);
	buf_addc(to, '}');
}

/* The record of a line, or NULL when the line is not whole. */
static struct json *parse_line(struct arena *a, struct bytes line)
{
	struct json *doc;
	struct err why = { 0 };
	char hex[SHA256_HEX];

	if (json_parse(a, line, RECORDS, NULL, &doc, &why) || !json_is(doc, JSON_OBJECT))
		return NULL;
	struct json *record = json_get(doc, "record");
	if (!json_is(record, JSON_OBJECT) || !json_get_text(record, "checkpoint_id", NULL))
		return NULL;
	record_digest(a, record, hex);
	return text_eq(hex, json_get_text(doc, "sha256", "")) ? record : NULL;
}

/* Never fails: copies that cannot be read are none. */
void records_load(struct checkpoint_store *st, struct copies *ret)
{
	struct bytes text, line;
	struct err why = { 0 };

	*ret = (struct copies){ .all = json_new(st->a, JSON_ARRAY) };
	if (st->dir_fd < 0)
		return;
	int rc = file_read(st->sys, st->a, st->dir_fd, RECORDS, RECORDS_LIMIT, 0, &text, &why);
	if (rc == E_IO) /* what can be read the second time is not damaged */
		rc = file_read(st->sys, st->a, st->dir_fd, RECORDS, RECORDS_LIMIT, 0, &text, &why);
	if (rc) {
		ret->bad = rc != E_MISSING;
		return;
	}
	line = text_cut(&text, '\n');
	bool has_head = line.n == strlen(RECORDS_HEAD) && memcmp(line.p, RECORDS_HEAD, line.n) == 0;
	ret->bad += !has_head;
	while (text.p) {
		line = text_cut(&text, '\n');
		struct json *record = line.n ? parse_line(st->a, line) : NULL;
		if (record)
			json_push(st->a, ret->all, record);
		else
			ret->bad += line.n > 0;
	}
	ret->are_complete = !ret->bad;
}

struct json *record_of(const struct json *array, const char *id)
{
	struct json *hit = NULL;

	json_each (v, array)
		if (text_eq(json_get_text(v, "checkpoint_id", ""), id))
			hit = v;
	return hit;
}

/* Index and copies are in the same order nearly always, so `at`, where the last one was found, is looked at first. */
static bool has_equal(const struct json *array, const struct json *record, uint32_t *at)
{
	const char *id = json_get_text(record, "checkpoint_id", "");

	for (uint32_t i = 0; i < array->n; i++) {
		uint32_t k = (*at + i) % array->n;
		if (!text_eq(json_get_text(array->items[k], "checkpoint_id", ""), id) ||
			!json_eq(array->items[k], record))
			continue;
		*at = k + 1;
		return true;
	}
	return false;
}

/* The rule at the top of this file.  NULL: it holds; otherwise the first record that breaks it. */
const struct json *records_differ(const struct copies *c, const struct json *array)
{
	uint32_t at = 0, unused = 0;

	json_each (copy, c->all) {
		if (has_equal(array, copy, &at))
			continue;
		/* An older version of a record whose newer one is there. */
		const struct json *now = record_of(array, json_get_text(copy, "checkpoint_id", ""));
		if (!now || !has_equal(c->all, now, &unused))
			return copy;
	}
	return NULL;
}

/* Whole, and on disk when this returns OK. */
int records_replace(struct checkpoint_store *st, const struct json *array, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	buf_adds(&text, RECORDS_HEAD);
	json_each (v, array)
		put_line(&a, &text, v);
	buf_addc(&text, '\n');
	if (file_replace(st->sys, st->dir_fd, RECORDS, 0600, buf_bytes(&text), e))
		return err_wrap(e, "copies of the checkpoint records");
	return OK;
}

/* Adds the records that have no copy yet; on disk when this returns OK. */
int records_add(struct checkpoint_store *st, const struct json *array, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int fd = -1;
	struct copies c;
	struct buf text;
	uint32_t at = 0;

	records_load(st, &c);
	if (!c.are_complete)
		return records_replace(st, array, e);
	buf_init(&text, &a);
	json_each (v, array)
		if (!has_equal(c.all, v, &at))
			put_line(&a, &text, v);
	if (!text.n)
		return OK;
	if (file_append_lines(st->sys, st->dir_fd, RECORDS, 0600, buf_bytes(&text), &fd, e) ||
		(st->sys->sync(st->sys, fd) && err_sys(e, "CHECKPOINT_SYNC", "cannot write")))
		return err_wrap(e, "copies of the checkpoint records");
	return OK;
}
