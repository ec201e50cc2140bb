/* draw.c — draws and their sum; see draw.h. */
#include "model/draw.h"

#include "base/text.h"

#include <stdarg.h>
#include <string.h>

/* Numbers in receipts are those that every reader of JSON has. */
static const int64_t most_amount = (INT64_C(1) << 53) - 1;

static bool is_sayable(int64_t n)
{
	return n >= 0 && n <= most_amount;
}

/* A clock that is wrong by centuries leaves sums that can be kept all the same. */
static int64_t nearest_sayable(int64_t us)
{
	return us < 0 ? 0 : us > most_amount ? most_amount : us;
}

int64_t draw_until(int64_t us)
{
	return is_sayable(us) ? us : 0;
}

static const char *const kind_names[] = { "budget", "window", "count", "nonce", "permit", "bucket", "pace" };
TABLE_COVERS(kind_names, DRAW_KIND_COUNT);

const char *draw_kind_name(enum draw_kind k)
{
	return kind_names[k];
}

static bool kind_read(const char *name, enum draw_kind *ret)
{
	for (size_t i = 0; i < DRAW_KIND_COUNT; i++)
		if (text_eq(name, kind_names[i])) {
			*ret = (enum draw_kind)i;
			return true;
		}
	return false;
}

char *draw_key(struct arena *a, const char *first, ...)
{
	struct buf b;
	va_list list;

	buf_init(&b, a);
	va_start(list, first);
	for (const char *part = first; part; part = va_arg(list, const char *))
		buf_addf(&b, "%s%zu:%s", b.n ? "|" : "", strlen(part), part);
	va_end(list);
	return b.p;
}

bool draw_key_part(struct arena *a, const char *key, size_t i, const char **ret)
{
	for (;;) {
		const char *colon = strchr(key, ':');
		int64_t n;

		if (!colon || !text_int(arena_strndup(a, key, (size_t)(colon - key)), &n) || n < 0 ||
			strlen(colon + 1) < (size_t)n)
			return false;
		if (!i--) {
			*ret = arena_strndup(a, colon + 1, (size_t)n);
			return true;
		}
		key = colon + 1 + n;
		key += *key == '|';
	}
}

/* ---- pace ---- */

static const struct {
	const char *name;
	uint32_t per_s; /* events a second, over the window, from which on */
	int sustain_s, cooldown_s, hold_s;
} ladder[PACE_LEVELS] = {
	{ "OBSERVE", 0, 0, 0, 0 },
	{ "THROTTLE", 10, 5, 30, 1 },
	{ "INTERRUPT", 50, 3, 60, 30 },
	{ "QUARANTINE", 100, 2, 120, 120 },
	{ "FAIL_CLOSED", 200, 1, 300, 300 },
};
enum { US = 1000000 };

const char *pace_level_name(enum pace_level l)
{
	return ladder[l].name;
}

int pace_hold_s(enum pace_level l)
{
	return ladder[l].hold_s;
}

/* An event from before the newest one counts as one of now: a clock that goes back makes nobody faster or slower. */
static uint64_t pace_count(struct pace *p, int64_t second, uint32_t n)
{
	uint64_t sum = 0;

	for (int64_t s = p->newest_s + 1; s <= second && s <= p->newest_s + PACE_WINDOW_S; s++)
		p->events[s % PACE_WINDOW_S] = 0;
	p->newest_s = second;
	if (__builtin_add_overflow(p->events[second % PACE_WINDOW_S], n, &p->events[second % PACE_WINDOW_S]))
		p->events[second % PACE_WINDOW_S] = UINT32_MAX;
	for (size_t i = 0; i < PACE_WINDOW_S; i++)
		sum += p->events[i];
	return sum;
}

void pace_step(struct pace *p, int64_t now_us, uint32_t n)
{
	int64_t second = now_us / US > p->newest_s ? now_us / US : p->newest_s;
	uint64_t sum = pace_count(p, second, n);
	enum pace_level up = p->level;

	if (now_us < second * US)
		now_us = second * US;
	for (size_t l = PACE_THROTTLE; l < PACE_LEVELS; l++) {
		bool is_above = sum >= (uint64_t)ladder[l].per_s * PACE_WINDOW_S;
		if (!is_above)
			p->above_us[l] = 0;
		else if (!p->above_us[l])
			p->above_us[l] = now_us;
		if (is_above && now_us - p->above_us[l] >= (int64_t)ladder[l].sustain_s * US &&
			l > (size_t)up)
			up = (enum pace_level)l;
	}
	if (up > p->level) {
		p->level = up;
		p->entered_us = now_us;
	} else if (p->level && !p->above_us[p->level] &&
		now_us - p->entered_us >= (int64_t)ladder[p->level].cooldown_s * US) {
		p->level--;
		p->entered_us = now_us;
	}
}

/* ---- the sum ---- */

void drawn_done(struct drawn *d)
{
	arena_done(&d->a);
	*d = (struct drawn){ 0 };
}

static size_t slot_of(const struct drawn *d, enum draw_kind kind, const char *key, int64_t window_us)
{
	uint64_t h = 1469598103934665603u ^ (uint64_t)kind ^ (uint64_t)window_us;

	for (const char *p = key; *p; p++)
		h = (h ^ (uint8_t)*p) * 1099511628211u;
	size_t i = (size_t)(h ^ h >> 32) & (d->room - 1);
	while (d->slots[i].is_there &&
		(d->slots[i].kind != kind || d->slots[i].window_us != window_us ||
			!text_eq(d->slots[i].key, key)))
		i = (i + 1) & (d->room - 1);
	return i;
}

const struct drawn_entry *drawn_find(
	const struct drawn *d, enum draw_kind kind, const char *key, int64_t window_us)
{
	if (!d || !d->room)
		return NULL;
	size_t i = slot_of(d, kind, key, window_us);
	return d->slots[i].is_there ? &d->slots[i] : NULL;
}

const struct drawn_entry *drawn_next(const struct drawn *d, size_t *at)
{
	while (*at < d->room)
		if (d->slots[(*at)++].is_there)
			return &d->slots[*at - 1];
	return NULL;
}

static void make_room(struct drawn *d)
{
	struct drawn_entry *old = d->slots;
	size_t n = d->room;

	if (d->n * 4 < d->room * 3)
		return;
	d->room = n ? n * 2 : 16;
	d->slots = arena_zalloc(&d->a, d->room, sizeof(*d->slots));
	for (size_t i = 0; i < n; i++)
		if (old[i].is_there)
			d->slots[slot_of(d, old[i].kind, old[i].key, old[i].window_us)] = old[i];
}

static struct drawn_entry *entry_of(struct drawn *d, enum draw_kind kind, const char *key, int64_t window_us)
{
	make_room(d);
	struct drawn_entry *e = &d->slots[slot_of(d, kind, key, window_us)];
	if (!e->is_there) {
		*e = (struct drawn_entry){ .is_there = true,
			.kind = kind,
			.key = arena_strdup(&d->a, key),
			.window_us = window_us };
		if (kind == DRAW_PACE)
			e->pace = arena_zalloc(&d->a, 1, sizeof(*e->pace));
		d->n++;
	}
	return e;
}

static bool is_used_once(enum draw_kind k)
{
	return k == DRAW_NONCE || k == DRAW_PERMIT;
}

/* The bucket as one number: the moment at which it is full again.  What is taken moves it on by the time that it takes to come back. */
static bool bucket_after(
	const struct drawn_entry *e, int64_t tokens, int64_t each_us, int64_t now_us, int64_t *ret)
{
	int64_t from = e && e->used > now_us ? e->used : now_us, more;

	return !__builtin_mul_overflow(tokens, each_us, &more) && !__builtin_add_overflow(from, more, ret);
}

static enum draw_answer check_bucket(
	const struct drawn_entry *e, const struct draw *x, int64_t wanted, int64_t now_us)
{
	int64_t after, most;

	if (x->window_length_us <= 0 || !bucket_after(e, wanted, x->window_length_us, now_us, &after) ||
		__builtin_mul_overflow(x->limit, x->window_length_us, &most) ||
		__builtin_add_overflow(most, now_us, &most))
		return DRAW_WRONG;
	return after <= most ? DRAW_FITS : DRAW_FULL;
}

static enum draw_answer check_pace(const struct drawn_entry *e, int64_t wanted, int64_t now_us)
{
	struct pace after = { 0 };

	if (e)
		after = *e->pace;
	pace_step(&after, now_us, wanted > UINT32_MAX ? UINT32_MAX : (uint32_t)wanted);
	return after.level <= PACE_THROTTLE ? DRAW_FITS : DRAW_FULL;
}

/* A person who said yes to a pace has said so beforehand: the limit is gone then. */
enum draw_answer drawn_check(const struct drawn *d, const struct draw *x, int64_t now_us)
{
	const struct drawn_entry *e = drawn_find(d, x->kind, x->key, x->window_us);
	int64_t sum = e ? e->claimed : 0, wanted;

	if (!is_sayable(x->amount) || !is_sayable(x->window_us) || !is_sayable(x->window_length_us) ||
		__builtin_add_overflow(sum, x->amount, &wanted))
		return DRAW_WRONG;
	if (x->window_us && x->window_us + x->window_length_us <= now_us)
		return DRAW_CLOSED;
	if (is_used_once(x->kind))
		return e && (e->used || e->claimed) ? DRAW_USED : DRAW_FITS;
	if (x->kind == DRAW_BUCKET || x->kind == DRAW_PACE) {
		if (x->limit == DRAW_NO_LIMIT)
			return DRAW_FITS;
		return x->kind == DRAW_PACE ? check_pace(e, wanted, now_us)
					    : check_bucket(e, x, wanted, now_us);
	}
	if (e &&
		(__builtin_add_overflow(wanted, e->used, &wanted) ||
			__builtin_add_overflow(wanted, e->held, &wanted)))
		return DRAW_WRONG;
	return wanted <= x->limit ? DRAW_FITS : DRAW_FULL;
}

static int64_t amount_of(const struct draw *x)
{
	return is_used_once(x->kind) ? 1 : x->amount;
}

void drawn_claim(struct drawn *d, const struct draw *x)
{
	entry_of(d, x->kind, x->key, x->window_us)->claimed += amount_of(x);
}

/* An entry that nothing but a claim made stays, with nothing in it. */
void drawn_unclaim(struct drawn *d, const struct draw *x)
{
	entry_of(d, x->kind, x->key, x->window_us)->claimed -= amount_of(x);
}

/* A sum that no number holds stays at the largest one: then nothing fits any more. */
static void add(int64_t *sum, int64_t amount)
{
	if (__builtin_add_overflow(*sum, amount, sum))
		*sum = amount < 0 ? INT64_MIN : INT64_MAX;
}

/* What one decision holds of one thing. */
static const char *hold_key(struct arena *a, const char *decision_id, enum draw_kind kind, const char *key)
{
	return draw_key(a, "hold", decision_id, kind_names[kind], key, NULL);
}

static void apply(struct drawn *d, const struct draw *x, const char *decision_id, int64_t at_us)
{
	struct drawn_entry *e = entry_of(d, x->kind, x->key, x->window_us);

	e->length_us = x->window_length_us;
	e->last_us = at_us;
	if (!e->first_us)
		e->first_us = at_us;
	if (is_used_once(x->kind))
		e->used = 1;
	else if (x->kind == DRAW_BUCKET)
		e->used = bucket_after(e, x->amount, x->window_length_us, at_us, &e->used) ? e->used
											   : INT64_MAX;
	else if (x->kind == DRAW_PACE)
		pace_step(e->pace, at_us, x->amount > UINT32_MAX ? UINT32_MAX : (uint32_t)x->amount);
	else if (!x->is_held)
		add(&e->used, x->amount);
	else {
		AUTO(arena_done) struct arena scratch = { 0 };
		add(&e->held, x->amount);
		e = entry_of(d, DRAW_COUNT, hold_key(&scratch, decision_id, x->kind, x->key), x->window_us);
		add(&e->held, x->amount);
		e->length_us = x->window_length_us;
	}
}

/* Once: what is not held, or not any more, is not settled again. */
static void settle(struct drawn *d, const struct draw_settled *s, const char *decision_id)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const char *key = hold_key(&scratch, decision_id, s->kind, s->key);

	if (!drawn_find(d, DRAW_COUNT, key, s->window_us))
		return;
	struct drawn_entry *hold = entry_of(d, DRAW_COUNT, key, s->window_us);
	int64_t amount = hold->held;
	if (!amount)
		return;
	hold->held = 0;
	struct drawn_entry *e = entry_of(d, s->kind, s->key, s->window_us);
	add(&e->held, -amount);
	add(&e->used, s->amount);
}

/* ---- receipts ---- */

struct json *draws_json(struct arena *a, const struct draw *draws, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++) {
		struct json *v = json_new(a, JSON_OBJECT);
		json_sets(a, v, "kind", kind_names[draws[i].kind]);
		json_sets(a, v, "key", draws[i].key);
		json_seti(a, v, "amount", draws[i].amount);
		if (draws[i].limit <= most_amount)
			json_seti(a, v, "limit", draws[i].limit);
		if (draws[i].window_us)
			json_seti(a, v, "window_us", draws[i].window_us);
		if (draws[i].window_length_us)
			json_seti(a, v, "length_us", draws[i].window_length_us);
		if (draws[i].is_held)
			json_setb(a, v, "held", true);
		json_push(a, list, v);
	}
	return list;
}

struct json *settles_json(struct arena *a, const struct draw_settled *settled, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++) {
		struct json *v = json_new(a, JSON_OBJECT);
		json_sets(a, v, "kind", kind_names[settled[i].kind]);
		json_sets(a, v, "key", settled[i].key);
		json_seti(a, v, "amount", settled[i].amount < most_amount ? settled[i].amount : most_amount);
		if (settled[i].window_us)
			json_seti(a, v, "window_us", settled[i].window_us);
		json_push(a, list, v);
	}
	return list;
}

/* A number that is there must be one; what is not there is `absent`. */
static bool read_int(const struct json *v, const char *name, int64_t absent, int64_t *ret)
{
	const struct json *m = json_get(v, name);

	*ret = absent;
	return !m || (json_int(m, ret) && is_sayable(*ret));
}

bool draw_read(const struct json *v, struct draw *ret)
{
	const char *kind = json_get_text(v, "kind", "");

	*ret = (struct draw){ .key = json_get_text(v, "key", NULL),
		.is_held = json_get_bool(v, "held", false) };
	return kind_read(kind, &ret->kind) && ret->key && read_int(v, "amount", -1, &ret->amount) &&
		ret->amount >= 0 && read_int(v, "limit", DRAW_NO_LIMIT, &ret->limit) &&
		read_int(v, "window_us", 0, &ret->window_us) &&
		read_int(v, "length_us", 0, &ret->window_length_us) &&
		(ret->kind != DRAW_BUCKET || ret->window_length_us);
}

static bool settled_read(const struct json *v, struct draw_settled *ret)
{
	*ret = (struct draw_settled){ .key = json_get_text(v, "key", NULL) };
	return kind_read(json_get_text(v, "kind", ""), &ret->kind) && ret->key &&
		read_int(v, "amount", -1, &ret->amount) && ret->amount >= 0 &&
		read_int(v, "window_us", 0, &ret->window_us);
}

/* What only looks like one of our lists says nothing: other producers may have members of these names in receipts of theirs, but those are
 * in no chain of ours. */
bool drawn_receipt(struct drawn *d, const struct json *receipt)
{
	const struct json *metadata = json_get(receipt, "metadata"),
			  *draws = json_get(metadata, DRAWS_MEMBER),
			  *settles = json_get(metadata, SETTLES_MEMBER);
	const char *decision = json_get_text(receipt, "decision_id", ""),
		   *time = json_get_text(receipt, "timestamp", "");
	int64_t at_us;

	if (!draws && !settles)
		return true;
	if (!text_parse_time(time, strlen(time), &at_us) || (draws && !json_is(draws, JSON_ARRAY)) ||
		(settles && !json_is(settles, JSON_ARRAY)))
		return false;
	at_us = nearest_sayable(at_us);
	if (at_us > d->newest_us)
		d->newest_us = at_us;
	json_each (v, draws) {
		struct draw x;
		if (!draw_read(v, &x))
			return false;
		apply(d, &x, decision, at_us);
	}
	json_each (v, settles) {
		struct draw_settled s;
		if (!settled_read(v, &s))
			return false;
		settle(d, &s, decision);
	}
	return true;
}

/* ---- what may be forgotten ---- */

enum { SWEEP_FROM = 1024 };
static const int64_t sweep_after_us = (int64_t)48 * 3600 * US;

/* Would everybody get the same answer without it? */
static bool is_spent(const struct drawn *d, const struct drawn_entry *e)
{
	int64_t old = d->newest_us - sweep_after_us;

	if (e->claimed)
		return false;
	if (is_used_once(e->kind))
		return !e->used || (e->length_us && e->length_us < old);
	if (e->kind == DRAW_BUCKET)
		return e->used < old;
	if (e->kind == DRAW_PACE)
		return e->pace->level == PACE_OBSERVE && e->pace->newest_s * US < old;
	return (!e->used && !e->held) || (e->window_us && e->window_us + e->length_us < old);
}

void drawn_sweep(struct drawn *d)
{
	struct drawn kept = { .newest_us = d->newest_us };

	if (d->n <= SWEEP_FROM || d->n <= 2 * d->kept)
		return;
	for (size_t i = 0; i < d->room; i++) {
		const struct drawn_entry *old = &d->slots[i];
		if (!old->is_there || is_spent(d, old))
			continue;
		struct drawn_entry *e = entry_of(&kept, old->kind, old->key, old->window_us), made = *old;
		made.key = e->key;
		made.pace = e->pace;
		if (e->pace)
			*e->pace = *old->pace;
		*e = made;
	}
	kept.kept = kept.n;
	arena_done(&d->a);
	*d = kept;
}

/* ---- all of it as a document ---- */

static struct json *pace_json(struct arena *a, const struct pace *p)
{
	struct json *v = json_new(a, JSON_OBJECT), *above = json_new(a, JSON_ARRAY),
		    *events = json_new(a, JSON_ARRAY);

	json_seti(a, v, "level", p->level);
	json_seti(a, v, "entered_us", p->entered_us);
	json_seti(a, v, "newest_s", p->newest_s);
	for (size_t i = 0; i < PACE_LEVELS; i++)
		json_push(a, above, json_number(a, p->above_us[i]));
	for (size_t i = 0; i < PACE_WINDOW_S; i++)
		json_push(a, events, json_number(a, p->events[i]));
	json_set(a, v, "above_us", above);
	json_set(a, v, "events", events);
	return v;
}

static bool pace_from_json(struct pace *p, const struct json *v)
{
	const struct json *above = json_get(v, "above_us"), *events = json_get(v, "events");
	int64_t level, event;

	if (!json_int(json_get(v, "level"), &level) || level < 0 || level >= PACE_LEVELS ||
		!json_int(json_get(v, "entered_us"), &p->entered_us) ||
		!json_int(json_get(v, "newest_s"), &p->newest_s) || p->newest_s < 0 ||
		p->newest_s > most_amount / US)
		return false;
	p->level = (enum pace_level)level;
	for (size_t i = 0; i < PACE_LEVELS; i++)
		if (!json_int(json_at(above, i), &p->above_us[i]))
			return false;
	for (size_t i = 0; i < PACE_WINDOW_S; i++) {
		if (!json_int(json_at(events, i), &event) || event < 0 || event > UINT32_MAX)
			return false;
		p->events[i] = (uint32_t)event;
	}
	return true;
}

struct json *drawn_json(struct arena *a, const struct drawn *d)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	const struct drawn_entry *e;
	size_t at = 0;

	while ((e = drawn_next(d, &at))) {
		struct json *v = json_new(a, JSON_OBJECT);
		json_sets(a, v, "kind", kind_names[e->kind]);
		json_sets(a, v, "key", e->key);
		json_seti(a, v, "window_us", e->window_us);
		json_seti(a, v, "length_us", e->length_us);
		json_seti(a, v, "used", e->used);
		json_seti(a, v, "held", e->held);
		json_seti(a, v, "first_us", e->first_us);
		json_seti(a, v, "last_us", e->last_us);
		if (e->pace)
			json_set(a, v, "pace", pace_json(a, e->pace));
		json_push(a, list, v);
	}
	json_seti(a, doc, "newest_us", d->newest_us);
	json_set(a, doc, "entries", list);
	return doc;
}

static bool is_place(const struct json *v, int64_t *ret)
{
	return json_int(v, ret) && is_sayable(*ret);
}

static bool entry_from_json(struct drawn *d, const struct json *v)
{
	const char *key = json_get_text(v, "key", NULL);
	enum draw_kind kind;
	int64_t window_us;

	if (!kind_read(json_get_text(v, "kind", ""), &kind) || !key ||
		!is_place(json_get(v, "window_us"), &window_us) || drawn_find(d, kind, key, window_us))
		return false;
	struct drawn_entry *e = entry_of(d, kind, key, window_us);
	return is_place(json_get(v, "length_us"), &e->length_us) && (kind != DRAW_BUCKET || e->length_us) &&
		json_int(json_get(v, "used"), &e->used) && json_int(json_get(v, "held"), &e->held) &&
		json_int(json_get(v, "first_us"), &e->first_us) &&
		json_int(json_get(v, "last_us"), &e->last_us) &&
		(!e->pace || pace_from_json(e->pace, json_get(v, "pace")));
}

bool drawn_from_json(struct drawn *d, const struct json *doc)
{
	const struct json *entries = json_get(doc, "entries");

	if (!json_int(json_get(doc, "newest_us"), &d->newest_us) || !json_is(entries, JSON_ARRAY))
		return false;
	json_each (v, entries)
		if (!entry_from_json(d, v))
			return false;
	return true;
}
