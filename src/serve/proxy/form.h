/* form.h — inside serve/proxy/: the wire forms of answers (chat completions, Responses, Messages) and the calls of tools in them; pure.
 *
 * An answer comes whole, or as events.  A form says of each event whether it may pass, belongs to a call that is not complete (hold), or completes what
 * is held (decide).  It never says "pass" about an event with a call in it, and what it does not understand is a fault: nothing that is held leaves then.
 *
 * After a decision form_settle() forgets what was held and keeps a digest of each call, so that one that is said again later (Responses repeat all of
 * them at the end) is known, and one that is continued after it was decided is a fault. */
#ifndef SERVE_PROXY_FORM_H
#define SERVE_PROXY_FORM_H

#include "base/hash.h"
#include "base/json.h"
#include "serve/proxy/sse.h"

enum { CALLS_MOST = 128, SETTLED_MOST = 512, NAME_MOST = 200 };

/* One call of a tool, as far as it has come. */
struct tool_use {
	const char *key; /* its place in the answer */
	int64_t choice; /* of chat completions */
	const char *id, *type; /* type: "function", "custom_tool_call", "tool_use", ... */
	const char *name; /* what it is decided by; NULL: not said yet */
	struct buf args; /* text, in pieces */
	bool has_args, is_text; /* is_text: free text, not JSON */
	const struct json *item; /* of a form that says it whole; or NULL */
	bool is_closed;
	struct json *input; /* once it is closed: an object; NULL: there is a fault */
	const char *fault; /* why nobody can say what it does; or NULL */
	char digest[SHA256_HEX];
};

struct usage {
	bool is_known;
	int64_t input, output, cached; /* cached: part of input that was read from a cache */
};

struct assembly {
	const struct form *form;
	struct arena a; /* of what is held */
	struct arena scratch; /* of the event that is looked at */
	struct tool_use *calls; /* CALLS_MOST of them; NULL before the first */
	size_t n;
	const char *fault; /* of the whole answer: nothing more of it may leave; or NULL */
	const char *const *offered; /* names of tools that the request offers, ends in NULL; or NULL */
	/* of the whole stream */
	struct arena kept;
	struct settled {
		const char *key;
		char digest[SHA256_HEX];
		bool is_allowed;
		const char *why; /* what to say in its place; or NULL */
		bool is_told; /* and that was said */
	} * settled;
	size_t settled_n;
	struct usage usage;
	const char *id, *model; /* of the answer, for events of our own */
	int64_t created, sequence;
	bool is_finished; /* the answer said that it is complete */
};

enum seen { SEEN_PASS, SEEN_HOLD, SEEN_DECIDE };

struct refusal;
struct form {
	const char *name; /* "chat", "responses", "messages" */
	/* One event whose data is a JSON object. */
	void (*event)(struct assembly *x, const struct sse_event *ev, const struct json *data);
	/* An answer that came whole. */
	void (*document)(struct assembly *x, const struct json *doc);
	/* The body of an error, and the same as events that make clients notice it. */
	struct json *(*error)(struct arena *a, const struct refusal *r);
	void (*error_events)(
		struct arena *a, const struct assembly *x, const struct refusal *r, struct buf *to);
	/* The answer without the calls that were refused, and with the reason in words in their place: whole, or event by event; of an event that
	 * need not change false, and nothing is added. */
	void (*rewrite_document)(struct arena *a, struct assembly *x, struct json *doc);
	bool (*rewrite_event)(struct arena *a, struct assembly *x, struct json *data, struct buf *to);
};
extern const struct form form_chat, form_responses, form_messages;
/* Of a path that is none of theirs: an answer with a call in it is read as the form that it has; events with one are refused. */
extern const struct form form_other;
const struct form *form_of_path(const char *path);
/* Files and batches may be collected answers of a model, whatever type the vendor gives them. */
bool path_may_hold_answers(const char *path);

/* Why something is refused, for whoever made the call. */
struct refusal {
	int status; /* of HTTP */
	const char *kind; /* DENIED, PEP_VALIDATION_FAILED, GOVERNANCE_ERROR, ... */
	const char *code; /* reason code */
	const char *message;
	const char *const *tools; /* names */
	size_t tool_n;
	const char *correlation_id, *receipt_id, *decision_id, *approval_id; /* or NULL */
	const struct json *left; /* what is left of a budget; or NULL */
};

void form_begin(struct assembly *x, const struct form *form, const char *const *offered);
void form_end(struct assembly *x);
/* One event: may it pass?  After SEEN_DECIDE, or with a fault, whoever asks decides about x->calls and calls form_settle(). */
enum seen form_see(struct assembly *x, const struct sse_event *ev);
/* The stream is over, as its maker meant it to be: are there calls to decide about?  A call that is not complete is a fault. */
enum seen form_over(struct assembly *x);
/* The same for an answer that came whole. */
enum seen form_whole(struct assembly *x, const struct json *doc);
/* What was held is decided; `why` has for each call what to say in its place, NULL for one that is allowed; `why` itself NULL: all are. */
void form_settle(struct assembly *x, const char *const *why);
/* Events of an answer in which something was refused, as they leave; or the whole of it.  What is made is read once more, as any answer is: false when it still
 * holds a call that was not allowed (one that does not say at which place it stands cannot be taken out), and then nothing of it may leave. */
bool form_rewrite(struct assembly *x, struct arena *a, struct bytes events, struct buf *to);
bool form_rewrite_whole(struct assembly *x, struct arena *a, struct json *doc);

/* ---- for forms (calls.c) ---- */

/* The call at a place; made when it is new.  NULL with a fault: too many, or it was decided already. */
struct tool_use *call_at(struct assembly *x, const char *key);
struct tool_use *call_find(const struct assembly *x, const char *key);
void call_fault(struct tool_use *u, const char *fault);
/* The first fault counts. */
void form_fault(struct assembly *x, const char *fault);
/* A text member that is there must be a text. */
bool call_text(struct tool_use *u, const struct json *v, const char **ret);
void call_add_args(struct tool_use *u, const struct json *piece);
void call_name(struct assembly *x, struct tool_use *u, const struct json *name);
/* Arguments become an object, or a fault; the digest is made. */
void call_close(struct assembly *x, struct tool_use *u);
/* A whole call that was decided before is the same one again. */
bool call_is_settled(const struct assembly *x, const struct tool_use *u);
/* How many things in a document look like calls, wherever they stand. */
size_t calls_alike(const struct json *doc);
/* What was decided about the call at a place; NULL: nothing yet. */
struct settled *call_settled(const struct assembly *x, const char *key);
/* Is some call whose place begins with this allowed?  "" is the whole answer. */
bool calls_allowed(const struct assembly *x, const char *prefix);

/* ---- for errors and rewriting (shapes.c) ---- */

struct json *shape_helm(struct arena *a, const struct refusal *r);
struct json *shape_openai_error(struct arena *a, const struct refusal *r);
void shape_event(struct buf *to, const char *name, const struct json *data);

#endif
