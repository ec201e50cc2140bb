/* cloud.c — control planes: kubernetes, infrastructure tools, cloud and hosting command lines.
 *
 * These interfaces are built alike: nouns, then a verb.  Tools with traps have their own rows; the rest is judged by the
 * first word that is a verb we know. */
#include "propose/programs/programs.h"

#include <string.h>

static const char destroying[] = "delete destroy terminate remove rm rb purge drop drain cordon uninstall "
				 "deregister revoke disable detach deallocate reset suspend "
				 "abandon teardown unset undeploy evict wipe erase decommission unpublish "
				 "cancel deprovision disassociate release empty flush clear kill leave "
				 "unlink unregister force-delete";
static const char changing[] = "create update set add apply deploy put modify run start stop restart scale "
			       "patch edit enable attach upload import restore rollback "
			       "promote replace resize reboot publish push associate authorize register "
			       "write send invoke execute move rename copy migrate upgrade "
			       "install link transfer tag untag assign grant sync up down merge close lock "
			       "unlock failover rotate generate provision build submit "
			       "resume clone new init cp mv mb make launch reload taint label annotate "
			       "expose autoscale approve batch on off";
static const char secrets[] = "get-secret-value print-access-token print-identity-token get-session-token "
			      "get-login-password get-access-token "
			      "get-credential-report get-password-data show-connection-string";

static const struct word *first_operand(struct call *k, size_t *ret)
{
	size_t places[1];
	if (!verb_words(k, k->program->spec, 1, places))
		return NULL;
	*ret = places[0];
	return &k->rest[places[0]];
}

/* By the first word that is a verb.  Nouns in front are skipped, names behind it do not count. */
static void classify_by_verb(struct call *k)
{
	size_t places[6];
	size_t n = verb_words(k, k->program->spec, ARRAY_SIZE(places), places);
	unsigned flags = args_find(k->rest, k->rest_count, "dry-run dryrun what-if whatif") ? FXF_DRY_RUN : 0;
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
		enum tag t = list_has(secrets, x->text, x->text_n)			? TAG_SECRET_STORE
			: verb_in(destroying, x->text, x->text_n)			? TAG_CLOUD_DELETE
			: verb_is_reading(x->text, x->text_n)				? TAG_CLOUD_READ
			: word_is_any(x, "ssh exec console shell run-command ssh-into") ? TAG_CLOUD_EXEC
			: verb_in(changing, x->text, x->text_n)				? TAG_CLOUD_CHANGE
											: TAG_COUNT;
		/* gcloud run services list, gcloud deploy releases list: a product's name */
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

static bool is_bucket(const struct word *x)
{
	return word_starts(x, "s3://") || word_starts(x, "gs://") || word_starts(x, "https://");
}

/* aws s3, gsutil: files and buckets. */
static void classify_bucket(struct call *k)
{
	size_t at = 0;
	const struct word *verb = first_operand(k, &at);
	unsigned flags = args_find(k->rest, k->rest_count, "dryrun n") ? FXF_DRY_RUN : 0;
	if (!verb) {
		fx(k, TAG_CLOUD_READ, NULL, 0);
		return;
	}
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest + at + 1, k->rest_count - at - 1, k->program->spec, &p);
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

static void classify_aws(struct call *k)
{
	size_t places[2];
	size_t n = verb_words(k, k->program->spec, 2, places);
	if (n && word_is(&k->rest[places[0]], "s3")) {
		struct call inner = *k;
		inner.rest += places[0] + 1;
		inner.rest_count -= places[0] + 1;
		classify_bucket(&inner);
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
		classify_by_verb(k);
	}
}

/* atmos terraform deploy vpc: the words of another tool, with a component in front. */
static void classify_atmos(struct call *k)
{
	size_t places[2];
	size_t n = verb_words(k, k->program->spec, 2, places);
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

static void classify_bq(struct call *k)
{
	size_t places[2];
	size_t n = verb_words(k, k->program->spec, 2, places);
	if (n > 1 && word_is(&k->rest[places[0]], "query"))
		classify_sql(k, &k->rest[places[1]]);
	classify_by_verb(k);
}

/* kubectl exec POD -- command */
static void kubectl_exec(struct call *k)
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

static void kubectl_get(struct call *k)
{
	bool is_secret = false;
	for (size_t i = 0; i < k->rest_count; i++)
		is_secret |=
			word_is_any(&k->rest[i], "secret secrets") || word_starts(&k->rest[i], "secret/");
	bool prints = args_find(k->rest, k->rest_count, "o output");
	fx(k, is_secret && prints ? TAG_SECRET_STORE : TAG_REMOTE_READ, k->rest_count ? &k->rest[0] : NULL,
		0);
}

static void kubectl_scale(struct call *k)
{
	bool to_zero = false;
	for (size_t i = 0; i < k->rest_count; i++)
		to_zero |= word_is(&k->rest[i], "--replicas=0") ||
			(word_is(&k->rest[i], "--replicas") && i + 1 < k->rest_count &&
				word_is(&k->rest[i + 1], "0"));
	fx(k, to_zero ? TAG_CLOUD_DELETE : TAG_CLOUD_CHANGE, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* gh api: a request in disguise. */
static void gh_api(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"X=:method= fF=:field=,raw-field=,input= Hqtp=:header=,jq=,template=,hostname=,cache=", &p);
	const struct word *url = p.operand_count ? &p.operands[0] : NULL;
	if (p.values[0] && word_is(p.values[0], "DELETE"))
		fx(k, TAG_CLOUD_DELETE, url, 0);
	else if (p.values[0] ? !word_is(p.values[0], "GET")
			     : args_has(&p, 1) && !(url && word_is(url, "graphql")))
		fx(k, TAG_NETWORK_MUTATE, url, FXF_MUTATING);
	else
		fx(k, TAG_NETWORK_GET, url, 0);
}

#define ROW(words, needs, forbids, tag) \
	{ \
		words, needs, forbids, tag, 0, NULL \
	}
#define CALL(words, run) \
	{ \
		words, NULL, NULL, TAG_READ_QUERY, 0, run \
	}
#define END \
	{ \
		NULL, NULL, NULL, 0, 0, NULL \
	}

static const struct verb kubectl_verbs[] = {
	CALL("get", kubectl_get),
	CALL("exec", kubectl_exec),
	CALL("scale", kubectl_scale),
	ROW("describe|logs|top|explain|version|cluster-info|api-resources|api-versions|diff|wait|events|"
	    "kustomize|options|completion|plugin|help",
		NULL, NULL, TAG_REMOTE_READ),
	ROW("config view", "raw", NULL, TAG_SECRET_STORE),
	ROW("config view|get-contexts|current-context|get-clusters|get-users", NULL, NULL, TAG_REMOTE_READ),
	ROW("config delete-context|delete-cluster|delete-user|unset", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("config", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("auth can-i|whoami", NULL, NULL, TAG_REMOTE_READ),
	ROW("rollout status|history", NULL, NULL, TAG_REMOTE_READ),
	ROW("delete|drain|cordon|taint", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("replace", "force", NULL, TAG_CLOUD_DELETE),
	ROW("apply", "prune", NULL, TAG_CLOUD_DELETE),
	ROW("port-forward|proxy", NULL, NULL, TAG_LISTEN_TUNNEL),
	ROW("cp", NULL, NULL, TAG_REMOTE_COPY),
	ROW("attach|debug|run", NULL, NULL, TAG_CLOUD_EXEC),
	ROW("create|expose|autoscale", NULL, NULL, TAG_CLOUD_CREATE),
	ROW("apply|patch|edit|label|annotate|set|rollout|certificate|uncordon", NULL, NULL, TAG_CLOUD_CHANGE),
	ROW("* list|ls|get|view|show|search|info|version|status|tree", NULL, NULL,
		TAG_REMOTE_READ), /* plugins */
	END,
};

static const struct verb kustomize_verbs[] = {
	ROW("edit|create|localize", NULL, NULL, TAG_WRITE_TOOL),
	END,
};

static const struct verb terraform_verbs[] = {
	ROW("destroy", NULL, NULL, TAG_CLOUD_DESTROY),
	ROW("apply|plan", "destroy", NULL, TAG_CLOUD_DESTROY),
	ROW("run-all|run destroy", NULL, NULL, TAG_CLOUD_DESTROY),
	ROW("run-all|run plan|validate|output|show", NULL, NULL, TAG_CLOUD_READ),
	ROW("state list|show|pull", NULL, NULL, TAG_CLOUD_READ),
	ROW("state|import|taint|untaint|force-unlock|refresh", NULL, NULL, TAG_CLOUD_STATE),
	ROW("workspace list|show|select|new", NULL, NULL, TAG_CLOUD_READ),
	ROW("workspace delete", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("plan|validate|show|output|graph|providers|version|get|console|test|metadata|help|hclfmt|graph-"
	    "dependencies",
		NULL, NULL, TAG_CLOUD_READ),
	ROW("fmt|init|login|logout", NULL, NULL, TAG_WRITE_TOOL),
	ROW("apply|run-all|run|cloud", NULL, NULL, TAG_CLOUD_CHANGE),
	END,
};

static const struct verb pulumi_verbs[] = {
	ROW("destroy|down", NULL, NULL, TAG_CLOUD_DESTROY),
	ROW("stack rm", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("state|refresh|import|cancel", NULL, NULL, TAG_CLOUD_STATE),
	ROW("up|update", NULL, NULL, TAG_CLOUD_CHANGE),
	ROW("config set|set-all|rm", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("preview|pre|stack|config|logs|whoami|about|version|history|org|schema|policy", NULL, NULL,
		TAG_CLOUD_READ),
	ROW("new|install|login|logout", NULL, NULL, TAG_WRITE_TOOL),
	END,
};

/* gh alias set name '!text': a shell runs the text when the name is used */
static void gh_alias(struct call *k)
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

static const struct verb gh_verbs[] = {
	CALL("api", gh_api),
	ROW("auth token", NULL, NULL, TAG_SECRET_STORE),
	ROW("auth status", "t show-token", NULL, TAG_SECRET_STORE),
	ROW("auth status", NULL, NULL, TAG_NETWORK_GET),
	CALL("alias set", gh_alias),
	ROW("auth|config|alias", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("repo|release|issue|secret|variable|run|workflow|cache|gist|label|codespace|ssh-key|gpg-key|"
	    "project|ruleset|mr|ci|variable|deploy-key|snippet "
	    "delete|archive|remove|disable|delete-asset|item-delete|cancel|rename|destroy",
		NULL, NULL, TAG_CLOUD_DELETE),
	ROW("repo|project delete|archive", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("repo|pr|mr clone|checkout|sync", NULL, NULL, TAG_NETWORK_GIT),
	ROW("release|repo|issue|pr|mr|gist|secret|variable|workflow|run|label|project|codespace|ssh-key|gpg-"
	    "key|cache|snippet|ci|deploy-key "
	    "create|edit|upload|comment|merge|close|reopen|review|ready|set|run|rerun|enable|add|fork|pin|"
	    "unpin|lock|unlock|transfer|ssh|cp|update|approve|note|retry|trigger|develop",
		NULL, NULL, TAG_PUBLISH_RELEASE),
	ROW("extension|ext install|upgrade", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("extension|ext exec|remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("completion|help|version|extension", NULL, NULL, TAG_READ_QUERY),
	END,
};

static const struct verb vault_verbs[] = {
	ROW("delete|unwrap", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("kv delete|destroy|metadata", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("secrets|auth|audit|lease|token|policy|plugin|namespace disable|revoke|delete|deregister", NULL,
		NULL, TAG_CLOUD_DELETE),
	ROW("operator|plugin|write|patch", NULL, NULL, TAG_CLOUD_CHANGE),
	ROW("kv put|patch|rollback|undelete", NULL, NULL, TAG_CLOUD_CHANGE),
	ROW("read|print|token", NULL, NULL, TAG_SECRET_STORE),
	ROW("kv get", NULL, NULL, TAG_SECRET_STORE),
	ROW("status|list|version|kv|secrets|auth|policy|path-help|server|login", NULL, NULL, TAG_CLOUD_READ),
	END,
};

static const struct verb hosting_verbs[] = {
	ROW("deploy|publish|promote|up|release|push|launch|alias|redeploy", NULL, NULL, TAG_PUBLISH_DEPLOY),
	ROW("pages|versions|functions|hosting:channel deploy|publish|upload", NULL, NULL, TAG_PUBLISH_DEPLOY),
	ROW("teardown|down|destroy|delete|rm|remove|rollback|disable|unlink", NULL, NULL, TAG_CLOUD_DELETE),
	ROW("db reset", NULL, NULL, TAG_DB_DROP),
	ROW("db|config push", NULL, "dry-run", TAG_CLOUD_CHANGE),
	ROW("migration|migrations repair|squash|down|revert", NULL, NULL, TAG_DB_CHANGE),
	ROW("db migrate", NULL, NULL, TAG_DB_MIGRATE),
	ROW("stop", "no-backup", NULL, TAG_DB_DROP),
	ROW("d1 execute", NULL, NULL, TAG_SQL_OPAQUE),
	ROW("dev|serve|emulators:start|build|local|start|test|init|link|types|generate|lint|preview", NULL,
		NULL, TAG_SCRIPT_BUILD),
	END,
};
static void classify_hosting(struct call *k)
{
	size_t place;
	if (!verb_words(k, k->program->spec, 1, &place))
		fx(k, text_eq(k->head, "vercel") ? TAG_PUBLISH_DEPLOY : TAG_CLOUD_READ, NULL, 0);
	else if (!run_rows(k, hosting_verbs))
		classify_by_verb(k);
}

#define CLOUD(name, spec) \
	{ \
		name, classify_by_verb, TAG_CLOUD_UNKNOWN, spec, NULL, 0, 0 \
	}
#define HOST(name) \
	{ \
		name, classify_hosting, TAG_CLOUD_UNKNOWN, "", NULL, 0, 0 \
	}
#define VERBS(name, tag, spec, verbs) \
	{ \
		name, NULL, tag, spec, verbs, 0, 0 \
	}
#define KUBECTL \
	"nscuv=:namespace=,context=,cluster=,user=,server=,kubeconfig=,token=,as=,as-group=,request-" \
	"timeout=,v=,selector=,output=,filename= l=o=f="

static const struct program rows[] = {
	CLOUD("aliyun", "p="),
	CLOUD("amplify", ""),
	CLOUD("argo", "n="),
	CLOUD("argocd", ""),
	{ "atmos", classify_atmos, TAG_CLOUD_UNKNOWN, ":base-path=,logs-level=,config=", NULL, 0, 0 },
	{ "aws", classify_aws, TAG_CLOUD_CHANGE,
		":profile=,region=,output=,endpoint-url=,ca-bundle=,cli-read-timeout=,cli-connect-timeout=,"
		"color=,query=,bucket=,key=,"
		"acl=,exclude=,include=,storage-class=,metadata=,page-size=,grants=",
		NULL, 0, 0 },
	CLOUD("az", "gno=:resource-group=,name=,output=,subscription=,query="),
	{ "bq", classify_bq, TAG_CLOUD_UNKNOWN, ":project_id=,location=,format=", NULL, 0, 0 },
	CLOUD("cdk", "ac=:app=,context=,profile=,output="),
	CLOUD("cdktf", ""),
	CLOUD("cf", ""),
	CLOUD("circleci", ""),
	CLOUD("consul", ""),
	CLOUD("copilot", ""),
	CLOUD("doctl", "tco=:context=,format="),
	CLOUD("doppler", ""),
	CLOUD("eb", ""),
	CLOUD("ecs-cli", ""),
	CLOUD("eksctl", "fnr=:cluster=,name=,region="),
	CLOUD("exo", ""),
	HOST("firebase"),
	CLOUD("flux", "n="),
	HOST("fly"),
	HOST("flyctl"),
	CLOUD("gcloud", ":project=,zone=,region=,format=,filter=,account=,configuration="),
	VERBS("gh", TAG_NETWORK_GET, "R=:repo=", gh_verbs),
	VERBS("glab", TAG_NETWORK_GET, "R=:repo=", gh_verbs),
	{ "gsutil", classify_bucket, TAG_CLOUD_CHANGE, "oh=", NULL, 0, 0 },
	CLOUD("hcloud", ""),
	CLOUD("helmfile", "fenl="),
	CLOUD("heroku", "ar=:app=,remote="),
	VERBS("hub", TAG_NETWORK_GIT, "", gh_verbs),
	CLOUD("ibmcloud", ""),
	CLOUD("infisical", ":domain=,env=,path=,projectId=,token="),
	CLOUD("istioctl", "n="),
	CLOUD("jenkins-cli", ""),
	VERBS("k", TAG_CLOUD_CHANGE, KUBECTL, kubectl_verbs),
	CLOUD("k9s", ""),
	VERBS("kubectl", TAG_CLOUD_CHANGE, KUBECTL, kubectl_verbs),
	VERBS("kustomize", TAG_READ_QUERY, "", kustomize_verbs),
	CLOUD("linkerd", ""),
	CLOUD("linode-cli", ""),
	CLOUD("mc", ""),
	HOST("netlify"),
	CLOUD("nomad", ""),
	VERBS("oc", TAG_CLOUD_CHANGE, KUBECTL, kubectl_verbs),
	CLOUD("oci", ""),
	CLOUD("openstack", ""),
	CLOUD("pscale", ""),
	VERBS("pulumi", TAG_CLOUD_CHANGE, "sC=:stack=,cwd=", pulumi_verbs),
	HOST("railway"),
	CLOUD("render", ""),
	CLOUD("s5cmd", ""),
	HOST("sam"),
	CLOUD("scw", ""),
	HOST("serverless"),
	HOST("sls"),
	HOST("sst"),
	CLOUD("stripe", ""),
	HOST("supabase"),
	HOST("surge"),
	VERBS("terraform", TAG_CLOUD_UNKNOWN, "~:chdir=", terraform_verbs),
	VERBS("terragrunt", TAG_CLOUD_UNKNOWN, "~:chdir=,terragrunt-working-dir=", terraform_verbs),
	VERBS("tofu", TAG_CLOUD_UNKNOWN, "~:chdir=", terraform_verbs),
	CLOUD("twilio", ""),
	VERBS("vault", TAG_CLOUD_CHANGE, ":address=,namespace=", vault_verbs),
	CLOUD("velero", "n="),
	HOST("vercel"),
	CLOUD("vultr-cli", ""),
	HOST("wrangler"),
};
const struct program_table programs_cloud = { rows, ARRAY_SIZE(rows) };
