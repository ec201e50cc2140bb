/* machine_words.c — which sandbox stands, what kind of place this is and what would help in it, in words. */
#include "execute/machine.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

const char *sandbox_kind_name(enum sandbox_kind kind)
{
	return kind == SANDBOX_SUPERVISED ? "supervised" : "namespaces";
}

const char *const *sandbox_not_given(enum sandbox_kind kind)
{
	static const char *const nothing[] = { NULL };
	static const char *const supervised[] = {
		"names and sizes of hidden files, and command lines of other processes, stay visible",
		"its loopback is the machine's: other local programs can reach servers it starts",
		"System V IPC and message queues are refused",
		"/tmp is not writable: TMPDIR is",
		"if its guardian process is killed from outside, what the run started may live on",
		NULL,
	};

	return kind == SANDBOX_SUPERVISED ? supervised : nothing;
}

const char *guarantees_text(struct arena *a, unsigned demands, const char *between)
{
	struct buf names;

	buf_init(&names, a);
	buf_adds(&names, "");
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (demands >> g & 1)
			buf_addf(&names, "%s%s", names.n ? between : "", guarantee_name((enum guarantee)g));
	return names.p;
}

struct json *guarantees_list(struct arena *a, unsigned demands)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (demands >> g & 1)
			json_pushs(a, list, guarantee_name((enum guarantee)g));
	return list;
}

bool guarantees_parse(const struct json *list, unsigned *ret)
{
	bool is_known = json_is(list, JSON_ARRAY);
	enum guarantee g;

	*ret = 0;
	json_each (one, list) {
		if (json_text(one) && guarantee_parse(json_text(one), &g))
			*ret |= 1u << g;
		else
			is_known = false;
	}
	return is_known;
}

const char *machine_line(struct arena *a, const struct machine *m)
{
	if (machine_unmet(m))
		return arena_printf(a,
			"none: this machine cannot guarantee %s, so runs are refused (helm doctor says what helps)",
			guarantees_text(a, machine_unmet(m), ", "));
	if (machine_sandbox(m) == SANDBOX_NAMESPACES)
		return arena_printf(a, "namespaces, mounts and Landlock (ABI %d); every guarantee is met",
			m->landlock_abi);
	return arena_printf(a,
		"Landlock (ABI %d), seccomp and a supervisor, without namespaces; not given: a loopback of its own, "
		"a writable /tmp, System V IPC, hiding that hidden files exist (helm doctor)",
		m->landlock_abi);
}

/* ---- place ---- */

/* Does the beginning of this file contain the word? */
static bool mentions(struct sys *s, const char *path, const char *word)
{
	char text[4096];
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, 0);
	ssize_t n = fd < 0 ? 0 : s->read(s, fd, text, sizeof(text));

	return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

/* The narrower place first: a devcontainer is a docker container, too. */
const char *machine_place(struct sys *s)
{
	enum how { BY_VARIABLE, BY_FILE, BY_TEXT };
	static const struct {
		const char *place;
		enum how how;
		const char *at, *word;
	} signs[] = {
		{ "gvisor", BY_TEXT, "/proc/version", "gVisor" },
		{ "gvisor", BY_TEXT, "/proc/version",
			"Sun Jan 10 15:06:54 PST 2016" }, /* a constant of its kernel */
		{ "codespaces", BY_VARIABLE, "CODESPACES", NULL },
		{ "devcontainer", BY_VARIABLE, "REMOTE_CONTAINERS", NULL },
		{ "devcontainer", BY_VARIABLE, "DEVCONTAINER", NULL },
		{ "kubernetes", BY_VARIABLE, "KUBERNETES_SERVICE_HOST", NULL },
		{ "kubernetes", BY_FILE, "/var/run/secrets/kubernetes.io", NULL },
		{ "podman", BY_FILE, "/run/.containerenv", NULL },
		{ "docker", BY_FILE, "/.dockerenv", NULL },
		{ "podman", BY_TEXT, "/proc/1/environ", "container=podman" },
		{ "docker", BY_TEXT, "/proc/1/environ", "container=docker" },
		{ "lxc", BY_TEXT, "/proc/1/environ", "container=lxc" },
		{ "kubernetes", BY_TEXT, "/proc/1/cgroup", "kubepods" },
		{ "docker", BY_TEXT, "/proc/1/cgroup", "/docker" },
		{ "podman", BY_TEXT, "/proc/1/cgroup", "libpod" },
		{ "lxc", BY_TEXT, "/proc/1/cgroup", "/lxc" },
		{ "wsl", BY_TEXT, "/proc/version", "icrosoft" },
		{ "ci", BY_VARIABLE, "GITHUB_ACTIONS", NULL },
		{ "ci", BY_VARIABLE, "CI", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		const char *value = signs[i].how == BY_VARIABLE ? s->getenv(s, signs[i].at) : NULL;
		if ((value && *value) || (signs[i].how == BY_FILE && file_exists(s, AT_FDCWD, signs[i].at)) ||
			(signs[i].how == BY_TEXT && mentions(s, signs[i].at, signs[i].word)))
			return signs[i].place;
	}
	return "";
}

/* A volume is a file system of its own. */
static bool is_on_volume(struct sys *s, const char *dir)
{
	struct stat root, there;

	return s->stat(s, AT_FDCWD, "/", &root, 0) == 0 && s->stat(s, AT_FDCWD, dir, &there, 0) == 0 &&
		root.st_dev != there.st_dev;
}

const char *machine_volume(struct sys *s, const char *place, const char *helm_home)
{
	static const struct {
		const char *place, *line;
	} volumes[] = {
		{ "docker", "docker run -v helm-home:/helm -e HELM_HOME=/helm ..." },
		{ "gvisor", "docker run -v helm-home:/helm -e HELM_HOME=/helm ..." },
		{ "podman", "podman run -v helm-home:/helm -e HELM_HOME=/helm ..." },
		{ "kubernetes",
			"env: [{name: HELM_HOME, value: /helm}], with a persistent volume mounted at /helm" },
		{ "devcontainer",
			"\"mounts\": [\"source=helm-home,target=/helm,type=volume\"], \"containerEnv\": {\"HELM_HOME\": \"/helm\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(volumes); i++)
		if (text_eq(volumes[i].place, place))
			return helm_home && is_on_volume(s, helm_home) ? NULL : volumes[i].line;
	return NULL;
}

/* ---- remedies ---- */

/* What is missing below the unmet guarantees.  Without namespaces the supervisor serves, from Linux 5.19 on and with Landlock. */
enum lack { LACKS_LANDLOCK, LACKS_NAMESPACES, LACK_COUNT };

/* A setting of the machine that forbids user namespaces, as the command that lifts it; or NULL. */
static const char *closed_setting(struct sys *s)
{
	static const struct {
		const char *path, *closed, *remedy;
	} settings[] = {
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n",
			"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0\n",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/user/max_user_namespaces", "0\n",
			"sudo sysctl -w user.max_user_namespaces=10000" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		char text[16];
		AUTO(close_fd) int fd = s->open(s, AT_FDCWD, settings[i].path, O_RDONLY | O_NONBLOCK, 0, 0);
		ssize_t n = fd < 0 ? 0 : s->read(s, fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		if (text_eq(text, settings[i].closed))
			return settings[i].remedy;
	}
	return NULL;
}

/* One line for each place; "" is every other one. */
static const struct {
	const char *place, *by_lack[LACK_COUNT];
} remedies[] = {
#define HOST_LANDLOCK \
	"a host kernel with Landlock (Linux 5.13 or newer, lsm=landlock,... on its command line)"
	{ "gvisor",
		{ "another runtime than gVisor (docker run --runtime=runc), because gVisor has no Landlock",
			"another runtime than gVisor (docker run --runtime=runc)" } },
	{ "docker",
		{ HOST_LANDLOCK,
			"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined" } },
	{ "podman", { HOST_LANDLOCK, "podman run --security-opt seccomp=unconfined" } },
	{ "kubernetes",
		{ "a node whose kernel has Landlock (Linux 5.13 or newer, lsm=landlock,...)",
			"securityContext: {seccompProfile: {type: Unconfined}} in the pod" } },
	{ "devcontainer",
		{ HOST_LANDLOCK,
			"\"runArgs\": [\"--security-opt\", \"seccomp=unconfined\", \"--security-opt\", \"apparmor=unconfined\"] in devcontainer.json" } },
	{ "codespaces",
		{ HOST_LANDLOCK,
			"\"runArgs\": [\"--security-opt\", \"seccomp=unconfined\", \"--security-opt\", \"apparmor=unconfined\"] in devcontainer.json" } },
	{ "lxc", { HOST_LANDLOCK, "lxc config set NAME security.nesting true" } },
	{ "wsl",
		{ "wsl --update, or a WSL kernel with Landlock (lsm=landlock,... in .wslconfig)",
			"wsl --update" } },
	{ "ci",
		{ "a runner whose kernel has Landlock (Linux 5.13 or newer)",
			"a job on the runner itself, or container options: --security-opt seccomp=unconfined" } },
	{ "",
		{ "a kernel with Landlock: Linux 5.13 or newer, with lsm=landlock,... on its command line",
			"a user who may make user namespaces" } },
};

static const char *remedy_for(struct sys *s, struct arena *a, enum lack lack)
{
	const char *place = machine_place(s), *setting = lack == LACKS_NAMESPACES ? closed_setting(s) : NULL;
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(remedies) && !text_eq(remedies[i].place, place))
		i++;
	const char *text = setting ? setting : remedies[i].by_lack[lack];
	return lack == LACKS_NAMESPACES && machine_old_kernel(a)
		? arena_printf(a, "%s, or Linux 5.19 or newer", text)
		: text;
}

const char *machine_remedy(struct sys *s, struct arena *a, const struct machine *m)
{
	return !machine_unmet(m) ? NULL
				 : remedy_for(s, a, m->landlock_abi ? LACKS_NAMESPACES : LACKS_LANDLOCK);
}

int machine_refuse(
	struct sys *s, const struct sandbox_rules *rules, const struct sandbox_report *report, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const unsigned unmet = report ? report->unmet & ~rules->waived : 0;

	if (!unmet)
		return err_set(e, E_DENIED, "SANDBOX_REFUSED",
			"not run: the sandbox could not be put up: %s; what this machine offers: helm doctor",
			report ? report->refused : "its first process ended at once");
	return err_set(e, E_DENIED, "SANDBOX_REFUSED",
		"not run: this machine cannot guarantee: %s; what helps here: %s; to accept less on this machine: "
		"helm workspace trust --degraded %s",
		guarantees_text(&a, unmet, ", "),
		remedy_for(s, &a, report->landlock_abi ? LACKS_NAMESPACES : LACKS_LANDLOCK),
		guarantees_text(&a, unmet, ","));
}
