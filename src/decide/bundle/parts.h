/* parts.h — what the readers of this folder share. */
#ifndef DECIDE_BUNDLE_PARTS_H
#define DECIDE_BUNDLE_PARTS_H

#include "decide/bundle/bundle.h"
#include "decide/expression/expression.h"

/* One file being read. */
struct reading {
	struct arena *a;
	const struct policy_input *in;
	const char *file; /* last part of its name, for origins */
	struct policy_reading *ret;
	struct policy_problems *problems;
	size_t at; /* cursor of place(): line and column of this byte are known */
	uint32_t line, column;
	struct json *tree; /* the file's tree, or a list of trees */
	struct json *document; /* being made */
	size_t inside; /* where the object begins that was taken last: the place of what is missing in it */
	const char *rule; /* id of the rule at hand, for problems; or NULL */
};

/* ---- problems (problem.c) ---- */
void problem_add(struct arena *a, struct policy_problems *to, const struct policy_problem *p);
/* The first error as an error; there is one. */
int problems_error(struct arena *a, const struct policy_problems *problems, struct err *e);
/* About the value that begins at byte `at`.  `word` is made harmless here. */
void problem_at(struct reading *r, enum policy_severity severity, const char *code, size_t at,
	const char *word, const char *fix, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* "file:line:column" of a byte. */
const char *origin_at(struct reading *r, size_t at);
/* Where the key of this member stands. */
size_t key_at(const struct reading *r, const struct json_member *m);

/* ---- taking members (take.c); each names what is wrong and goes on ---- */
/* A scalar as text: "" when it is missing or null. */
const char *scalar_text(struct arena *a, const struct json *v);
/* A text that must be there and not be empty; "" and a problem otherwise. */
const char *take_text(struct reading *r, const struct json *of, const char *name, const char *code);
/* A list that may be missing; NULL then, and with a problem when it is no list. */
const struct json *take_list(struct reading *r, const struct json *of, const char *name, const char *code);
/* Every member is one of `names`; false and problems otherwise. */
bool take_only(
	struct reading *r, const struct json *of, const char *const *names, size_t n, const char *code);
#define TAKE_ONLY(r, of, code, ...) \
	take_only(r, of, (const char *const[]){ __VA_ARGS__ }, \
		ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })), code)
bool take_object(struct reading *r, const struct json *v, const char *what, const char *code);
/* An expression compiles and is a condition.  Problems otherwise. */
bool take_expression(struct reading *r, const struct json *v);
/* The same for the condition of a rule; a name that nothing supplies is a warning, where it stands. */
bool take_condition(struct reading *r, const struct json *v);
/* An action: a name, a prefix with * at the end, or *. */
bool take_action(struct reading *r, const struct json *v, const char *code);

/* `epoch` and `coverage` of a file, when it has them, into the document. */
void take_settings(struct reading *r, const struct json *of);
/* One of these words, or a problem and NULL. */
const char *take_word(struct reading *r, const struct json *v, const char *what, const char *const *words,
	size_t n, const char *code);
#define TAKE_WORD(r, v, what, code, ...) \
	take_word(r, v, what, (const char *const[]){ __VA_ARGS__ }, \
		ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })), code)

/* ---- making the document (make.c) ---- */
struct json *make_document(struct reading *r, const char *name, const char *version, const char *coverage);
struct json *make_layer(struct reading *r, const char *name, int64_t priority); /* its list of rules */
struct json *make_rule(
	struct reading *r, const char *id, const char *action, const char *verdict, const struct json *at);
/* Sets reason_code and detail_code from what a file says: a registered code of that verdict is the reason, anything else the detail. */
void make_codes(struct reading *r, struct json *rule, const char *code, const char *fallback);
bool is_reason_of(const char *code, const char *verdict);

/* ---- shapes ---- */
void read_document(struct reading *r); /* document.c */
void read_bundle(struct reading *r); /* v1.c */
void read_packs(struct reading *r); /* packs.c */
void read_serve(struct reading *r); /* serve.c */
void read_actions(struct reading *r);
void read_mapping(struct reading *r); /* mapping.c */
void read_layers(struct reading *r); /* layers.c */
void read_requirements(struct reading *r); /* requirements.c */
bool read_requirement_set(struct reading *r, const struct json *set, const char *action); /* checks it */
struct json *requirement_set_made(struct reading *r, const struct json *set);
void read_launch(struct reading *r); /* launch.c */
void read_graph(struct reading *r); /* document.c */
void read_older(struct reading *r); /* import.c */

/* ---- the condition language of compliance packs (condition.c) ---- */
struct condition_variable {
	const char *name;
	bool is_set; /* used as the set of IN */
};
struct condition {
	const char *expression; /* the same in the expression language, over facts */
	struct condition_variable *variables;
	size_t n;
};
/* is_lenient: a missing variable makes its comparison true, for rules that ask instead of deny. */
int condition_compile(
	struct arena *a, const char *text, bool is_lenient, struct condition *ret, struct err *e);

#endif
