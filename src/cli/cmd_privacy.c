/* cmd_privacy.c — helm privacy: what a text would give away, and the same text without it.
 *
 * A text comes from --text, a file or standard input; scan also takes files and directories, which are read as program text is: only
 * what leaves little doubt is reported.  A value is never printed: its kind, place and digest are. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/sarif.h"
#include "kernel/kernel.h"
#include "kernel/vault.h"
#include "privacy/privacy.h"
#include "privacy/social.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_TEXT_BYTES = 64 << 20, MAX_FILE_BYTES = 64 << 20, MAX_FINDINGS = 100000 };

#define TEXT_OPTS \
	{ "text", OPT_VALUE, "TEXT", "the text itself", NULL, false }, \
	{ \
		"input", OPT_VALUE, "FILE", "a file with the text; - or nothing is standard input", NULL, \
			false \
	}
#define LABEL_OPTS \
	{ "only", OPT_LIST, "KIND", \
		"only this kind: EMAIL, PHONE, KOREAN_RRN, CREDIT_CARD, IBAN, SECRET, IP_ADDRESS, MAC_ADDRESS", \
		NULL, false }, \
	{ \
		"skip", OPT_LIST, "KIND", "not this kind", NULL, false \
	}
#define VAULT_OPTS \
	{ "scope", OPT_VALUE, "NAME", "what the tokens belong to (default: default)", NULL, false }, \
		{ "vault", OPT_VALUE, "FILE", "another vault than the workspace's", NULL, false }, \
		{ "audit", OPT_VALUE, "FILE", "another audit file than the workspace's", NULL, false }, \
	{ \
		"no-audit", OPT_FLAG, NULL, "write no audit row", NULL, false \
	}

const struct opt privacy_scan_opts[] = {
	TEXT_OPTS,
	LABEL_OPTS,
	{ "strict", OPT_FLAG, NULL, "report only what leaves little doubt, as in files", NULL, false },
	{ "sarif", OPT_FLAG, NULL, "print SARIF 2.1.0 (files only)", NULL, false },
	{ "fail-on-findings", OPT_FLAG, NULL, "end with 1 when there is something", NULL, false },
	{ 0 },
};
const struct opt privacy_tokenize_opts[] = {
	TEXT_OPTS,
	LABEL_OPTS,
	VAULT_OPTS,
	{ "no-vault", OPT_FLAG, NULL, "keep nothing: the tokens cannot be turned back", NULL, false },
	{ 0 },
};
const struct opt privacy_restore_opts[] = {
	TEXT_OPTS,
	VAULT_OPTS,
	{ "authorize", OPT_VALUE, "REASON", "why the values are needed; stands in receipt and audit", NULL,
		false },
	{ 0 },
};

const struct opt privacy_social_opts[] = {
	{ "message", OPT_VALUE, "TEXT", "the request, in the words of whoever made it", NULL, true },
	{ "tool", OPT_VALUE, "NAME", "what it would be done with", NULL, false },
	{ "account-type", OPT_VALUE, "TYPE", "whose account it is about", "self|organization|other", false },
	{ "max-posts", OPT_INT, "N", "how many posts would be looked at", NULL, false },
	{ "data-subject", OPT_FLAG, NULL, "whoever asks is the person it is about", NULL, false },
	{ "consent", OPT_FLAG, NULL, "the person it is about has agreed", NULL, false },
	{ "purpose", OPT_VALUE, "TEXT", "what for", NULL, false },
	{ "scope", OPT_VALUE, "TEXT", "how far back, or how much", NULL, false },
	{ "retention", OPT_VALUE, "TEXT", "how long it is kept", NULL, false },
	{ 0 },
};

/* ---- what was asked ---- */

static int read_text(struct cli *r, struct bytes *ret, struct err *e)
{
	const char *text = opt_text(r, "text", NULL), *file = opt_text(r, "input", NULL);

	if (text && file)
		return err_set(e, E_USAGE, "PRIVACY_TEXT", "give --text or --input, not both");
	if (text) {
		*ret = bytes_of(text);
		return OK;
	}
	return file_read(r->sys, r->a, AT_FDCWD, file ? file : "-", MAX_TEXT_BYTES, FILE_FOLLOW, ret, e);
}

static int each_label(struct cli *r, const char *option, unsigned *set, bool is_added, struct err *e)
{
	const char **names;
	size_t n = opt_list(r, option, &names);

	for (size_t i = 0; i < n; i++) {
		struct bytes rest = bytes_of(names[i]);
		while (rest.p) {
			struct bytes one = text_cut(&rest, ',');
			enum privacy_label label;
			if (!privacy_label_parse((const char *)one.p, one.n, &label))
				return err_set(e, E_USAGE, "PRIVACY_KIND",
					"--%s '%.*s' is no kind; 'helm privacy scan --help' lists them",
					option, (int)one.n, (const char *)one.p);
			*set = is_added ? *set | 1u << label : *set & ~(1u << label);
		}
	}
	return OK;
}

static int read_labels(struct cli *r, struct privacy_options *ret, struct err *e)
{
	const char **names;
	unsigned set = opt_list(r, "only", &names) ? 0 : privacy_default_labels();
	int rc = each_label(r, "only", &set, true, e);

	if (rc == OK)
		rc = each_label(r, "skip", &set, false, e);
	if (rc == OK && !set)
		return err_set(e, E_USAGE, "PRIVACY_KIND", "no kind is left to look for");
	ret->labels = set;
	return rc;
}

/* ---- scan ---- */

static size_t characters(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)p[i] & 0xc0) != 0x80;
	return count;
}

/* `at` and `count` say how far characters were counted: findings come in the order of the text. */
static struct json *finding_json(
	struct arena *a, struct bytes text, const struct privacy_finding *f, size_t *at, size_t *count)
{
	const char *p = (const char *)text.p;
	struct json *v = json_new(a, JSON_OBJECT);
	char hash[PRIVACY_HASH + 1];

	privacy_hash(p + f->start, f->end - f->start, hash);
	*count += characters(p + *at, f->start - *at);
	json_sets(a, v, "label", privacy_label_name(f->label));
	json_seti(a, v, "start", (int64_t)*count);
	*count += characters(p + f->start, f->end - f->start);
	*at = f->end;
	json_seti(a, v, "end", (int64_t)*count);
	json_seti(a, v, "start_byte", (int64_t)f->start);
	json_seti(a, v, "end_byte", (int64_t)f->end);
	json_setb(a, v, "recoverable", privacy_label_is_recoverable(f->label));
	json_sets(a, v, "value_hash", hash);
	return v;
}

static int scan_text(struct cli *r, const struct privacy_options *options, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY);
	struct privacy_finding *found;
	struct bytes text;
	size_t at = 0, count = 0;
	int rc = read_text(r, &text, e);

	if (rc)
		return rc;
	size_t n = privacy_scan(r->a, (const char *)text.p, text.n, options, &found);
	for (size_t i = 0; i < n; i++)
		json_push(r->a, list, finding_json(r->a, text, &found[i], &at, &count));
	json_seti(r->a, doc, "count", (int64_t)n);
	json_set(r->a, doc, "findings", list);
	if (r->is_json) {
		out_json(r, doc);
	} else {
		out(r, "privacy_findings=%zu\n", n);
		for (size_t i = 0; i < n; i++) {
			const struct json *f = json_at(list, i);
			out(r, "  %s at %lld to %lld, digest %s\n", json_get_text(f, "label", ""),
				(long long)json_get_int(f, "start", 0), (long long)json_get_int(f, "end", 0),
				json_get_text(f, "value_hash", ""));
		}
	}
	return n && opt_flag(r, "fail-on-findings") ? EXIT_NO : OK;
}

/* One thing in one file. */
struct in_file {
	const char *file;
	uint32_t line, column; /* from 1, columns in characters */
	enum privacy_label label;
	char hash[PRIVACY_HASH + 1];
};

struct tree {
	struct cli *r;
	const struct privacy_options *options;
	struct progress progress;
	const char *base; /* what the walk began with */
	struct in_file *found;
	size_t count, room;
	uint64_t files, bytes, skipped; /* skipped: no text */
	uint64_t unread; /* could not be read, or is too large */
	bool is_cut;
};

static void add_found(struct tree *t, const char *file, struct bytes text, const struct privacy_finding *f,
	size_t *line_at, uint32_t *line)
{
	const char *p = (const char *)text.p;

	if (t->count == MAX_FINDINGS) {
		t->is_cut = true;
		return;
	}
	for (; *line_at < f->start; (*line_at)++)
		*line += p[*line_at] == '\n';
	size_t start = f->start;
	while (start && p[start - 1] != '\n')
		start--;
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		t->found =
			arena_grow(t->r->a, t->found, t->room * sizeof(*t->found), room * sizeof(*t->found));
		t->room = room;
	}
	struct in_file *to = &t->found[t->count++];
	*to = (struct in_file){ .file = file,
		.line = *line,
		.column = (uint32_t)characters(p + start, f->start - start) + 1,
		.label = f->label };
	privacy_hash(p + f->start, f->end - f->start, to->hash);
}

/* What is not text, or cannot be read, is counted and said; a scan that leaves something out must not look complete. */
static void scan_file(struct tree *t, int dirfd, const char *name, const char *shown)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct privacy_finding *found;
	struct bytes text;
	struct err e = { 0 };
	size_t line_at = 0;
	uint32_t line = 1;

	if (file_read(t->r->sys, &a, dirfd, name, MAX_FILE_BYTES, 0, &text, &e)) {
		warn(t->r, "%s was not read: %s", text_safe(&a, shown, strlen(shown), false), e.text);
		t->unread++;
		return;
	}
	if (memchr(text.p, 0, text.n < 8192 ? text.n : 8192)) {
		t->skipped++;
		return;
	}
	t->files++;
	t->bytes += text.n;
	progress_step(&t->progress, t->bytes >> 20);
	size_t n = privacy_scan(&a, (const char *)text.p, text.n, t->options, &found);
	const char *kept = n ? text_safe(t->r->a, shown, strlen(shown), false) : NULL;
	for (size_t i = 0; i < n; i++)
		add_found(t, kept, text, &found[i], &line_at, &line);
}

static int visit(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct tree *t = arg;
	AUTO(arena_done) struct arena a = { 0 };

	(void)e;
	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") || text_eq(name, "node_modules") ? FILE_SKIP : OK;
	if (S_ISREG(st->st_mode))
		scan_file(t, parent, name, text_eq(t->base, ".") ? rel : path_join(&a, t->base, rel));
	return OK;
}

/* A directory that cannot be listed or entered is counted, and the walk goes on. */
static int open_below(void *arg, int parent, const char *name, const char *rel)
{
	struct tree *t = arg;
	struct sys *s = t->r->sys;
	struct stat st;
	int fd = s->open(
		s, parent, name, O_RDONLY | O_DIRECTORY | (parent == AT_FDCWD ? 0 : O_NOFOLLOW), 0, 0);

	if (fd >= 0 && s->stat(s, fd, ".", &st, 0) == 0)
		return fd;
	const char *why = strerror(errno);
	close_fd(&fd);
	AUTO(arena_done) struct arena a = { 0 };
	warn(t->r, "the directory %s was not read: %s", text_safe(&a, rel, strlen(rel), false), why);
	t->unread++;
	return -1;
}

static bool is_complete(const struct tree *t)
{
	return !t->is_cut && !t->unread;
}

/* What a reader of SARIF must know beside the results: that there may be more. */
static void say_incomplete(struct arena *a, struct json *doc, const struct tree *t)
{
	struct json *run = json_at(json_get(doc, "runs"), 0), *list = json_new(a, JSON_ARRAY),
		    *invocation = json_new(a, JSON_OBJECT), *all = json_new(a, JSON_ARRAY);
	const char *texts[] = { t->unread ? arena_printf(a, "%llu file%s could not be read.",
						    (unsigned long long)t->unread, t->unread == 1 ? "" : "s")
					  : NULL,
		t->is_cut ? arena_printf(
				    a, "There are more than %d findings; the rest is left out.", MAX_FINDINGS)
			  : NULL,
		t->skipped ? arena_printf(a, "%llu file%s no text and %s not looked into.",
				     (unsigned long long)t->skipped, t->skipped == 1 ? " is" : "s are",
				     t->skipped == 1 ? "was" : "were")
			   : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json *one = json_new(a, JSON_OBJECT), *message = json_new(a, JSON_OBJECT);
		if (!texts[i])
			continue;
		json_sets(a, message, "text", texts[i]);
		json_set(a, one, "message", message);
		json_sets(a, one, "level", i < 2 ? "error" : "note");
		json_push(a, list, one);
	}
	json_setb(a, invocation, "executionSuccessful", is_complete(t));
	json_set(a, invocation, "toolExecutionNotifications", list);
	json_push(a, all, invocation);
	json_set(a, run, "invocations", all);
}

static void show_tree(struct cli *r, const struct tree *t)
{
	if (opt_flag(r, "sarif")) {
		struct sarif doc;
		sarif_begin(&doc, r->a);
		for (size_t i = 0; i < t->count; i++)
			sarif_add(&doc,
				&(struct sarif_result){ .rule = privacy_label_name(t->found[i].label),
					.about_rule = "Something private stands in a file.",
					.help = "Take it out, and change it when it is a credential; history keeps what was there.",
					.text = arena_printf(r->a, "%s, digest %s",
						privacy_label_name(t->found[i].label), t->found[i].hash),
					.file = t->found[i].file,
					.line = t->found[i].line,
					.is_error = t->found[i].label == PRIVACY_SECRET });
		struct json *whole = sarif_end(&doc);
		say_incomplete(r->a, whole, t);
		out_json(r, whole);
		return;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY);
	for (size_t i = 0; i < t->count; i++) {
		const struct in_file *f = &t->found[i];
		struct json *v = json_new(r->a, JSON_OBJECT);
		if (!r->is_json) {
			out(r, "%s:%u:%u: %s, digest %s\n", f->file, f->line, f->column,
				privacy_label_name(f->label), f->hash);
			continue;
		}
		json_sets(r->a, v, "file", f->file);
		json_seti(r->a, v, "line", f->line);
		json_seti(r->a, v, "column", f->column);
		json_sets(r->a, v, "label", privacy_label_name(f->label));
		json_setb(r->a, v, "recoverable", privacy_label_is_recoverable(f->label));
		json_sets(r->a, v, "value_hash", f->hash);
		json_push(r->a, list, v);
	}
	if (!r->is_json) {
		out(r, "%zu finding%s in %llu file%s; %llu not looked into (no text); %llu could not be read\n",
			t->count, t->count == 1 ? "" : "s", (unsigned long long)t->files,
			t->files == 1 ? "" : "s", (unsigned long long)t->skipped,
			(unsigned long long)t->unread);
		if (t->unread)
			out(r, "Not complete: scanned %llu of %llu, and %llu could not be read; the warnings name them.\n",
				(unsigned long long)t->files,
				(unsigned long long)(t->files + t->skipped + t->unread),
				(unsigned long long)t->unread);
		if (t->is_cut)
			out(r, "These are the first %d; there are more. Name fewer files or kinds.\n",
				MAX_FINDINGS);
		return;
	}
	json_seti(r->a, doc, "count", (int64_t)t->count);
	json_setb(r->a, doc, "is_complete", is_complete(t));
	json_seti(r->a, doc, "files", (int64_t)t->files);
	json_seti(r->a, doc, "skipped", (int64_t)t->skipped);
	json_seti(r->a, doc, "unread", (int64_t)t->unread);
	json_set(r->a, doc, "findings", list);
	out_json(r, doc);
}

static int scan_files(struct cli *r, const struct privacy_options *options, struct err *e)
{
	struct tree t = { .r = r, .options = options };
	int rc = OK;

	progress_begin(&t.progress, r, "MiB looked through", 0);
	for (size_t i = 0; rc == OK && i < r->arg_count; i++) {
		t.base = r->args[i];
		if (file_is_dir(r->sys, AT_FDCWD, t.base)) {
			AUTO(close_fd) int fd = open_below(&t, AT_FDCWD, t.base, t.base);
			if (fd >= 0)
				rc = file_walk_by(r->sys, fd, false, visit, open_below, &t, e);
		} else if (!file_exists(r->sys, AT_FDCWD, t.base))
			rc = err_set(e, E_MISSING, "PRIVACY_FILE", "'%s' does not exist", t.base);
		else
			scan_file(&t, AT_FDCWD, t.base, t.base);
	}
	progress_end(&t.progress);
	if (rc)
		return rc;
	show_tree(r, &t);
	return !is_complete(&t) || (t.count && opt_flag(r, "fail-on-findings")) ? EXIT_NO : OK;
}

int cmd_privacy_scan(struct cli *r, struct err *e)
{
	struct privacy_options options = { .is_strict = r->arg_count > 0 || opt_flag(r, "strict") };
	int rc = read_labels(r, &options, e);

	if (rc)
		return rc;
	if (r->arg_count && (opt_text(r, "text", NULL) || opt_text(r, "input", NULL)))
		return err_set(e, E_USAGE, "PRIVACY_TEXT", "give files, or --text or --input, not both");
	if (opt_flag(r, "sarif") && !r->arg_count)
		return err_set(e, E_USAGE, "PRIVACY_SARIF", "--sarif is about files: name some");
	return r->arg_count ? scan_files(r, &options, e) : scan_text(r, &options, e);
}

/* ---- tokens ---- */

static int open_vault(struct cli *r, struct vault *ret, struct bytes *text, struct err *e)
{
	int rc = *opt_text(r, "scope", "default")
		? read_text(r, text, e)
		: err_set(e, E_USAGE, "PRIVACY_SCOPE", "--scope is empty; without it the scope is 'default'");

	if (rc == OK && text_utf8_valid((const char *)text->p, text->n) != text->n)
		rc = err_set(e, E_INPUT, "PRIVACY_TEXT",
			"the text is not UTF-8 (byte %zu); nothing was replaced",
			text_utf8_valid((const char *)text->p, text->n));
	if (rc == OK)
		rc = vault_of(
			r->sys, r->a, r->ws, opt_text(r, "vault", NULL), opt_text(r, "audit", NULL), ret, e);
	if (rc == OK && opt_flag(r, "no-audit"))
		ret->audit = NULL;
	return rc;
}

/* The text alone for people, with the line end that --text has not. */
static void show_text(struct cli *r, const struct json *answer)
{
	const struct json *text = json_get(answer, "text");

	if (r->is_json) {
		out_json(r, answer);
		return;
	}
	out(r, "%.*s%s", (int)text->n, text->text, opt_text(r, "text", NULL) ? "\n" : "");
}

int cmd_privacy_tokenize(struct cli *r, struct err *e)
{
	struct privacy_options options = { 0 };
	struct json *answer;
	struct bytes text;
	struct vault v;
	int rc = read_labels(r, &options, e);

	if (rc == OK)
		rc = open_vault(r, &v, &text, e);
	if (rc == OK)
		rc = vault_tokenize(r->a, &v, opt_text(r, "scope", "default"), text, &options,
			!opt_flag(r, "no-vault"), &answer, e);
	if (rc == OK)
		show_text(r, answer);
	return rc;
}

int cmd_privacy_restore(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct json *answer;
	struct bytes text;
	struct vault v;
	int rc = open_vault(r, &v, &text, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = vault_restore(&k, r->a, &v, opt_text(r, "scope", "default"), text,
			opt_text(r, "authorize", NULL), &answer, e);
	if (rc == OK)
		show_text(r, answer);
	return rc;
}

/* ---- what people write in public ---- */

int cmd_privacy_social(struct cli *r, struct err *e)
{
	const struct social_request q = { .message = opt_text(r, "message", ""),
		.tool = opt_text(r, "tool", NULL),
		.account_type = opt_text(r, "account-type", NULL),
		.max_posts = opt_int(r, "max-posts", 0),
		.is_data_subject = opt_flag(r, "data-subject"),
		.has_consent = opt_flag(r, "consent"),
		.purpose = opt_text(r, "purpose", NULL),
		.scope = opt_text(r, "scope", NULL),
		.retention = opt_text(r, "retention", NULL) };
	struct json *doc;
	int rc = social_judge(r->a, &q, &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "allowed", false) ? OK : EXIT_GATE;
}
