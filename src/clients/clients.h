/* clients.h — the agent clients we know: one row each, and the questions everyone else asks about them.
 *
 * Whatever differs from client to client stands in that client's file here and nowhere else: what it sets in the environment, which
 * files steer it, how it says what it is about to do, how it wants to be answered, and how a hook is put into its settings.
 * The guard, the walls of a run, setup, doctor, the hook commands and the check for a person at the keyboard all ask this
 * room, so a client that is added here is known to all of them.
 *
 * Add a client: a file with its row, and its name in the list of parts.h. */
#ifndef CLIENTS_CLIENTS_H
#define CLIENTS_CLIENTS_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

/* ---- what it is about to do ---- */

/* Whose machine a tool changes: this one, as its name and input say, or that of a vendor who carries it out there. */
enum tool_effects { EFFECTS_HERE, EFFECTS_ELSEWHERE };

struct tool_call {
	const char *tool_name;
	struct json *input; /* object */
	const char *session; /* or NULL */
	const char *cwd; /* as the client said it; or NULL */
	const char *use_id; /* the client's id of this call; or NULL */
	const struct json *response; /* after the call; or NULL */
	enum tool_effects effects;
	bool is_self_test; /* made by `helm setup`, not by a client */
};

struct client_speech {
	bool can_ask; /* it can put a question to its person */
	int deny_exit; /* exit code that goes with a denial */
	bool wants_stderr; /* shows its model what stands there */
	/* Tool and input of a payload, where it does not say them in the common members; else NULL.  *ret_is_read false: the
	 * common members hold. */
	int (*read)(struct arena *a, const struct json *doc, struct tool_call *ret, bool *ret_is_read,
		struct err *e);
	/* "deny" or, when it can, "ask": `text` for the model, `person` for the person. */
	struct json *(*answer)(struct arena *a, const char *word, const char *text, const char *person);
	/* "allow" or "ask", and another command in the place of the one that a shell call has.  NULL: it runs what it was about to run,
	 * whatever we say. */
	struct json *(*rewrite)(struct arena *a, const char *word, const struct tool_call *call,
		const char *command, const char *text);
	/* After a call: something that its model is to read beside the result.  NULL: it reads nothing then. */
	struct json *(*remark)(struct arena *a, const char *text);
	/* At the start of a session: something that its model is to read first.  NULL: it cannot be told anything then. */
	struct json *(*welcome)(struct arena *a, const char *text);
	/* The model's text of an answer that denies; NULL when it says anything else. */
	const char *(*denial)(const struct json *answer);
	/* The payload of a shell command, as the client would write it. */
	struct json *(*payload)(struct arena *a, const char *command);
};

/* ---- its settings ---- */

enum client_care {
	CARE_NONE, /* no settings of a client */
	CARE_ASK, /* starts programs of its own, or loosens the client's questions: a person is asked */
	CARE_CLOSED, /* holds hooks or can switch them off: closed to everything that is governed */
};

/* Below a home directory or a project.  Ends in "/": everything in that directory.  A '*' is any text in the last name.
 * Inside a guarded run all of them are read-only, whatever the care. */
struct client_file {
	const char *path;
	enum client_care care;
};

/* Our entry in a settings file, looked at: what lets the client skip it?  `state` and `detail` as in setup_status(). */
struct client_look {
	struct sys *sys;
	struct arena *a;
	const char *home, *project; /* or NULL */
	const char *scope, *root, *path; /* the settings file and where it lies */
	const struct json *entry, *box; /* ours, and the group around it */
	size_t group, handler;
	struct json *warnings;
	const char *state, *detail;
};

struct client_event {
	const char *event, *verb; /* "PreToolUse", "pre-tool" */
};

/* How our entries are put into a file of its settings. */
struct client_setup {
	const char *file; /* one of `files` */
	const char *fresh; /* a new file begins as this */
	bool is_yaml; /* else JSON */
	bool is_flat; /* events hold commands, not groups of them */
	bool is_of_user; /* reads the user's file only */
	struct client_event events[4];
	const char *start_event; /* the start of a session, for `setup --context`; or NULL */
	/* One entry, in its group where there are groups. */
	struct json *(*entry)(struct arena *a, const char *command, const char *verb);
	void (*look)(struct client_look *l); /* or NULL */
};

/* ---- all of it inside walls ---- */

/* How a file that a session wrote comes back into the operator's home.  Everything that no row names stays outside. */
enum client_carry_how {
	CARRY_LINES, /* lines are only ever added: those that are new are added to the operator's file */
	CARRY_JSON, /* a JSON document takes the place of the old one */
	CARRY_MEMBERS, /* of a JSON document these members, into the document as it is at that moment */
	CARRY_LOGIN /* the same, and only where the login was there before and is of the same account */
};

enum client_value { MEMBER_NUMBER, MEMBER_BOOL, MEMBER_TEXT, MEMBER_ANY };

/* A member of a JSON document, "a.b"; a name "*" is every member there is, "x*" those that begin so and "*x" those that end so. */
struct client_member {
	const char *path;
	enum client_value type;
};

/* Whose login a document holds: in `file` (NULL: in the document itself) the member `account`.  `newer` is a number or a time in the document, and
 * grows with every login that replaces another. */
struct client_login {
	const char *file, *account, *newer;
};

/* A path that ends in "/" is every file below it whose name ends in `suffix`. */
struct client_carry {
	const char *path, *suffix;
	enum client_carry_how how;
	const struct client_member *members; /* ends in a NULL path; or NULL */
	const struct client_login *login; /* or NULL */
};

/* What it needs there.  Paths are below the home directory, and one that ends in "/" is a directory; lists end in NULL.
 *
 * A session writes its client's state into a layer (kernel/task/layer.h).  `carried` must name nothing by which anything starts: no settings, hooks,
 * servers, commands, plugins, instructions or trust. */
struct client_session {
	const char *program; /* looked up in PATH */
	const char *const *state; /* its own files, which it writes */
	const char *const *closed; /* of those: the operator's rules for it, read-only where they exist */
	const struct client_carry *carried; /* ends in a NULL path */
	const char *const *dropped; /* of its state: caches and traces that nobody asks about afterwards */
	const char *const *dropped_members; /* the same for documents of which members are carried */
	/* Moves the first directory of `state` elsewhere, and with it `moved`, files that otherwise lie in the home.  NULL: where there are no mounts, HOME
	 * is the session's. */
	const char *home_variable;
	const char *const *moved;
	const char *const *variables; /* beginnings of the names of variables that are for it */
	const char *tmp_variable; /* names its directory for temporary files; or NULL */
	const char *const *hosts; /* of its service: for the door of a session whose network is by name */
	const char *url_variable; /* by which a person names another service for it; or NULL */
	/* Words for its command line that arm our hooks for this session alone, whatever its settings say, ending in NULL.  `before` and
	 * `after` are the commands of the two hooks; is_armed: its settings have them, too.  NULL: it knows no such words, and its
	 * settings must be armed. */
	const char *const *(*arm)(struct arena *a, const char *before, const char *after, bool is_armed);
};

/* ---- its own sandbox ---- */

/* In which it runs shell commands, beside ours. */
struct client_sandbox {
	const char *off; /* the line that starts it without */
	const char *const *options; /* of its command line that choose it, ending in NULL; or NULL */
	const char *off_value; /* the value of such an option that means none; or NULL */
};

/* ---- a client ---- */

struct client {
	const char *name, *alias; /* alias: or NULL */
	const char *title; /* as people write it */
	const char *const *marks; /* variables it sets for the commands it runs; ends in NULL; or NULL */
	const struct client_file *files; /* ends in a NULL path */
	const struct client_speech *speech; /* NULL: we know no hook of it */
	const struct client_setup *setup; /* NULL: its settings cannot be edited in place */
	const struct client_session *session; /* NULL: we do not know what it needs */
	const struct client_sandbox *sandbox; /* NULL: it has none that we know */
	const char *const *
		commands; /* names under which its own program is a command for the shells it starts; ends in NULL; or NULL */
	const char *
		paste; /* for a hook without setup: what a person does with the command that follows; or NULL */
};

const struct client *clients_at(size_t i); /* NULL past the end */
const struct client *clients_find(const char *name); /* by name or alias; NULL: nobody is called that */
/* "claude-code, codex, ...": those with a hook. */
const char *clients_with_hook(struct arena *a);

/* The variables by which a command knows that an agent, or a guarded run, started it. */
const char *clients_mark_at(size_t i); /* NULL past the end */
const char *clients_mark_in_environment(struct sys *s); /* the first that is set; or NULL */

/* What a path is: below the root it is looked up in, or below any directory at all. */
enum client_care clients_care(const char *path_below_root);
enum client_care clients_care_anywhere(const char *path);
/* The same for a directory: what lies below it, at worst. */
enum client_care clients_care_below(const char *path_below_root);
enum client_care clients_care_below_anywhere(const char *path);
/* What is there of one client's settings (NULL: of all) below `root`: full paths, appended to `list`. */
void clients_settings_in(
	struct sys *s, struct arena *a, const struct client *c, const char *root, struct json *list);

/* What a client wrote to its hook.  E_INPUT HOOK_PAYLOAD or a JSON error. */
int clients_read_call(
	const struct client *c, struct arena *a, struct bytes payload, struct tool_call *ret, struct err *e);
/* A payload as clients_read_call() reads it, marked as a test of ours. */
struct json *clients_test_payload(
	const struct client *c, struct arena *a, const char *cwd, const char *command);

#endif
