/* facts.c — what the effects of a command amount to: detected flags, categories, target paths, the risk
 * score and the tool groups used. decide.c asks for them; they are shown, recorded, and (score and
 * groups) count in the decision.
 *
 * All of it is computed from effects, never from the text of the command: a `~` in a comment is not an
 * escape from the workspace, and a word in quotes is not a program. The names of categories and score
 * parts are part of the recorded format and must stay as they are. */
#include "base/text.h"
#include "decide/policy/policy.h"

#include <string.h>

enum { MAX_TARGETS = 64, MAX_CATEGORIES = FX_KIND_COUNT + 6 };

static bool tag_is(const struct effect *e, const char *tag)
{
	return e->tag && text_eq(e->tag, tag);
}

/* Effects of a dry run and of decoded text are there to explain. They do not count in any fact. */
static bool counts(const struct effect *e)
{
	return !(e->flags & (FXF_DRY_RUN | FXF_DECODED));
}

/* Some tags are named as exceptions because their effect is not on files here: a forced push changes the
 * remote side, running a package's program or reading a device changes nothing by itself. */
bool facts_writes(const struct effect *e)
{
	if (e->path_class == PATH_SINK || effect_is_elsewhere(e))
		return false;
	switch ((int)e->kind) {
	case FX_WRITE:
	case FX_DELETE:
	case FX_MOVE:
	case FX_PERMISSION:
	case FX_PERSISTENCE:
		return true;
	/* Every other destructive git command changes the work tree or the repository here. */
	case FX_GIT:
		return !tag_is(e, "git.push_force") && !tag_is(e, "git.push_delete");
	case FX_PACKAGE:
		return !tag_is(e, "package.run");
	case FX_DEVICE:
		return !tag_is(e, "device.read");
	default:
		return false;
	}
}

/* Regardless of any profile: does the effect use the network from this machine? */
static bool touches_network(const struct effect *e)
{
	if (effect_is_elsewhere(e))
		return false;
	return e->kind == FX_NETWORK || e->kind == FX_LISTEN || e->kind == FX_REVERSE_SHELL ||
		(e->kind == FX_REMOTE && !tag_is(e, "remote.read"));
}

/* Whether a target such as "http://localhost:8080/x", "127.0.0.1:80" or "::1" is this machine. A name in
 * front of an `@` could hide another host, so such a target is not taken for loopback; neither is
 * anything else in doubt. */
static bool is_loopback(const char *target)
{
	const char *host = target ? strstr(target, "://") : NULL;
	size_t n;

	host = host ? host + 3 : target;
	if (!host || strchr(host, '@'))
		return false;
	if (text_starts(host, "[::1]") || text_eq(host, "::1"))
		return true;
	n = strcspn(host, ":/?#");
	if (n == sizeof("localhost") - 1 && strncmp(host, "localhost", n) == 0)
		return true;
	return text_starts(host, "127.") && strspn(host, "0123456789.") == n;
}

/* Whether a target such as "https://pypi.org/simple" or "db.example.org:5432" is a host that the profile names. As above,
 * anything in doubt is not. */
static bool is_named(const char *target, const struct profile *profile)
{
	const char *scheme = target ? strstr(target, "://") : NULL, *at = scheme ? scheme + 3 : target, *host;
	uint16_t port = target && text_starts(target, "http://") ? 80 : 443;
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address;
	size_t n;

	if (!at || !egress_split(at, strcspn(at, "/?#"), &host, &n, &port) ||
		!egress_host(host, n, name, &is_address, address))
		return false;
	return is_address ? egress_has_address(&profile->hosts, address, port)
			  : egress_names(&profile->hosts, name, port);
}

/* Where it goes: what the name of a remote stands for, where that is one place.  Not for what changes the other side: that needs a person's
 * credentials, which are not inside the walls, so it is never made there because its host is named. */
static const char *place_of(const struct effect *e)
{
	return e->resolved && !(e->flags & FXF_MUTATING) && !strchr(e->resolved, ' ') ? e->resolved
										      : e->target;
}

/* Does the command say where it goes? */
static bool is_known(const struct effect *e)
{
	return e->target && e->certainty == CERTAIN;
}

/* At or below a place of which the call has a layer of its own. */
static bool is_layered(const char *path, const struct profile *profile, const char *home)
{
	size_t n = home ? strlen(home) : 0;

	if (!n || !path || strncmp(path, home, n) != 0 || path[n] != '/')
		return false;
	for (size_t i = 0; i < profile->layer_count; i++) {
		size_t m = strlen(profile->layers[i]);
		const char *rest = path + n + 1;
		if (strncmp(rest, profile->layers[i], m) == 0 && (!rest[m] || rest[m] == '/'))
			return true;
	}
	return false;
}

/* The class is the worse one of the path as it is written and as its links lead. Whoever has other rights, or an operand whose
 * end is open, may be somewhere else. */
bool facts_is_its_own(const struct effect *e, const struct profile *profile, const struct decide_context *at)
{
	const unsigned elsewhere = FXF_SETUID | FXF_PRIVILEGED | FXF_UNSET_ROOT | FXF_OPEN_END |
		FXF_HOST_MOUNT | FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE;

	if (e->kind == FX_NETWORK)
		return e->certainty == CERTAIN && profile->reach != NETWORK_FULL && is_loopback(e->target);
	bool is_own = e->path_class == PATH_TMP ||
		(e->path_class == PATH_HOME && is_layered(e->target, profile, at->home) &&
			(!e->resolved || is_layered(e->resolved, profile, at->home)));
	return is_own && e->certainty != DYNAMIC && !(e->flags & elsewhere) &&
		(e->kind == FX_WRITE || e->kind == FX_DELETE || e->kind == FX_MOVE ||
			(e->kind == FX_PERMISSION && !tag_is(e, "permission.setuid") &&
				!tag_is(e, "permission.capability")));
}

/* git writes several addresses one behind the other, and a proxy behind them (propose/git_address.c). */
const char *facts_directory(const struct effect *e)
{
	const char *to = e->resolved ? e->resolved : e->target;

	if (!e->tag || !to || e->certainty != CERTAIN ||
		(!text_eq(e->tag, "network.git") && !text_eq(e->tag, "network.git_push")) ||
		strstr(to, ", ") || strstr(to, " through "))
		return NULL;
	if (text_starts(to, "file:///"))
		to += strlen("file://");
	return *to == '/' || text_starts(to, "./") || text_starts(to, "../") ? to : NULL;
}

/* A profile may permit the loopback only, or hosts by name as well. That helps only when the target is known for certain. Behind
 * walls the loopback is the call's own, and so is every port that is opened there; where it would go to is the door's to see when
 * nobody knows it before. */
bool facts_uses_network(
	const struct effect *e, const struct profile *profile, const struct decide_context *at)
{
	if (!touches_network(e) || facts_directory(e))
		return false;
	if (profile->reach == NETWORK_NONE || profile->reach == NETWORK_FULL)
		return true;
	if (profile_is_contained(profile, at->placement) &&
		(e->kind == FX_LISTEN ||
			(e->kind == FX_NETWORK && profile->reach == NETWORK_NAMED && !is_known(e))))
		return false;
	const char *place = place_of(e);
	/* A client's own tool fetches outside of every sandbox: the loopback that it reaches is the machine's, with all that listens there. */
	bool is_own = is_loopback(place) && (at->placement == IN_SANDBOX || !tag_is(e, "net.fetch"));
	return e->certainty != CERTAIN || (!is_own && !is_named(place, profile));
}

/* Lists are short and bounded; what does not fit is dropped, because these lists only inform. */
static void add_unique(const char **list, size_t *n, size_t max, const char *text)
{
	for (size_t i = 0; i < *n; i++)
		if (text_eq(list[i], text))
			return;
	if (*n < max)
		list[(*n)++] = text;
}

static void add_category(struct decision *d, const char *name)
{
	add_unique(d->categories, &d->category_count, MAX_CATEGORIES, name);
}

/* Adds what one effect contributes to the flags, categories and target paths of the decision. */
static void collect_one(struct decision *d, const struct effect *e)
{
	add_category(d, effect_kind_category(e->kind));
	if (tag_is(e, "network.dev_tcp"))
		add_category(d, "dev_tcp_bypass");
	if (e->kind == FX_DECODE_EXEC)
		add_category(d, "base64_pipe");
	if (e->path_class != PATH_NONE && e->path_class != PATH_SINK && e->target)
		add_unique(d->target_paths, &d->target_path_count, MAX_TARGETS, e->target);
	d->writes |= facts_writes(e);
	d->network |= touches_network(e);
	d->privilege |= e->kind == FX_PRIVILEGE;
	d->remote |= e->kind == FX_REMOTE;
}

/* Runs after the rules, which set d->destructive. */
void facts_collect(struct decision *d, const struct decide_context *at)
{
	const struct proposal *p = d->proposal;

	d->categories = arena_alloc(at->a, MAX_CATEGORIES * sizeof(*d->categories));
	d->target_paths = arena_alloc(at->a, MAX_TARGETS * sizeof(*d->target_paths));
	for (size_t i = 0; i < p->effect_count; i++)
		if (counts(&p->effects[i]))
			collect_one(d, &p->effects[i]);
	if (d->writes)
		add_category(d, "write");
	if (d->network)
		add_category(d, "network");
	if (d->destructive)
		add_category(d, "destructive");
	if (p->heredoc_input)
		add_category(d, "heredoc_input");
	if (d->category_count == 0)
		add_category(d, "unknown");
}

/* Adds one named part to the score. The parts are kept, so that the score can be explained. */
static void add_part(struct decision *d, const char *name, int hundredths)
{
	d->parts[d->part_count++] = (struct score_part){ name, hundredths };
	d->score_hundredths += hundredths;
}

/* What the score needs to know about all effects together. */
struct tally {
	bool writes, acts_remotely, reads_remotely, deletes_recursively, escapes, mismatches, is_unknown;
};

/* Each fact counts once, however many effects show it: the score does not grow with the length of a
 * command. */
static void tally_one(struct tally *t, const struct effect *e, const struct profile *profile,
	const struct decide_context *at)
{
	bool writes = facts_writes(e);

	/* A commit or a switch of branches is recorded by git itself: it needs the right to write, but is no risk. */
	t->writes |= writes && !tag_is(e, "write.git");
	t->acts_remotely |= e->kind == FX_REMOTE && !tag_is(e, "remote.read");
	t->reads_remotely |= e->kind == FX_REMOTE;
	t->deletes_recursively |= e->kind == FX_DELETE && (e->flags & FXF_RECURSIVE);
	t->escapes |= writes && e->path_class >= PATH_OUT;
	t->mismatches |= (writes && profile->writes != ALLOWANCE_YES) ||
		(profile->network != ALLOWANCE_YES && facts_uses_network(e, profile, at));
	t->is_unknown |= e->kind == FX_UNKNOWN || e->kind == FX_SCRIPT || tag_is(e, "package.run");
}

/* The weights, in hundredths. 0.35 warns and 0.70 asks (decide.c), so a write alone warns and a write
 * outside the workspace together with a profile that does not fit asks. */
static void score_parts(struct decision *d, const struct tally *t)
{
	if (t->writes)
		add_part(d, "write_detected", 35);
	if (d->network)
		add_part(d, "network_detected", 30);
	if (t->acts_remotely)
		add_part(d, "remote_detected", 45);
	if (d->privilege)
		add_part(d, "privilege_detected", 65);
	if (d->destructive)
		add_part(d, "destructive_detected", 75);
	if (t->deletes_recursively)
		add_part(d, "recursive_destructive", 10);
	if (t->escapes)
		add_part(d, "workspace_escape", 30);
	if (t->mismatches)
		add_part(d, "profile_mismatch", 25);
	if (t->is_unknown && d->profile->writes == ALLOWANCE_NO && d->profile->network == ALLOWANCE_NO)
		add_part(d, "unknown_under_inspect", 35);
	/* Looking at a remote control plane is worth a word, but does not add to what else is done. */
	if (t->reads_remotely && !t->acts_remotely && d->score_hundredths < 45)
		add_part(d, "remote_detected", 45 - d->score_hundredths);
	if (d->score_hundredths > 100)
		d->score_hundredths = 100;
}

/* What a rule denies has the full score and nothing else; the parts would only distract. */
void facts_score(struct decision *d, const struct decide_context *at, bool is_denied_by_rule)
{
	const struct proposal *p = d->proposal;
	struct tally t = { 0 };

	if (is_denied_by_rule) {
		add_part(d, "absolute_deny", 100);
		return;
	}
	for (size_t i = 0; i < p->effect_count; i++)
		if (counts(&p->effects[i]))
			tally_one(&t, &p->effects[i], d->profile, at);
	score_parts(d, &t);
}

/* Notes the use of a tool group once, and whether the profile denies it. */
static void use_group(struct decision *d, enum tool_group g)
{
	for (size_t i = 0; i < d->used_count; i++)
		if (d->used[i] == g)
			return;
	d->used[d->used_count++] = g;
	if (d->profile->tool_rules[g] == TOOLS_DENY)
		d->denied_used[d->denied_used_count++] = g;
}

static bool changes_cloud(const struct effect *e)
{
	return e->kind == FX_CLOUD && !tag_is(e, "cloud.read");
}

static bool changes_database(const struct effect *e)
{
	return e->kind == FX_DATABASE && !tag_is(e, "sql.session");
}

/* A client that only adds rows or migrates forward is ordinary work with a database that may well be local. */
static bool is_ordinary_database_work(const struct effect *e)
{
	return tag_is(e, "sql.write") || tag_is(e, "db.migrate") || tag_is(e, "kv.write") ||
		(e->program && text_starts(e->program, "sqlite"));
}

/* Effects that leave this machine in the sense of the group "external network": also those that are not
 * network programs, such as publishing a package, changing a cloud service or a database in ways that
 * are not everyday work. */
static bool reaches_out(
	const struct effect *e, const struct profile *profile, const struct decide_context *at)
{
	if (facts_uses_network(e, profile, at) || changes_cloud(e) || e->kind == FX_PUBLISH ||
		tag_is(e, "package.install"))
		return true;
	return changes_database(e) && !is_ordinary_database_work(e);
}

/* Effects that change something although they write no file. A profile that only inspects must never
 * have them, not even with an approval; group_one() therefore counts them to the group of changes, which
 * such a profile denies. */
static bool mutates(const struct effect *e)
{
	switch ((int)e->kind) {
	case FX_PROCESS:
		return !tag_is(e, "process.job") && !tag_is(e, "process.priority");
	case FX_CONTAINER:
		return !tag_is(e, "container.confine");
	case FX_CRON:
	case FX_FIREWALL:
	case FX_ACCOUNT:
	case FX_KERNEL:
	case FX_POWER:
		return true;
	default:
		return changes_database(e) || changes_cloud(e);
	}
}

/* A rebase is not counted as destructive git: what it replaces can be found in the reflog. */
static void group_one(struct decision *d, const struct effect *e, const struct decide_context *at)
{
	if (reaches_out(e, d->profile, at))
		use_group(d, GROUP_EXTERNAL_NETWORK);
	if (e->kind == FX_GIT && !tag_is(e, "git.rebase"))
		use_group(d, GROUP_DESTRUCTIVE_GIT);
	if (facts_writes(e) || (d->profile->writes == ALLOWANCE_NO && mutates(e)))
		use_group(d, GROUP_APPLY_PATCH);
	if (e->kind == FX_SECRET_READ)
		use_group(d, GROUP_SECRETS_READ);
}

/* Must run before conclude(): a denied group makes the verdict DENY. */
void facts_groups(struct decision *d, const struct decide_context *at)
{
	const struct proposal *p = d->proposal;

	for (size_t i = 0; i < p->effect_count; i++)
		if (counts(&p->effects[i]))
			group_one(d, &p->effects[i], at);
	if (p->shell_wrapped)
		use_group(d, GROUP_BROAD_SHELL);
	for (size_t i = 0; i < p->step_count; i++) {
		const char *verb = p->steps[i].git_verb;
		if (verb && (text_eq(verb, "diff") || text_eq(verb, "status")))
			use_group(d, GROUP_GIT_DIFF);
	}
	d->has_denied_group = d->denied_used_count > 0;
}
