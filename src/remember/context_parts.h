/* context_parts.h — inside remember/: one search, and what it is made of. */
#ifndef REMEMBER_CONTEXT_PARTS_H
#define REMEMBER_CONTEXT_PARTS_H

#include "remember/adopt.h"
#include "remember/context.h"
#include "remember/memory.h"
#include "remember/words.h"

#include <stdint.h>
#include <sys/types.h>

enum {
	MAX_NOTE_BYTES = 16 << 20, /* of one note; larger ones are named and left out */
	MAX_HITS = 20000, /* kept at once; the newest ones, and it is said */
	MAX_WARNINGS = 20,
	MAX_SOURCES = 64,
	EXCERPT_BYTES = 240, /* of what is too long to be shown */
	LINE_BYTES = 480, /* longer lines are shown around the hit */
	MAX_WALK_DEPTH = 64,
	MAX_SEEDS = 64,
};

struct source {
	const char *name, *kind, *root, *state_name;
	bool is_local;
	bool is_vault; /* its root is a place of notes */
	int root_fd, state_fd; /* -1: not there */
	int64_t newest_us; /* the newest file that was seen; 0: none */
	int64_t sla_minutes;
};

/* How much an item is worth, and why. */
struct score {
	double title, excerpt, metadata; /* of the words */
	double query, temporal, graph, adapter, source;
	double total;
};

struct item {
	const struct source *from;
	enum area area;
	const char *kind;
	const char *timestamp; /* as it is shown; or NULL */
	int64_t time_us; /* of it, or of the file; INT64_MIN: none */
	const char *title, *excerpt;
	const char *path; /* of a note */
	uint32_t line;
	const char *task_id, *entity_id, *end_from, *end_to; /* or NULL */
	struct json *meta;
	const char *raw; /* what words are looked for in; while it is looked at */
	size_t raw_n;
	enum fit fit;
	int hops; /* from the entity asked for; 0: not by way of the graph */
	bool is_filtered_free; /* reached through the graph: words do not matter */
	struct score score;
	int64_t weight; /* of a candidate of a reflection: the heaviest is shown first */
	size_t order; /* as it was found */
};

/* A set of ids: a table with open places.  `{ 0 }` is empty. */
struct idset {
	const char **ids;
	size_t count, room;
};
bool idset_add(struct arena *a, struct idset *t, const char *id); /* false: it was there already */
bool idset_has(const struct idset *t, const char *id);

struct search {
	const struct context_place *at;
	struct sys *sys;
	struct arena *a;
	struct arena scratch; /* of one row or file */
	struct context_query q; /* with what the mode fills in */
	struct question question;
	bool has_words; /* a question was asked */
	bool is_nearly; /* second round: slips of the pen count */
	bool is_timeline, is_reflection;
	struct folded any[16]; /* a mode's words: one of them is enough */
	size_t any_count;
	struct folded seeds[MAX_SEEDS]; /* id, names and aliases of the entity */
	size_t seed_count;
	int64_t now_us, since_us, until_us;
	struct source sources[MAX_SOURCES];
	size_t source_count;
	struct item *items;
	size_t count, room;
	enum fit best;
	bool is_cut; /* there were more than MAX_HITS */
	bool is_partial; /* rows were left out that may have what is asked for; which ones was said */
	size_t cap; /* of hits without a question, per area */
	size_t found[AREA_COUNT];
	struct json *warnings;
	size_t warned;
	struct json *entries; /* of memory, read when the first line names one */
	struct context_index *index; /* or NULL */
	/* --why-not */
	const char *watched;
	struct json *verdict;
};

/* context.c */
void search_warn(struct search *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keep the item if it is one that is asked for.  `i` and everything it points to may be scratch. */
void search_offer(struct search *x, const struct item *i);
/* Is the area asked for, and can it hold what is asked for? */
bool search_wants(const struct search *x, enum area area);
/* How well a text answers, as asked. */
enum fit search_fit(const struct search *x, struct folded text);
/* Words that tell of a decision, folded; NULL ends them. */
const char *const *context_decisions(struct arena *a);
bool watches(const struct search *x, const struct item *i);
void watched_is(struct search *x, const char *reason);

/* context_sources.c */
int search_sources(struct search *x, struct err *e);
void search_sources_close(struct search *x);
struct json *source_freshness(const struct search *x, const struct source *s);

/* areas.c: everything of one source, or what stands at one place */
void area_rows(struct search *x, struct source *s);
void area_checkpoints(struct search *x, struct source *s);
void offer_task(
	struct search *x, const struct source *s, const struct json *row, const struct json *transitions);
void offer_command(struct search *x, const struct source *s, const struct json *row);
void warn_rows(struct search *x, const struct source *s, const char *file, size_t damaged);
/* Somebody waits for all of it, however long it takes: --fresh, --no-index, --why-not, the old ranking. */
bool search_reads_all(const struct search *x);
/* Rows were left out: what was looked at, and what looks at all. */
void warn_partial(
	struct search *x, const struct source *s, const char *file, const char *what, const char *all);

/* area_notes.c */
struct note_file {
	const char *path; /* below the root */
	int64_t mtime_ns, size;
};
void area_files(struct search *x, struct source *s);
/* Lines of one file.  False: it could not be read, which was said. */
bool offer_file(struct search *x, struct source *s, const struct note_file *f);
bool path_is_note(const struct source *s, const char *path);
bool path_is_memory(const char *path);
/* Every file of notes or memory below a directory of the source ("" is its root), and the directories with the time of their last change.  Either
 * function may be NULL. */
typedef void file_seen(void *arg, const struct note_file *f);
typedef void dir_seen(void *arg, const char *path, int64_t mtime_ns);
void notes_walk(struct search *x, struct source *s, file_seen *file, dir_seen *dir, void *arg);
/* The same for one directory; those inside are named, and not entered. */
void notes_list(
	struct search *x, struct source *s, const char *dir, file_seen *file, dir_seen *inside, void *arg);
/* The text without what redaction hides, line by line: as many lines as before. */
const char *mask_lines(struct arena *a, const char *text, size_t n, size_t *ret_n);

/* area_graph.c */
int search_seeds(struct search *x, struct err *e);
void area_ontology(struct search *x, struct source *s);

/* reflect.c: candidates of what is worth to be learnt */
void reflect_gather(struct search *x, struct source *s);

/* rank.c */
void rank_items(struct search *x);

/* context_index.c */
void index_attach(struct search *x);
void index_detach(struct search *x);
/* The same as area_files() and area_rows(), quicker.  False: not this time. */
bool index_files(struct search *x, struct source *s);
bool index_rows(struct search *x, struct source *s);
void index_widen(struct search *x); /* from now on most of the words are enough */

#endif
