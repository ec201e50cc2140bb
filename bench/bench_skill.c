/* bench_skill.c — finding the skill that is meant among many, what a contract adds to a run, and exporting what runs did. */
#include "bench.h"
#include "place.h"

#include "base/file.h"
#include "base/sys.h"
#include "base/text.h"
#include "record/record.h"
#include "remember/front_matter.h"
#include "remember/memory.h"
#include "remember/run_trace.h"
#include "remember/skill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKILLS = 1000, ROWS = 100000 };

static bool put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

static bool put_skill(const struct place *p, int i)
{
	char path[4400], text[1200];

	snprintf(path, sizeof(path), "%s/ws/skills/topic%d-work", p->home, i);
	bool ok = mkdir(path, 0755) == 0;
	snprintf(path, sizeof(path), "%s/ws/skills/topic%d-work/SKILL.md", p->home, i);
	snprintf(text, sizeof(text),
		"---\nname: topic%d-work\ndescription: Does what is to be done about topic %d, and says so\nmetadata:\n  emoji: x\n---\n# topic%d\n\n"
		"## Core rule\n\nAlways do the one thing and never the other.\n\n## Input contract\n\n- What must be known.\n\n## Output contract\n\n- What comes out.\n",
		i, i, i);
	ok = ok && put(path, text);
	snprintf(path, sizeof(path), "%s/ws/skills/topic%d-work/contract.json", p->home, i);
	snprintf(text, sizeof(text),
		"{\"skill\": \"topic%d-work\", \"allowed_profiles\": [\"inspect_local\"], \"default_profile\": \"inspect_local\", "
		"\"context\": {\"required\": false, \"query\": \"topic%d notes\", \"include\": [\"memory\"]}, \"paths\": {\"write\": [\"docs\"]}}\n",
		i, i);
	return ok && put(path, text);
}

struct routing {
	struct arena a;
	int root;
	bool has_failed;
};

static void route(void *arg)
{
	struct routing *x = arg;
	const struct contract_place at = { sys_real(), &x->a, x->root };
	const struct skill_request q = { .request = "please work on topic777", .profile = "inspect_local" };
	struct json *doc;

	x->has_failed |= skill_route(&at, &q, 40, 8, &doc, NULL) != OK ||
		!text_eq(json_get_text(doc, "decision", ""), "candidates");
	arena_reset(&x->a);
}

static void headers(void *arg)
{
	struct routing *x = arg;
	char **names;
	size_t n;

	if (file_list(sys_real(), &x->a, x->root, "skills", &names, &n, NULL))
		abort();
	for (size_t i = 0; i < n; i++) {
		struct bytes text;
		struct front_matter f;
		if (file_read(sys_real(), &x->a, x->root, arena_printf(&x->a, "skills/%s/SKILL.md", names[i]),
			    1 << 20, FILE_BENEATH, &text, NULL))
			abort();
		front_matter_parse(&x->a, text, &f);
		bench_keep(f.fields);
	}
	arena_reset(&x->a);
}

int bench_skill_route(struct bench *b)
{
	struct place p;
	struct routing x = { 0 };
	char root[4300];

	if (!place_open(&p, b, "skill-route"))
		return 1;
	snprintf(root, sizeof(root), "%s/ws", p.home);
	for (int i = 0; i < SKILLS && !p.has_failed; i++)
		p.has_failed = !put_skill(&p, i);
	x.root = open(root, O_RDONLY | O_CLOEXEC);
	bench_pair_cpu(b->rounds, route, headers, &x, &b->value, &b->baseline);
	b->ratio = b->value / b->baseline;
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	p.has_failed |= x.has_failed;
	close(x.root);
	arena_done(&x.a);
	place_close(&p);
	return p.has_failed;
}

/* ---- a run ---- */

static void with_skill(void *arg)
{
	struct place *p = arg;

	if (place_start(p,
		    (const char *const[]){ p->helm, "profile", "run", "inspect_local", "--skill",
			    "topic0-work", "--", "true", NULL }))
		p->has_failed = true;
}

static void without(void *arg)
{
	struct place *p = arg;

	if (place_start(p,
		    (const char *const[]){ p->helm, "profile", "run", "inspect_local", "--", "true", NULL }))
		p->has_failed = true;
}

int bench_skill_run(struct bench *b)
{
	struct place p;

	if (!place_open(&p, b, "skill-run"))
		return 1;
	p.has_failed |= !put_skill(&p, 0);
	with_skill(&p); /* pins it */
	bench_pair(b->rounds < 20 ? 20 : b->rounds, with_skill, without, &p, &b->value, &b->baseline);
	b->ratio = b->value / b->baseline;
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	place_close(&p);
	return p.has_failed;
}

/* ---- what is worth remembering of it ---- */

static bool put_rows(const char *path);

struct planning {
	struct place *place;
	struct arena a;
	struct memory_place memory;
	struct json *row;
};

static void plan(void *arg)
{
	struct planning *x = arg;
	struct json *earlier = NULL;

	if (memory_earlier(&x->memory, &x->a, x->row, true, &earlier, NULL))
		x->place->has_failed = true;
	bench_keep(memory_plan(&x->a, x->row, earlier, 1790000000000000));
	arena_reset(&x->a);
}

static void whole_run(void *arg)
{
	struct planning *x = arg;

	without(x->place);
}

int bench_capture_plan(struct bench *b)
{
	struct place p;
	struct planning x = { .place = &p };
	AUTO(arena_done) struct arena own = { 0 };
	char root[4300], state[4400], ledger[4500];

	if (!place_open(&p, b, "capture-plan"))
		return 1;
	snprintf(root, sizeof(root), "%s/ws", p.home);
	snprintf(state, sizeof(state), "%s/.helm", root);
	snprintf(ledger, sizeof(ledger), "%s/task-ledger.jsonl", state);
	p.has_failed |= !put_rows(ledger);
	x.memory = (struct memory_place){ sys_real(), open(root, O_RDONLY | O_CLOEXEC),
		open(state, O_RDONLY | O_CLOEXEC), state };
	p.has_failed |=
		json_parse(&own,
			bytes_of(
				"{\"task_id\": \"now\", \"task_name\": \"make all\", \"status\": \"completed\", \"profile\": "
				"\"workspace_edit\", \"command_preview\": \"make all\", \"finished_at\": "
				"\"2026-01-03T03:04:05.000001+00:00\", \"touched_paths\": [\"docs/a.md\", \"src/b.c\"]}"),
			"row", NULL, &x.row, NULL) != OK;
	if (!p.has_failed)
		bench_pair(b->rounds < 20 ? 20 : b->rounds, plan, whole_run, &x, &b->value, &b->baseline);
	b->ratio = b->value / b->baseline;
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	close(x.memory.root_fd);
	close(x.memory.state_fd);
	arena_done(&x.a);
	place_close(&p);
	return p.has_failed;
}

/* ---- export ---- */

struct exporting {
	struct arena a;
	int state;
	size_t seen;
	FILE *to;
	struct buf text;
};

static int read_one(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct exporting *x = arg;

	(void)place;
	(void)line;
	(void)e;
	x->seen += row != NULL;
	return 0;
}

static int export_one(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct exporting *x = arg;

	trace_span_put(&x->text, row);
	if (x->text.n > 1 << 20) {
		(void)!fwrite(x->text.p, 1, x->text.n, x->to);
		x->text.n = 0;
	}
	return read_one(arg, place, line, row, e);
}

static void read_rows(void *arg)
{
	struct exporting *x = arg;

	x->seen = 0;
	if (rows_each(sys_real(), x->state, TASK_LEDGER, 0, read_one, x, NULL) || x->seen != ROWS)
		abort();
}

static void export_rows(void *arg)
{
	struct exporting *x = arg;

	x->seen = 0;
	if (rows_each(sys_real(), x->state, TASK_LEDGER, 0, export_one, x, NULL) || x->seen != ROWS)
		abort();
}

static bool put_rows(const char *path)
{
	FILE *f = fopen(path, "w");

	for (int i = 0; f && i < ROWS; i++)
		fprintf(f,
			"{\"command\": [\"make\", \"all\", \"%d\"], \"command_preview\": \"make all %d\", \"cwd\": \"/srv/project\", \"decision_id\": \"dec-%032d\", "
			"\"exit_code\": 0, \"experience_attribution\": {\"tool_selected\": [\"make\"]}, \"finished_at\": \"2026-01-02T03:04:06.000001+00:00\", "
			"\"guard\": {\"action\": \"allow\", \"matched_rules\": [], \"risk_score\": 0.1, \"reasons\": [\"it changes files of the workspace\"]}, \"profile\": \"workspace_edit\", "
			"\"skill\": \"build\", \"started_at\": \"2026-01-02T03:04:05.000001+00:00\", \"started_execution_at\": \"2026-01-02T03:04:05.100001+00:00\", \"status\": \"completed\", "
			"\"task_id\": \"t-%d\", \"task_name\": \"make all\", \"touched_paths\": [\"docs/a.md\", \"src/b.c\", \"src/c.c\"]}\n",
			i, i, i, i);
	return f && fclose(f) == 0;
}

int bench_trace_export(struct bench *b)
{
	struct place p;
	struct exporting x = { .to = fopen("/dev/null", "w") };
	char state[4300], ledger[4400];

	if (!x.to || !place_open(&p, b, "trace-export"))
		return 1;
	snprintf(state, sizeof(state), "%s/ws/.helm", p.home);
	snprintf(ledger, sizeof(ledger), "%s/task-ledger.jsonl", state);
	p.has_failed |= !put_rows(ledger);
	x.state = open(state, O_RDONLY | O_CLOEXEC);
	buf_init(&x.text, &x.a);
	bench_pair_cpu(b->rounds < 5 ? b->rounds : 5, export_rows, read_rows, &x, &b->value, &b->baseline);
	b->ratio = b->baseline / b->value;
	b->value = ROWS / b->value;
	b->baseline = ROWS / b->baseline;
	b->unit = "rows/s";
	close(x.state);
	fclose(x.to);
	arena_done(&x.a);
	place_close(&p);
	return p.has_failed;
}
