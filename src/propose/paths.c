/* paths.c — where a path lies, and whether its name says that it holds credentials.
 *
 * A path is judged as it is written and again after following the links of what exists; the worse answer counts.  A pattern
 * or a path with an unknown end is judged by everything it can name: the places that must be protected are few and known,
 * so each of them is held against the pattern. */
#include "base/file.h"
#include "base/text.h"
#include "model/secret.h"
#include "propose/evaluate/evaluate.h"

#include <errno.h>
#include <fcntl.h>

/* Exactly these. */
static const char *const system_directories[] = { "/bin", "/sbin", "/usr", "/etc", "/var", "/boot", "/lib",
	"/lib32", "/lib64", "/libx32", "/opt", "/root", "/sys", "/proc", "/dev", "/home", "/Users", "/System",
	"/Library", "/Applications", "/srv", "/mnt", "/media", "/run", "/private", "/nix", "/snap" };
/* And everything below these. */
static const char *const system_trees[] = { "/bin", "/sbin", "/usr", "/etc", "/boot", "/lib", "/lib32",
	"/lib64", "/libx32", "/sys", "/proc", "/dev", "/System", "/Library" };
static const char *const temporary_roots[] = { "/tmp", "/var/tmp", "/private/tmp", "/dev/shm" };
static const char *const sinks[] = { "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty" };
static const char *const devices[] = { "/dev/sd?*", "/dev/hd?*", "/dev/vd?*", "/dev/xvd*", "/dev/nvme*",
	"/dev/mmcblk*", "/dev/disk*", "/dev/rdisk*", "/dev/loop*", "/dev/md?*", "/dev/dm-*", "/dev/mapper/*",
	"/dev/mem", "/dev/kmem", "/dev/port", "/dev/zd?*", "/dev/nbd*", "/dev/ram?*", "/dev/sr?*",
	"/dev/st?*", "/dev/bcache*", "/dev/pmem*" };

/* p is dir or below it. */
static bool is_at_or_below(const char *p, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	if (n == 0)
		return false;
	if (n == 1) /* "/" */
		return true;
	return strncmp(p, dir, n) == 0 && (p[n] == '\0' || p[n] == '/');
}

static bool is_below(const char *p, const char *dir)
{
	return dir && !text_eq(p, dir) && is_at_or_below(p, dir);
}

static bool is_listed(const char *p, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(p, list[i]))
			return true;
	return false;
}

static bool is_below_listed(const char *p, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_below(p, list[i]))
			return true;
	return false;
}

/* One of our own patterns, which have only * and ? and cross slashes: fast, because every operand is held against many. */
static bool match(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool is_device(const char *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (match(devices[i], p))
			return true;
	return false;
}

/* A root that may be called "inside": not the home directory, a system directory or an ancestor of them. */
static const char *usable_root(const struct surroundings *at, const char *root)
{
	if (!root || root[0] != '/' || !root[1] || (at->home && is_at_or_below(at->home, root)) ||
		is_listed(root, system_directories, ARRAY_SIZE(system_directories)) ||
		is_listed(root, temporary_roots, ARRAY_SIZE(temporary_roots)))
		return NULL;
	return root;
}

/* Settings that hold the guard's hook or can switch it off: below home, the workspace or the work tree. */
static bool is_client_setting(const char *p, const char *root)
{
	return root && is_below(p, root) && clients_care(p + strlen(root) + 1) == CARE_CLOSED;
}

/* The directory of such settings: whoever moves or removes it switches the guard off. */
static bool is_client_directory(const struct surroundings *at, const char *p)
{
	const char *roots[] = { at->home, at->workspace, at->work_tree };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i] && is_below(p, roots[i]) &&
			clients_care_below(p + strlen(roots[i]) + 1) == CARE_CLOSED)
			return true;
	return false;
}

/* references/execution_profiles.json of any workspace. */
static bool is_policy_file(const char *p)
{
	static const char *const files[] = { "/references/execution_profiles.json",
		"/references/guard_policy.json", "/references/tool_groups.json",
		"/references/capability_boundaries.json" };

	for (size_t i = 0; text_ends(p, ".json") && i < ARRAY_SIZE(files); i++)
		if (text_ends(p, files[i]))
			return true;
	return false;
}

static bool is_state(const struct surroundings *at, const char *p)
{
	if (is_at_or_below(p, at->state_dir) || is_at_or_below(p, at->helm_home))
		return true;
	if (at->workspace && is_below(p, at->workspace)) {
		const char *rest = p + strlen(at->workspace) + 1;
		if (text_eq(rest, "references") || text_starts(rest, "references/"))
			return true;
	}
	if (at->home && is_below(p, at->home)) {
		const char *rest = p + strlen(at->home) + 1;
		if (text_eq(rest, ".helm") || text_starts(rest, ".helm/"))
			return true;
	}
	/* Another workspace governs somebody else: its records and its policy are as closed as our own. */
	const char *state = strstr(p, "/.helm");
	if (state && (!state[6] || state[6] == '/'))
		return true;
	if (is_policy_file(p))
		return true;
	return is_client_setting(p, at->home) || is_client_setting(p, at->workspace) ||
		is_client_setting(p, at->work_tree);
}

static bool is_temporary(const struct surroundings *at, const char *p)
{
	return is_below_listed(p, temporary_roots, ARRAY_SIZE(temporary_roots)) ||
		(at->tmpdir && at->tmpdir[0] == '/' && at->tmpdir[1] && is_below(p, at->tmpdir));
}

/* One clean absolute path, as written. */
static enum path_class judge_one(const struct surroundings *at, const char *p)
{
	const char *workspace = at->workspace, *tree = usable_root(at, at->work_tree);

	if (!p[1])
		return PATH_ROOT;
	if (text_starts(p, "/dev/")) {
		if (is_listed(p, sinks, ARRAY_SIZE(sinks)) ||
			(text_starts(p, "/dev/fd/") && !strchr(p + 8, '/')))
			return PATH_SINK;
		if (is_device(p))
			return PATH_DEV;
	}
	if (is_state(at, p))
		return PATH_STATE;
	if (is_client_directory(at, p))
		return PATH_UP;
	if (is_listed(p, system_directories, ARRAY_SIZE(system_directories)))
		return at->home && text_eq(p, at->home) ? PATH_HOME : PATH_SYS;
	if (at->home && text_eq(p, at->home))
		return PATH_HOME;
	if ((workspace && is_at_or_below(workspace, p)) || (tree && is_at_or_below(tree, p)))
		return PATH_UP;
	if ((workspace && is_below(p, workspace)) || (tree && is_below(p, tree)))
		return PATH_IN;
	for (const char *const *one = at->allowed; one && *one; one++)
		if (is_below(p, *one))
			return PATH_IN;
	if (is_temporary(at, p))
		return PATH_TMP;
	if (is_below_listed(p, system_trees, ARRAY_SIZE(system_trees)))
		return PATH_SYS;
	return at->home && is_below(p, at->home) ? PATH_HOME : PATH_OUT;
}

/* ---- patterns ---- */

static bool can_name(const char *pattern, enum path_tail tail, const char *place)
{
	if (!place)
		return false;
	if (tail == TAIL_OPEN)
		return strncmp(place, pattern, strlen(pattern)) == 0;
	if (strncmp(place, pattern, strcspn(pattern, "*?[")) != 0)
		return false;
	const char *base = strrchr(place, '/'), *last = strrchr(pattern, '/');
	if (base && last && base[1] == '.' && last[1] != '.')
		return false; /* a leading dot must be written */
	return text_glob(pattern, place, true);
}

/* The same for a place among many others in its directory: a bare star, or nothing known of the name, does not mean it. */
static bool means(const char *pattern, enum path_tail tail, const char *place)
{
	const char *last = strrchr(pattern, '/');

	return last && last[1 + strspn(last + 1, "*?")] && can_name(pattern, tail, place);
}

/* The first `n` components of a pattern, "/a/b" of "/a/b/c" for 2; NULL when it has no more than that. */
static const char *first_components(struct arena *a, const char *pattern, size_t n)
{
	const char *p = pattern;

	for (; n && *p == '/'; n--)
		p = strchrnul(p + 1, '/');
	return !n && *p == '/' ? arena_strndup(a, pattern, (size_t)(p - pattern)) : NULL;
}

/* The pattern names the place, or something below it: ".h*", ".h*" with a file in it, and any directory with a file of ours. */
static bool reaches(struct arena *a, const char *pattern, enum path_tail tail, const char *place)
{
	static const char *const files[] = { "/execution_profiles.json", "/guard_policy.json",
		"/tool_groups.json", "/capability_boundaries.json" };
	size_t depth = 0;

	if (!place)
		return false;
	if (means(pattern, tail, place))
		return true;
	if (tail != TAIL_GLOB)
		return false;
	for (const char *p = place; *p; p++)
		depth += *p == '/';
	const char *head = first_components(a, pattern, depth);
	if (!head || !strpbrk(head, "*?["))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (text_ends(pattern, files[i]) && can_name(head, tail, place))
			return true;
	return means(head, tail, place);
}

static enum path_class worse(enum path_class x, enum path_class y)
{
	return x > y ? x : y;
}

/* Ancestors of a root: can the pattern name one of them, or the root? */
static enum path_class judge_ancestors(const struct surroundings *at, struct arena *a, const char *pattern,
	enum path_tail tail, const char *root)
{
	enum path_class c = PATH_NONE;

	if (!root)
		return c;
	char *dir = arena_strdup(a, root);
	for (char *slash = dir + strlen(dir); slash && slash > dir; slash = strrchr(dir, '/')) {
		*slash = '\0';
		if (*dir && (tail == TAIL_OPEN ? means(pattern, tail, dir) : can_name(pattern, tail, dir)))
			c = worse(c, judge_one(at, dir));
	}
	return c;
}

/* A glob that reaches closed settings below a root. */
static bool reaches_client_setting(struct arena *a, const char *pattern, const char *root)
{
	size_t fixed = strcspn(pattern, "*?["), n = root ? strlen(root) : 0;
	const struct client *c;

	if (n < 2 || strncmp(pattern, root, fixed < n ? fixed : n) != 0)
		return false;
	for (size_t i = 0; (c = clients_at(i)); i++)
		for (const struct client_file *f = c->files; f->path; f++) {
			if (f->care != CARE_CLOSED || strchr(f->path, '*'))
				continue;
			char *path = path_clean(a, arena_printf(a, "%s/%s", root, f->path)),
			     *slash = strrchr(path, '/');
			if (can_name(pattern, TAIL_GLOB, path))
				return true;
			*slash = '\0'; /* the directory they lie in */
			if (strlen(path) > n && means(pattern, TAIL_GLOB, path))
				return true;
		}
	return false;
}

static enum path_class judge_places(
	const struct surroundings *at, struct arena *a, const char *pattern, enum path_tail tail)
{
	enum path_class c = PATH_NONE;
	int systems = 0;

	for (size_t i = 0; i < ARRAY_SIZE(system_directories); i++)
		systems += can_name(pattern, tail, system_directories[i]);
	if (systems >= 3)
		return PATH_ROOT;
	if (systems)
		c = PATH_SYS;
	c = worse(c, judge_ancestors(at, a, pattern, tail, at->workspace));
	c = worse(c, judge_ancestors(at, a, pattern, tail, usable_root(at, at->work_tree)));
	if (can_name(pattern, tail, at->home))
		c = worse(c, PATH_HOME);
	if (reaches(a, pattern, tail, at->state_dir) || reaches(a, pattern, tail, at->helm_home) ||
		(at->workspace && reaches(a, pattern, tail, arena_printf(a, "%s/references", at->workspace))))
		c = worse(c, PATH_STATE);
	const char *roots[] = { at->home, at->workspace, at->work_tree };
	for (size_t i = 0; tail == TAIL_GLOB && i < ARRAY_SIZE(roots); i++)
		if (reaches_client_setting(a, pattern, roots[i]))
			c = worse(c, PATH_STATE);
	return c;
}

/* An example of what the pattern names: each glob replaced by an ordinary name. */
static const char *example_of(struct arena *a, const char *pattern, enum path_tail tail)
{
	struct buf b;

	buf_init(&b, a);
	for (const char *p = pattern; *p; p++) {
		if (*p == '[' && strchr(p, ']')) {
			buf_addc(&b, 'x');
			p = strchr(p, ']');
		} else if (*p == '*' || *p == '?') {
			buf_addc(&b, 'x');
		} else {
			buf_addc(&b, *p);
		}
	}
	if (tail == TAIL_OPEN)
		buf_addc(&b, 'x');
	return path_clean(a, b.p);
}

static enum path_class judge_text(
	const struct surroundings *at, struct arena *a, const char *path, enum path_tail tail)
{
	if (tail == TAIL_NONE)
		return judge_one(at, path);
	enum path_class c = judge_one(at, example_of(a, path, tail));
	if (text_starts(path, "/dev/") && c != PATH_SINK)
		for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
			if (can_name(path, tail, devices[i]))
				return PATH_DEV;
	return worse(c, judge_places(at, a, path, tail));
}

/* ---- links ---- */

enum { MAX_LINKS = 40, MAX_PATH = 4096 };

/* Where resolving has to start: what lies above the workspace was settled when it was opened. */
static size_t anchor(const struct surroundings *at, const char *path)
{
	const char *roots[] = { at->workspace, at->work_tree, at->home };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i] && roots[i][0] == '/' && roots[i][1] && is_at_or_below(path, roots[i]))
			return strlen(roots[i]);
	return 0;
}

/* The path with the links of its existing part followed, or NULL when there are none. */
static const char *resolve(const struct surroundings *at, struct arena *a, const char *path)
{
	char link[MAX_PATH];
	size_t done = anchor(at, path);
	bool has_changed = false;
	int links = 0;

	for (const char *p = path; p[done];) {
		size_t next = done + 1 + strcspn(p + done + 1, "/");
		const char *head = arena_strndup(a, p, next);
		ssize_t n = at->sys->readlink(at->sys, AT_FDCWD, head, link, sizeof(link) - 1);
		if (n < 0 && errno != EINVAL)
			break;
		if (n < 0) {
			done = next;
			continue;
		}
		if (++links > MAX_LINKS)
			return "/";
		link[n] = '\0';
		const char *target = link[0] == '/'
			? arena_printf(a, "%s%s", link, p + next)
			: arena_printf(a, "%.*s/%s%s", (int)done, p, link, p + next);
		path = p = path_clean(a, target);
		done = anchor(at, path);
		has_changed = true;
	}
	return has_changed ? path : NULL;
}

enum path_class paths_judge(const struct surroundings *at, struct arena *a, const char *path,
	enum path_tail tail, bool resolves, const char **ret_resolved)
{
	enum path_class c = judge_text(at, a, path, tail);

	*ret_resolved = NULL;
	if (!resolves || !at->sys || strlen(path) >= MAX_PATH || c >= PATH_STATE || c == PATH_SINK)
		return c;
	/* Only what stands before the first glob is one path. */
	size_t fixed = tail == TAIL_NONE ? strlen(path) : strcspn(path, "*?[");
	while (tail != TAIL_NONE && fixed > 0 && path[fixed - 1] != '/')
		fixed--;
	if (fixed <= 1)
		return c;
	const char *head = arena_strndup(a, path, path[fixed - 1] == '/' ? fixed - 1 : fixed);
	const char *real = resolve(at, a, head);
	if (!real)
		return c;
	const char *whole = path_clean(a, arena_printf(a, "%s/%s", real, path + fixed));
	enum path_class behind = judge_text(at, a, whole, tail);
	*ret_resolved = whole;
	return behind > c || behind == PATH_DEV ? behind : c;
}

enum path_class paths_classify(const struct surroundings *at, struct arena *a, const char *path,
	bool is_pattern, const char **ret_resolved)
{
	return paths_judge(at, a, path, is_pattern ? TAIL_GLOB : TAIL_NONE, true, ret_resolved);
}

bool paths_is_protected(const struct surroundings *at, struct arena *a, const char *path)
{
	const char *clean = path_clean(a, path);
	size_t n = strlen(clean);

	if (clean[0] != '/')
		return false;
	if (n >= 2 && text_eq(clean + n - 2, "/*")) /* all of it is as much as itself */
		clean = n == 2 ? "/" : arena_strndup(a, clean, n - 2);
	if (strpbrk(clean, "*?["))
		return judge_text(at, a, clean, TAIL_GLOB) >= PATH_UP;
	switch (judge_one(at, clean)) {
	case PATH_ROOT:
	case PATH_UP:
	case PATH_STATE:
		return true;
	case PATH_SYS:
		return is_listed(clean, system_directories, ARRAY_SIZE(system_directories));
	case PATH_HOME:
		return text_eq(clean, at->home);
	default:
		return false;
	}
}

/* ---- secrets ---- */

static const char *const secret_names[] = { ".env", ".env.*", "*.env", ".netrc", "_netrc", ".pgpass",
	".npmrc", ".pypirc", ".git-credentials", ".my.cnf", ".htpasswd", ".vault-token", ".dockercfg",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "*.pem", "*.p12",
	"*.pfx", "*.kdbx", "*.jks", "*.keystore", "*.key", "*.ppk", "*.p8", "*.asc.key", "credentials.json",
	"client_secret*.json", "service-account*.json", "service_account*.json", "serviceAccount*.json",
	"secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "application_default_credentials.json",
	"key4.db", "logins.json", "Login Data", "*.keychain", "*.keychain-db", "wallet.dat", ".terraformrc",
	"credentials.tfrc.json", "shadow", "shadow-", "gshadow", "gshadow-", "master.passwd",
	"unattend.xml" };
static const char *const secret_paths[] = { "*/.aws/credentials", "*/.aws/config", "*/.aws/sso/cache/*",
	"*/.kube/config", "*/.docker/config.json", "*/.config/gcloud/*", "*/.azure/*",
	"*/.config/gh/hosts.yml", "*/.gnupg/*", "*/.ssh/*", "*/.helm/keys/*", "*/.password-store/*",
	"*/.config/op/*", "*/.cargo/credentials*", "*/.gem/credentials", "*/.m2/settings.xml",
	"*/.gradle/gradle.properties", "*/.config/rclone/rclone.conf", "*/.s3cfg", "*/.boto", "/etc/shadow*",
	"/etc/gshadow*", "/etc/ssl/private/*", "/etc/sudoers*", "/proc/*/environ", "/proc/*/mem",
	"/proc/kcore", "*/Keychains/*", "/var/run/secrets/*", "/run/secrets/*", "*/com.apple.TCC/TCC.db",
	"/etc/authorization", "/var/db/dslocal/*", "*/.local/share/keyrings/*", "*/google-chrome/*/Cookies",
	"*/chromium/*/Cookies", "*/BraveSoftware/*/Cookies", "*/firefox/*/cookies.sqlite",
	"*/firefox/*/key?.db" };
static const char *const public_names[] = { "*.pub", "known_hosts*", "*.example", "*.sample", "*.template",
	"*.dist", "*.tmpl", "*.defaults", ".env.test", ".env.testing", ".env.ci", "authorized_keys*",
	"*.schema", "cacert.pem", "ca-certificates*", "*.crt.pem", "cert.pem", "*-cert.pem", "*_cert.pem",
	"*.cert.pem", "cert-*.pem", "certificate*.pem", "*-certificate.pem", "*chain.pem", "*-ca.pem",
	"ca.pem", "ca-*.pem", "*csr.pem", "*-req.pem", "*public*.pem", "*-bundle.pem", "dhparam*.pem",
	"environment", "config.pem" };

static bool matches_any(const char *s, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (match(patterns[i], s))
			return true;
	return false;
}

/* A glob names a secret when it could match one and says enough to mean it. */
static bool glob_is_secret(const char *pattern)
{
	size_t literal = 0;

	/* *.env means all of them. */
	if (text_eq(pattern, "*.env") || text_eq(pattern, "*.pem") || text_eq(pattern, "*.key") ||
		text_eq(pattern, "*.p12"))
		return true;
	/* A name of the list with something behind it: .env[ab], credentials.json? */
	size_t before = strcspn(pattern, "*?[");
	for (size_t i = 0; before > 3 && i < ARRAY_SIZE(secret_names); i++)
		if (strlen(secret_names[i]) == before && memcmp(secret_names[i], pattern, before) == 0)
			return true;
	/* "*.json" means the JSON files here, not the one that might be called credentials. */
	if (pattern[0] == '*' && pattern[1] == '.' && !strpbrk(pattern + 2, "*?[."))
		return false;
	for (const char *p = pattern; *p; p++)
		literal += !strchr("*?[]!.", *p);
	if (literal < 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++)
		if (!strchr(secret_names[i], '*') && text_glob(pattern, secret_names[i], false))
			return true;
	return false;
}

/* What lies in a home and holds credentials: files that a pattern is held against, and the directories they lie in. */
static const char *const secret_examples[] = { ".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/id_ecdsa",
	".aws/credentials", ".gnupg/private-keys-v1.d", ".kube/config", ".netrc", ".helm/keys/key",
	".docker/config.json", ".npmrc", ".pgpass", ".git-credentials", ".config/gh/hosts.yml",
	".azure/token", ".password-store/x" };
/* Directories above and beside the list of model/secret.h. */
static const char *const secret_trees[] = { ".docker", ".helm", ".helm/keys", "Library/Keychains", ".config",
	".local/share" };

static const char *secret_tree_at(struct arena *a, size_t i)
{
	if (i < ARRAY_SIZE(secret_trees))
		return secret_trees[i];
	const char *place = secret_place_at(i - ARRAY_SIZE(secret_trees));
	return place ? arena_strndup(a, place, strlen(place) - text_ends(place, "/")) : NULL;
}

/* ~/.h*, k* below it, and any name there: all files of these directories are secrets, but for those that are made to be shown. */
static bool is_in_secret_directory(const char *below)
{
	static const char *const directories[] = { ".ssh", ".aws", ".gnupg", ".helm/keys", ".password-store",
		".azure", ".local/share/keyrings" };
	const char *slash = strrchr(below, '/');
	char dir[MAX_PATH];

	if (!slash || (size_t)(slash - below) >= sizeof(dir) ||
		matches_any(slash + 1, public_names, ARRAY_SIZE(public_names)))
		return false;
	memcpy(dir, below, (size_t)(slash - below));
	dir[slash - below] = '\0';
	for (size_t i = 0; strpbrk(dir, "*?[") && i < ARRAY_SIZE(directories); i++)
		if (text_glob(dir, directories[i], true))
			return true;
	return false;
}

/* ~/.s* with a star behind it, ~/.h?lm/keys: a pattern whose directories can be those of a secret. */
static bool pattern_is_secret(const struct surroundings *at, const char *path)
{
	size_t n = at->home ? strlen(at->home) : 0;

	if (!n || strncmp(path, at->home, n) != 0 || path[n] != '/')
		return false;
	const char *below = path + n + 1;
	if (!strpbrk(below, "*?[") || strspn(below, "*?/") == strlen(below))
		return false;
	if (strchr("*?[", below[0]))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(secret_examples); i++)
		if (text_glob(below, secret_examples[i], true))
			return true;
	return is_in_secret_directory(below);
}

/* The tree is this one, below the home directory; of those that are called so everywhere, also in any other one. */
static bool is_secret_tree(const char *below_home, const char *path, size_t n, const char *tree)
{
	static const char *const only_at_home[] = { ".config", ".local", ".helm", "Library" };
	size_t len = strlen(tree);

	if (below_home && strncmp(below_home, tree, len) == 0 && (size_t)(path + n - below_home) == len)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(only_at_home); i++)
		if (text_starts(tree, only_at_home[i]))
			return false;
	return n > len && path[n - len - 1] == '/' && memcmp(path + n - len, tree, len) == 0;
}

bool paths_holds_secrets(const struct surroundings *at, struct arena *a, const char *path)
{
	size_t n = strlen(path), home_n = at->home ? strlen(at->home) : 0;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (home_n && n <= home_n && strncmp(at->home, path, n) == 0 &&
		(n == 1 || !at->home[n] || at->home[n] == '/'))
		return true; /* the home directory, or what it lies in */
	bool is_home = home_n && strncmp(path, at->home, home_n) == 0 && path[home_n] == '/';
	/* Everything else that counts is hidden, or one of these. */
	if (!strstr(path, "/."))
		return (n == 16 && memcmp(path, "/etc/ssl/private", n) == 0) ||
			(n == 5 && memcmp(path, "/root", n) == 0) ||
			(n == 12 && memcmp(path, "/run/secrets", n) == 0) ||
			(n > 10 && memcmp(path + n - 10, "/Keychains", 10) == 0);
	const char *below = is_home ? path + home_n + 1 : NULL;
	bool is_pattern = is_home && strpbrk(path, "*?[");
	const char *tree;
	for (size_t i = 0; (tree = secret_tree_at(a, i)); i++)
		if (is_secret_tree(below, path, n, tree) ||
			(is_pattern &&
				means(arena_strndup(a, path, n), TAIL_GLOB,
					arena_printf(a, "%s/%s", at->home, tree))))
			return true;
	return n > 11 && memcmp(path + n - 11, "/.helm/keys", 11) == 0;
}

bool paths_is_secret(const struct surroundings *at, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	if (at && strpbrk(path, "*?[") && pattern_is_secret(at, path))
		return true;
	if (slash && !*base && !strpbrk(path, "*?[")) { /* some file in this directory */
		static const char *const in[] = { "/.ssh/", "/.aws/", "/.gnupg/", "/.helm/keys/",
			"/.password-store/", "/.azure/", "/.local/share/keyrings/" };
		for (size_t i = 0; i < ARRAY_SIZE(in); i++)
			if (text_ends(path, in[i]))
				return true;
	}
	if (!*base || matches_any(base, public_names, ARRAY_SIZE(public_names)))
		return false;
	if (text_eq(base, "config") && strstr(path, "/.ssh/"))
		return false;
	if (secret_place_holds(path))
		return true;
	if (matches_any(base, secret_names, ARRAY_SIZE(secret_names)))
		return !strpbrk(base, "*?[") || glob_is_secret(base) || base[0] == '.';
	if (strstr(path, "/.") || path[0] == '.' || text_starts(path, "/etc/") ||
		text_starts(path, "/var/") || strstr(path, "/com.apple.") || text_starts(path, "/proc/") ||
		strstr(path, "/Keychains/") || strstr(path, "/secrets/")) {
		size_t n = strlen(path);
		char with_root[MAX_PATH];
		if (n + 2 < sizeof(with_root)) {
			snprintf(with_root, sizeof(with_root), "%s%s", path[0] == '/' ? "" : "/", path);
			if (matches_any(with_root, secret_paths, ARRAY_SIZE(secret_paths)))
				return true;
		}
	}
	return strpbrk(base, "*?[") && glob_is_secret(base);
}

bool paths_selects_secrets(const struct surroundings *at, struct arena *a, const char *pattern)
{
	static const char *const places[] = { ".ssh", ".gnupg", ".aws", ".kube", ".azure",
		".password-store" };
	/* What stands for the rest of a name says nothing; nor do the signs of a regular expression. */
	struct buf plain;
	buf_init(&plain, a);
	pattern += strspn(pattern, "^");
	if (text_starts(pattern, ".*")) /* of a regular expression; .*rc is no name that begins with a dot */
		pattern += 2;
	for (const char *p = pattern + strspn(pattern, "*/"); *p && *p != '$'; p++)
		if (*p != '\\')
			buf_addc(&plain, *p);
	while (plain.n && strchr("*/", plain.p[plain.n - 1]))
		plain.p[--plain.n] = '\0';
	if (!plain.n)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_eq(path_base(plain.p), places[i]))
			return true;
	return paths_is_secret(at, plain.p) || paths_is_secret(at, pattern) ||
		paths_is_secret(at, arena_printf(a, "/etc/%s", plain.p));
}

bool paths_is_secret_variable(const char *name, size_t n)
{
	static const char *const ends[] = { "SECRET", "PASSWORD", "PASSWD", "TOKEN", "API_KEY", "APIKEY",
		"PRIVATE_KEY", "ACCESS_KEY", "SECRET_KEY", "CREDENTIALS", "ENCRYPTION_KEY", "DATABASE_URL",
		"PAT", "PASSPHRASE" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t m = strlen(ends[i]);
		if (n >= m && memcmp(name + n - m, ends[i], m) == 0 && (n == m || name[n - m - 1] == '_'))
			return true;
	}
	return false;
}
