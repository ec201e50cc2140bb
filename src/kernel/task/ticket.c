/* ticket.c — what the hook leaves for a call that is to run inside the walls, and how it is redeemed.
 *
 * A ticket says which decision, text, directory, session and client process it is for.  It lies in the helm home, where nothing that is
 * governed can write; even so the file alone is never enough.  A decided call is compared with its signed receipt in the chain.  A call
 * that only looks has no receipt, because signing every look would cost more than it proves: it is judged again, and must still only
 * look.
 *
 * A ticket is taken by removing it: of all who try, the kernel lets one succeed.  A call that cannot be started after that is made
 * again by the client.  A ticket is not synced to disk, neither made nor taken: it
 * names the boot of the machine and a process of the client, so whatever a power cut brings back is worth nothing. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/hook.h"
#include "kernel/person.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "kernel/skill.h"
#include "kernel/task/contain_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TICKET_LIMIT = 16 << 20, MAX_ANCESTORS = 64, RECEIPTS_BACK = 100000 };
static const int64_t ALLOWED_US = 10LL * 60 * 1000000, ASKED_US = 24LL * 3600 * 1000000;

/* A path may hold any bytes, and a JSON text may not: both sides are compared in this spelling. */
static const char *spelled(struct arena *a, const char *path)
{
	size_t n;

	return text_utf8(a, path, strlen(path), TEXT_BYTE, &n);
}

static const char *resolved(struct arena *a, const char *path)
{
	char *real = realpath(path, NULL);
	const char *kept = arena_strdup(a, real ? real : path);

	free(real);
	return kept;
}

/* ---- made by the hook ---- */

const char *contain_text_of(const struct tool_call *call)
{
	const struct json *command = json_get(call->input, "command");
	const char *text = json_text(command);

	if (!text_eq(call->tool_name, "Bash") || !text || !*text || strlen(text) != command->n)
		return NULL;
	return text;
}

/* Is this what the walls leave a call to do?  Temporary directories are its own where the profile says so. */
static bool happens_inside(const struct effect *x, const struct profile *profile)
{
	static const enum effect_kind inside[] = { FX_READ, FX_WRITE, FX_DELETE, FX_MOVE, FX_PERMISSION,
		FX_GIT, FX_SCRIPT, FX_PROCESS, FX_LISTEN, FX_DYNAMIC_EXEC, FX_DECODE_EXEC, FX_STDIN_SHELL,
		FX_ENVIRONMENT, FX_UNKNOWN };
	bool is_inside = false;

	for (size_t k = 0; k < ARRAY_SIZE(inside); k++)
		is_inside |= x->kind == inside[k];
	if (!is_inside || x->flags & (FXF_REMOTE_SIDE | FXF_PRIVILEGED))
		return false;
	return x->kind == FX_READ || x->path_class <= PATH_IN || x->path_class == PATH_UP ||
		(x->path_class == PATH_TMP && profile->own_path_count);
}

/* What is not asked about was let pass in view of the walls, and stays inside them whatever it is. */
bool contain_fits(const struct decision *d, const struct proposal *p, const struct profile *profile)
{
	bool is_about_all = d->has_more_asks || !d->ask_count;

	for (size_t i = 0; i < d->ask_count; i++) {
		if (d->asks[i].effect && !happens_inside(d->asks[i].effect, profile))
			return false;
		is_about_all |= !d->asks[i].effect;
	}
	for (size_t i = 0; is_about_all && i < p->effect_count; i++)
		if (!happens_inside(&p->effects[i], profile))
			return false;
	return true;
}

/* One text for the contracts that hold; "": none. */
static const char *active_skills(struct arena *a, const struct profile *p)
{
	return p->terms ? arena_printf(a, "%s %s", p->terms->skill, p->terms->sha256 ? p->terms->sha256 : "")
			: "";
}

static struct json *ticket_of(
	struct kernel *k, struct arena *a, const struct contain_offer *o, const char *id, int64_t now_us)
{
	const struct handling *h = o->handling;
	struct json *t = json_new(a, JSON_OBJECT);
	bool is_asked = h->verdict == V_ESCALATE;

	json_seti(a, t, "version", 1);
	json_sets(a, t, "id", id);
	json_setb(a, t, "look", o->is_look);
	json_setb(a, t, "asked", is_asked);
	json_sets(a, t, "client", o->client);
	json_sets(a, t, "session", o->call->session ? o->call->session : "");
	json_sets(a, t, "tool", o->call->tool_name);
	json_sets(a, t, "tool_use_id", o->call->use_id);
	json_set(a, t, "input", o->call->input);
	json_sets(a, t, "workspace", spelled(a, k->ws->root));
	json_sets(a, t, "tree", o->at->work_tree ? spelled(a, o->at->work_tree) : "");
	json_sets(a, t, "cwd", o->at->cwd ? spelled(a, resolved(a, o->at->cwd)) : "");
	json_sets(a, t, "profile", o->profile->name);
	if (o->profile->terms)
		json_sets(a, t, "skills", active_skills(a, o->profile));
	json_sets(a, t, "policy", policy_in_force(k->sys, a, k->ws, k->policy_hash));
	json_sets(a, t, "boot", proc_boot_id(k->sys, a));
	json_seti(a, t, "client_pid", o->caller->pid);
	json_seti(a, t, "client_start", o->caller->start_ticks);
	json_seti(a, t, "expires_us", now_us + (is_asked ? ASKED_US : ALLOWED_US));
	return t;
}

static const char *own_program(struct sys *s, struct arena *a)
{
	char exe[4096];
	ssize_t n = s->readlink(s, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);

	return n > 0 ? arena_strndup(a, exe, (size_t)n) : NULL;
}

int contain_offer(struct kernel *k, struct arena *a, const struct contain_offer *o, const char **ret_command,
	struct err *e)
{
	const char *home = k->ws->helm_home, *program = own_program(k->sys, a);
	const char *id = o->handling->decision_id;
	char *made;
	int rc = OK;

	if (!home || !program)
		return err_set(e, E_MISSING, "CONTAINED_HOME", "there is no helm home to keep the call in");
	if (o->is_look) {
		rc = record_new_id(a, k->sys, "look-", &made, e);
		id = made;
	}
	const char *dir = arena_printf(a, "%s/" CALLS_DIR, home);
	if (rc == OK && !file_is_dir(k->sys, AT_FDCWD, dir))
		rc = file_mkdirs(k->sys, AT_FDCWD, dir, 0700, e);
	if (rc)
		return rc;
	struct json *ticket = ticket_of(k, a, o, id, k->sys->now_us(k->sys));
	struct buf text;
	buf_init(&text, a);
	json_write(&text, ticket, 0);
	rc = file_put(k->sys, AT_FDCWD, arena_printf(a, "%s/%s", dir, id), 0600, buf_bytes(&text), e);
	if (rc)
		return rc;
	call_announce(k->sys, a, program, home, ticket);
	*ret_command =
		shell_wrapped(a, program, home, ticket_session(a, ticket), id, contain_text_of(o->call));
	return OK;
}

/* ---- redeemed by the keeper ---- */

int ticket_read(struct sys *s, struct arena *a, const char *helm_home, const char *id, struct json **ret,
	struct err *e)
{
	struct bytes text;
	int rc = text_is_id(id)
		? file_read(s, a, AT_FDCWD, arena_printf(a, "%s/" CALLS_DIR "/%s", helm_home, id),
			  TICKET_LIMIT, 0, &text, e)
		: E_MISSING;

	if (rc == OK)
		rc = json_parse(a, text, id, NULL, ret, e);
	if (rc)
		return err_set(e, E_DENIED, "CONTAINED_UNKNOWN",
			"no call '%.80s' waits to be run: it was run already, was never allowed, or its time is over; "
			"let the client make the call again",
			id);
	return OK;
}

const char *ticket_session(struct arena *a, const struct json *ticket)
{
	static const char *const names[] = { "workspace", "tree", "client", "session", "profile", "skills",
		"policy", "boot", "client_pid", "client_start" };
	struct json *same = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(ticket, names[i]))
			json_set(a, same, names[i], json_get(ticket, names[i]));
	return arena_strndup(a, json_sha256(a, same) + strlen("sha256:"), 32);
}

const char *ticket_text(const struct json *ticket)
{
	return json_get_text(json_get(ticket, "input"), "command", "");
}

static int refuse(struct err *e, const char *code, const char *why)
{
	return err_set(e, E_DENIED, code, "not run: %s; let the client make the call again", why);
}

/* Whoever asks is below the client's process, as its shells are.  A ticket without one is nobody's. */
static bool is_below(struct sys *s, pid_t peer, int64_t client, int64_t start)
{
	struct proc_info p = { .parent = peer };

	for (int i = 0; client > 0 && i < MAX_ANCESTORS && p.parent > 0 && proc_look(s, p.parent, &p); i++)
		if (p.pid == client)
			return p.start_ticks == start;
	return false;
}

struct search {
	const char *decision;
	struct json *found;
};

static int is_the_decision(void *arg, struct json *row)
{
	struct search *x = arg;

	if (!text_eq(json_get_text(row, "decision_id", ""), x->decision) ||
		!text_eq(json_get_text(row, "type", ""), "decision"))
		return 0;
	x->found = row;
	return 1;
}

/* The decision as it was signed: this call, and permitted. */
static int check_receipt(struct kernel *k, struct arena *a, const struct json *ticket, struct err *e)
{
	struct search x = { json_get_text(ticket, "id", ""), NULL };
	const char *digest =
		tool_call_sha256(a, json_get_text(ticket, "tool", ""), json_get(ticket, "input"));
	int rc = rows_back(
		k->sys, a, k->ws->state_fd, RECEIPTS, RECEIPTS_BACK, x.decision, is_the_decision, &x, e);

	if (rc < 0)
		return rc;
	if (!x.found || !receipt_is_of_user(k->sys, a, k->ws, x.found))
		return refuse(e, "CONTAINED_RECEIPT", "its decision is not on record under your key");
	const char *verdict = json_get_text(x.found, "verdict", ""),
		   *session = json_get_text(json_get(x.found, "metadata"), "session", "");
	bool is_asked = json_get_bool(ticket, "asked", false);
	if (!text_eq(verdict, "ALLOW") && !(is_asked && text_eq(verdict, "ESCALATE")))
		return refuse(e, "CONTAINED_RECEIPT", "its decision does not permit it");
	if (!text_eq(json_get_text(x.found, "args_hash", ""), sha256_prefixed(a, digest, strlen(digest))) ||
		!text_eq(session, json_get_text(ticket, "session", "")))
		return refuse(e, "CONTAINED_RECEIPT", "what was decided is another call");
	return OK;
}

/* What the ticket says about itself against what is asked for. */
static int check_ticket(struct kernel *k, struct arena *a, const struct json *ticket,
	const struct redeeming *r, struct err *e)
{
	int64_t client = json_get_int(ticket, "client_pid", 0);

	if (json_get_int(ticket, "version", 0) != 1 || !json_is(json_get(ticket, "input"), JSON_OBJECT))
		return refuse(e, "CONTAINED_TICKET", "what the hook left for it cannot be read");
	if (json_get_int(ticket, "expires_us", 0) < k->sys->now_us(k->sys))
		return refuse(e, "CONTAINED_LATE", "its time is over");
	const char *boot = proc_boot_id(k->sys, a);
	if (!boot || !text_eq(json_get_text(ticket, "boot", ""), boot))
		return refuse(e, "CONTAINED_LATE", "the machine was started again since");
	if (*r->text && !text_eq(r->text, ticket_text(ticket)))
		return refuse(e, "CONTAINED_TEXT", "another command was allowed under this number");
	if (!text_eq(spelled(a, r->cwd), json_get_text(ticket, "cwd", "")))
		return refuse(e, "CONTAINED_PLACE", "it was allowed in another directory");
	if (!text_eq(r->session, ticket_session(a, ticket)) ||
		!is_below(k->sys, r->peer, client, json_get_int(ticket, "client_start", 0)))
		return refuse(e, "CONTAINED_SESSION", "it was allowed for another session");
	if (!text_eq(json_get_text(ticket, "policy", ""), policy_in_force(k->sys, a, k->ws, k->policy_hash)))
		return refuse(e, "CONTAINED_POLICY", "what is permitted was changed since");
	return OK;
}

int ticket_narrow(struct kernel *k, struct arena *a, const struct json *ticket,
	const struct profile **profile, struct err *e)
{
	int rc = skill_narrow(
		k, a, json_get_text(ticket, "client", ""), json_get_text(ticket, "session", ""), profile, e);

	if (rc == OK && !text_eq(active_skills(a, *profile), json_get_text(ticket, "skills", "")))
		return refuse(e, "CONTAINED_POLICY", "another skill is active since");
	return rc;
}

static int check_skills(struct kernel *k, struct arena *a, const struct json *ticket, struct err *e)
{
	const struct profile *p;
	int rc = profiles_get(&k->guard.profiles, json_get_text(ticket, "profile", ""), &p, e);

	return rc ? rc : ticket_narrow(k, a, ticket, &p, e);
}

static int check_freeze(struct kernel *k, struct arena *a, const struct json *ticket, struct err *e)
{
	struct decision d = { 0 };

	if (!kernel_stops(k, a, arena_printf(a, "agent:%s", json_get_text(ticket, "client", "")),
		    json_get_text(ticket, "profile", ""), &d))
		return OK;
	return err_set(e, E_DENIED, "SYSTEM_FROZEN", "not run: %s", d.summary);
}

static int take(struct kernel *k, struct arena *a, const char *id, struct err *e)
{
	struct sys *s = k->sys;

	if (s->unlink(s, AT_FDCWD, arena_printf(a, "%s/" CALLS_DIR "/%s", k->ws->helm_home, id), 0) == 0)
		return OK;
	return errno == ENOENT ? refuse(e, "CONTAINED_UNKNOWN", "it was run already")
			       : err_sys(e, "CONTAINED_TAKE", "cannot take the call '%s'", id);
}

int ticket_redeem(struct kernel *k, struct arena *a, const struct json *ticket, const struct redeeming *r,
	struct err *e)
{
	struct tool_call call = { .tool_name = json_get_text(ticket, "tool", ""),
		.input = json_get(ticket, "input"),
		.session = json_get_text(ticket, "session", ""),
		.cwd = r->cwd };
	AUTO(posture_release) const struct workspace *held = posture_hold(k->sys, k->ws);
	int rc = check_ticket(k, a, ticket, r, e);

	(void)held;
	if (rc == OK)
		rc = check_skills(k, a, ticket, e);
	if (rc == OK)
		rc = check_freeze(k, a, ticket, e);
	if (rc == OK && json_get_bool(ticket, "look", false)) {
		if (!hook_only_looks(k, a, json_get_text(ticket, "client", ""), &call))
			rc = refuse(e, "CONTAINED_RECEIPT",
				"it does more than look, and no decision is on record");
	} else if (rc == OK) {
		rc = check_receipt(k, a, ticket, e);
	}
	return rc ? rc : take(k, a, json_get_text(ticket, "id", ""), e);
}

void tickets_sweep(struct sys *s, struct arena *a, const char *helm_home)
{
	const char *dir = arena_printf(a, "%s/" CALLS_DIR, helm_home);
	int64_t now_us = s->now_us(s);
	char **names;
	size_t n;
	struct stat st;

	if (file_list(s, a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);
		if (s->stat(s, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(int64_t)st.st_mtim.tv_sec * 1000000 + ASKED_US < now_us)
			(void)s->unlink(s, AT_FDCWD, path, 0);
	}
}

int ticket_watch_client(struct sys *s, const struct json *ticket, int *ret, struct err *e)
{
	int64_t pid = json_get_int(ticket, "client_pid", 0);
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	bool is_gone = pid > 0 && fd < 0 && errno == ESRCH;

	if (fd >= 0 && !proc_is_running(s, pid, json_get_int(ticket, "client_start", 0))) {
		close_fd(&fd);
		fd = -1;
		is_gone = true;
	}
	*ret = fd;
	return is_gone ? err_set(e, E_DENIED, "CONTAINED_SESSION",
				 "not run: it was allowed for another session, whose client has ended")
		       : OK;
}
