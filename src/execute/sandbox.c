/* sandbox.c — the walls in the order they are put up.
 *
 *   helm ── sandbox_start ──> warden: user, mount, pid, net namespace
 *                              │ sandbox_prepare: map the user, cover keys, protect state, loopback up
 *                              └── clone ──> ward
 *                                            sandbox_lock: descriptors, capabilities, Landlock, seccomp, then exec
 *
 * Landlock also forbids mounting to the ward, so the covers stay; the pid namespace makes sure that when
 * the warden dies, by itself or because helm died, the kernel ends everything below it.
 *
 * The order is not free.  Mounts need capabilities, so they come before these are dropped.  Landlock and
 * seccomp need no_new_privs.  Landlock comes before seccomp, whose filter makes up for what an older
 * Landlock lacks.  Whether all other walls stand is judged just before seccomp, which refuses the run by
 * itself when it fails. */
#include "execute/sandbox.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/egress/egress.h"
#include "execute/landlock.h"
#include "execute/openings.h"
#include "execute/own.h"
#include "execute/private_files.h"
#include "execute/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int sandbox_landlock_abi(void)
{
	return landlock_abi();
}

bool sandbox_is_heard(const struct sandbox_rules *rules)
{
	return !rules->off && (rules->kind == SANDBOX_SUPERVISED || rules->files);
}

/* What the kernel offers, or less when a test asks for that. */
static int usable_abi(const struct sandbox_rules *rules)
{
	int abi = landlock_abi();

	return rules->landlock_abi_limit && abi > rules->landlock_abi_limit ? rules->landlock_abi_limit : abi;
}

/* Notes a missing wall.  Whether that refuses the run is decided once, in judge(). */
static void lacks(struct sandbox_report *report, const char *wall)
{
	size_t n = strlen(report->missing);

	snprintf(report->missing + n, sizeof(report->missing) - n, "%s%s", n ? ", " : "", wall);
}

static int refuse(struct sandbox_report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Always -1, so that it can be returned. */
static int refuse(struct sandbox_report *report, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(report->refused, sizeof(report->refused), fmt, ap);
	va_end(ap);
	return -1;
}

/* A loopback of its own; with names it has a door on it, and is otherwise the same. */
static bool has_own_loopback(const struct sandbox_rules *rules)
{
	return rules->network == NETWORK_LOOPBACK || rules->network == NETWORK_NAMED;
}

static void note_spaces(struct sandbox_report *report, unsigned long spaces)
{
	report->user_namespace = spaces & CLONE_NEWUSER;
	report->mount_namespace = spaces & CLONE_NEWNS;
	report->pid_namespace = spaces & CLONE_NEWPID;
	report->network_namespace = spaces & CLONE_NEWNET;
}

/* Does this process hold every capability that making these namespaces and filling them needs?  Root in a container usually does not:
 * it gets them inside a user namespace, as a plain user does. */
static bool has_capabilities(unsigned long spaces)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct have[2] = { { 0 } };
	uint32_t need =
		1u << CAP_SYS_ADMIN | 1u << CAP_SETPCAP | (spaces & CLONE_NEWNET ? 1u << CAP_NET_ADMIN : 0);

	return syscall(SYS_capget, &head, have) == 0 && (have[0].effective & need) == need;
}

static int write_proc(const char *path, const char *text)
{
	AUTO(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Maps every id that this process knows to itself in the user namespace of `pid`.  `name` is uid_map or gid_map. */
static int map_all(pid_t pid, const char *name)
{
	char path[64], text[4096], map[4096];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	AUTO(close_fd) int from = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = from >= 0 ? read(from, text, sizeof(text) - 1) : -1;
	text[got > 0 ? got : 0] = '\0';
	for (char *at = text, *end; *at && n < sizeof(map);
		at = end + strcspn(end, "\n"), at += *at == '\n') {
		unsigned long first = strtoul(at, &end, 10), count;
		(void)strtoul(end, &end, 10); /* what it is outside of us */
		count = strtoul(end, &end, 10);
		if (!count)
			return -1;
		n += (size_t)snprintf(map + n, sizeof(map) - n, "%lu %lu %lu\n", first, first, count);
	}
	if (!n || n >= sizeof(map))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return write_proc(path, map);
}

/* Only a process outside the new user namespace can map more than one id into it.  Root does so for every id it knows: files of other
 * users stay what they were.  Where the kernel refuses, the warden maps root alone. */
static void tell_mapped(const struct sandbox_report *report, pid_t pid)
{
	bool is_mapped = pid > 0 && map_all(pid, "uid_map") == 0 && map_all(pid, "gid_map") == 0;

	(void)!write(report->mapped[1], is_mapped ? "m" : "-", 1);
	close(report->mapped[0]);
	close(report->mapped[1]);
}

/* With namespaces, or -1.  Root first tries without a user namespace, where it has what that needs. */
static pid_t start_in_namespaces(unsigned long wanted, struct sandbox_report *report, int memory,
	int (*fn)(void *), void *arg, void *stack_end)
{
	pid_t pid = -1;

	if (report->uid == 0 && has_capabilities(wanted)) {
		note_spaces(report, wanted);
		pid = clone(fn, stack_end, (int)wanted | memory | SIGCHLD, arg);
		if (pid > 0)
			return pid;
	}
	wanted |= CLONE_NEWUSER;
	note_spaces(report, wanted);
	if (report->uid != 0)
		return clone(fn, stack_end, (int)wanted | memory | SIGCHLD, arg);
	if (pipe2(report->mapped, O_CLOEXEC))
		return -1;
	pid = clone(fn, stack_end, (int)wanted | memory | SIGCHLD, arg);
	tell_mapped(report, pid);
	return pid;
}

/* A kernel may forbid any of these namespaces, and clone() then fails as a whole.  So the attempt is all or nothing: without any of
 * them in the last try, and the report says so. */
pid_t sandbox_start(struct sys *s, const struct sandbox_rules *rules, struct sandbox_report *report,
	struct cgroup *group, int memory, int (*fn)(void *), void *arg, void *stack_end)
{
	unsigned long wanted = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC;

	report->uid = geteuid();
	report->gid = getegid();
	cgroup_make_limited(s, &rules->limits, group);
	if (has_own_loopback(rules))
		wanted |= CLONE_NEWNET;
	if (!rules->off && rules->kind == SANDBOX_NAMESPACES) {
		pid_t pid = start_in_namespaces(wanted, report, memory, fn, arg, stack_end);
		if (pid > 0)
			return pid;
	}
	note_spaces(report, 0);
	if (group->dir < 0)
		cgroup_make_plain(s, group);
	return clone(fn, stack_end, memory | SIGCHLD, arg);
}

/* The same user and group inside as outside: nobody becomes root by this.  "deny" for setgroups is what the
 * kernel asks for before an unprivileged process may write a group map. */
static int map_user(const struct sandbox_report *report)
{
	const uid_t uid = report->uid;
	const gid_t gid = report->gid;
	char uid_map[64], gid_map[64], how = '-';

	if (uid == 0) {
		close(report->mapped[1]);
		while (read(report->mapped[0], &how, 1) < 0 && errno == EINTR)
			;
		close(report->mapped[0]);
	}
	if (how == 'm')
		return 0;
	snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", uid, uid);
	snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", gid, gid);
	if (write_proc("/proc/self/setgroups", "deny") && errno != ENOENT)
		return -1;
	return write_proc("/proc/self/uid_map", uid_map) || write_proc("/proc/self/gid_map", gid_map) ? -1
												      : 0;
}

/* Puts an empty, unreadable file system over the directory.  What lies below can then not be reached by any
 * name.  One file system serves all: the first cover is made, *first remembers where, and the others are
 * that one again.  A file becomes the empty one, so that programs which only look for it go on. */
static int cover(const char *dir, const char **first)
{
	const unsigned long closed = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
	struct stat st;

	if (stat(dir, &st))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return mount("/dev/null", dir, NULL, MS_BIND, NULL);
	if (*first)
		return mount(*first, dir, NULL, MS_BIND, NULL);
	if (mount("none", dir, "tmpfs", closed, "size=4k,mode=000"))
		return -1;
	*first = dir;
	return 0;
}

/* mount_setattr(2), which the C library does not know yet. */
struct mount_attributes {
	uint64_t set, clear, propagation, userns_fd;
};
enum { MOUNT_READ_ONLY = 1, SYS_MOUNT_SETATTR = 442 };

/* Recursively, so that mounts below the directory are no way around it. */
static int set_read_only(const char *dir, bool on)
{
	struct mount_attributes change = { .set = on ? MOUNT_READ_ONLY : 0,
		.clear = on ? 0 : MOUNT_READ_ONLY };

	return (int)syscall(SYS_MOUNT_SETATTR, AT_FDCWD, dir, AT_RECURSIVE, &change, sizeof(change));
}

/* Makes the path a mount of its own, whose attributes can be changed separately. */
static int bind_to_itself(const char *path)
{
	return mount(path, path, NULL, MS_BIND | MS_REC, NULL);
}

/* A path that does not exist is passed over: there is nothing to mount on. */
static int freeze_dir(const char *dir)
{
	if (access(dir, F_OK) && errno == ENOENT)
		return 0;
	return bind_to_itself(dir) || set_read_only(dir, true) ? -1 : 0;
}

/* A read-only directory could still be moved away together with a directory above it, and another one put
 * in its place.  A directory that is a mount cannot be renamed, so every directory between the writable
 * place and the protected path becomes one. */
static size_t writable_length(const char *const *write_paths, const char *path)
{
	size_t base = 0;

	for (const char *const *p = write_paths; p && *p; p++)
		if (path_is_below(path, *p) && strlen(*p) > base)
			base = strlen(*p);
	return base;
}

static int pin_parents(const char *const *write_paths, const char *path)
{
	char dir[4096];
	size_t base = writable_length(write_paths, path);

	if (!base || !path[base] || strlen(path) >= sizeof(dir) || (access(path, F_OK) && errno == ENOENT))
		return 0;
	for (const char *end = strchr(path + base + (base > 1), '/'); end; end = strchr(end + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(end - path), path);
		if (bind_to_itself(dir))
			return -1;
	}
	return 0;
}

/* The same for many paths with directories in common: each is pinned once, because a bind copies all mounts below it. */
static int pin_files(const struct sandbox_rules *rules)
{
	char dir[4096];
	int rc = 0;

	for (const struct sandbox_file *f = rules->files; f && f->at; f++) {
		size_t base = writable_length(rules->write_paths, f->at);
		for (const char *end = base ? strchr(f->at + base + (base > 1), '/') : NULL; end;
			end = strchr(end + 1, '/')) {
			bool is_pinned = false;
			snprintf(dir, sizeof(dir), "%.*s", (int)(end - f->at), f->at);
			for (const char *const *p = rules->read_only; p && *p && !is_pinned; p++)
				is_pinned = path_is_below(*p, dir) && !text_eq(*p, dir) &&
					access(*p, F_OK) == 0 &&
					writable_length(rules->write_paths, *p) < strlen(dir);
			for (const struct sandbox_file *g = rules->files; g < f && !is_pinned; g++)
				is_pinned = path_is_below(g->at, dir) &&
					writable_length(rules->write_paths, g->at) < strlen(dir);
			rc |= is_pinned ? 0 : bind_to_itself(dir);
		}
	}
	return rc;
}

/* Makes everything read-only but the writable places.  Landlock guards the content of files; this guards
 * what Landlock does not see: modes, owners, times and attributes. */
static int freeze_world(const struct sandbox_rules *rules, const char *const *own)
{
	for (const char *const *p = rules->write_paths; p && *p; p++)
		if (bind_to_itself(*p) && errno != ENOENT)
			return -1;
	if (set_read_only("/", true))
		return -1;
	for (; *own; own++) /* mounts already */
		if (set_read_only(*own, false) && errno != ENOENT)
			return -1;
	return 0;
}

static bool is_layer_up(const struct sandbox_report *report, size_t i)
{
	return report->layers_up >> i & 1;
}

/* An own directory may be written with all that is mounted in it.  What is only shown there may not, nor a home; what may be written below
 * them is opened again. */
static bool freeze_shown(const struct sandbox_rules *rules, const struct sandbox_report *report)
{
	bool ok = true;

	for (const struct sandbox_home *h = rules->homes; report->homes_covered && h && h->at; h++)
		if (!h->is_writable)
			ok &= set_read_only(h->at, true) == 0;
	for (const struct sandbox_own *o = rules->own; report->own_directories && o && o->at; o++)
		if (own_covers(rules, o->at)) /* it lies in a home */
			ok &= set_read_only(o->at, false) == 0 || errno == ENOENT;
	for (const char *const *p = rules->shown; p && *p; p++)
		if (own_covers(rules, *p))
			ok &= set_read_only(*p, true) == 0 || errno == ENOENT;
	for (size_t i = 0; rules->layers && rules->layers[i].at && i < LAYERS_MAX; i++)
		if (is_layer_up(report, i))
			ok &= set_read_only(rules->layers[i].at, false) == 0;
		else if (own_covers(rules, rules->layers[i].at))
			ok &= set_read_only(rules->layers[i].at, true) == 0;
	for (const char *const *p = rules->write_paths; p && *p; p++)
		ok &= set_read_only(*p, false) == 0 || errno == ENOENT;
	return ok;
}

/* A new network namespace has a loopback device that is down. */
static int loopback_up(void)
{
	AUTO(close_fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo))
		return -1;
	lo.ifr_flags |= IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &lo);
}

/* The mounts of this run.  A failure is a missing wall in the report, not the end: judge() decides what it
 * means.  Covers and read-only binds come after freeze_world(), which would otherwise make writable again
 * what they protect. */
static void private_mounts(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	const char *empty = NULL, *own[OWN_MAX + 1];
	int opened[OPENINGS_MAX];
	char program[4096];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[n > 0 ? n : 0] = 0;
	private_files_open(rules, report);
	openings_keep(rules, opened);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		report->mount_namespace = false;
		return;
	}
	/* A fresh /proc shows only this run's processes; the old one would show, though not open, all
	 * others. */
	if (report->pid_namespace)
		(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	/* Shared memory of other programs must be neither seen nor changed. */
	report->shared_closed =
		mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0 || errno == ENOENT;
	/* Terminals of others are gone; its own stays open as /dev/tty and by descriptor, and new ones can be made. */
	report->shared_closed &= mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
					 "newinstance,ptmxmode=0666,mode=0620") == 0 ||
		errno == ENOENT;
	own_put_up(rules, program, report);
	own_list(rules, report, own);
	report->metadata_confined = freeze_world(rules, own) == 0 && freeze_shown(rules, report);
	/* Hooks inside call it by its name: nothing else may take its place. */
	if ((report->own_directories || report->homes_covered) && own_covers(rules, program))
		report->metadata_confined &= pin_parents(own, program) == 0 && freeze_dir(program) == 0;
	report->keys_hidden = report->homes_covered || !rules->homes;
	for (const char *const *p = rules->hidden; p && *p; p++)
		report->keys_hidden &=
			(openings_are_below(rules, *p) ? openings_cover(rules, *p) : cover(*p, &empty)) == 0;
	report->places_covered = report->keys_hidden;
	report->state_protected = true;
	for (const char *const *p = rules->read_only; p && *p; p++)
		report->state_protected &= pin_parents(rules->write_paths, *p) == 0;
	report->files_private = pin_files(rules) == 0;
	for (const char *const *p = rules->read_only; p && *p; p++)
		report->state_protected &= freeze_dir(*p) == 0;
	report->read_only_held = report->state_protected;
	for (size_t i = 0; rules->files && rules->files[i].at; i++)
		report->files_private &= private_files_cover(rules, report, i) == 0;
	report->state_protected &= report->files_private;
	report->is_opened = openings_put(rules, opened) == 0;
	for (const char *const *p = rules->hidden; p && *p; p++)
		if (openings_show(rules, *p))
			report->keys_hidden &= cover(*p, &empty) == 0;
}

/* Runs in the warden, still with the capabilities that its new namespaces gave it. */
int sandbox_prepare(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	if (rules->off)
		return 0;
	/* In a new user namespace the ids read as "nobody" until they are mapped; helm left the real ones
	 * here. */
	if (report->user_namespace && map_user(report))
		return refuse(report, "cannot map the user into its namespace: %s", strerror(errno));
	if (report->mount_namespace)
		private_mounts(rules, report);
	if (report->mount_namespace && rules->openings && !report->is_opened)
		return refuse(
			report, "what was approved is not what it was any more, or cannot be opened here");
	if (report->network_namespace && loopback_up())
		lacks(report, "loopback");
	if (rules->network == NETWORK_NAMED && rules->kind == SANDBOX_NAMESPACES) {
		report->has_door = rules->door && report->network_namespace && egress_offer(rules->door) == 0;
		if (!report->has_door)
			lacks(report, "the way to named hosts");
	}
	return 0;
}

/* Later, in the same namespace: what appeared since.  A place that is covered already is covered once more, which does no harm. */
int sandbox_close_places(
	const struct sandbox_rules *rules, const char *const *hidden, const char *const *read_only)
{
	const char *empty = NULL;
	int rc = 0;

	for (const char *const *p = hidden; p && *p; p++)
		rc |= cover(*p, &empty);
	for (const char *const *p = read_only; p && *p; p++)
		rc |= pin_parents(rules->write_paths, *p) | freeze_dir(*p);
	return rc ? -1 : 0;
}

/* Capabilities that programs of a root user may keep: those about its own files and processes.  Everything
 * that reaches the kernel, devices or the network as a whole is dropped. */
static bool may_keep(int capability)
{
	static const int kept[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID,
		CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_NET_BIND_SERVICE };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (kept[i] == capability)
			return true;
	return false;
}

/* Bounding set first, then ambient, effective and permitted ones.  A plain user keeps none at all.  Who lacks CAP_SETPCAP cannot change
 * the bounding set; no_new_privs, which is on by now, keeps every exec within the permitted set all the same. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } }, have[2] = { { 0 } };
	bool is_root = geteuid() == 0;

	for (int c = 0; c <= 63; c++) {
		if ((is_root && may_keep(c)) || prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL)
			break; /* the kernel knows no more */
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -1;
	if (syscall(SYS_capget, &head, have))
		return -1;
	for (int c = 0; is_root && c <= 63; c++)
		if (may_keep(c)) {
			data[c / 32].effective |= have[c / 32].permitted & 1u << c % 32;
			data[c / 32].permitted |= have[c / 32].permitted & 1u << c % 32;
		}
	return (int)syscall(SYS_capset, &head, data);
}

/* Where mounts could not hide the keys, Landlock has to: then the hidden paths are left out of what may be
 * read. */
static int build_files(
	const struct sandbox_rules *rules, const struct sandbox_report *report, bool is_supervised)
{
	const char *own[OWN_MAX + 1];
	struct landlock_rules lock = {
		.abi = usable_abi(rules),
		.no_network = rules->network == NETWORK_NONE ||
			(has_own_loopback(rules) && !report->network_namespace),
		.write_paths = rules->write_paths,
		.exec_paths = rules->exec_paths,
		.own = own,
		.own_dir = rules->own_dir,
		.own_home = rules->own_home,
		.hidden = report->keys_hidden ? NULL : rules->hidden,
		.homes = report->keys_hidden ? NULL : rules->homes,
		.shown = rules->shown,
		.openings = rules->openings,
		.is_supervised = is_supervised,
		.is_shared = !report->shared_closed,
	};

	own_list(rules, report, own);
	return landlock_build(&lock);
}

/* `built`: made before the supervised filter, which hands over calls that building takes; or -1. */
static int lock_files(const struct sandbox_rules *rules, struct sandbox_report *report, int built)
{
	int abi = usable_abi(rules);

	if (!abi)
		return 0;
	if (landlock_apply(report->supervised ? built : build_files(rules, report, false)))
		return refuse(report, "Landlock refused the rules: %s", strerror(errno));
	report->landlock_abi = abi;
	report->files_confined = true;
	if (!report->keys_hidden) {
		report->keys_hidden = true;
		for (const char *const *p = rules->hidden; p && *p; p++)
			report->keys_hidden &= !path_is_in_one(*p, rules->write_paths);
	}
	report->signals_confined |= abi >= 6;
	report->shared_closed = true;
	return 0;
}

/* What the supervisor makes up for: modes, owners and times; what lies in a writable place and may not be changed; signals. */
static void note_supervised(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	report->metadata_confined = report->files_confined;
	report->state_protected = report->read_only_held = report->files_confined;
	report->signals_confined = report->files_confined;
	report->files_private = report->files_confined;
	report->own_directories = rules->own_by_environment;
	report->has_door = rules->network == NETWORK_NAMED && rules->proxy_port;
}

/* State that lies outside every writable place is protected by Landlock alone.  State inside one needs a
 * read-only mount. */
static void judge_state(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	bool outside = true;

	for (const char *const *p = rules->read_only; p && *p; p++)
		outside &= !path_is_in_one(*p, rules->write_paths);
	report->state_protected |= outside && report->files_confined;
}

/* Is everything there that was asked for?  A guarantee that is demanded and cannot be met refuses the run. */
static int judge(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (!guarantee_mechanism((enum guarantee)g, rules, report)) {
			lacks(report, guarantee_name((enum guarantee)g));
			report->unmet |= 1u << g;
		}
	if (!(report->unmet & ~rules->waived))
		return 0;
	return refuse(report, "this machine cannot guarantee: %s", report->missing);
}

/* Landlock keeps nobody from a socket in the file system: only where mounts cover those that lead out of the walls may a run make any.
 * Without a network namespace of its own, "loopback only" cannot be told from "everything": no internet
 * sockets then.  Kernels whose Landlock does not know truncation get truncate() refused here instead. */
static int install_filter(
	const struct sandbox_rules *rules, struct sandbox_report *report, bool is_supervised)
{
	bool own_net = report->network_namespace;
	struct seccomp_rules calls = {
		.inet = rules->network == NETWORK_FULL || (has_own_loopback(rules) && own_net),
		.unix_socket = rules->network == NETWORK_FULL && report->places_covered,
		.no_truncate = usable_abi(rules) < 3 && !is_supervised,
		.desk = rules->desk,
		.supervised = is_supervised,
		.sockets = is_supervised && has_own_loopback(rules),
		.signals = is_supervised && usable_abi(rules) < 6,
		.renames = rules->files && report->files_private && !is_supervised,
	};
	int heard = seccomp_install(&calls);

	/* Where nobody can hear renames, the copies are covered all the same; git cannot write them. */
	if (heard < 0 && calls.renames) {
		calls.renames = false;
		heard = seccomp_install(&calls);
	}
	if (heard < 0)
		return -1;
	report->listener = heard;
	report->seccomp = true;
	report->network_closed = rules->network != NETWORK_FULL;
	return 0;
}

/* The supervised filter comes before Landlock, because whether there can be a supervisor is known by trying: an older kernel, or something
 * above that supervises calls already, refuses it.  Nothing that follows here is a call that it hands over.  Returns the rules for Landlock
 * in that case, or -1. */
static int lock_supervised(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	if (rules->kind != SANDBOX_SUPERVISED)
		return -1;
	int built = usable_abi(rules) ? build_files(rules, report, true) : -1;
	report->supervised = built >= 0 && install_filter(rules, report, true) == 0;
	if (report->supervised)
		return built;
	report->supervisor_errno = usable_abi(rules) ? errno : ENOSYS;
	close_fd(&built);
	return -1;
}

static int lock_calls(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	report->network_closed = rules->network != NETWORK_FULL; /* or the last step below refuses */
	if (judge(rules, report))
		return -1;
	if (report->supervised || install_filter(rules, report, false) == 0)
		return 0;
	return refuse(report, "seccomp refused the filter: %s%s", strerror(errno),
		errno == EBUSY ? " (something above, such as a container, supervises calls already)" : "");
}

/* Never more than we have ourselves.  One that cannot be set is passed over: it guards against accidents, and is no wall. */
static void set_limit(__rlimit_resource_t what, int64_t value)
{
	struct rlimit have;

	if (!value || getrlimit(what, &have))
		return;
	if (have.rlim_max == RLIM_INFINITY || have.rlim_max > (rlim_t)value)
		have.rlim_max = (rlim_t)value;
	if (have.rlim_cur == RLIM_INFINITY || have.rlim_cur > have.rlim_max)
		have.rlim_cur = have.rlim_max;
	(void)setrlimit(what, &have);
}

static void set_limits(const struct run_limits *limits)
{
	set_limit(RLIMIT_NPROC, limits->processes);
	set_limit(RLIMIT_AS, limits->memory_mb << 20);
	set_limit(RLIMIT_FSIZE, limits->file_mb << 20);
	set_limit(RLIMIT_NOFILE, limits->open_files);
}

/* Who can write to the groups can leave them. */
static void note_group(const struct cgroup *group, struct sandbox_report *report)
{
	const bool is_held = report->files_confined || report->metadata_confined;

	report->sum_of_processes = is_held && group->has_processes;
	report->sum_of_memory = is_held && group->has_memory;
	report->group_kill = is_held && group->has_kill;
}

/* The last step before the command.  With the walls switched off only the descriptors are closed. */
int sandbox_lock(const struct sandbox_rules *rules, const struct cgroup *group, struct sandbox_report *report)
{
	struct rlimit no_core = { 0, 0 };
	bool is_in_group = group->dir >= 0 && cgroup_enter(group) == 0;

	if (syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */))
		return refuse(report, "cannot close inherited descriptors: %s", strerror(errno));
	if (rules->off)
		return 0;
	(void)setrlimit(RLIMIT_CORE, &no_core);
	set_limits(&rules->limits);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return refuse(report, "no_new_privs: %s", strerror(errno));
	report->no_new_privileges = true;
	report->capabilities_dropped = drop_capabilities() == 0;
	report->signals_confined = report->pid_namespace;
	if (lock_files(rules, report, lock_supervised(rules, report)))
		return -1;
	if (report->supervised)
		note_supervised(rules, report);
	judge_state(rules, report);
	if (is_in_group)
		note_group(group, report);
	return lock_calls(rules, report);
}
