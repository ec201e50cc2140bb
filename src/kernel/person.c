/* person.c — is it a person who does this?
 *
 * What governs is a person's to change: a grant, a freeze lifted, a wider profile, an accepted file.  Whoever is governed must not
 * be taken for one.  So nobody is a person
 *
 *  - inside a guarded run, or where an agent client says in the environment that it is one;
 *  - below a process that has called a hook of this workspace;
 *  - at a terminal that could have been made by such a process: a program can leave its parents, open a pseudo-terminal and type.  What
 *    it cannot do is have been there before, or be a login.  So once agents have called here, the terminal must hang on a login (root's
 *    sshd or login; an entry from outside into a container that was there before), on a terminal program of the system, or on a process
 *    that is older than the first of those agents; or it is of another audit session, where the kernel counts those;
 *  - in a time namespace, where whoever made it says how old everything is.
 *
 * None of this stops a program that may do as it likes on the machine: it can drive a terminal multiplexer that was there before,
 * or log in.  A registered key closes that, and "require_key" in the standing word makes the key the only way. */
#include "kernel/person.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/sealed.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/fleet/fleet.h"
#include "kernel/freeze.h"
#include "kernel/hook.h"
#include "kernel/operator_files.h"
#include "kernel/passkey.h"
#include "kernel/posture.h"
#include "proof/sshsig.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 64, MAX_WRAPPERS = 6, TRUST_LIMIT = 1 << 20 };

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (text_eq(*names, name))
			return true;
	return false;
}

/* Programs that only pass on what they were given, so the one that asked is above them. */
static bool is_wrapper(const char *name)
{
	static const char *const names[] = { "busybox", "env", "nice", "timeout", "stdbuf", "setsid", "nohup",
		NULL };

	return shell_is_known(name) || is_one_of(name, names);
}

/* A small file of /proc, cut at n - 1 bytes; its length, 0 when it cannot be read. */
static size_t read_proc(struct sys *s, int64_t pid, const char *file, char *to, size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lld/%s", (long long)pid, file);
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY, 0, 0);
	ssize_t got = fd < 0 ? 0 : s->read(s, fd, to, n - 1);
	to[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* The login session as the kernel's audit counts it; -1 where it does not. */
static int64_t audit_session(struct sys *s, int64_t pid)
{
	char text[32];
	int64_t id;

	text[read_proc(s, pid, "sessionid", text, sizeof(text))] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_int(text, &id) && id != (int64_t)UINT32_MAX ? id : -1;
}

/* A shell at a terminal that was given neither a script nor a command: where somebody types. */
static bool is_typed_at(struct sys *s, const struct proc_info *p)
{
	char line[512];
	size_t n;

	if (!p->tty || !shell_is_known(p->name))
		return false;
	if (p->session == p->pid)
		return true;
	n = read_proc(s, p->pid, "cmdline", line, sizeof(line));
	for (size_t i = strlen(line) + 1; i < n; i += strlen(line + i) + 1)
		if (line[i] != '-' || strchr(line + i, 'c'))
			return false;
	return n > 0;
}

/* Looks up a few ancestors only: the hook is started by its client directly, or through a shell.  Shells alone are no client: one that
 * once piped a call into a hook is not taken for an agent for the rest of its life. */
void person_caller(struct sys *s, int64_t hook, struct caller *ret)
{
	struct proc_info p = { .parent = getppid() };

	*ret = (struct caller){ .audit_session = -1 };
	if (hook && !proc_look(s, hook, &p))
		return;
	for (int i = 0; i < MAX_WRAPPERS && p.parent > 1 && proc_look(s, p.parent, &p); i++) {
		if (is_typed_at(s, &p))
			return;
		if (is_wrapper(p.name))
			continue;
		ret->pid = p.pid;
		ret->start_ticks = p.start_ticks;
		ret->audit_session = audit_session(s, p.pid);
		return;
	}
}

const char *person_caller_place(struct sys *s, struct arena *a, const struct caller *caller)
{
	char dir[PATH_MAX];
	ssize_t n = caller->pid
		? s->readlink(s, AT_FDCWD, arena_printf(a, "/proc/%lld/cwd", (long long)caller->pid), dir,
			  sizeof(dir))
		: -1;

	return n > 0 && n < (ssize_t)sizeof(dir) ? arena_strndup(a, dir, (size_t)n) : NULL;
}

/* ---- those who have called a hook here ---- */

struct callers {
	struct arena *a;
	struct caller_id {
		int64_t pid, start_ticks;
	} * v; /* each once or more, the newest first */
	size_t n, cap;
	int64_t boot_us; /* when this machine started: start times of processes count from there */
	int64_t session; /* ours */
	int64_t first_start; /* of the oldest caller since then that may be of our login session; 0: there is none */
};

static int64_t boot_time(struct sys *s)
{
	char text[64];
	double up;
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, "/proc/uptime", O_RDONLY, 0, 0);
	ssize_t n = fd < 0 ? 0 : s->read(s, fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	up = strtod(text, NULL);
	return up > 0 ? s->now_us(s) - (int64_t)(up * 1e6) : 0;
}

/* Clocks are set meanwhile; what is a day older than the start of the machine was not written since. */
#define SET_BACK_US (INT64_C(86400) * 1000000)

static int note_caller(void *arg, struct json *row)
{
	struct callers *c = arg;
	const struct caller_id id = { json_get_int(row, "client_pid", 0),
		json_get_int(row, "client_start", 0) };
	int64_t us = 0, session = json_get_int(row, "client_audit", -1);
	const char *at = json_get_text(row, "at", "");
	bool has_time = text_parse_time(at, strlen(at), &us);
	bool is_elsewhere = c->session >= 0 && session >= 0 && session != c->session;

	if (has_time && us < c->boot_us - SET_BACK_US)
		return 1;
	if (c->n == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		c->v = arena_grow(c->a, c->v, c->cap * sizeof(*c->v), cap * sizeof(*c->v));
		c->cap = cap;
	}
	if (!c->n || c->v[c->n - 1].pid != id.pid || c->v[c->n - 1].start_ticks != id.start_ticks)
		c->v[c->n++] = id;
	if (id.start_ticks && !(has_time && us < c->boot_us) && !is_elsewhere &&
		(!c->first_start || id.start_ticks < c->first_start))
		c->first_start = id.start_ticks;
	return 0;
}

/* ---- the same for all workspaces ---- */

#define CALLERS "callers.jsonl"
#define CALLERS_LOCK "callers.lock"
enum { CALLERS_LIMIT = 64 << 20, CALLERS_ENOUGH = 64 << 10, CALLERS_WAIT_MS = 2000 };

static int open_home(struct sys *s, struct arena *a, int *ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	return rc ? rc : file_open_dir(s, AT_FDCWD, home, ret, e);
}

static int read_callers(struct sys *s, struct arena *a, int home, struct bytes *ret, struct err *e)
{
	struct err why = { 0 };
	int rc = file_read(s, a, home, CALLERS, CALLERS_LIMIT, 0, ret, &why);

	if (rc == E_MISSING) {
		*ret = (struct bytes){ 0 };
		return OK;
	}
	if (rc && e)
		*e = why;
	return rc;
}

static struct bytes caller_line(struct sys *s, struct arena *a, const struct caller *c)
{
	struct json *row = json_new(a, JSON_OBJECT);
	struct buf line;

	json_seti(a, row, "client_pid", c->pid);
	json_seti(a, row, "client_start", c->start_ticks);
	if (c->audit_session >= 0)
		json_seti(a, row, "client_audit", c->audit_session);
	json_sets(a, row, "at", text_time_iso(a, s->now_us(s)));
	buf_init(&line, a);
	json_write(&line, row, 0);
	return buf_bytes(&line);
}

/* The line without its time begins like this. */
static bool is_noted(struct arena *a, struct bytes all, const struct caller *c)
{
	const char *head = arena_printf(a, "{\"client_pid\":%lld,\"client_start\":%lld,", (long long)c->pid,
		(long long)c->start_ticks);

	return all.n && memmem(all.p, all.n, head, strlen(head));
}

/* Those that still run, and of each login session the one that began first: nothing else is asked about. */
struct shrinking {
	struct sys *s;
	struct arena *a;
	struct buf kept;
	struct first {
		int64_t session, start_ticks;
		const char *line;
	} * first;
	size_t n;
};

static void keep_if_needed(struct shrinking *x, struct bytes line, const struct json *row)
{
	int64_t pid = json_get_int(row, "client_pid", 0), start = json_get_int(row, "client_start", 0),
		session = json_get_int(row, "client_audit", -1);
	const char *text = arena_strndup(x->a, (const char *)line.p, line.n);
	struct proc_info p;
	size_t i = 0;

	if (proc_look(x->s, pid, &p) && p.start_ticks == start)
		buf_addf(&x->kept, "%s\n", text);
	while (i < x->n && x->first[i].session != session)
		i++;
	if (i < x->n && x->first[i].start_ticks <= start)
		return;
	x->first[i] = (struct first){ session, start, text };
	x->n += i == x->n;
}

/* A line that cannot be read says nothing about anybody. */
static struct bytes without_the_dead(struct sys *s, struct arena *a, struct bytes all)
{
	struct shrinking x = { .s = s, .a = a };
	size_t lines = 1;

	for (size_t i = 0; i < all.n; i++)
		lines += all.p[i] == '\n';
	x.first = arena_zalloc(a, lines, sizeof(*x.first));
	buf_init(&x.kept, a);
	while (all.p) {
		struct bytes line = text_cut(&all, '\n');
		struct json *row;
		if (json_parse(a, line, CALLERS, NULL, &row, NULL) == OK)
			keep_if_needed(&x, line, row);
	}
	for (size_t i = 0; i < x.n; i++)
		buf_addf(&x.kept, "%s\n", x.first[i].line);
	return buf_bytes(&x.kept);
}

int person_note_caller(struct sys *s, struct arena *a, const struct caller *caller, struct err *e)
{
	AUTO(close_fd) int home = -1, lock = -1, fd = -1;
	struct bytes all = { 0 };

	if (!caller->pid)
		return OK;
	int rc = open_home(s, a, &home, e);
	if (rc == OK)
		rc = read_callers(s, a, home, &all, e);
	if (rc || is_noted(a, all, caller))
		return rc;
	rc = file_lock(s, home, CALLERS_LOCK, CALLERS_WAIT_MS, &lock, e);
	if (rc == OK && all.n > CALLERS_ENOUGH && (rc = read_callers(s, a, home, &all, e)) == OK)
		rc = file_put(s, home, CALLERS, 0600, without_the_dead(s, a, all), e);
	return rc ? rc : file_append_later(s, home, CALLERS, 0600, caller_line(s, a, caller), &fd, e);
}

static int find_home_callers(struct sys *s, struct callers *c, struct err *e)
{
	AUTO(close_fd) int home = -1;
	struct bytes all = { 0 };
	struct err why = { 0 };
	int rc = open_home(s, c->a, &home, &why);

	if (rc == E_MISSING)
		return OK; /* nobody has ever called */
	if (rc == OK)
		rc = read_callers(s, c->a, home, &all, &why);
	while (rc == OK && all.p) {
		struct bytes line = text_cut(&all, '\n');
		struct json *row;
		if (json_parse(c->a, line, CALLERS, NULL, &row, NULL) == OK)
			(void)note_caller(c, row);
	}
	if (rc && e)
		*e = why;
	return rc;
}

/* All since the machine was started: were it the last ones only, whoever makes enough calls would be forgotten.  And of all workspaces: were
 * it those of this one only, an agent would make another.  Rows that cannot be read are an error, and so a refusal. */
static int find_callers(
	struct sys *s, struct arena *a, const struct workspace *ws, struct callers *ret, struct err *e)
{
	*ret = (struct callers){ .a = a, .boot_us = boot_time(s), .session = audit_session(s, getpid()) };
	int rc = find_home_callers(s, ret, e);

	return rc == OK && ws && ws->state_fd >= 0
		? rows_back(s, NULL, ws->state_fd, TOOL_CALLS, 0, NULL, note_caller, ret, e)
		: rc;
}

/* By pid and start time, so that a later process with the same pid is not taken for it. */
static bool has_called(const struct callers *c, const struct proc_info *p)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].pid == p->pid && c->v[i].start_ticks == p->start_ticks)
			return true;
	return false;
}

/* ---- terminals ---- */

/* Is the program of this process the system's own, and one of these?  What a process calls itself would prove nothing. */
static bool is_system_program(struct sys *s, const struct proc_info *p, const char *const *names)
{
	static const char *const places[] = { "/usr", "/bin", "/sbin", "/opt", "/snap", "/nix", NULL };
	char path[64], exe[512];

	snprintf(path, sizeof(path), "/proc/%lld/exe", (long long)p->pid);
	ssize_t n = s->readlink(s, AT_FDCWD, path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	for (const char *const *place = places; *place; place++)
		if (path_is_below(exe, *place))
			return is_one_of(path_base(exe), names);
	return false;
}

/* Does root run it?  What has the set-user-id bit runs as root, too, under whatever name a link gave it, but keeps its caller as the
 * real user. */
static bool is_roots(struct sys *s, const struct proc_info *p)
{
	char text[2048];

	(void)read_proc(s, p->pid, "status", text, sizeof(text));
	return strstr(text, "\nUid:\t0\t0\t0\t0\n") != NULL;
}

/* What lets people in.  It is root's: anybody can start an sshd of their own, and log in to that.  Whoever is root could be anything, and
 * is judged by the program. */
static bool is_login(struct sys *s, const struct callers *c, const struct proc_info *p)
{
	static const char *const names[] = { "sshd", "sshd-session", "login", "agetty", "getty", "dropbear",
		NULL };
	struct proc_info init;

	/* Its parent is outside of this pid namespace: somebody entered the container, which no agent in it has made. */
	if (p->parent == 0 && p->pid != 1)
		return proc_look(s, 1, &init) && init.start_ticks < c->first_start;
	return s->euid(s) == 0 ? is_system_program(s, p, names) : is_one_of(p->name, names) && is_roots(s, p);
}

/* Start times are told as the reader's time namespace has them, and whoever makes one chooses by how much they differ.  The number is
 * that of the first one, which every kernel gives it. */
static bool is_own_time(struct sys *s)
{
	static const char first[] = "time:[4026531834]";
	char name[64];
	ssize_t n = s->readlink(s, AT_FDCWD, "/proc/self/ns/time", name, sizeof(name) - 1);

	name[n > 0 ? n : 0] = '\0';
	return n > 0 && !text_eq(name, first);
}

/* Windows that a person types into.  Programs that make terminals for other programs (tmux, screen, script) are not among them. */
static bool is_window(struct sys *s, const struct proc_info *p)
{
	static const char *const names[] = { "xterm", "uxterm", "gnome-terminal-server", "kgx", "ptyxis",
		"konsole", "yakuake", "kitty", "alacritty", "foot", "wezterm-gui", "xfce4-terminal",
		"mate-terminal", "lxterminal", "qterminal", "tilix", "ghostty", "rxvt", "urxvt", "urxvtd",
		"st", NULL };

	return is_system_program(s, p, names);
}

/* What adopts processes whose parents have ended.  To be its child says nothing about where one comes from. */
static bool is_reaper(const struct proc_info *p)
{
	static const char *const names[] = { "systemd", "init", "tini", "dumb-init", NULL };

	return p->pid == 1 || is_one_of(p->name, names);
}

/* Could an agent that has called here not have made this process? */
static bool is_beyond_agents(struct sys *s, const struct callers *c, const struct proc_info *p)
{
	return (p->start_ticks < c->first_start && !is_reaper(p)) || is_login(s, c, p) || is_window(s, p);
}

int person_is_outside(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e)
{
	struct proc_info p = { .parent = getppid() };
	struct callers callers;
	const char *mark = clients_mark_in_environment(s);

	if (mark)
		return err_set(e, E_DENIED, "APPROVAL_INSIDE",
			"%s is set: this is inside an agent or a guarded run, which cannot answer for a "
			"person; use a terminal of your own",
			mark);
	int rc = find_callers(s, a, ws, &callers, e);
	if (rc)
		return rc;
	if (is_own_time(s))
		return err_set(e, E_DENIED, "APPROVAL_INSIDE",
			"this is a time namespace, where it cannot be known what is older than an agent; use a "
			"terminal of your own");
	bool is_beyond = !callers.first_start;
	for (int i = 0; i < MAX_ANCESTORS && p.parent > 0 && proc_look(s, p.parent, &p); i++) {
		if (p.pid != 1 && has_called(&callers, &p))
			return err_set(e, E_DENIED, "APPROVAL_INSIDE",
				"process %lld (%s), which started this, is an agent client that asks here; "
				"use a terminal of your own",
				(long long)p.pid, text_safe(a, p.name, strlen(p.name), false));
		is_beyond |= is_beyond_agents(s, &callers, &p);
	}
	if (!is_beyond)
		return err_set(e, E_DENIED, "APPROVAL_INSIDE",
			"this terminal was made after an agent began to work here, and not by a login or a terminal "
			"window (tmux and screen that were started since are neither): it could be the agent's; use a "
			"terminal of your own");
	return OK;
}

/* ---- who ---- */

/* Does the row name the key that it holds?  One changed digit is still a key, of nobody. */
static bool is_row_whole(struct arena *a, const struct json *row)
{
	const char *id = json_get_text(row, "key_id", NULL),
		   *hex = json_get_text(row, "public_key_hex", NULL),
		   *line = json_get_text(row, "ssh_key", NULL);
	uint8_t pub[SIGN_PUBLIC];
	struct ssh_key ssh;

	if (!json_is(row, JSON_OBJECT) || (!hex && !line && !json_get(row, "passkey")))
		return false;
	if (hex)
		return key_parse_public(bytes_of(hex), APPROVERS, pub, NULL) == OK &&
			(!id || strcasecmp(id, arena_printf(a, "ed25519:%s", hex)) == 0);
	if (line)
		return ssh_key_parse(a, bytes_of(line), APPROVERS, &ssh, NULL) == OK &&
			(!id || text_eq(id, ssh_key_fingerprint(a, &ssh)));
	return passkey_is_key(row);
}

/* ~/.helm/trust/approvers.json; a file that cannot be read, or holds something else than keys, is an error and not a "no", so that the
 * reason is told.  *ret is NULL when there is none. */
static int read_approvers(struct sys *s, struct arena *a, struct json **ret, struct err *e)
{
	const char *home;
	struct json *doc = NULL;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc == OK)
		rc = sealed_read(s, a, AT_FDCWD, arena_printf(a, "%s/trust/" APPROVERS, home), TRUST_LIMIT,
			APPROVERS_NAME, &doc, e);
	if (rc && rc != E_MISSING)
		return rc;
	*ret = json_get(doc, "keys");
	bool is_whole = !doc || (json_is(doc, JSON_OBJECT) && (!*ret ? !doc->n : json_is(*ret, JSON_ARRAY)));
	json_each (row, is_whole ? *ret : NULL)
		is_whole &= is_row_whole(a, row);
	return is_whole ? OK
			: err_set(e, E_CORRUPT, "TRUST_FILE",
				  "%s/trust/" APPROVERS
				  " holds something that is no approver's key; put it back from a "
				  "copy, or start it anew: " SEALED_COMMAND " reset " APPROVERS_NAME,
				  home);
}

static int is_registered(struct sys *s, struct arena *a, const uint8_t *pub, bool *ret, struct err *e)
{
	struct json *keys;
	char hex[2 * SIGN_PUBLIC + 1];
	int rc = read_approvers(s, a, &keys, e);

	*ret = false;
	if (rc)
		return rc;
	hex_encode(pub, SIGN_PUBLIC, hex);
	json_each (row, keys)
		*ret |= strcasecmp(json_get_text(row, "public_key_hex", ""), hex) == 0;
	return OK;
}

int person_of_key(struct sys *s, struct arena *a, const char *key_id, bool *ret_is_known,
	const char **ret_label, struct err *e)
{
	struct json *keys;
	int rc = read_approvers(s, a, &keys, e);

	*ret_is_known = false;
	*ret_label = "";
	if (rc)
		return rc;
	json_each (row, keys) {
		if (strcasecmp(json_get_text(row, "key_id", ""), key_id) != 0)
			continue;
		*ret_is_known = true;
		*ret_label = json_get_text(row, "label", "");
	}
	return OK;
}

const struct json *person_of_fleet(struct sys *s, struct arena *a)
{
	const char *home;

	return workspace_helm_home(s, a, &home, NULL) ? NULL : fleet_named(s, a, home);
}

static bool is_key_hex(const char *text)
{
	uint8_t pub[SIGN_PUBLIC];

	return hex_decode(text, strlen(text), pub, sizeof(pub), false);
}

int person_keys(struct sys *s, struct arena *a, struct json **ret, struct err *e)
{
	struct json *keys, *named = json_new(a, JSON_OBJECT);
	int rc = read_approvers(s, a, &keys, e);

	if (rc)
		return rc;
	json_each (row, keys) {
		const char *hex = json_get_text(row, "public_key_hex", NULL),
			   *label = json_get_text(row, "label", "");
		if (hex)
			json_sets(a, named, hex, hex);
		/* A label that two keys have names neither; one that looks like a key names none. */
		if (hex && *label && !is_key_hex(label))
			json_sets(a, named, label, json_get(named, label) ? "" : hex);
	}
	*ret = named;
	return OK;
}

int person_load_key(struct sys *s, struct arena *a, const char *file, struct key **ret, struct err *e)
{
	const char *base = path_base(file);
	const char *dir = base == file ? "."
		: base == file + 1     ? "/"
				       : arena_strndup(a, file, (size_t)(base - file) - 1);

	/* The public half is looked for beside it, under the same name. */
	if (!text_ends(base, ".key"))
		return err_set(
			e, E_USAGE, "APPROVER_KEY", "--key takes a file NAME.key, with NAME.pub beside it");
	return key_load(s, AT_FDCWD, dir, arena_strndup(a, base, strlen(base) - 4), ret, e);
}

/* An unregistered key is nobody's, however valid its signature would be. */
static int open_key(struct sys *s, struct arena *a, const char *file, struct key **ret, struct err *e)
{
	bool is_known = false;
	int rc = person_load_key(s, a, file, ret, e);

	if (rc == OK)
		rc = is_registered(s, a, key_public(*ret), &is_known, e);
	if (rc == OK && !is_known)
		rc = err_set(e, E_DENIED, "APPROVER_UNKNOWN",
			"this key is not registered as an approver; a person does that at a terminal: helm "
			"approval trust add KEY");
	if (rc)
		key_free(ret);
	return rc;
}

int person_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *key_file,
	struct person *ret, struct err *e)
{
	struct person who = { 0 };
	char id[KEY_ID];
	int rc = person_is_outside(s, a, ws, e);

	if (rc == OK && key_file)
		rc = open_key(s, a, key_file, &who.key, e);
	if (rc)
		return rc;
	if (key_file) {
		key_id(key_public(who.key), id);
		who.name = arena_printf(a, "key %s", id);
	} else if (ws && json_get_bool(posture_of(s, ws)->word, "require_key", false)) {
		return err_set(e, E_DENIED, "APPROVAL_KEY",
			"for this workspace only a registered key may answer: --key FILE");
	} else if (isatty(0) && (isatty(1) || isatty(2))) {
		const char *tty = ttyname(0);
		who.name = arena_printf(a, "user:%u at %s", getuid(), tty ? tty : "a terminal");
	} else {
		return err_set(e, E_DENIED, "APPROVAL_TERMINAL",
			"only a person at a terminal may answer, or a registered key: --key FILE");
	}
	*ret = who;
	return OK;
}

/* The signature names its key; it counts when a person has registered that one. */
int person_open_signed(struct sys *s, struct arena *a, const struct workspace *ws, struct bytes message,
	struct bytes signature, struct person *ret, struct err *e)
{
	struct sshsig_facts facts;
	struct ssh_key key;
	struct json *keys, *proof;
	int rc = person_is_outside(s, a, ws, e);

	if (rc == OK)
		rc = read_approvers(s, a, &keys, e);
	if (rc)
		return rc;
	json_each (row, keys) {
		const char *line = json_get_text(row, "ssh_key", NULL);
		if (!line || ssh_key_parse(a, bytes_of(line), APPROVERS, &key, NULL))
			continue;
		struct err why = { 0 };
		rc = sshsig_verify(a, &key, APPROVAL_NAMESPACE, message, signature, &facts, &why);
		if (rc && text_eq(why.code, "SSHSIG_KEY"))
			continue; /* by another one, perhaps */
		if (rc) {
			*e = why;
			return rc;
		}
		proof = json_new(a, JSON_OBJECT);
		json_sets(a, proof, "key_id", ssh_key_fingerprint(a, &key));
		json_sets(a, proof, "ssh_key", ssh_key_text(a, &key));
		json_sets(a, proof, "namespace", APPROVAL_NAMESPACE);
		json_sets(a, proof, "signature", arena_strndup(a, (const char *)signature.p, signature.n));
		*ret = (struct person){ .name = arena_printf(a, "key %s", ssh_key_fingerprint(a, &key)),
			.proof = proof };
		return OK;
	}
	return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
		"no registered key has signed this; a person registers one at a terminal: helm approval trust "
		"add KEY.pub");
}

int person_may_loosen(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e)
{
	struct json *frozen = NULL;
	const char *home = ws ? ws->helm_home : NULL;
	int rc = ws && ws->state_fd >= 0 ? freeze_load(s, a, ws, &frozen, e) : OK;

	if (rc)
		return err_wrap(e, "%s", freeze_remedy(s, ws));
	if (json_get(frozen, "*") || json_get(frozen, FREEZE_FENCE))
		return err_set(e, E_DENIED, "SYSTEM_FROZEN",
			"everything is frozen here, so nothing is loosened; 'helm unfreeze' comes first");
	if (freeze_of_fleet(frozen))
		return err_set(e, E_DENIED, "SYSTEM_FROZEN",
			"the centre of the fleet has frozen everything, so nothing is loosened; it lifts that, or 'helm fleet leave' does, on record");
	if (!home && (rc = workspace_helm_home(s, a, &home, e)))
		return rc;
	const char *over = fleet_lease_over(s, a, home);
	return over ? err_set(e, E_DENIED, "SYSTEM_FROZEN", "nothing is loosened now: %s", over) : OK;
}
