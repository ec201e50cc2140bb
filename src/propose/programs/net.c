/* net.c — programs that talk to other machines: what is fetched, what is sent, who may connect.
 *
 * Three things are followed. What is fetched is marked FEED_FETCHED, in a pipe and as a written file, so
 * that running it is seen. What is sent is an upload or a change, and files that are sent are read.
 * FXF_ONE_HOST says that the target is the only host the call can reach; grants for a host rely on it,
 * so it is set only when no option could name another. */
#include "propose/programs/programs.h"

#include <string.h>
#include <strings.h>

/* Also for URLs: what stands behind the last slash. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* A fetched file: written, and remembered as fetched so that running it is seen. */
static void write_download(struct call *k, const struct word *path)
{
	struct effect *e = fx_path(k, TAG_WRITE_DOWNLOAD, path, FXF_OVERWRITE);
	if (e && e->target)
		note_written(k, e->target, (struct feed){ .kind = FEED_FETCHED });
}

/* For programs that take the file's name from the address. */
static void write_named_by_url(struct call *k, const struct word *url, const struct word *dir)
{
	const char *name = base_name(url->text);
	size_t n = strcspn(name, "?#");
	if (url->certainty != CERTAIN || !n) {
		fx(k, TAG_WRITE_DOWNLOAD, NULL, 0);
		return;
	}
	struct word file = walk_word(k->w, arena_strndup(walk_arena(k->w), name, n), url->at);
	file = word_join(walk_arena(k->w), dir, &file);
	write_download(k, &file);
}

/* Data that goes out: "@file" and "name=@file" name a file, anything else is itself the data. */
static void send_data(
	struct call *k, const struct word *data, const struct word *url, bool at_means_file, unsigned flags)
{
	const char *at = memchr(data->text, '@', data->text_n);
	bool is_form = at && at > data->text && at[-1] == '=';
	if (at_means_file && at && (at == data->text || is_form)) {
		struct word file = word_tail(data, (size_t)(at + 1 - data->text));
		if (!word_is(&file, "-"))
			fx_read(k, &file, 1);
		fx(k, TAG_NETWORK_UPLOAD, url, FXF_MUTATING | flags);
	} else {
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING | flags);
	}
}

/* The first items are those that curl's handler looks at; the others are there so that their values are
 * not taken for addresses. */
static const char curl_spec[] =
	"X=:request= d=:data=,data-ascii=,data-binary=,data-raw=,data-urlencode=,json=,url-query= "
	"F=:form=,form-string= T=:upload-file= "
	"o=:output= O:remote-name,remote-name-all G:get I:head :resolve=,connect-to=,doh-url= "
	"x=:proxy=,socks5=,socks4=,preproxy= "
	"K=:config= :url= :proto-default= Q=:quote= J:remote-header-name "
	"AbcCDeEHmPrtuUwyYz=:user-agent=,cookie=,cookie-jar=,continue-at=,dump-header=,referer=,cert=,"
	"header=,max-time=,ftp-port=,"
	"range=,telnet-option=,user=,proxy-user=,write-out=,speed-time=,speed-limit=,time-cond=,"
	"cacert=,capath=,cert-type=,"
	"ciphers=,connect-timeout=,key=,key-type=,limit-rate=,max-filesize=,max-redirs=,oauth2-bearer=,"
	"output-dir=,proto=,retry=,"
	"retry-delay=,retry-max-time=,interface=,aws-sigv4=,unix-socket=,stderr=,trace=,trace-ascii=,"
	"tls-max=,netrc-file= "
	"fsSLkvigNnlpaqRjBZ0123456#:location,silent,show-error,fail,insecure,include,verbose,compressed,"
	"globoff,create-dirs";

/* gopher://127.0.0.1:6379/_FLUSHALL: with these the address itself is what is said to the other side. */
static bool speaks_raw(const struct word *url)
{
	static const char *const schemes[] = { "gopher://", "gophers://", "dict://", "telnet://", "mqtt://",
		"smtp://", "smtps://", "imap://", "imaps://", "pop3://", "ldap://", "ldaps://", "tftp://" };
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (word_starts_caseless(url, schemes[i]))
			return true;
	/* curl makes several addresses of one: {gopher,http}://host */
	return word_starts(url, "{") && word_has(url, "}:");
}

static void judge_address(struct call *k, const struct word *url)
{
	if (word_starts_caseless(url, "file://")) {
		struct word file = word_tail(url, strlen("file://"));
		fx_read(k, &file, 1);
	} else if (speaks_raw(url)) {
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING);
	}
}

/* Read twice: once for the address and the method, which other options depend on, and once for options
 * that may repeat. */
HANDLER(curl)
{
	enum { X, DATA, FORM, UPLOAD, OUT, REMOTE, GET, HEAD, RESOLVE, PROXY, CONFIG, URL, SCHEME, QUOTE };
	struct parsed p;
	struct args s;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, curl_spec, &p);
	const struct word *url = p.operand_count ? &p.operands[0] : p.values[URL];
	const struct word *method = p.values[X];
	bool is_get = args_has(&p, GET) || (method && word_is_any(method, "GET HEAD OPTIONS get head"));
	/* More addresses, a proxy, other name resolution or a file of options could all lead elsewhere. */
	bool is_one = p.operand_count == 1 && !p.values[RESOLVE] && !p.values[PROXY] && !p.values[CONFIG] &&
		!args_find(k->rest, k->rest_count, "url next Z parallel unix-socket abstract-unix-socket");
	unsigned one = is_one ? FXF_ONE_HOST : 0;
	fx(k, TAG_NETWORK_GET, url, one);
	if (method && !is_get)
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING | one);
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, curl_spec);
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == UPLOAD && s.value.text) {
			fx_read(k, &s.value, 1);
			fx(k, TAG_NETWORK_UPLOAD, url, FXF_MUTATING | one);
		} else if ((item == DATA || item == FORM) && s.value.text && !args_has(&p, GET)) {
			send_data(k, &s.value, url, true, one);
		} else if (item == DATA && s.value.text) { /* of -G: it is put behind the address */
			fx_sent(k, &s.value, url);
		} else if (item == OUT && s.value.text && !word_is(&s.value, "-")) {
			write_download(k, &s.value);
		} else if (item == RESOLVE || item == PROXY) {
			fx(k, TAG_NETWORK_OVERRIDE, s.value.text ? &s.value : NULL, 0);
		} else if (item == CONFIG && s.value.text) {
			fx(k, TAG_DYNAMIC_OPTION, &s.value, 0);
		} else if ((item == SCHEME && !word_is_any(&s.value, "http https")) || item == QUOTE) {
			fx(k, TAG_NETWORK_MUTATE, url,
				FXF_MUTATING); /* what is said to the other side is not known */
		} else if (item == ARG_OPERAND || (item == URL && s.value.text)) {
			judge_address(k, &s.value);
		}
	}
	for (size_t i = 0; i < k->rest_count; i++)
		/* Talking to a container engine by hand is as good as running it. */
		if (word_has(&k->rest[i], "docker.sock") || word_has(&k->rest[i], "containerd.sock") ||
			word_has(&k->rest[i], "podman.sock"))
			fx(k, TAG_CONTAINER_PRIVILEGED, &k->rest[i], 0);
	if (args_has(&p, REMOTE) && url)
		write_named_by_url(k, url, NULL);
	k->c->out = (struct feed){ .kind = p.values[OUT] && !word_is(p.values[OUT], "-") ? FEED_EMPTY
											 : FEED_FETCHED };
}

/* An address is asked for, with all that it says; a file is shown, and a starter is started. */
HANDLER(opener)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		bool is_file = word_starts_caseless(x, "file://");
		struct word file = word_tail(x, is_file ? strlen("file://") : 0);
		if (word_has(x, "://") && !is_file)
			fx(k, TAG_NETWORK_GET, x, 0);
		else if (text_ends(file.text, ".desktop"))
			load_code(k, &file, "desktop");
		else if (!word_starts(x, "-"))
			fx_read(k, &file, 1);
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* Unlike curl it writes a file unless told otherwise. */
HANDLER(wget)
{
	enum { OUT, DIR, POST, POST_FILE, METHOD, SPIDER, INPUT };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"O=:output-document= P=:directory-prefix= :post-data=,body-data= :post-file=,body-file= "
		":method= "
		":spider i=:input-file= "
		"aoeTtwQUlARDIX=:use-askpass=,append-output=,output-file=,execute=,timeout=,tries=,wait=,quota=,user-"
		"agent=,"
		"level=,header=,user=,password=,accept=,reject=,referer=,ca-certificate=,limit-rate= "
		"qcNSrbpkmKEHLnv:quiet,continue,recursive,no-check-certificate,mirror",
		&p);
	const struct word *url = p.operand_count ? &p.operands[0] : NULL;
	fx(k, TAG_NETWORK_GET, url, 0);
	if (p.values[POST_FILE]) {
		fx_read(k, p.values[POST_FILE], 1);
		fx(k, TAG_NETWORK_UPLOAD, url, FXF_MUTATING);
	}
	if (p.values[POST] || (p.values[METHOD] && !word_is_any(p.values[METHOD], "GET HEAD")))
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING);
	k->c->out.kind = FEED_FETCHED;
	if (p.values[OUT] && word_is_any(p.values[OUT], "- /dev/stdout"))
		return;
	if (p.values[OUT])
		write_download(k, p.values[OUT]);
	else if (url && !args_has(&p, SPIDER))
		write_named_by_url(k, url, p.values[DIR]);
}

/* httpie and its kin: METHOD URL item...; items with = or @ are data, and data makes the request a POST. */
HANDLER(http)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"o=:output= a=A=:auth=,auth-type=,session=,timeout=,proxy=,verify=", &p);
	size_t i = p.operand_count > 1 &&
		strspn(p.operands[0].text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == p.operands[0].text_n;
	const struct word *url = p.operand_count > i ? &p.operands[i] : NULL;
	bool mutates = i && !word_is_any(&p.operands[0], "GET HEAD OPTIONS");
	fx(k, TAG_NETWORK_GET, url, 0);
	for (size_t j = i + 1; j < p.operand_count; j++) {
		const char *at = strchr(p.operands[j].text, '@');
		if (at) {
			struct word file = word_tail(&p.operands[j], (size_t)(at + 1 - p.operands[j].text));
			fx_read(k, &file, 1);
		}
		if (strstr(p.operands[j].text, "=="))
			fx_sent(k, &p.operands[j], url);
		mutates |=
			!i && (at || (strchr(p.operands[j].text, '=') && !strstr(p.operands[j].text, "==")));
	}
	if (mutates)
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING);
	if (p.values[0])
		write_download(k, p.values[0]);
	k->c->out.kind = FEED_FETCHED;
}

/* Programs that fetch one address into a file; item 0 of the options names the file. */
HANDLER(fetcher)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, program_options(k->program), &p);
	fx(k, TAG_NETWORK_GET, p.operand_count ? &p.operands[0] : NULL, 0);
	if (p.values[0])
		write_download(k, p.values[0]);
	else if (p.operand_count)
		write_named_by_url(k, &p.operands[0], NULL);
	k->c->out.kind = FEED_FETCHED;
}

/* Whether standard input is something that would be sent. */
static bool sends_something(const struct call *k)
{
	return k->c->in.kind != FEED_INHERIT && k->c->in.kind != FEED_EMPTY;
}

/* -e makes it a shell for the other side. */
HANDLER(nc)
{
	enum { EXEC, LISTEN, ZERO };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"ec=:exec=,sh-exec=,lua-exec= l:listen z "
		"pqwsXxiIOPTGg=:wait=,source=,proxy=,proxy-type=,idle-timeout=,delay=,max-conns= "
		"nvukdt46rCNDUb:udp,verbose,ssl,keep-open,broker,chat",
		&p);
	const struct word *host = p.operand_count ? &p.operands[0] : NULL;
	if (args_has(&p, EXEC))
		fx(k, TAG_REVERSE_SHELL, p.values[EXEC], 0);
	if (args_has(&p, LISTEN))
		fx(k, TAG_LISTEN_PORT, host, 0);
	else if (sends_something(k) && !args_has(&p, ZERO))
		fx(k, TAG_NETWORK_UPLOAD, host, FXF_MUTATING);
	else
		fx(k, TAG_NETWORK_CONNECT, host, 0);
	k->c->out.kind = FEED_SOCKET;
}

/* OPEN:path,append: an address of socat that is a file.  What is opened for reading only is read; -u reads the first and writes the second. */
static void socat_file(struct call *k, const struct word *x, bool is_read)
{
	static const char *const kinds[] = { "OPEN:", "FILE:", "GOPEN:", "CREATE:", "CREAT:" };
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = strlen(kinds[i]);
		if (x->known_n < n || strncasecmp(x->text, kinds[i], n) != 0)
			continue;
		struct word path = word_tail(x, n);
		if (path.certainty == CERTAIN)
			path = word_head(walk_arena(k->w), &path, strcspn(path.text, ","));
		fx_read(k, &path, 1);
		if (!is_read && !word_has(x, "rdonly"))
			(void)fx_path(k, TAG_WRITE_FILE, &path, FXF_APPEND);
	}
}

/* Two addresses are connected; a program at one end and the network at the other is a reverse shell. */
HANDLER(socat)
{
	bool is_net = false, execs = false, listens = false;
	const struct word *text = NULL;
	bool is_oneway = args_find(k->rest, k->rest_count, "u U"),
	     is_turned = args_find(k->rest, k->rest_count, "U");
	size_t addresses = 0;
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (!word_starts(x, "-") || word_is(x, "-"))
			socat_file(k, x, is_oneway && addresses++ == is_turned);
		execs |= strncasecmp(x->text, "EXEC:", 5) == 0 || strncasecmp(x->text, "SYSTEM:", 7) == 0 ||
			strncasecmp(x->text, "SHELL:", 6) == 0;
		text = execs && !text ? x : text;
		is_net |= strcasestr(x->text, "TCP") || strcasestr(x->text, "UDP") ||
			strcasestr(x->text, "OPENSSL") || strcasestr(x->text, "SOCKS");
		listens |= strcasestr(x->text, "LISTEN") != NULL;
	}
	if (execs && is_net) {
		fx(k, TAG_REVERSE_SHELL, text, 0);
	} else if (execs) {
		const char *colon = strchr(text->text, ':');
		struct word inner = word_tail(text, (size_t)(colon + 1 - text->text));
		run_text(k, &inner, 0, "socat");
	}
	fx(k, listens ? TAG_LISTEN_PORT : TAG_NETWORK_CONNECT, NULL, 0);
	k->c->out.kind = FEED_SOCKET;
}

/* Whatever is piped in is sent. */
HANDLER(telnet)
{
	fx(k, sends_something(k) ? TAG_NETWORK_UPLOAD : TAG_NETWORK_CONNECT,
		k->rest_count ? &k->rest[0] : NULL, sends_something(k) ? FXF_MUTATING : 0);
	k->c->out.kind = FEED_SOCKET;
}

/* -o ProxyCommand=text and its kin run here, not there. */
static void ssh_setting(struct call *k, const struct word *x)
{
	static const char *const keys[] = { "ProxyCommand", "LocalCommand", "KnownHostsCommand",
		"Match exec" };
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t n = strlen(keys[i]);
		if (strncasecmp(x->text, keys[i], n) == 0 && (x->text[n] == '=' || x->text[n] == ' ')) {
			struct word text = word_tail(x, n + 1);
			run_text(k, &text, 0, "ssh ProxyCommand");
		}
	}
}

/* Options may stand before and behind the host; the first operand behind it starts the command. The
 * command is judged as running on the other side. */
HANDLER(ssh)
{
	enum { TUNNEL, OPTION };
	struct args s;
	struct arena *a = walk_arena(k->w);
	const struct word *host = NULL;
	args_start(&s, a, k->rest, k->rest_count,
		"+LRDw= o= BbcEeFIiJlmOpQSWP=:ssh=,server=,port= 46AaCfGgKkMNnqsTtVvXxYy");
	size_t from = k->rest_count;
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == TUNNEL)
			fx(k, TAG_LISTEN_TUNNEL, s.value.text ? &s.value : NULL, 0);
		else if (item == OPTION && s.value.text)
			ssh_setting(k, &s.value);
		if ((item == ARG_OPERAND || item == ARG_DYNAMIC) && !host) {
			host = s.word;
			s.is_over = false; /* ssh host -t command */
			from = s.i;
		} else if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			from = s.i - 1;
			break;
		} else {
			from = s.i;
		}
	}
	/* Options and configuration files can lead through or to other hosts. */
	unsigned one = args_find(k->rest, from, "o J F W S") ? 0 : FXF_ONE_HOST;
	fx(k, TAG_NETWORK_CONNECT, host, one);
	fx(k, TAG_REMOTE_SHELL, host, FXF_MUTATING | one);
	if (from < k->rest_count) {
		struct word text = words_join(a, k->rest + from, k->rest_count - from);
		run_text(k, &text, FXF_REMOTE_SIDE, arena_printf(a, "ssh %s", host ? host->text : ""));
	}
}

/* host:path or a URL. */
static bool is_remote(const struct word *x)
{
	const char *colon = memchr(x->text, ':', x->text_n);
	const char *slash = memchr(x->text, '/', x->text_n);
	return colon && colon > x->text && (!slash || colon < slash || strstr(x->text, "://"));
}

/* A local operand in front is sent, and a local last one is written as a download; -S and ProxyCommand
 * run programs here. */
HANDLER(scp)
{
	enum { PROGRAM, OPTION };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "SD= o= cFiJlPX= 346ABCpqRrTv", &p);
	if (p.values[PROGRAM])
		run_text(k, p.values[PROGRAM], 0, "scp -S");
	if (p.values[OPTION])
		ssh_setting(k, p.values[OPTION]);
	bool to_remote = p.operand_count && is_remote(&p.operands[p.operand_count - 1]);
	for (size_t i = 0; i < p.operand_count; i++) {
		const struct word *x = &p.operands[i];
		if (is_remote(x)) {
			fx(k, TAG_NETWORK_CONNECT, x, 0);
			fx(k, TAG_REMOTE_COPY, x, i + 1 == p.operand_count ? FXF_MUTATING : 0);
		} else if (i + 1 < p.operand_count || to_remote) {
			fx_read_tree(k, x, 1);
		} else {
			write_download(k, x);
		}
	}
	if (!p.operand_count)
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* sftp, ftp, lftp: a session in which files are changed on the other side. */
HANDLER(remote_client)
{
	fx(k, TAG_NETWORK_CONNECT, k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
	fx(k, k->program->tag, k->rest_count ? &k->rest[k->rest_count - 1] : NULL, FXF_MUTATING);
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-e -c") && text_eq(k->head, "lftp")) {
			const char *bang = strchr(k->rest[i + 1].text, '!');
			if (bang) {
				struct word text =
					word_tail(&k->rest[i + 1], (size_t)(bang + 1 - k->rest[i + 1].text));
				run_text(k, &text, 0, "lftp !");
			}
		}
}

/* Runs modules on hosts; with the shell modules the arguments are a command. */
HANDLER(ansible)
{
	enum { ARGS, MODULE_, CHECK, LIST };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"a=:args= m=:module-name= C:check :list-hosts,list-tasks,syntax-check,version "
		"i=e=f=u=l=t=:inventory=,extra-vars=,forks=,user=,"
		"limit=,tags=",
		&p);
	if (args_has(&p, LIST)) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (p.operand_count && word_is_any(&p.operands[0], "localhost 127.0.0.1") && p.values[MODULE_] &&
		word_is_any(p.values[MODULE_], "setup ping debug gather_facts stat")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	fx(k, TAG_NETWORK_CONNECT, p.operand_count ? &p.operands[0] : NULL, 0);
	fx(k, TAG_REMOTE_SHELL, p.operand_count ? &p.operands[0] : NULL,
		args_has(&p, CHECK) ? FXF_DRY_RUN : FXF_MUTATING);
	if (p.values[ARGS] &&
		(!p.values[MODULE_] ||
			word_is_any(p.values[MODULE_], "shell command raw script ansible.builtin.shell")))
		run_text(k, p.values[ARGS], FXF_REMOTE_SIDE, "ansible -a");
}

/* pdsh -w hosts text, mosh host -- cmd, rsh host text: the host is an option's value or the first
 * operand. */
HANDLER(rsh)
{
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+w=x=g=l=f=p=:ssh=,server=,predict=,port=,hosts=,user= ");
	bool has_host = args_find(k->rest, k->rest_count, "w g hosts");
	size_t from = k->rest_count;
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			if (has_host) {
				from = s.i - 1;
				break;
			}
			has_host = true;
			s.is_over = false;
		}
	fx(k, TAG_NETWORK_CONNECT, NULL, 0);
	fx(k, TAG_REMOTE_SHELL, NULL, FXF_MUTATING);
	if (from < k->rest_count) {
		struct word text = words_join(walk_arena(k->w), k->rest + from, k->rest_count - from);
		run_text(k, &text, FXF_REMOTE_SIDE, k->head);
	}
}

/* -l, -y and the like only show. */
HANDLER(ssh_keygen)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "f= R= lyFBLE t=b=C=N=P=s=", &p);
	if (args_has(&p, 2))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (p.values[0])
		(void)fx_path(k, TAG_WRITE_FILE, p.values[0], FXF_OVERWRITE);
	else
		fx(k, TAG_WRITE_TOOL, NULL, 0);
}

/* mise exec tool@1 -- cmd, direnv exec DIR cmd, rbenv exec cmd. */
static void run_launched(struct call *k)
{
	size_t from = text_eq(k->head, "direnv") ? 2 : 1;
	for (size_t i = 1; i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "--")) {
			from = i + 1;
			break;
		}
	if (from < k->rest_count)
		run_argv(k, k->rest + from, k->rest_count - from, 0, k->head);
}

/* Programs made to be evaluated: eval "$(ssh-agent -s)" is a habit, not a trick. Their output counts as
 * empty text. */
HANDLER(environment_printer)
{
	const struct word *verb = k->rest_count ? &k->rest[0] : NULL;
	if (verb && word_is_any(verb, "exec x") && k->rest_count > 1) {
		run_launched(k);
		return;
	}
	if (verb && text_eq(k->head, "mise") && word_is_any(verb, "run r watch w")) {
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
		return;
	}
	if (text_eq(k->head, "ssh-agent") && verb && !word_starts(verb, "-")) {
		run_argv(k, k->rest, k->rest_count, 0, k->head);
		return;
	}
	if (verb && !call_surely(k, "help dry-run") &&
		(verb_is_destroying(verb->text, verb->text_n) || word_is(verb, "install"))) {
		fx(k, word_is(verb, "install") ? TAG_PACKAGE_INSTALL : TAG_PACKAGE_REMOVE, verb, 0);
		return;
	}
	fx(k,
		args_find(k->rest, k->rest_count, "D d") && text_eq(k->head, "ssh-add") ? TAG_DELETE_KEY
											: TAG_READ_QUERY,
		NULL, 0);
	if (!text_eq(k->head, "ssh-add"))
		k->c->out = (struct feed){ .kind = FEED_KNOWN, .text = "", .n = 0 };
}

/* A window is local, unless it is sent to another display. */
HANDLER(xterm)
{
	bool far = args_find(k->rest, k->rest_count, "display");
	fx(k, far ? TAG_NETWORK_CONNECT : TAG_READ_QUERY, NULL, 0);
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "-e"))
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, "xterm -e");
}

/* socket -p 'sh -i' host port: a program at the other end of a connection. */
HANDLER(socket)
{
	bool serves = false;
	for (size_t i = 0; i < k->rest_count; i++)
		serves |= word_starts(&k->rest[i], "-") && strchr(k->rest[i].text, 'p');
	fx(k, serves ? TAG_REVERSE_SHELL : TAG_NETWORK_GET, NULL, 0);
}
