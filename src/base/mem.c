/* mem.c — a bump allocator over a chain of blocks.
 *
 * Everything a command needs is allocated from an arena and given back at once when it ends, so no path
 * through the code can leak or free twice. Blocks double in size up to 1 MiB: small requests touch little
 * memory, and large ones cost few mallocs.
 *
 * Each arena has a limit of bytes. Passing it, like running out of memory, never returns to the caller: no
 * allocation has to be checked. The process says so in one sentence and ends with an exit code, not with a signal.
 *
 * Under AddressSanitizer the unused tail of each block is poisoned and every allocation is followed by a
 * poisoned gap, so overruns are found although nothing is ever freed on its own. */
#include "base/mem.h"

#include "base/err.h"
#include "base/limits.h"

#include <stdalign.h>
#include <stdarg.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
/* gcc takes the const parameter of the poisoning call for a read of the fresh memory. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define HIDE(p, n) __asan_poison_memory_region(p, n)
#define SHOW(p, n) __asan_unpoison_memory_region(p, n)
#define GAP 16
#else
#define HIDE(p, n) ((void)(p), (void)(n))
#define SHOW(p, n) ((void)(p), (void)(n))
#define GAP 0
#endif

enum { FIRST_BLOCK = 8 << 10, LARGEST_STEP = 1 << 20 };
#define DEFAULT_LIMIT ((size_t)1 << 30)
#define ALIGN alignof(max_align_t)

struct arena_block {
	struct arena_block *below;
	size_t size; /* bytes of data[] */
	alignas(max_align_t) char data[];
};

/* No allocation from here on. */
_Noreturn static void die_exhausted(size_t wanted, size_t limit)
{
	char text[320], needed[64] = "";
	int n;

	if (wanted)
		snprintf(needed, sizeof(needed), "%zu bytes more were needed. ", wanted);
	if (limit)
		n = snprintf(text, sizeof(text),
			"helm: out of memory: %sOne operation may use %zu bytes here. "
			"Nothing more is allowed or recorded. Give it less at once\n",
			needed, limit);
	else
		n = snprintf(text, sizeof(text),
			"helm: out of memory: %sNothing more is allowed or recorded. "
			"Raise 'ulimit -v', or the memory limit of the container\n",
			needed);

	if (n > 0)
		(void)!write(2, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	_exit(limits_exit_code());
}

static void die_by_default(size_t wanted, size_t limit)
{
	die_exhausted(wanted, limit);
}

void (*arena_on_exhausted)(size_t wanted_bytes, size_t limit_bytes) = die_by_default;

void mem_exhausted(size_t wanted)
{
	die_exhausted(wanted, 0);
}

/* A limit: should the hook come back, the program ends all the same. */
_Noreturn static void exhausted(size_t wanted, size_t limit)
{
	arena_on_exhausted(wanted, limit);
	die_exhausted(wanted, limit);
}

/* A request that is larger than a block gets one of its own size. */
static void add_block(struct arena *a, size_t need)
{
	size_t size = a->top ? a->top->size * 2 : FIRST_BLOCK;

	if (size > LARGEST_STEP)
		size = LARGEST_STEP;
	if (size < need)
		size = need;
	struct arena_block *b = malloc(sizeof(*b) + size);
	if (!b) {
		arena_on_exhausted(size, 0); /* comes back when it has given memory back to the system */
		b = malloc(sizeof(*b) + size);
	}
	if (!b)
		die_exhausted(size, 0);
	b->below = a->top;
	b->size = size;
	a->top = b;
	a->next = b->data;
	a->end = b->data + size;
	HIDE(b->data, size);
}

struct arena arena_in(void *room, size_t n)
{
	struct arena_block *b = room;

	*b = (struct arena_block){ .size = n - sizeof(*b) };
	return (struct arena){ .top = b, .next = b->data, .end = b->data + b->size, .limit_bytes = n / 2 };
}

/* The limit counts what was asked for, without padding and gaps, so it means the same in every build. */
static void *take(struct arena *a, size_t n, size_t align)
{
	size_t limit = a->limit_bytes ? a->limit_bytes : DEFAULT_LIMIT;

	if (n > limit || a->used_bytes > limit - n)
		exhausted(n, limit);
	size_t pad = (size_t)(-(uintptr_t)a->next) & (align - 1);
	if (!a->top || (size_t)(a->end - a->next) < n + pad + GAP) {
		add_block(a, n + GAP + ALIGN);
		pad = 0;
	}
	char *p = a->next + pad;
	a->next = p + n + GAP;
	a->used_bytes += n;
	SHOW(p, n);
	return p;
}

bool arena_has_room(const struct arena *a, size_t n)
{
	size_t limit = a->limit_bytes ? a->limit_bytes : DEFAULT_LIMIT;

	return n <= limit && a->used_bytes <= limit - n;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return take(a, n, ALIGN);
}

/* The product is checked: a count from outside must not wrap round. */
void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
	size_t n;

	if (__builtin_mul_overflow(count, size, &n))
		exhausted(SIZE_MAX, a->limit_bytes ? a->limit_bytes : DEFAULT_LIMIT);
	return memset(take(a, n, ALIGN), 0, n);
}

char *arena_text(struct arena *a, size_t n)
{
	return take(a, n, 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = take(a, n + 1, 1);

	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

/* The text takes exactly its own length.  Most are short: those are written once and copied, longer ones
 * measured first and written again. */
char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char first[200];

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(first, sizeof(first), fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format");
	char *p = take(a, (size_t)n + 1, 1);
	if ((size_t)n < sizeof(first))
		memcpy(p, first, (size_t)n + 1);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

/* Grows in place when p is the newest allocation and the block has room; otherwise copies. The old place
 * stays valid but must not be used. */
void *arena_grow(struct arena *a, void *p, size_t old_n, size_t new_n)
{
	size_t more = new_n - old_n;
	size_t limit = a->limit_bytes ? a->limit_bytes : DEFAULT_LIMIT;

	if (p && new_n >= old_n && (char *)p + old_n + GAP == a->next && (size_t)(a->end - a->next) >= more) {
		if (more > limit || a->used_bytes > limit - more)
			exhausted(more, limit);
		SHOW((char *)p + old_n, more);
		a->next += more;
		a->used_bytes += more;
		return p;
	}
	void *q = arena_alloc(a, new_n);
	if (old_n)
		memcpy(q, p, old_n < new_n ? old_n : new_n);
	return q;
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){ a->top, a->next, a->used_bytes };
}

/* Poison is taken off before free(), or the allocator itself would be accused. */
static void pop_block(struct arena *a)
{
	struct arena_block *b = a->top;

	a->top = b->below;
	SHOW(b->data, b->size);
	free(b);
}

/* Back to a mark: blocks above it are freed, and what is behind it in its block is free again. */
void arena_release(struct arena *a, struct arena_mark m)
{
	while (a->top != m.top)
		pop_block(a);
	a->next = m.next;
	a->end = a->top ? a->top->data + a->top->size : NULL;
	a->used_bytes = m.used_bytes;
	if (a->next)
		HIDE(a->next, (size_t)(a->end - a->next));
}

/* Keeps the newest block, which is the largest, so a loop that resets soon allocates nothing. */
void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->top;

	if (!keep)
		return;
	for (struct arena_block *b = keep->below; b;) {
		struct arena_block *below = b->below;
		SHOW(b->data, b->size);
		free(b);
		b = below;
	}
	keep->below = NULL;
	arena_release(a, (struct arena_mark){ keep, keep->data, 0 });
}

void arena_done(struct arena *a)
{
	while (a->top)
		pop_block(a);
	a->next = a->end = NULL;
	a->used_bytes = 0;
}
