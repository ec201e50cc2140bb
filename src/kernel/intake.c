/* intake.c — reads every file of a skill from outside: commands, instructions to the model, network, secrets, characters that cannot be seen.
 *
 * Severity: what is never right in a skill rejects it; what can be right is shown to a person; the rest is noted.  Only a skill without the first two
 * is accepted.  Reading is all that is done. */
#include "kernel/intake.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/foresee.h"
#include "privacy/privacy.h"
#include "remember/intake.h"
#include "remember/skill.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

enum { MAX_FILE = 4 << 20, MOST_FINDINGS = 500, SHOWN = 160, MOST_SNIPPETS = 2000 };
static const char *const severities[] = { "note", "review", "reject" };
enum severity { NOTE, REVIEW, REJECT };

struct intake {
	struct sys *sys;
	struct arena *a;
	int dir_fd;
	struct guard guard;
	struct json *findings;
	enum severity worst;
	size_t snippets;
};

static void found(struct intake *x, enum severity s, const char *kind, const char *file, uint32_t line,
	const char *why, struct bytes text)
{
	struct arena *a = x->a;
	struct json *one = json_new(a, JSON_OBJECT);
	size_t n = text.n > SHOWN ? SHOWN : text.n, clean;

	if (s > x->worst)
		x->worst = s;
	if (x->findings->n >= MOST_FINDINGS)
		return;
	const char *safe = privacy_redact(a, (const char *)text.p, n, &clean);
	json_sets(a, one, "severity", severities[s]);
	json_sets(a, one, "kind", kind);
	json_sets(a, one, "file", file);
	json_seti(a, one, "line", line);
	json_sets(a, one, "why", why);
	json_sets(a, one, "text", text_safe(a, safe, clean, false));
	json_push(a, x->findings, one);
}

static uint32_t line_at(struct bytes text, size_t at)
{
	uint32_t line = 1;

	for (size_t i = 0; i < at && i < text.n; i++)
		line += text.p[i] == '\n';
	return line;
}

static struct bytes whole_line(struct bytes text, size_t at)
{
	size_t from = at, to = at;

	while (from && text.p[from - 1] != '\n')
		from--;
	while (to < text.n && text.p[to] != '\n')
		to++;
	return (struct bytes){ text.p + from, to - from };
}

/* ---- what cannot be seen ---- */

static bool is_invisible(uint32_t cp)
{
	return (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x202a && cp <= 0x202e) ||
		(cp >= 0x2060 && cp <= 0x2069) || cp == 0x00ad || cp == 0x180e ||
		(cp >= 0xe0000 && cp <= 0xe01ef) || cp == 0x115f || cp == 0x1160 || cp == 0x3164 ||
		cp == 0xffa0 || cp == 0x034f;
}

/* A joiner inside an emoji is what makes it one. */
static bool is_in_emoji(struct bytes text, size_t at, uint32_t cp)
{
	return cp == 0x200d && at >= 4 && text.p[at - 1] >= 0x80 && at + 3 < text.n && text.p[at + 3] >= 0xe2;
}

static void look_for_invisible(struct intake *x, const char *file, struct bytes text)
{
	for (size_t at = 0; at < text.n;) {
		uint32_t cp;
		size_t n = text_decode((const char *)text.p + at, text.n - at, &cp);
		if (!n) {
			found(x, REVIEW, "encoding", file, line_at(text, at), "it is no UTF-8",
				whole_line(text, at));
			return;
		}
		bool is_mark = cp == 0xfeff && at > 0;
		if ((is_invisible(cp) && !is_in_emoji(text, at, cp)) || is_mark) {
			found(x, REJECT, "invisible", file, line_at(text, at),
				arena_printf(x->a, "a character that cannot be seen (U+%04X)", cp),
				whole_line(text, at));
			return;
		}
		if (cp < 0x20 && cp != '\n' && cp != '\r' && cp != '\t' && cp != '\f') {
			found(x, REVIEW, "control", file, line_at(text, at), "a control character",
				whole_line(text, at));
			return;
		}
		at += n;
	}
}

/* ---- words ---- */

struct phrase {
	const char *words, *why;
	enum severity severity;
};

/* To the model, against the person or the guard. */
static const struct phrase instructions[] = {
	{ "ignore previous instructions", "it tells the model to forget what it was told", REJECT },
	{ "ignore all previous", "it tells the model to forget what it was told", REJECT },
	{ "ignore the above", "it tells the model to forget what it was told", REJECT },
	{ "ignore your instructions", "it tells the model to forget what it was told", REJECT },
	{ "disregard previous", "it tells the model to forget what it was told", REJECT },
	{ "disregard all", "it tells the model to forget what it was told", REJECT },
	{ "disregard the above", "it tells the model to forget what it was told", REJECT },
	{ "forget everything", "it tells the model to forget what it was told", REJECT },
	{ "override your", "it tells the model to forget what it was told", REJECT },
	{ "new system prompt", "it pretends to be the system", REJECT },
	{ "<system>", "it pretends to be the system", REJECT },
	{ "[system]", "it pretends to be the system", REJECT },
	{ "<|im_start|>", "it pretends to be the system", REJECT },
	{ "do not tell the user", "it hides something from the person", REJECT },
	{ "don't tell the user", "it hides something from the person", REJECT },
	{ "do not inform the user", "it hides something from the person", REJECT },
	{ "do not mention this", "it hides something from the person", REJECT },
	{ "don't mention this", "it hides something from the person", REJECT },
	{ "without telling", "it hides something from the person", REJECT },
	{ "without informing", "it hides something from the person", REJECT },
	{ "keep this secret", "it hides something from the person", REJECT },
	{ "silently", "it hides something from the person", REVIEW },
	{ "without asking", "it asks nobody", REVIEW },
	{ "without confirmation", "it asks nobody", REVIEW },
	{ "no confirmation", "it asks nobody", REVIEW },
	{ "auto-approve", "it asks nobody", REVIEW },
	{ "always approve", "it asks nobody", REVIEW },
	{ "dangerously-skip-permissions", "it switches questions off", REJECT },
	{ "--yolo", "it switches questions off", REJECT },
	{ "bypasspermissions", "it switches questions off", REJECT },
	{ "guard-mode off", "it switches the guard off", REJECT },
	{ "helm_guard_mode", "it switches the guard off", REJECT },
	{ "disable the guard", "it switches the guard off", REJECT },
	{ "--approve-risk", "it approves for a person", REJECT },
	{ "helm approval approve", "it approves for a person", REJECT },
	{ "disable security", "it switches protections off", REJECT },
	{ "disable sandbox", "it switches protections off", REJECT },
	{ "exfiltrat", "it is about taking data out", REJECT },
	{ "send the contents", "it sends data somewhere", REVIEW },
	{ "upload the", "it sends data somewhere", REVIEW },
	{ "you are now", "it changes who the model is", REVIEW },
	{ "act as if", "it changes who the model is", REVIEW },
	{ "jailbreak", "it is about breaking rules", REVIEW },
	{ "다른 지시는 무시", "it tells the model to forget what it was told", REJECT },
	{ "이전 지시를 무시", "it tells the model to forget what it was told", REJECT },
	{ "指示を無視", "it tells the model to forget what it was told", REJECT },
	{ "忽略之前", "it tells the model to forget what it was told", REJECT },
	{ "忽略以上", "it tells the model to forget what it was told", REJECT },
	{ "ignoriere alle", "it tells the model to forget what it was told", REJECT },
	{ "ignorez les", "it tells the model to forget what it was told", REJECT },
	{ "ignora las", "it tells the model to forget what it was told", REJECT },
	{ "사용자에게 알리지", "it hides something from the person", REJECT },
	{ "latest instructions", "it takes instructions from elsewhere", REVIEW },
	{ "follow the instructions at", "it takes instructions from elsewhere", REVIEW },
	{ "follow the instructions in the", "it takes instructions from elsewhere", REVIEW },
};

/* Places of credentials, wherever they are named. */
static const struct phrase secrets[] = {
	{ ".ssh/", "it names keys", REJECT },
	{ "id_rsa", "it names keys", REJECT },
	{ "id_ed25519", "it names keys", REJECT },
	{ ".aws/credentials", "it names credentials", REJECT },
	{ ".netrc", "it names credentials", REJECT },
	{ ".npmrc", "it names credentials", REVIEW },
	{ ".pypirc", "it names credentials", REJECT },
	{ ".docker/config.json", "it names credentials", REJECT },
	{ ".kube/config", "it names credentials", REJECT },
	{ ".git-credentials", "it names credentials", REJECT },
	{ "/etc/shadow", "it names credentials", REJECT },
	{ ".gnupg", "it names keys", REJECT },
	{ "keychain", "it names credentials", REVIEW },
	{ "login.keyring", "it names credentials", REJECT },
	{ "cookies.sqlite", "it names a browser's cookies", REJECT },
	{ "wallet.dat", "it names a wallet", REJECT },
	{ "169.254.169.254", "it names the place that gives a machine's credentials", REJECT },
	{ "metadata.google.internal", "it names the place that gives a machine's credentials", REJECT },
	{ ".helm/keys", "it names Helm's keys", REJECT },
	{ "printenv", "it prints the environment", REVIEW },
	{ "os.environ", "it reads the environment", REVIEW },
	{ "process.env", "it reads the environment", REVIEW },
	{ "/.env", "it names credentials", REVIEW },
};

/* What programs that are no shell scripts do. */
static const struct phrase programs[] = {
	{ "os.system", "it starts programs", REVIEW },
	{ "subprocess", "it starts programs", REVIEW },
	{ "popen", "it starts programs", REVIEW },
	{ "child_process", "it starts programs", REVIEW },
	{ "runtime.exec", "it starts programs", REVIEW },
	{ "eval(", "it runs text as program", REVIEW },
	{ "exec(", "it runs text as program", REVIEW },
	{ "__import__", "it loads by a name that is made", REVIEW },
	{ "b64decode", "it decodes hidden text", REVIEW },
	{ "atob(", "it decodes hidden text", REVIEW },
	{ "fromcharcode", "it decodes hidden text", REVIEW },
	{ "marshal.loads", "it runs text as program", REJECT },
	{ "pickle.loads", "it runs text as program", REVIEW },
	{ "socket", "it uses the network", REVIEW },
	{ "urllib", "it uses the network", REVIEW },
	{ "requests.", "it uses the network", REVIEW },
	{ "http.client", "it uses the network", REVIEW },
	{ "httpx", "it uses the network", REVIEW },
	{ "fetch(", "it uses the network", REVIEW },
	{ "xmlhttprequest", "it uses the network", REVIEW },
	{ "net/http", "it uses the network", REVIEW },
	{ "ctypes", "it calls the system directly", REVIEW },
	{ "shutil.rmtree", "it removes trees", REVIEW },
	{ "crontab", "it arranges to be started later", REJECT },
	{ "launchagents", "it arranges to be started later", REJECT },
	{ "systemctl", "it controls services", REVIEW },
	{ ".bashrc", "it arranges to be started later", REJECT },
	{ ".zshrc", "it arranges to be started later", REJECT },
	{ "authorized_keys", "it lets somebody in", REJECT },
};

/* Blanks of any kind count as one, so that a line break hides nothing. */
static const char *flat(struct arena *a, struct bytes text)
{
	size_t n;
	const char *clean = text_utf8(a, (const char *)text.p, text.n, "?", &n);
	char *folded = text_fold(a, clean, n);

	for (char *p = folded; *p; p++)
		if (*p == '\n' || *p == '\r' || *p == '\t' || *p == '*' || *p == '_')
			*p = *p == '_' ? '_' : ' ';
	struct buf out;
	buf_init(&out, a);
	for (const char *p = folded; *p; p++)
		if (*p != ' ' || !out.n || out.p[out.n - 1] != ' ')
			buf_addc(&out, *p);
	return out.p;
}

/* The line is found again by the first word of the phrase, as near as that goes. */
static void look_for(struct intake *x, const char *file, struct bytes text, const char *flattened,
	const char *kind, const struct phrase *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strstr(flattened, list[i].words))
			continue;
		const char *first = strcasestr((const char *)text.p, list[i].words);
		size_t at = first ? (size_t)(first - (const char *)text.p) : 0;
		found(x, list[i].severity, kind, file, first ? line_at(text, at) : 0, list[i].why,
			first ? whole_line(text, at) : bytes_of(list[i].words));
	}
}

/* ---- commands ---- */

static void judge(struct intake *x, const char *file, uint32_t line, struct bytes text)
{
	const struct foresee_question question = { .profile = "workspace_edit", .shell = text };
	AUTO(foresight_done) struct foresight f = { 0 };
	struct err e = { 0 };

	if (!text.n || x->snippets++ > MOST_SNIPPETS)
		return;
	if (foresee(&x->guard, x->a, &question, &f, &e)) {
		found(x, REJECT, "command", file, line, "it cannot be judged", text);
		return;
	}
	/* A freeze says nothing about the text. */
	const struct decision d = f.h.otherwise ? *f.h.otherwise : f.h.decision;
	const char *why = d.summary ? d.summary : "it could not be understood";
	if (d.action == ACTION_DENY || d.verdict == V_DENY)
		found(x, REJECT, "command", file, line, why, text);
	else if (d.action == ACTION_ASK || d.verdict != V_ALLOW)
		found(x, REVIEW, "command", file, line, why, text);
	if (d.network && d.action < ACTION_ASK)
		found(x, REVIEW, "network", file, line, "it uses the network", text);
}

static void judge_script(struct intake *x, const char *file, struct bytes text, enum script_kind kind)
{
	struct snippet *list;
	size_t n;

	harvest(x->a, kind, text, &list, &n);
	for (size_t i = 0; i < n; i++)
		judge(x, file, list[i].line, list[i].text);
}

/* Fenced blocks, whatever language they say, and what stands between single back-quotes and has more than one word. */
static void judge_markdown(struct intake *x, const char *file, struct bytes text)
{
	const char *block = NULL, *end = (const char *)text.p + text.n;
	uint32_t line = 0, block_line = 0;

	for (const char *p = (const char *)text.p; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		const char *next = stop ? stop + 1 : end, *start = p + strspn(p, " \t>");
		size_t n = (size_t)((stop ? stop : end) - start);
		line++;
		bool is_fence = n >= 3 && (memcmp(start, "```", 3) == 0 || memcmp(start, "~~~", 3) == 0);
		if (is_fence && !block) {
			block = next;
			block_line = line + 1;
		} else if (is_fence) {
			judge(x, file, block_line,
				(struct bytes){ (const uint8_t *)block, (size_t)(p - block) });
			block = NULL;
		} else if (!block) {
			for (const char *tick = memchr(start, '`', n); tick && tick < start + n;) {
				const char *close = memchr(tick + 1, '`', (size_t)(start + n - tick - 1));
				if (!close)
					break;
				struct bytes inside = { (const uint8_t *)tick + 1,
					(size_t)(close - tick - 1) };
				if (inside.n && memchr(inside.p, ' ', inside.n))
					judge(x, file, line, inside);
				tick = memchr(close + 1, '`', (size_t)(start + n - close - 1));
			}
		}
		p = next;
	}
	if (block)
		judge(x, file, block_line, (struct bytes){ (const uint8_t *)block, (size_t)(end - block) });
}

/* ---- one file ---- */

static bool is_prose(const char *name)
{
	return text_ends(name, ".md") || text_ends(name, ".txt") || text_ends(name, ".rst");
}

/* What can be read, and what a guard can judge.  Everything else is a program, or may be used as one. */
static bool is_data(const char *name)
{
	static const char *const ends[] = { ".json", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".gitignore",
		".bundled", ".hub", "LICENSE", "LICENCE", "NOTICE", "README", "CHANGELOG", "AUTHORS" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (text_ends(name, ends[i]))
			return true;
	return is_prose(name);
}

/* An address in a sentence that says to do what stands there. */
static bool is_obeyed(struct arena *a, struct bytes line)
{
	static const char *const words[] = { "follow", "obey", "instruction", "execute", "install", "prompt",
		"do what", "apply", "load", "paste", "따라", "실행", "suivez", "befolge", "sigue" };
	const char *text = flat(a, line);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Letters of two scripts that look alike, in one word: it is not the word that it seems to be. */
static void look_for_mixture(struct intake *x, const char *file, struct bytes text)
{
	bool has_latin = false, has_other = false;

	for (size_t at = 0; at < text.n;) {
		uint32_t cp;
		size_t n = text_decode((const char *)text.p + at, text.n - at, &cp);
		bool is_latin = n && cp < 128 && ((cp | 32) >= 'a' && (cp | 32) <= 'z'),
		     is_other = n && cp >= 0x370 && cp <= 0x52f;
		if (!is_latin && !is_other)
			has_latin = has_other = false;
		has_latin |= is_latin;
		has_other |= is_other;
		if (has_latin && has_other) {
			found(x, REVIEW, "mixture", file, line_at(text, at),
				"a word of letters that look alike and are not", whole_line(text, at));
			return;
		}
		at += n ? n : 1;
	}
}

static void look_for_urls(struct intake *x, const char *file, struct bytes text)
{
	for (const char *p = (const char *)text.p; (p = strcasestr(p, "http")); p += 4) {
		if (strncasecmp(p, "https://", 8) != 0 && strncasecmp(p, "http://", 7) != 0)
			continue;
		size_t at = (size_t)(p - (const char *)text.p);
		struct bytes line = whole_line(text, at);
		bool is_told = is_prose(file) && is_obeyed(x->a, line);
		found(x, is_told ? REVIEW : NOTE, "address", file, line_at(text, at),
			is_told ? "it says to do what stands at an address" : "it names an address", line);
	}
}

static void look_for_credentials(struct intake *x, const char *file, struct bytes text)
{
	size_t n;
	const char *clean = privacy_redact(x->a, (const char *)text.p, text.n, &n);

	if (clean != (const char *)text.p)
		found(x, REVIEW, "secret", file, 0, "something in it looks like a credential",
			(struct bytes){ 0 });
}

static int look_at(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct intake *x = arg;
	struct bytes text;

	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") ? FILE_SKIP : 0;
	if (!S_ISREG(st->st_mode)) {
		found(x, REJECT, "file", rel, 0, "it is no plain file: a link or a device leads elsewhere",
			bytes_of(rel));
		return 0;
	}
	if (st->st_mode & (S_ISUID | S_ISGID))
		found(x, REJECT, "file", rel, 0, "it runs with another one's rights", bytes_of(rel));
	if (name[0] == '.' && !text_eq(name, ".bundled") && !text_eq(name, ".hub") &&
		!text_eq(name, ".gitignore"))
		found(x, REVIEW, "file", rel, 0, "a file that listings do not show", bytes_of(rel));
	int rc = file_read(x->sys, x->a, parent, name, MAX_FILE, 0, &text, e);
	if (rc)
		return rc;
	if (text.n && memchr(text.p, 0, text.n)) {
		found(x,
			memcmp(text.p, "\177ELF", text.n < 4 ? text.n : 4) == 0 || st->st_mode & 0111
				? REJECT
				: REVIEW,
			"binary", rel, 0, "nobody can read what it is", bytes_of(rel));
		return 0;
	}
	const char *flattened = flat(x->a, text);
	enum script_kind kind = harvest_guess(name, text);
	look_for_invisible(x, rel, text);
	look_for(x, rel, text, flattened, "instruction", instructions, ARRAY_SIZE(instructions));
	look_for(x, rel, text, flattened, "secret", secrets, ARRAY_SIZE(secrets));
	look_for_credentials(x, rel, text);
	look_for_urls(x, rel, text);
	look_for_mixture(x, rel, text);
	if (kind == SCRIPT_KIND_COUNT && !is_data(name))
		found(x, REVIEW, "program", rel, 0, "it may be a program, and nobody here can judge it",
			bytes_of(rel));
	if (is_prose(name))
		judge_markdown(x, rel, text);
	else if (kind != SCRIPT_KIND_COUNT)
		judge_script(x, rel, text, kind);
	if (!is_prose(name) && !text_ends(name, ".json"))
		look_for(x, rel, text, flattened, "program", programs, ARRAY_SIZE(programs));
	return 0;
}

/* ---- all of it ---- */

static void judge_words(struct intake *x, const struct skill *s, struct json *doc)
{
	struct json *words = intake_classify(x->a, s->id, s->description);

	json_set(x->a, doc, "words", words);
	if (text_eq(json_get_text(words, "default_action", ""), "reject"))
		found(x, REJECT, "words", "SKILL.md", 0, json_get_text(words, "rationale", ""),
			bytes_of(s->description));
}

static void judge_contract(struct intake *x, struct json *doc)
{
	struct bytes text;
	struct json *contract;
	struct terms t;
	struct err e = { 0 };

	json_setb(x->a, doc, "contract", false);
	if (file_read(x->sys, x->a, x->dir_fd, "contract.json", 1 << 20, FILE_BENEATH, &text, &e) ==
		E_MISSING)
		return;
	json_setb(x->a, doc, "contract", true);
	if (e.rc || json_parse(x->a, text, "contract.json", NULL, &contract, &e) ||
		!json_is(contract, JSON_OBJECT) || terms_read(x->a, "skill", contract, &t, &e))
		found(x, REVIEW, "contract", "contract.json", 0, arena_strdup(x->a, e.text),
			(struct bytes){ 0 });
}

int intake_scan(struct sys *s, struct arena *a, const struct workspace *ws, const char *dir,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct intake x = { .sys = s, .a = a, .findings = json_new(a, JSON_ARRAY) };
	struct json *doc = json_new(a, JSON_OBJECT), *files;
	struct skill skill = { .name = path_base(dir), .id = path_base(dir), .description = "" };
	const char *sha256;
	int rc = file_open_dir(s, AT_FDCWD, dir, &fd, e);

	if (rc == OK)
		rc = guard_open(s, a, ws, NULL, &x.guard, e);
	if (rc)
		return rc;
	const struct contract_place at = { s, a, fd };
	x.dir_fd = fd;
	rc = skill_digest(&at, ".", &sha256, &files, e);
	if (rc == OK)
		rc = file_walk(s, fd, ".", look_at, &x, e);
	if (rc)
		return rc;
	if (!skill_read(&at, ".", path_base(dir), &skill))
		found(&x, REJECT, "file", "SKILL.md", 0, "there is none: it is no skill",
			(struct bytes){ 0 });
	json_sets(a, doc, "path", dir);
	json_sets(a, doc, "name", skill.id);
	judge_words(&x, &skill, doc);
	judge_contract(&x, doc);
	json_sets(a, doc, "verdict", x.worst == REJECT ? "reject" : x.worst == REVIEW ? "review" : "accept");
	json_sets(a, doc, "sha256", sha256);
	json_seti(a, doc, "file_count", files->n);
	json_set(a, doc, "findings", x.findings);
	*ret = doc;
	return OK;
}
