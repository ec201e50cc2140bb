/* mem.h — memory lives as long as the operation that asked for it.
 *
 * Everything parsed, decided or formatted during one request is allocated in its arena and dies in one arena_done().
 * There is no free().  Out of memory, or over the arena's limit, ends the process with a sentence and an exit code: a guard
 * that ended has denied, because nothing runs without its answer.  Code that reads input checks its own size limits and
 * arena_has_room() first and returns E_LIMIT, so that the limit here is a last wall, not an answer.  Secrets never enter an arena: proof/ keeps them in locked pages.
 *
 * Operating-system resources are scoped with AUTO(...) instead. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Borrowed bytes, never NUL-terminated by promise. */
struct bytes {
	const uint8_t *p;
	size_t n;
};

struct arena_block;

/* `{ 0 }` is a valid empty arena; limit 0 means 1 GiB. */
struct arena {
	struct arena_block *top;
	char *next, *end; /* free room in the top block */
	size_t used_bytes; /* handed out so far */
	size_t limit_bytes;
};

/* An arena in `n` bytes of the caller's, who frees them; for those who may not use the heap.  Its limit is half of them. */
struct arena arena_in(void *room, size_t n);
/* n bytes, aligned for any type, not initialised.  Never NULL. */
void *arena_alloc(struct arena *a, size_t n) __attribute__((malloc, alloc_size(2), returns_nonnull));
/* The same, zeroed; count * size is checked for overflow. */
void *arena_zalloc(struct arena *a, size_t count, size_t size)
	__attribute__((malloc, alloc_size(2, 3), returns_nonnull));
/* n bytes at byte alignment, for text. */
char *arena_text(struct arena *a, size_t n) __attribute__((malloc, alloc_size(2), returns_nonnull));
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((returns_nonnull, format(printf, 2, 3)));
/* Grow an array that was allocated here: returns room for new_n bytes with the first old_n copied.  In place when p is
 * the last allocation and the block has room. */
void *arena_grow(struct arena *a, void *p, size_t old_n, size_t new_n) __attribute__((returns_nonnull));

/* A mark taken before scratch work; arena_release() gives everything since back. */
struct arena_mark {
	struct arena_block *top;
	char *next;
	size_t used_bytes;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_release(struct arena *a, struct arena_mark m);
/* Forget everything but keep the largest block for the next round; for loops over many documents. */
void arena_reset(struct arena *a);
void arena_done(struct arena *a);

/* Could n bytes more be allocated without passing the limit?  For sizes that input decides about. */
bool arena_has_room(const struct arena *a, size_t n);

/* Memory ran out (limit_bytes 0) or an arena's limit was passed; default: one sentence on standard error and limits_exit_code().  A server sets its
 * own: it does not return for a request that can be refused, and returns when it has freed a reserve: malloc() is then tried once more. */
extern void (*arena_on_exhausted)(size_t wanted_bytes, size_t limit_bytes);
/* For memory that no arena gives, where a lock may be held: the sentence and the exit code, always. */
_Noreturn void mem_exhausted(size_t wanted_bytes);

#define AUTO(fn) __attribute__((cleanup(fn)))
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#define BYTES_LITERAL(s) ((struct bytes){ (const uint8_t *)(s), sizeof(s) - 1 })
static inline struct bytes bytes_of(const char *s)
{
	return (struct bytes){ (const uint8_t *)s, __builtin_strlen(s) };
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* A table with one entry for each member of an enum: a member that was added without its entry does not compile. */
#define TABLE_COVERS(table, count) \
	_Static_assert( \
		ARRAY_SIZE(table) == (size_t)(count), #table " does not have one entry for each of " #count)

#endif
