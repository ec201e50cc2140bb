/* redact.c — credentials in what is logged become [REDACTED], in one pass.
 *
 * Everything that is written to a ledger, a report or a person's screen goes through here, so the pass must be cheap and must not depend on
 * who produced the text. */
#include "base/text.h"
#include "privacy/parts.h"

#include <string.h>

/* Copies only when there is something to replace: `out` is begun at the first hit, and `from` is where the
 * part that is not copied yet begins. */
const char *privacy_redact(struct arena *a, const char *text, size_t n, size_t *ret_n)
{
	struct buf out = { 0 };
	size_t from = 0;

	for (size_t at = 0; at < n;) {
		bool word_start = at == 0 || !is_word(text[at - 1]);
		struct hit h = { 0, 0 };
		if (text[at] == ':' || (word_start && is_word(text[at])))
			h = credential_at(text + at, n - at, false);
		if (!h.end) {
			/* A shape starts only where a word starts, so the rest of this word is skipped at
			 * once. */
			at = word_start && is_word(text[at]) ? run(text, n, at, is_word) : at + 1;
			continue;
		}
		if (!out.p)
			buf_init(&out, a);
		buf_add(&out, text + from, at + h.keep - from);
		buf_adds(&out, REDACTED);
		at += h.end;
		from = at;
	}
	if (!out.p) {
		if (ret_n)
			*ret_n = n;
		return text;
	}
	buf_add(&out, text + from, n - from);
	if (ret_n)
		*ret_n = out.n;
	return out.p;
}

const char *privacy_redact_text(struct arena *a, const char *text)
{
	return privacy_redact(a, text, strlen(text), NULL);
}

/* "git@host:path" and "ssh://git@host/path" say where, not who. */
static bool is_place(const char *text, size_t n, const struct privacy_finding *f)
{
	return f->label == PRIVACY_EMAIL &&
		((f->end + 1 < n && text[f->end] == ':' && text[f->end + 1] > ' ') ||
			(f->start >= 3 && memcmp(text + f->start - 3, "://", 3) == 0));
}

static void redact_people_in(struct arena *a, struct json *v)
{
	const struct privacy_options options = { .labels =
							 privacy_default_labels() & ~(1u << PRIVACY_SECRET) };
	struct privacy_finding *found;
	size_t n = privacy_scan(a, v->text, v->n, &options, &found), from = 0;
	struct buf out;

	buf_init(&out, a);
	for (size_t i = 0; i < n; i++) {
		if (is_place(v->text, v->n, &found[i]))
			continue;
		buf_add(&out, v->text + from, found[i].start - from);
		buf_adds(&out, REDACTED);
		from = found[i].end;
	}
	if (!from)
		return;
	buf_add(&out, v->text + from, v->n - from);
	v->text = out.p;
	v->n = (uint32_t)out.n;
}

void privacy_redact_people(struct arena *a, struct json *v)
{
	if (json_is(v, JSON_STRING))
		redact_people_in(a, v);
	json_each (item, v)
		privacy_redact_people(a, item);
	json_each_member (m, v)
		privacy_redact_people(a, m->value);
}

/* "--password": in a list of words the one behind it is the secret, as it is in a command line. */
static bool is_secret_option(const struct json *word)
{
	return json_is(word, JSON_STRING) && word->n > 2 && word->text[0] == '-' && word->text[1] == '-' &&
		!memchr(word->text, '=', word->n) && is_secret_name(word->text + 2, word->n - 2);
}

/* A member with a secret name loses its whole text, even when the text looks harmless: {"password":
 * "hello"}. Objects and lists below such a name are walked as usual, because their own names decide. */
void privacy_redact_json(struct arena *a, struct json *v)
{
	if (json_is(v, JSON_STRING)) {
		size_t n;
		v->text = privacy_redact(a, v->text, v->n, &n);
		v->n = (uint32_t)n;
	}
	for (size_t i = 0; json_is(v, JSON_ARRAY) && i < v->n; i++)
		if (i && is_secret_option(v->items[i - 1]) && json_is(v->items[i], JSON_STRING) &&
			v->items[i]->n)
			v->items[i] = json_string(a, REDACTED);
		else
			privacy_redact_json(a, v->items[i]);
	json_each_member (m, v) {
		if (json_is(m->value, JSON_STRING) && m->value->n && is_secret_name(m->name, m->name_n))
			m->value = json_string(a, REDACTED);
		else
			privacy_redact_json(a, m->value);
	}
}
