/* machine.c — probe, cache and choice of the sandbox that stands on this machine. */
#include "execute/machine.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CACHE_VERSION = 1, CACHE_BYTES = 64 << 10, KINDS = 2, OLDEST_MAJOR = 5, OLDEST_MINOR = 19 };

/* ---- probe ---- */

/* Why the kernel refuses new namespaces to this process, or NULL when it does not.  The child ends at once.  A lack of memory, processes
 * or namespaces may pass: then the answer is not for the cache. */
static const char *why_no_namespaces(struct arena *a, struct machine *m)
{
	const int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET;
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		m->may_pass |= errno != EPERM && errno != EACCES && errno != ENOSYS && errno != EINVAL;
	if (pid < 0)
		return arena_printf(a, "the kernel refuses new namespaces: %s", strerror(errno));
	while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	return NULL;
}

const char *machine_old_kernel(struct arena *a)
{
	struct utsname host;
	char *end;

	if (uname(&host))
		return NULL;
	unsigned long major = strtoul(host.release, &end, 10),
		      minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR)
		? NULL
		: arena_printf(a, "Linux %s is older than 5.19", host.release);
}

static const char *why_not(struct arena *a, enum sandbox_kind kind, struct machine *m, const char *refused)
{
	const char *text = kind == SANDBOX_NAMESPACES ? why_no_namespaces(a, m)
		: !m->landlock_abi		      ? "the kernel offers no Landlock"
						      : machine_old_kernel(a);

	if (text)
		return text;
	return refused && *refused ? arena_strdup(a, refused)
				   : arena_printf(a, "not met: %s", guarantees_text(a, m->unmet[kind], ", "));
}

/* Puts up the sandbox of one kind around a command that does nothing.  Returns true when every guarantee was met. */
static bool try_kind(struct sys *s, struct arena *a, const struct machine_places *at, enum sandbox_kind kind,
	struct machine *m)
{
	/* Any directory shows whether one can be put over another. */
	static const struct sandbox_own own[] = { { "/etc", "/etc" }, { NULL, NULL } };
	/* Opening for writing is a call that a supervisor must carry out: where it cannot look at who asks (Yama), this fails. */
	const char *const argv[] = { "/bin/sh", "-c", ": >/dev/null", NULL }, *const none[] = { NULL };
	const char *const write[] = { at->write, NULL }, *const state[] = { at->state, NULL },
			  *const hidden[] = { at->hidden, NULL };
	const struct sandbox_layer layers[] = { { arena_printf(a, "%s/l", at->layer ?: ""),
							arena_printf(a, "%s/u", at->layer ?: ""),
							arena_printf(a, "%s/w", at->layer ?: "") },
		{ NULL, NULL, NULL } };
	const struct sandbox_rules rules = { .network = NETWORK_LOOPBACK,
		.write_paths = write,
		.layers = kind == SANDBOX_NAMESPACES && at->layer ? layers : NULL,
		.hidden = hidden,
		.read_only = state,
		.own = kind == SANDBOX_NAMESPACES && file_is_dir(s, AT_FDCWD, "/etc") ? own : NULL,
		.own_by_environment = kind == SANDBOX_SUPERVISED,
		.kind = kind,
		.waived = DEMAND_ALL };
	const struct run_request request = {
		.argv = argv, .environment = none, .cwd = "/", .capture = true, .quiet = true, .rules = &rules
	};
	AUTO(run_end) struct running *r = NULL;
	const struct run_result *result = NULL;
	struct err e = { 0 };
	bool is_up = run_start(s, a, &request, &r, &e) == OK && run_go(r, &e) == OK &&
		run_wait(r, 0, &result, &e) == OK;
	const struct sandbox_report *report = result ? &result->report : NULL;
	const char *refused = r && run_so_far(r) ? run_so_far(r)->report.refused : e.text;

	m->unmet[kind] = DEMAND_ALL;
	for (int g = 0; is_up && g < GUARANTEE_COUNT; g++) {
		m->how[kind][g] = guarantee_mechanism((enum guarantee)g, &rules, report);
		if (m->how[kind][g])
			m->unmet[kind] &= ~(1u << g);
	}
	m->group_kill |= is_up && report->group_kill;
	m->overlay |= is_up && report->layers_up & 1;
	is_up &= !m->unmet[kind] &&
		(kind == SANDBOX_NAMESPACES || (report->supervised && result->exit_code == 0));
	if (!is_up && !m->unmet[kind])
		m->unmet[kind] = DEMAND_WRITE;
	const char *why = is_up ? NULL : why_not(a, kind, m, refused);
	if (kind == SANDBOX_NAMESPACES)
		m->why_not_namespaces = why;
	else
		m->why_not_supervisor = why;
	return is_up;
}

static void try_machine(
	struct sys *s, struct arena *a, const struct machine_places *at, bool is_all, struct machine *ret)
{
	struct machine m = { .landlock_abi = sandbox_landlock_abi(), .unmet = { DEMAND_ALL, DEMAND_ALL } };

	m.namespaces = try_kind(s, a, at, SANDBOX_NAMESPACES, &m);
	if (is_all || !m.namespaces)
		m.supervisor = try_kind(s, a, at, SANDBOX_SUPERVISED, &m);
	*ret = m;
}

void machine_probe(struct sys *s, struct arena *a, const struct machine_places *at, struct machine *ret)
{
	try_machine(s, a, at, true, ret);
}

enum sandbox_kind machine_sandbox(const struct machine *m)
{
	return !m->namespaces && m->supervisor ? SANDBOX_SUPERVISED : SANDBOX_NAMESPACES;
}

unsigned machine_unmet(const struct machine *m)
{
	return m->unmet[machine_sandbox(m)];
}

/* ---- cache ---- */

/* The first bytes of a small file of the kernel's; "" when it cannot be read. */
static const char *read_small(struct sys *s, struct arena *a, const char *path)
{
	char text[4096];
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, 0);
	ssize_t n = fd < 0 ? 0 : s->read(s, fd, text, sizeof(text));

	return n > 0 ? arena_strndup(a, text, (size_t)n) : "";
}

static void add_status(struct sys *s, struct arena *a, struct buf *key)
{
	static const char *const lines[] = { "Seccomp:", "Seccomp_filters:", "NoNewPrivs:" };
	struct bytes all = bytes_of(read_small(s, a, "/proc/self/status"));

	while (all.p) {
		struct bytes line = text_cut(&all, '\n');
		for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
			if (line.n > strlen(lines[i]) && !memcmp(line.p, lines[i], strlen(lines[i])))
				buf_addf(key, "%.*s\n", (int)line.n, (const char *)line.p);
	}
}

/* A digest of everything that the answer depends on. */
static const char *key_of(struct sys *s, struct arena *a)
{
	static const char *const spaces[] = { "user", "mnt", "pid", "net" };
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct have[2] = { { 0 } };
	struct utsname host = { 0 };
	struct stat st;
	struct buf key;

	buf_init(&key, a);
	(void)uname(&host);
	(void)syscall(SYS_capget, &head, have);
	buf_addf(&key, "helm:machine:v1\n%s\n%s%s\n%u %u\n%x %x\n", HELM_VERSION,
		read_small(s, a, "/proc/sys/kernel/random/boot_id"), host.release, geteuid(), getegid(),
		have[0].effective, have[1].effective);
	add_status(s, a, &key);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		buf_addf(&key, "%s %llu\n", spaces[i],
			s->stat(s, AT_FDCWD, arena_printf(a, "/proc/self/ns/%s", spaces[i]), &st, 0)
				? 0ULL
				: (unsigned long long)st.st_ino);
	buf_adds(&key, read_small(s, a, "/proc/self/attr/current"));
	return sha256_prefixed(a, key.p, key.n);
}

/* False when it cannot be read, is not understood or is about something else. */
static bool read_cache(struct sys *s, struct arena *a, const char *path, const char *key, struct machine *ret)
{
	struct machine m = { .is_cached = true };
	struct json *doc;

	if (doc_read(s, a, AT_FDCWD, path, CACHE_BYTES, 0, &doc, NULL) || !json_is(doc, JSON_OBJECT) ||
		json_get_int(doc, "version", 0) != CACHE_VERSION ||
		!text_eq(json_get_text(doc, "key", ""), key) || !json_is_bool(json_get(doc, "namespaces")) ||
		!json_is_bool(json_get(doc, "supervisor")) || !json_is_bool(json_get(doc, "overlay")))
		return false;
	m.landlock_abi = (int)json_get_int(doc, "landlock_abi", 0);
	m.namespaces = json_get_bool(doc, "namespaces", false);
	m.supervisor = json_get_bool(doc, "supervisor", false);
	m.group_kill = json_get_bool(doc, "group_kill", false);
	m.overlay = json_get_bool(doc, "overlay", false);
	m.why_not_namespaces = json_get_text(doc, "why_not_namespaces", NULL);
	m.why_not_supervisor = json_get_text(doc, "why_not_supervisor", NULL);
	for (int kind = 0; kind < KINDS; kind++)
		if (!guarantees_parse(
			    json_get(json_get(doc, "unmet"), sandbox_kind_name((enum sandbox_kind)kind)),
			    &m.unmet[kind]))
			return false;
	*ret = m;
	return true;
}

static void write_cache(
	struct sys *s, struct arena *a, const char *path, const char *key, const struct machine *m)
{
	struct json *doc = json_new(a, JSON_OBJECT), *unmet = json_new(a, JSON_OBJECT);
	struct buf text;

	for (int kind = 0; kind < KINDS; kind++)
		json_set(a, unmet, sandbox_kind_name((enum sandbox_kind)kind),
			guarantees_list(a, m->unmet[kind]));
	json_seti(a, doc, "version", CACHE_VERSION);
	json_sets(a, doc, "key", key);
	json_seti(a, doc, "landlock_abi", m->landlock_abi);
	json_setb(a, doc, "namespaces", m->namespaces);
	json_setb(a, doc, "supervisor", m->supervisor);
	json_setb(a, doc, "group_kill", m->group_kill);
	json_setb(a, doc, "overlay", m->overlay);
	json_set(a, doc, "unmet", unmet);
	if (m->why_not_namespaces)
		json_sets(a, doc, "why_not_namespaces", m->why_not_namespaces);
	if (m->why_not_supervisor)
		json_sets(a, doc, "why_not_supervisor", m->why_not_supervisor);
	buf_init(&text, a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	(void)file_put(s, AT_FDCWD, path, 0600, (struct bytes){ (const uint8_t *)text.p, text.n }, NULL);
}

/* A place to hide: one that everybody has, and that the helm home does not lie in. */
static const char *place_to_hide(struct sys *s, const char *helm_home)
{
	static const char *const places[] = { "/var", "/srv", "/opt" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!(helm_home && path_is_below(helm_home, places[i])) &&
			file_is_dir(s, AT_FDCWD, places[i]))
			return places[i];
	return NULL;
}

/* Whether a layer stands depends on the file system that its directories are on: it is tried where those of sessions are. */
static const char *make_layer_dirs(struct sys *s, struct arena *a, const char *helm_home)
{
	static const char *const names[] = { "", "/l", "/u", "/w" };
	uint32_t number;

	if (!helm_home || s->random(s, &number, sizeof(number)))
		return NULL;
	const char *dir = arena_printf(a, "%s/.layer-%08x", helm_home, number);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s->mkdir(s, AT_FDCWD, arena_printf(a, "%s%s", dir, names[i]), 0700)) {
			file_remove_tree(s, AT_FDCWD, dir);
			return NULL;
		}
	return dir;
}

static const char *cache_path(struct arena *a, const char *helm_home)
{
	return arena_printf(a, "%s/" MACHINE_FILE, helm_home);
}

bool machine_recall(struct sys *s, struct arena *a, const char *helm_home, struct machine *ret)
{
	return helm_home && read_cache(s, a, cache_path(a, helm_home), key_of(s, a), ret);
}

void machine_look(struct sys *s, struct arena *a, const char *helm_home, struct machine *ret)
{
	/* Where no sandbox stands, each run tries anew: what helps may have been done meanwhile. */
	if (machine_recall(s, a, helm_home, ret) && !machine_unmet(ret))
		return;
	const struct machine_places at = { helm_home,
		helm_home ? arena_printf(a, "%s/keys", helm_home) : NULL, place_to_hide(s, helm_home),
		make_layer_dirs(s, a, helm_home) };
	try_machine(s, a, &at, false, ret);
	if (at.layer)
		file_remove_tree(s, AT_FDCWD, at.layer);
	if (helm_home && !ret->may_pass)
		write_cache(s, a, cache_path(a, helm_home), key_of(s, a), ret);
}

enum sandbox_kind machine_kind(struct sys *s, struct arena *a, const char *helm_home)
{
	struct machine m;

	machine_look(s, a, helm_home, &m);
	return machine_sandbox(&m);
}
