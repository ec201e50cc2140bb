/* containers.c — docker and its kin: what is removed, what a container may reach, and what runs in it.
 *
 * A command inside a container is analysed like any other, and each of its effects is marked as inside:
 * deleting /etc there is not deleting it here. That holds only while the walls stand. When the container
 * is given this machine's root, system directories, credentials or the engine's socket, the mark is
 * joined by "host mount", and the effects count as being here. Options that take walls away
 * (--privileged, host namespaces, capabilities) are effects of their own. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>

/* Whether sharing this path with a container gives the machine away: the root, the guard's state,
 * credentials, the container engine's own socket, or, when it is writable, the system. */
static bool is_host_path(struct call *k, const struct word *source, bool is_read_only)
{
	if (!word_starts(source, "/"))
		return false;
	/* Whoever can talk to the engine can start a container with any mount. */
	if (word_has(source, "docker.sock") || word_has(source, "containerd.sock") ||
		word_has(source, "podman.sock"))
		return true;
	size_t n = source->known_n;
	/* Paths are judged without a slash at the end. */
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

/* How a command inside a container runs. */
struct inside {
	unsigned flags;
	struct word *entry; /* --entrypoint */
	size_t from; /* first word after the options */
};

/* Reads the options up to the image or container. Each option that opens a wall is an effect of its own. */
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

/* podman build -v /:/host: what builds the image sees it. */
HANDLER(image_build)
{
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"v=:volume= ftocmu=:file=,tag=,output=,build-arg=,target=,platform=,secret=,ssh=,cache-from=,cache-to=,network=,label=,build-context=");
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == 0 && s.value.text && volume_is_host(k, &s.value))
			fx(k, TAG_CONTAINER_HOST_MOUNT, &s.value, 0);
	fx(k, TAG_CONTAINER_BUILD, NULL, 0);
}

HANDLER(docker_run)
{
	run_inside(k, TAG_CONTAINER_RUN);
}

/* docker stop $(docker ps -q) stops all of them, whatever they do. */
HANDLER(docker_stop)
{
	bool all = false;
	for (size_t i = 0; i < k->rest_count; i++)
		all |= k->rest[i].certainty != CERTAIN && !k->rest[i].is_quoted && !k->rest[i].known_n;
	all |= args_find(k->rest, k->rest_count, "a all");
	fx(k, all ? TAG_CONTAINER_KILL : TAG_CONTAINER_STOP, k->rest_count ? &k->rest[0] : NULL, 0);
}

HANDLER(docker_exec)
{
	run_inside(k, TAG_CONTAINER_EXEC);
}

/* A path with a colon lies in a container; any other one is here. */
HANDLER(docker_cp)
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

/* vagrant ssh -c text, multipass exec name -- command. */
HANDLER(machine_ssh)
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

/* compose config shows the settings with the values that .env, or the file that is named, gives them. */
HANDLER(compose_config)
{
	static const char *const plain[] = { ".env", ".env.local" };
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	if (args_find(k->rest, k->rest_count, "environment"))
		fx(k, TAG_SECRET_STORE, NULL, 0);
	else
		fx(k, TAG_CONTAINER_READ, NULL, 0);
	if (call_surely(k,
		    "q quiet services images volumes profiles networks hash no-interpolate variables models"))
		return;
	for (size_t i = 1; i < k->c->argc; i++) {
		const struct word *x = &k->c->argv[i];
		if (word_is(x, "--env-file") && i + 1 < k->c->argc)
			fx_read(k, x + 1, 1);
	}
	for (size_t i = 0; at->sys && cwd && i < ARRAY_SIZE(plain); i++) {
		struct word file = walk_word(k->w, path_join(walk_arena(k->w), cwd, plain[i]), k->c->at);
		if (file_exists(at->sys, AT_FDCWD, file.text))
			fx_read(k, &file, 1);
	}
}

/* "docker compose" has the verbs of docker-compose. */
HANDLER(docker_compose)
{
	k->program = program_find("docker-compose", 14);
	run_verbs(k);
}
