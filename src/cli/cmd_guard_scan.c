/* cmd_guard_scan.c — what would the guard stop in these files?
 *
 * Scripts, makefiles, CI files, Dockerfiles, package.json and shell histories are cut into the commands
 * they hold, and each is judged as if it were about to run. Findings come with their line: for eyes, as
 * JSON, or as SARIF for code-scanning views. Nothing is run. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_guard.h"
#include "cli/sarif.h"

#include <fcntl.h>
#include <string.h>

/* Larger files are hardly written by hand. */
enum { MAX_SCRIPT_BYTES = 16 << 20, MAX_SNIPPET = 160 };

const struct opt guard_scan_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "judge under this profile (default workspace_edit)", NULL, false },
	{ "type", OPT_VALUE, "TYPE", "what the files are, when their names do not say it",
		"shell|make|github|gitlab|docker|package.json|history", false },
	{ "sarif", OPT_FLAG, NULL, "print SARIF 2.1.0", NULL, false },
	{ 0 },
};

struct hit {
	const char *file, *where, *text; /* text: the command, safe for a terminal */
	uint32_t line;
	struct finding finding;
	enum verdict verdict;
};

struct scan {
	struct cli *r;
	struct guard guard;
	struct hit *hits;
	size_t hit_count, hit_room;
	size_t file_count, snippet_count, unread_count;
};

/* Where in the snippet itself a finding points: climbs from a nested text to the word that carried it. */
static size_t offset_in_snippet(const struct finding *f)
{
	const struct source *s = f->source;
	struct span at = f->at;

	/* Each step leads from a text to the place of the word that held it. */
	for (; s && s->parent; s = s->parent)
		at = s->in_parent;
	return at.start;
}

/* How many lines lie before this offset. */
static uint32_t newlines_before(struct bytes b, size_t at)
{
	uint32_t n = 0;

	for (size_t i = 0; i < at && i < b.n; i++)
		n += b.p[i] == '\n';
	return n;
}

/* Where the line with this number, from 0, begins. */
static size_t line_start(struct bytes b, uint32_t line)
{
	size_t i = 0;

	while (line && i < b.n)
		line -= b.p[i++] == '\n';
	return i;
}

/* The line of the snippet that holds the offset, without its indentation and at most 160 bytes of it. */
static const char *line_text(struct arena *a, struct bytes b, size_t at)
{
	size_t start = at < b.n ? at : b.n ? b.n - 1 : 0, end = start;

	while (start > 0 && b.p[start - 1] != '\n')
		start--;
	while (end < b.n && b.p[end] != '\n')
		end++;
	while (start < end && (b.p[start] == ' ' || b.p[start] == '\t'))
		start++;
	if (end - start > MAX_SNIPPET)
		end = start + MAX_SNIPPET;
	return text_safe(a, (const char *)b.p + start, end - start, false);
}

/* The text shown is that of the file where it differs from what was judged. */
static void add_hit(struct scan *s, const char *file, const struct snippet *from, const struct finding *f,
	enum verdict verdict)
{
	size_t at = offset_in_snippet(f);

	if (s->hit_count == s->hit_room) {
		size_t room = s->hit_room ? 2 * s->hit_room : 32;
		s->hits =
			arena_grow(s->r->a, s->hits, s->hit_room * sizeof(*s->hits), room * sizeof(*s->hits));
		s->hit_room = room;
	}
	uint32_t line = newlines_before(from->text, at);
	const char *text = from->shown.n ? line_text(s->r->a, from->shown, line_start(from->shown, line))
					 : line_text(s->r->a, from->text, at);
	s->hits[s->hit_count++] = (struct hit){ file, from->where, text, from->line + line, *f, verdict };
}

/* While an image is built, its own files change, packages come and the network is used: that is what a
 * build is, and no finding. */
static bool is_part_of_a_build(const struct effect *e)
{
	switch ((int)e->kind) {
	case FX_WRITE:
	case FX_DELETE:
	case FX_MOVE:
	case FX_PERMISSION:
	case FX_PACKAGE:
	case FX_NETWORK:
	case FX_ACCOUNT:
	case FX_ENVIRONMENT:
	case FX_PERSISTENCE:
		return true;
	default:
		return false;
	}
}

/* What is left after that: effects that reach out of the container. */
static void keep_what_matters_in_a_build(struct proposal *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->effect_count; i++) {
		p->effects[i].flags |= FXF_INSIDE_CONTAINER;
		if (!is_part_of_a_build(&p->effects[i]))
			p->effects[kept++] = p->effects[i];
	}
	p->effect_count = kept;
}

/* Only what would be asked about or denied is a hit. */
static int scan_snippet(struct scan *s, const char *file, const struct snippet *from, struct err *e)
{
	struct proposal *p = arena_zalloc(s->r->a, 1, sizeof(*p));
	struct decision d;
	int rc;

	s->snippet_count++;
	propose_shell(s->r->a, &s->guard.at, from->text, p);
	/* Commands of a Dockerfile run inside the image that is being built. */
	if (from->is_in_container)
		keep_what_matters_in_a_build(p);
	if ((rc = guard_judge(&s->guard, s->r->a, opt_text(s->r, "profile", NULL), p, &d, e)))
		return rc;
	for (size_t i = 0; i < d.finding_count; i++)
		if (d.findings[i].action >= ACTION_ASK && !decision_is_outspoken(&d, i))
			add_hit(s, file, from, &d.findings[i], action_verdict(d.findings[i].action));
	return OK;
}

/* A file of an unknown kind is a warning and not an error, so that a whole tree can be given.  One that cannot be read is told and
 * counted, and the others are looked at all the same: the scan does not pass then. */
static int scan_file(struct scan *s, const char *file, struct err *e)
{
	const char *type = opt_text(s->r, "type", NULL);
	struct snippet *list;
	struct bytes text;
	enum script_kind kind;
	size_t n;
	int rc;

	if (file_read(s->r->sys, s->r->a, AT_FDCWD, file, MAX_SCRIPT_BYTES, FILE_FOLLOW, &text, e)) {
		warn(s->r, "%s was not read: %s", text_safe(s->r->a, file, strlen(file), false), e->text);
		s->unread_count++;
		return OK;
	}
	/* --type wins over a guess from name and content. */
	if (!type || !script_kind_parse(type, &kind))
		kind = text_eq(file, "-") ? SCRIPT_SHELL : harvest_guess(file, text);
	if (kind == SCRIPT_KIND_COUNT) {
		warn(s->r,
			"%s: not a script, makefile, CI file, Dockerfile, package.json or history; --type "
			"says "
			"what it is",
			file);
		return OK;
	}
	s->file_count++;
	harvest(s->r->a, kind, text, &list, &n);
	for (size_t i = 0; i < n; i++)
		if ((rc = scan_snippet(s, file, &list[i], e)))
			return rc;
	return OK;
}

/* FILE:LINE first, as compilers print it, so that editors can jump there. */
static void print_hits(struct cli *r, const struct scan *s)
{
	for (size_t i = 0; i < s->hit_count; i++) {
		const struct hit *h = &s->hits[i];
		enum paint p = h->verdict == V_DENY ? PAINT_BAD : PAINT_WARN;
		out(r, "%s%s:%u%s: %s%s%s %s%s%s: %s\n", paint(r, PAINT_ACCENT), h->file, h->line,
			paint(r, PAINT_OFF), paint(r, p), action_name(h->finding.action), paint(r, PAINT_OFF),
			paint(r, PAINT_MUTED), h->finding.rule, paint(r, PAINT_OFF), h->finding.text);
		out(r, "    %s%s%s\n", paint(r, PAINT_PRIMARY), h->text, paint(r, PAINT_OFF));
		if (h->finding.instead)
			out(r, "    %sinstead: %s%s\n", paint(r, PAINT_MUTED), h->finding.instead,
				paint(r, PAINT_OFF));
	}
	out(r, "%zu finding%s in %zu command text%s of %zu file%s\n", s->hit_count,
		s->hit_count == 1 ? "" : "s", s->snippet_count, s->snippet_count == 1 ? "" : "s",
		s->file_count, s->file_count == 1 ? "" : "s");
	if (s->unread_count)
		out(r, "Not complete: %zu of %zu files could not be read; the warnings name them.\n",
			s->unread_count, r->arg_count);
}

/* The same findings for programs. */
static void print_json(struct cli *r, const struct scan *s)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < s->hit_count; i++) {
		const struct hit *h = &s->hits[i];
		struct json *v = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, v, "file", h->file);
		json_seti(r->a, v, "line", h->line);
		json_sets(r->a, v, "where", h->where);
		json_sets(r->a, v, "rule", h->finding.rule);
		json_sets(r->a, v, "action", action_name(h->finding.action));
		json_sets(r->a, v, "reason_code", reason_get(h->finding.reason)->code);
		json_sets(r->a, v, "understood", h->finding.text);
		json_sets(r->a, v, "instead", h->finding.instead);
		json_sets(r->a, v, "text", h->text);
		json_push(r->a, list, v);
	}
	json_seti(r->a, doc, "files", (int64_t)s->file_count);
	json_seti(r->a, doc, "unread", (int64_t)s->unread_count);
	json_seti(r->a, doc, "commands", (int64_t)s->snippet_count);
	json_seti(r->a, doc, "count", (int64_t)s->hit_count);
	json_set(r->a, doc, "findings", list);
	out_json(r, doc);
}

/* What would be denied is an error, what would be asked about a warning. */
static void print_sarif(struct cli *r, const struct scan *s)
{
	struct sarif doc;

	sarif_begin(&doc, r->a);
	for (size_t i = 0; i < s->hit_count; i++) {
		const struct hit *h = &s->hits[i];
		const struct reason *why = reason_get(h->finding.reason);
		sarif_add(&doc,
			&(struct sarif_result){ .rule = h->finding.rule,
				.about_rule = why->meaning,
				.help = h->finding.instead ? h->finding.instead : why->remedy,
				.text = h->finding.text,
				.file = h->file,
				.line = h->line,
				.snippet = h->text,
				.is_error = h->verdict == V_DENY });
	}
	out_json(r, sarif_end(&doc));
}

/* Findings, and files that were not read, make the exit code "no", so that a pipeline can stop on them. */
int cmd_guard_scan(struct cli *r, struct err *e)
{
	struct scan s = { .r = r };
	int rc = guard_open(r->sys, r->a, r->ws, NULL, &s.guard, e);

	if (rc)
		return rc;
	/* A file's own text is judged, not what other files it names hold at the moment. */
	s.guard.at.inspect_scripts = false;
	s.guard.at.on_runner = true;
	for (size_t i = 0; i < r->arg_count; i++)
		if ((rc = scan_file(&s, r->args[i], e)))
			return rc;
	if (opt_flag(r, "sarif"))
		print_sarif(r, &s);
	else if (r->is_json)
		print_json(r, &s);
	else
		print_hits(r, &s);
	return s.hit_count || s.unread_count ? EXIT_NO : 0;
}
