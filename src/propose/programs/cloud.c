/* cloud.c — control planes: kubernetes, infrastructure tools, cloud and hosting command lines.
 *
 * These interfaces are built alike: nouns, then a verb, then names. Tools with traps have their own rows
 * or handlers; the rest is judged by the first word that is a verb we know. The lists of verbs are the
 * knowledge here. A word may be both a noun and a verb ("run", "auth", "config"); such words are skipped
 * or taken by the words behind them. */
#include "propose/programs/programs.h"

#include <string.h>

/* Verbs after which something is gone or no longer serves. */
static const char destroying[] = "delete destroy terminate remove rm rb purge drop drain cordon uninstall "
				 "deregister revoke disable detach deallocate reset suspend "
				 "abandon teardown unset undeploy evict wipe erase decommission unpublish "
				 "cancel deprovision disassociate release empty flush clear kill leave "
				 "unlink unregister force-delete";
/* Verbs that change something that can be changed back. */
static const char changing[] = "create update set add apply deploy put modify run start stop restart scale "
			       "patch edit enable attach upload import restore rollback "
			       "promote replace resize reboot publish push associate authorize register "
			       "write send invoke execute move rename copy migrate upgrade "
			       "install link transfer tag untag assign grant sync up down merge close lock "
			       "unlock failover rotate generate provision build submit "
			       "resume clone new init cp mv mb make launch reload taint label annotate "
			       "expose autoscale approve batch on off";
/* Verbs that print a credential, although their first part only says "get" or "print". */
static const char secrets[] = "get-secret-value print-access-token print-identity-token get-session-token "
			      "get-login-password get-access-token "
			      "get-credential-report get-password-data show-connection-string";

/* The first word that is no option, and its place. */
static const struct word *first_operand(struct call *k, size_t *ret)
{
	size_t places[1];
	if (!verb_words(k, program_options(k->program), 1, places))
		return NULL;
	*ret = places[0];
	return &k->rest[places[0]];
}

/* Judges by the first word that is a verb. Nouns in front are skipped, and names behind it do not count:
 * the word behind `describe` may be called "delete". */
HANDLER(by_verb)
{
	size_t places[6];
	size_t n = verb_words(k, program_options(k->program), ARRAY_SIZE(places), places);
	unsigned flags = call_surely(k, "dry-run dryrun what-if whatif") ? FXF_DRY_RUN : 0;
	/* Whether a noun for secrets was seen, and whether a word was seen that may be a noun or a
	 * reading verb. */
	bool is_secret = false, reads = false;
	for (size_t i = 0; i < n; i++) {
		const struct word *x = &k->rest[places[i]];
		if (word_is_any(x, "start-query start-query-execution update-kubeconfig")) {
			/* a question, answered later; settings of this user */
			fx(k, x->text[0] == 's' ? TAG_CLOUD_READ : TAG_WRITE_CONFIG, x, 0);
			return;
		}
		if (x->certainty != CERTAIN) {
			fx(k, TAG_DYNAMIC_OPTION, x, 0);
			return;
		}
		if (verb_logs_in(k, places, i)) {
			fx(k, TAG_ACCOUNT_LOGIN, NULL, 0);
			return;
		}
		enum tag t = list_has(secrets, x->text, x->text_n)			? TAG_SECRET_STORE
			: verb_in(destroying, x->text, x->text_n)			? TAG_CLOUD_DELETE
			: verb_is_reading(x->text, x->text_n)				? TAG_CLOUD_READ
			: word_is_any(x, "ssh exec console shell run-command ssh-into") ? TAG_CLOUD_EXEC
			: verb_in(changing, x->text, x->text_n)				? TAG_CLOUD_CHANGE
											: TAG_COUNT;
		/* gcloud run services list, gcloud deploy releases list: the first word is the name of a
		 * product and no verb. */
		if (t == TAG_CLOUD_CHANGE && !i && n > 2 && word_is_any(x, "run deploy build"))
			continue;
		/* "auth list", "config set": the noun is harmless, the verb decides, but both can be read as verbs. */
		if (t == TAG_CLOUD_READ && i + 1 < n &&
			(list_has("auth config history log logs test env", x->text, x->text_n) ||
				verb_in("log event history test env", x->text, x->text_n))) {
			reads = true;
			continue;
		}
		if (text_eq(k->head, "infisical") && word_is_any(x, "export secrets"))
			is_secret = true;
		/* keyvault secret show, secrets versions access: reading a secret is not reading a list. */
		is_secret |= word_is_any(x, "secret secrets");
		if (is_secret &&
			(verb_in("show access get download read", x->text, x->text_n) ||
				(i + 1 == n && t == TAG_COUNT)))
			t = TAG_SECRET_STORE;
		if (t == TAG_COUNT)
			continue;
		if (t == TAG_CLOUD_CHANGE && i &&
			word_is_any(&k->rest[places[0]], "config configure auth login logout"))
			t = TAG_WRITE_CONFIG;
		fx(k, t, x, flags);
		return;
	}
	if (n &&
		word_is_any(&k->rest[places[0]],
			"login logout configure config auth init completion autocomplete sso"))
		fx(k, TAG_WRITE_CONFIG, NULL, 0);
	else
		fx(k, n > 1 && !reads ? k->program->tag : TAG_CLOUD_READ, n ? &k->rest[places[n - 1]] : NULL,
			flags);
}

/* The operand lies in the cloud. */
static bool is_bucket(const struct word *x)
{
	return word_starts_caseless(x, "s3://") || word_starts_caseless(x, "gs://") ||
		word_starts_caseless(x, "https://");
}

/* aws s3, gsutil: files and buckets. The direction of a copy decides between upload and download. */
HANDLER(bucket)
{
	size_t at = 0;
	const struct word *verb = first_operand(k, &at);
	unsigned flags = call_surely(k, "dryrun n") ? FXF_DRY_RUN : 0;
	if (!verb) {
		fx(k, TAG_CLOUD_READ, NULL, 0);
		return;
	}
	struct parsed p;
	args_parse(
		walk_arena(k->w), k->rest + at + 1, k->rest_count - at - 1, program_options(k->program), &p);
	const struct word *to = p.operand_count ? &p.operands[p.operand_count - 1] : NULL;
	bool deletes = word_is_any(verb, "rm rb") ||
		(word_is_any(verb, "sync rsync") && args_find(k->rest, k->rest_count, "delete d"));
	if (verb->certainty != CERTAIN) {
		fx(k, TAG_DYNAMIC_OPTION, verb, 0);
	} else if (deletes) {
		fx(k, TAG_CLOUD_DELETE, to,
			flags | (args_find(k->rest, k->rest_count, "recursive r R") ? FXF_RECURSIVE : 0));
	} else if (word_is_any(verb, "cp mv sync rsync")) {
		if (word_is(verb, "mv"))
			fx(k, TAG_CLOUD_DELETE, p.operand_count ? &p.operands[0] : NULL, flags);
		if (to && is_bucket(to)) {
			for (size_t i = 0; i + 1 < p.operand_count; i++)
				if (!is_bucket(&p.operands[i]))
					fx_read(k, &p.operands[i], 1);
			fx(k, TAG_CLOUD_UPLOAD, to, flags);
		} else if (to) {
			(void)fx_path(k, TAG_WRITE_DOWNLOAD, to, FXF_OVERWRITE);
		}
	} else if (word_is_any(verb, "ls presign cat du stat hash version help")) {
		fx(k, TAG_CLOUD_READ, to, 0);
	} else {
		fx(k, TAG_CLOUD_CHANGE, to, flags);
	}
}

/* Subcommands with traps first (s3, ssm, configure); all others are judged by their verb. */
HANDLER(aws)
{
	size_t places[2];
	size_t n = verb_words(k, program_options(k->program), 2, places);
	if (n && word_is(&k->rest[places[0]], "s3")) {
		struct call inner = *k;
		inner.rest += places[0] + 1;
		inner.rest_count -= places[0] + 1;
		handle_bucket(&inner);
	} else if (n > 1 && word_is(&k->rest[places[0]], "ssm") &&
		word_is_any(&k->rest[places[1]], "send-command start-session")) {
		fx(k, TAG_CLOUD_EXEC, &k->rest[places[1]], 0);
	} else if (n > 1 && word_is(&k->rest[places[0]], "ssm") &&
		args_find(k->rest, k->rest_count, "with-decryption")) {
		fx(k, TAG_SECRET_STORE, &k->rest[places[1]], 0);
	} else if (n > 1 && word_is(&k->rest[places[0]], "configure") &&
		word_is_any(&k->rest[places[1]], "get export-credentials")) {
		fx(k, TAG_SECRET_STORE, &k->rest[places[1]], 0);
	} else {
		handle_by_verb(k);
	}
}

/* atmos terraform deploy vpc: the words of another tool, which is then judged as itself. */
HANDLER(atmos)
{
	size_t places[2];
	size_t n = verb_words(k, program_options(k->program), 2, places);
	struct word *v = n ? &k->rest[places[0]] : NULL;
	if (n && word_is_any(v, "terraform tf tofu opentofu helmfile hf")) {
		bool is_helm = word_is_any(v, "helmfile hf");
		if (n > 1 && word_is_any(&k->rest[places[1]], "deploy clean"))
			fx(k, TAG_CLOUD_CHANGE, &k->rest[places[1]], 0);
		v[0] = walk_word(k->w, is_helm ? "helmfile" : "terraform", v[0].at);
		run_argv(k, v, k->rest_count - places[0], 0, k->head);
	} else {
		fx(k, TAG_CLOUD_READ, NULL, 0);
	}
}

/* bq query takes SQL. */
HANDLER(bq)
{
	size_t places[2];
	size_t n = verb_words(k, program_options(k->program), 2, places);
	if (n > 1 && word_is(&k->rest[places[0]], "query"))
		classify_sql(k, &k->rest[places[1]]);
	handle_by_verb(k);
}

/* terraform output -raw db_password: one value, in the open; all of them are shown without those that are marked. */
HANDLER(terraform_output)
{
	bool is_secret = false;
	for (size_t i = 0; i < k->rest_count; i++)
		is_secret |= !word_starts(&k->rest[i], "-") && says_credential(&k->rest[i]);
	fx(k, is_secret ? TAG_SECRET_STORE : TAG_CLOUD_READ, NULL, 0);
}

/* What is typed there can read files: file("path"). */
HANDLER(terraform_console)
{
	if (k->c->in.kind == FEED_KNOWN)
		classify_code_bytes(k, "terraform", k->c->in.text, k->c->in.n);
	fx(k, TAG_CLOUD_READ, NULL, 0);
}

/* kubectl exec POD -- command: the command runs elsewhere. */
HANDLER(kubectl_exec)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "c=n=:container=,namespace= itq:stdin,tty,quiet",
		&p);
	fx(k, TAG_CLOUD_EXEC, p.operand_count ? &p.operands[0] : NULL, 0);
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_is(&k->rest[i], "--")) {
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1,
				FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER, "kubectl exec");
			return;
		}
}

/* Is one of the words between commas, or what stands before a slash, in the list? */
static bool list_has_part(const char *text, const char *list)
{
	while (*text) {
		size_t n = strcspn(text, ",/");
		if (list_has(list, text, n))
			return true;
		if (text[n] == '/')
			n += strcspn(text + n, ",");
		text += n + (text[n] != 0);
	}
	return false;
}

/* Listing secrets by name is harmless; printing them in full (-o) is not. */
HANDLER(kubectl_get)
{
	bool is_secret = false;
	for (size_t i = 0; i < k->rest_count; i++)
		is_secret |= !word_starts(&k->rest[i], "-") &&
			list_has_part(k->rest[i].text, "secret secrets"); /* secret/x, configmap,secret */
	bool prints = args_find(k->rest, k->rest_count, "o output");
	fx(k, is_secret && prints ? TAG_SECRET_STORE : TAG_REMOTE_READ, k->rest_count ? &k->rest[0] : NULL,
		0);
}

/* To zero is as good as a deletion. */
HANDLER(kubectl_scale)
{
	bool to_zero = false;
	for (size_t i = 0; i < k->rest_count; i++)
		to_zero |= word_is(&k->rest[i], "--replicas=0") ||
			(word_is(&k->rest[i], "--replicas") && i + 1 < k->rest_count &&
				word_is(&k->rest[i + 1], "0"));
	fx(k, to_zero ? TAG_CLOUD_DELETE : TAG_CLOUD_CHANGE, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* -R, --repo, --hostname, -h: where in this word the value begins; its length when the next word is the value, 0 for others. */
static size_t forge_option(const struct word *x)
{
	static const char *const names[] = { "--repo", "--hostname", "-h" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);
		if (word_is(x, names[i]) || (word_starts(x, names[i]) && n > 2 && x->text[n] == '='))
			return x->text[n] ? n + 1 : n;
	}
	size_t at = x->text[0] == '-' ? 1 + strspn(x->text + 1, "cw") : 0;
	if (!at || x->text[at++] != 'R')
		return 0;
	return at + (x->text[at] == '=');
}

/* HOST/OWNER/REPO, user@HOST:path, an address, or HOST alone.  NULL: OWNER/REPO or a number, of the usual host; for glab GROUP/SUB/REPO
 * as well, unless it has a dot.  is_name: by its place it is the name of a host or a repository. */
static const char *forge_said(struct call *k, const char *said, bool is_name)
{
	bool is_glab = text_eq(k->head, "glab");
	const char *host = strstr(said, "://"), *slash = strchr(said, '/'), *at = strchr(said, '@');
	size_t n;
	if (host && strcspn(said, " :") == (size_t)(host - said)) {
		host += 3;
		n = strcspn(host, "/");
	} else if (at && at[strcspn(at, ":/ ")] == ':') {
		host = at + 1;
		n = strcspn(host, ":");
		said = arena_strndup(walk_arena(k->w), host, n);
	} else if (is_name && (!slash || strchr(slash + 1, '/'))) {
		host = said;
		n = strcspn(host, "/");
		if (is_glab && slash && !memchr(host, '.', n))
			return NULL;
	} else {
		return NULL;
	}
	const char *usual = is_glab ? "gitlab.com" : "github.com";
	return n == strlen(usual) && strncasecmp(host, usual, n) == 0 ? NULL : said;
}

/* The host that gh or glab asks: the forge's own, or the one that is said by an option or an operand. */
static struct word forge_of(struct call *k)
{
	const struct word *verb = NULL;
	const char *host = text_eq(k->head, "glab") ? "gitlab.com" : "api.github.com";
	for (size_t i = 1; i < k->c->argc; i++) {
		struct word x = k->c->argv[i];
		size_t from = forge_option(&x);
		bool is_option = from > 0;
		if (is_option && from == x.text_n && x.certainty == CERTAIN && ++i < k->c->argc)
			x = k->c->argv[i];
		else if (is_option)
			x = word_tail(&x, from);
		else if (word_starts(&x, "-"))
			continue;
		else if (!verb) {
			verb = &k->c->argv[i];
			continue;
		}
		/* What is searched for, and paths of the interface, name no host. */
		if ((!is_option && word_is_any(verb, "api search")) || (x.certainty == CERTAIN && !x.text_n))
			continue;
		const char *said =
			forge_said(k, x.text, is_option || (word_is(verb, "repo") && strchr(x.text, '/')));
		if (x.certainty != CERTAIN && (is_option || said))
			return x;
		if (said)
			host = said;
	}
	return walk_word(k->w, host, k->c->at);
}

/* gh pr view, gh run list: the forge is asked, and nothing is changed there. */
HANDLER(gh_read)
{
	struct word host = forge_of(k);
	fx(k, TAG_NETWORK_GET, &host, 0);
}

/* graphql takes its question as a field; a mutation, or a text that nobody knows, may change something. */
static bool only_queries(const struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_has(&k->rest[i], "mutation") || word_has(&k->rest[i], "=@") ||
			word_starts(&k->rest[i], "--input") ||
			(word_has(&k->rest[i], "query=") && k->rest[i].certainty != CERTAIN))
			return false;
	return true;
}

/* Any request to the service; the method decides, and fields make it a POST. */
HANDLER(gh_api)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"X=:method= fF=:field=,raw-field=,input= Hqtp=:header=,jq=,template=,hostname=,cache=", &p);
	const struct word *url = p.operand_count ? &p.operands[0] : NULL;
	if (p.values[0] && word_is(p.values[0], "DELETE"))
		fx(k, TAG_CLOUD_DELETE, url, 0);
	else if (p.values[0] ? !word_is_any(p.values[0], "GET HEAD")
			     : args_has(&p, 1) && !(url && word_is(url, "graphql") && only_queries(k)))
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING);
	else if (url && word_has(url, "://"))
		fx(k, TAG_NETWORK_GET, url, 0);
	else
		handle_gh_read(k);
}

/* gh alias set name '!text': a shell runs the text when the name is used. */
HANDLER(gh_alias)
{
	bool is_shell = args_find(k->rest, k->rest_count, "s shell");
	for (size_t i = 0; i < k->rest_count; i++) {
		struct word text = k->rest[i];
		if (word_starts(&text, "!"))
			text = word_tail(&text, 1);
		else if (!is_shell || i + 1 < k->rest_count)
			continue;
		run_text(k, &text, 0, "gh alias");
	}
	fx(k, TAG_WRITE_CONFIG, NULL, 0);
}

/* vercel alone deploys. */
HANDLER(hosting)
{
	size_t place;
	if (!verb_words(k, program_options(k->program), 1, &place))
		fx(k, text_eq(k->head, "vercel") ? TAG_PUBLISH_DEPLOY : TAG_CLOUD_READ, NULL, 0);
	else if (!run_rows(k))
		handle_by_verb(k);
}
