/* containers.c — docker and its kin: what is removed, what a container may reach, and what runs in it.
 *
 * A command inside a container is analysed like any other, marked as inside.  When the container sees this machine's root or
 * system directories, that mark is joined by "host mount": the walls are not there. */
#include "propose/programs/programs.h"

#include <string.h>

/* Is this a path whose sharing gives the machine away? */
static bool is_host_path(struct call *k, const struct word *source, bool is_read_only)
{
	if (!word_starts(source, "/"))
		return false;
	if (word_has(source, "docker.sock") || word_has(source, "containerd.sock") ||
		word_has(source, "podman.sock"))
		return true;
	size_t n = source->known_n;
	while (n > 1 && source->text[n - 1] == '/')
		n--;
	const char *path = arena_strndup(walk_arena(k->w), source->text, n);
	const char *resolved = NULL;
	enum path_class c = paths_classify(
		walk_surroundings(k->w), walk_arena(k->w), path, source->certainty != CERTAIN, &resolved);
	if (c == PATH_ROOT || c == PATH_STATE)
		return true;
	const char *base = strrchr(path, '/') + 1;
	if (list_has(".ssh .aws .gnupg .kube .docker .azure .password-store", base, strlen(base)))
		return true;
	return !is_read_only && (c == PATH_SYS || c == PATH_DEV);
}

/* -v SRC:DST[:ro] */
static bool volume_is_host(struct call *k, const struct word *v)
{
	const char *colon = memchr(v->text, ':', v->text_n);
	if (!colon)
		return false;
	struct word source = word_head(walk_arena(k->w), v, (size_t)(colon - v->text));
	return is_host_path(k, &source, text_ends(v->text, ":ro") || text_ends(v->text, ",ro"));
}

/* --mount type=bind,source=/,target=/host */
static bool mount_is_host(struct call *k, const struct word *v)
{
	bool is_ro = word_has(v, "readonly") || word_has(v, ",ro");
	for (const char *p = v->text; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		size_t skip = text_starts(p, "source=") ? 7 : text_starts(p, "src=") ? 4 : 0;
		if (!skip)
			continue;
		size_t n = strcspn(p + skip, ",");
		struct word source = walk_word(k->w, arena_strndup(walk_arena(k->w), p + skip, n), v->at);
		return is_host_path(k, &source, is_ro);
	}
	return false;
}

/* The options of run and exec that take a value, after the ones we look at. */
static const char run_spec[] =
	"+v=:volume= :mount= :privileged :pid=,ipc=,userns=,uts=,cgroupns= :cap-add=,device=,security-opt= "
	":entrypoint= "
	"eupwlhcamn=:env=,user=,publish=,workdir=,label=,hostname=,cpu-shares=,attach=,memory=,name=,"
	"network=,net=,env-file=,"
	"restart=,add-host=,platform=,cpus=,gpus=,ulimit=,log-driver=,log-opt=,shm-size=,tmpfs=,expose=,link="
	",volumes-from=,ip=,dns=,"
	"pull=,stop-signal=,health-cmd=,runtime=,cidfile=,container=,namespace=,index=,detach-keys=,scale=,"
	"profile=,file=,project-name= "
	"itdPqTxf:rm,interactive,tty,detach,init,read-only,publish-all,no-deps,quiet,stdin,service-ports";

struct inside {
	unsigned flags;
	struct word *entry; /* --entrypoint */
	size_t from; /* first word after the options */
};

static void read_run_options(struct call *k, struct inside *in)
{
	enum { VOLUME, MOUNT, PRIVILEGED, NAMESPACE, CAPABILITY, ENTRY };
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, run_spec);
	*in = (struct inside){ .flags = FXF_INSIDE_CONTAINER, .from = k->rest_count };
	for (int item; (item = args_next(&s)) != ARG_END;) {
		bool has_value = s.value.text != NULL;
		if ((item == VOLUME && has_value && volume_is_host(k, &s.value)) ||
			(item == MOUNT && has_value && mount_is_host(k, &s.value))) {
			in->flags |= FXF_HOST_MOUNT;
			fx(k, TAG_CONTAINER_HOST_MOUNT, &s.value, 0);
		} else if (item == PRIVILEGED ||
			(item == NAMESPACE && has_value && word_is(&s.value, "host")) ||
			(item == CAPABILITY && has_value && !word_has(&s.value, "no-new-privileges"))) {
			fx(k, TAG_CONTAINER_PRIVILEGED, s.word, 0);
		} else if (item == ENTRY && has_value) {
			in->entry = arena_alloc(walk_arena(k->w), sizeof(*in->entry));
			*in->entry = s.value;
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			in->from = (size_t)(s.word - k->rest);
			return;
		}
	}
}

/* [options] IMAGE|CONTAINER|SERVICE [command...] */
static void run_inside(struct call *k, enum tag t)
{
	struct inside in;
	read_run_options(k, &in);
	fx(k, t, in.from < k->rest_count ? &k->rest[in.from] : NULL, in.flags & FXF_HOST_MOUNT);
	size_t n = in.from + 1 < k->rest_count ? k->rest_count - in.from - 1 : 0;
	struct word *v = arena_alloc(walk_arena(k->w), (n + 1) * sizeof(*v));
	size_t have = 0;
	if (in.entry)
		v[have++] = *in.entry;
	for (size_t i = 0; i < n; i++)
		if (i || !word_is(&k->rest[in.from + 1], "--")) /* lxc exec name -- command */
			v[have++] = k->rest[in.from + 1 + i];
	/* Options, or names of files here, in front of the command are for the image's own program. */
	if (have && !word_starts(&v[0], "-") && !v[0].is_glob)
		run_argv(k, v, have, in.flags, k->head);
}

static void docker_run(struct call *k)
{
	run_inside(k, TAG_CONTAINER_RUN);
}

/* docker stop $(docker ps -q) is all of them, whatever they do */
static void docker_stop(struct call *k)
{
	bool all = false;
	for (size_t i = 0; i < k->rest_count; i++)
		all |= k->rest[i].certainty != CERTAIN && !k->rest[i].is_quoted && !k->rest[i].known_n;
	all |= args_find(k->rest, k->rest_count, "a all");
	fx(k, all ? TAG_CONTAINER_KILL : TAG_CONTAINER_STOP, k->rest_count ? &k->rest[0] : NULL, 0);
}

static void docker_exec(struct call *k)
{
	run_inside(k, TAG_CONTAINER_EXEC);
}

static void docker_cp(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "aLq", &p);
	for (size_t i = 0; i < p.operand_count; i++)
		if (!strchr(p.operands[i].text, ':') && i == 0)
			fx_read(k, &p.operands[i], 1);
		else if (!strchr(p.operands[i].text, ':') && !word_is(&p.operands[i], "-"))
			(void)fx_path(k, TAG_WRITE_FILE, &p.operands[i], FXF_OVERWRITE);
	fx(k, TAG_CONTAINER_EXEC, NULL, 0);
}

/* vagrant ssh -c text, multipass exec name -- command */
static void machine_ssh(struct call *k)
{
	fx(k, TAG_CONTAINER_EXEC, NULL, 0);
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-c --command")) {
			run_text(k, &k->rest[i + 1], FXF_INSIDE_CONTAINER, k->head);
		} else if (word_is(&k->rest[i], "--")) {
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, FXF_INSIDE_CONTAINER, k->head);
			return;
		}
}

static void docker_compose(struct call *k)
{
	k->program = program_find("docker-compose", 14);
	run_verbs(k);
}

#define ROW(words, needs, forbids, tag) \
	{ \
		words, needs, forbids, tag, 0, NULL \
	}
#define FORCED(words, needs, tag) \
	{ \
		words, needs, NULL, tag, FXF_FORCE, NULL \
	}
#define CALL(words, run) \
	{ \
		words, NULL, NULL, TAG_READ_QUERY, 0, run \
	}
#define END \
	{ \
		NULL, NULL, NULL, 0, 0, NULL \
	}

static const struct verb compose_verbs[] = {
	ROW("down", "v volumes rmi", NULL, TAG_CONTAINER_VOLUME_REMOVE),
	ROW("down|stop|restart|pause|unpause", NULL, NULL, TAG_CONTAINER_STOP),
	FORCED("rm", "f force v s", TAG_CONTAINER_REMOVE),
	ROW("rm", NULL, NULL, TAG_CONTAINER_REMOVE),
	ROW("kill", NULL, NULL, TAG_CONTAINER_KILL),
	ROW("ps|logs|config|images|top|port|version|ls|events|convert|help|stats|wait|volumes", NULL, NULL,
		TAG_CONTAINER_READ),
	CALL("run", docker_run),
	CALL("exec", docker_exec),
	CALL("cp", docker_cp),
	ROW("build|pull|create", NULL, NULL, TAG_CONTAINER_BUILD),
	ROW("push", NULL, NULL, TAG_PUBLISH_IMAGE),
	ROW("up|start|watch|scale|attach", NULL, NULL, TAG_CONTAINER_UP),
	END,
};

static const struct verb docker_verbs[] = {
	ROW("images|i|content|snapshots rm|remove|delete|del|kill", NULL, NULL, TAG_CONTAINER_IMAGE_REMOVE),
	CALL("run|create", docker_run),
	CALL("container run|create", docker_run),
	CALL("exec", docker_exec),
	CALL("container exec", docker_exec),
	CALL("compose", docker_compose),
	CALL("cp", docker_cp),
	CALL("container cp", docker_cp),
	ROW("ps|images|logs|inspect|version|info|top|stats|port|diff|history|events|search|wait|help|ls",
		NULL, NULL, TAG_CONTAINER_READ),
	ROW("container|image|volume|network|system|builder|buildx|context|manifest|plugin|secret|config|"
	    "service|stack|node|swarm|scout|sbom|pod|machine "
	    "ls|list|inspect|df|ps|logs|info|events|du|show|top|stats|history|port|diff|exists|imagetools|"
	    "services",
		NULL, NULL, TAG_CONTAINER_READ),
	ROW("scout|sbom", NULL, NULL, TAG_CONTAINER_READ),
	FORCED("rm", "f force v volumes a all", TAG_CONTAINER_REMOVE),
	ROW("rm|remove", NULL, NULL, TAG_CONTAINER_REMOVE),
	FORCED("container|pod rm|remove", "f force v volumes", TAG_CONTAINER_REMOVE),
	ROW("container|pod rm|remove", NULL, NULL, TAG_CONTAINER_REMOVE),
	ROW("rmi", NULL, NULL, TAG_CONTAINER_IMAGE_REMOVE),
	ROW("image rm|remove|rmi", NULL, NULL, TAG_CONTAINER_IMAGE_REMOVE),
	ROW("volume rm|remove|prune", NULL, NULL, TAG_CONTAINER_VOLUME_REMOVE),
	ROW("* prune", NULL, NULL, TAG_CONTAINER_PRUNE),
	ROW("system reset|renumber", NULL, NULL, TAG_CONTAINER_PRUNE),
	ROW("kill", NULL, NULL, TAG_CONTAINER_KILL),
	ROW("container|pod kill", NULL, NULL, TAG_CONTAINER_KILL),
	CALL("stop|restart|pause", docker_stop),
	ROW("unpause", NULL, NULL, TAG_CONTAINER_STOP),
	ROW("container|pod stop|restart|pause|unpause", NULL, NULL, TAG_CONTAINER_STOP),
	ROW("build", "push", NULL, TAG_PUBLISH_IMAGE),
	ROW("buildx|image build|bake", "push", NULL, TAG_PUBLISH_IMAGE),
	ROW("rmp|stopp", NULL, NULL, TAG_CONTAINER_REMOVE),
	ROW("build|commit|tag|save|export|load|import|pull|create|bake", NULL, NULL, TAG_CONTAINER_BUILD),
	ROW("container|image|buildx|builder|volume|network|manifest|pod "
	    "build|commit|tag|save|export|load|import|pull|create|bake|use|annotate",
		NULL, NULL, TAG_CONTAINER_BUILD),
	ROW("push", NULL, NULL, TAG_PUBLISH_IMAGE),
	ROW("image|manifest|plugin push", NULL, NULL, TAG_PUBLISH_IMAGE),
	ROW("start|attach", NULL, NULL, TAG_CONTAINER_UP),
	ROW("container|pod start|attach", NULL, NULL, TAG_CONTAINER_UP),
	ROW("login|logout", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("context use|show", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("network connect|disconnect", NULL, NULL, TAG_CONTAINER_UP),
	END,
};

static const struct verb lxc_verbs[] = {
	CALL("exec", docker_exec),
	ROW("delete|rm|destroy|delsnapshot|rollback", NULL, NULL, TAG_CONTAINER_REMOVE),
	ROW("list|ls|info|version", NULL, NULL, TAG_CONTAINER_READ),
	ROW("stop|restart", "force f", NULL, TAG_CONTAINER_KILL),
	ROW("stop|start|restart|pause", NULL, NULL, TAG_CONTAINER_STOP),
	ROW("* delete|rm|remove|destroy", NULL, NULL, TAG_CONTAINER_REMOVE),
	END,
};

static const struct verb machine_verbs[] = {
	ROW("destroy|delete|rm|remove|purge|undefine|unregistervm|snapshot-delete|vol-delete|vol-wipe|pool-"
	    "destroy",
		NULL, NULL, TAG_CONTAINER_REMOVE),
	ROW("box|snapshot|cluster|registry|node|global-status|image delete|remove|rm|prune|stop|purge", NULL,
		NULL, TAG_CONTAINER_REMOVE),
	ROW("controlvm", NULL, NULL, TAG_CONTAINER_KILL),
	ROW("status|list|ls|info|version|ssh-config|global-status|ip|logs|dominfo|showvminfo|profile|get|"
	    "nodes",
		NULL, NULL, TAG_CONTAINER_READ),
	ROW("stop|halt|suspend|pause|shutdown|reboot", NULL, NULL, TAG_CONTAINER_STOP),
	CALL("ssh|shell|exec", machine_ssh),
	ROW("up|start|create|launch|provision|reload|resume|init|box|cluster|load|kubectl|addons|tunnel|"
	    "dashboard|service|docker-env",
		NULL, NULL, TAG_CONTAINER_UP),
	END,
};

#define GLOBAL "Hcl=:host=,context=,config=,log-level=,connection=,url=,root=,namespace=,address="
#define COMPOSE "fp=:file=,project-name=,profile=,env-file=,project-directory=,progress=,ansi="
static const struct program rows[] = {
	{ "colima", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "crictl", NULL, TAG_CONTAINER_READ, "rc=", docker_verbs, 0, 0 },
	{ "ctr", NULL, TAG_CONTAINER_CHANGE, "na=", docker_verbs, 0, 0 },
	{ "docker", NULL, TAG_CONTAINER_CHANGE, GLOBAL, docker_verbs, 0, 0 },
	{ "docker-compose", NULL, TAG_CONTAINER_CHANGE, COMPOSE, compose_verbs, 0, 0 },
	{ "k3d", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "kind", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "limactl", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "lxc", NULL, TAG_CONTAINER_CHANGE, "", lxc_verbs, 0, 0 },
	{ "minikube", NULL, TAG_CONTAINER_UP, "p=", machine_verbs, 0, 0 },
	{ "multipass", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "nerdctl", NULL, TAG_CONTAINER_CHANGE, GLOBAL, docker_verbs, 0, 0 },
	{ "pct", NULL, TAG_CONTAINER_CHANGE, "", lxc_verbs, 0, 0 },
	{ "podman", NULL, TAG_CONTAINER_CHANGE, GLOBAL, docker_verbs, 0, 0 },
	{ "podman-compose", NULL, TAG_CONTAINER_CHANGE, COMPOSE, compose_verbs, 0, 0 },
	{ "qm", NULL, TAG_CONTAINER_CHANGE, "", lxc_verbs, 0, 0 },
	{ "vagrant", NULL, TAG_CONTAINER_UP, "", machine_verbs, 0, 0 },
	{ "vboxmanage", NULL, TAG_CONTAINER_CHANGE, "", machine_verbs, 0, 0 },
	{ "virsh", NULL, TAG_CONTAINER_CHANGE, "c=", machine_verbs, 0, 0 },
};
const struct program_table programs_containers = { rows, ARRAY_SIZE(rows) };
