/* sessions.c — programs that drive terminals and windows: tmux, screen, xdotool, i3-msg.
 *
 * Their command lines are chains: several commands in one call, some of which run a program, type into another one, or carry
 * commands of the same kind as a text.  Each is judged; that the first one only asks says nothing about those behind it. */
#include "propose/programs/programs.h"

#include <string.h>

static void classify_tmux(struct call *k, struct word *v, size_t n);

/* tmux takes the beginning of a command's name for the name. */
static bool is_short_for(const struct word *x, const char *list)
{
	for (const char *p = list; *p && x->certainty == CERTAIN && x->text_n; p += strspn(p, " ")) {
		if (strncmp(p, x->text, x->text_n) == 0)
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

static void run_joined(struct call *k, struct word *v, size_t n, const char *via)
{
	struct word text = words_join(walk_arena(k->w), v, n);
	if (n)
		run_text(k, &text, 0, via);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* Commands of the program as one text.  Its quotes are nearly those of a shell, so it is read as a shell's text in which each
 * command has the program in front. */
static void run_chain_text(struct call *k, const struct word *x, const char *program)
{
	struct buf b;
	char quote = 0;
	if (x->certainty != CERTAIN) {
		run_text(k, x, 0, k->head);
		return;
	}
	buf_init(&b, walk_arena(k->w));
	buf_adds(&b, program);
	for (const char *p = x->text; *p; p++) {
		bool is_brace = strchr("{}", *p) && (p == x->text || strchr(" \t\n;", p[-1])) &&
			(!p[1] || strchr(" \t\n;", p[1]));
		if (*p == '\\' && p[1] && quote != '\'') {
			buf_addc(&b, *p++);
			buf_addc(&b, *p);
		} else if (!quote && (*p == ';' || *p == '\n' || is_brace)) {
			buf_addc(&b, '\n');
			buf_adds(&b, program);
		} else {
			if (quote ? *p == quote : *p == '\'' || *p == '"')
				quote = quote ? 0 : *p;
			buf_addc(&b, *p);
		}
	}
	struct word text = walk_word(k->w, b.p, x->at);
	run_text(k, &text, 0, k->head);
}

/* #(command) in a text that tmux shows: its output is put there. */
static void run_formats(struct call *k, const struct word *x)
{
	for (const char *from = x->text; (from = strstr(from, "#("));) {
		size_t depth = 1, n = 0;
		for (from += 2; from[n]; n++) {
			depth += from[n] == '(';
			depth -= from[n] == ')';
			if (!depth)
				break;
		}
		struct word text = walk_word(k->w, arena_strndup(walk_arena(k->w), from, n), x->at);
		run_text(k, x->certainty == CERTAIN ? &text : x, 0, "tmux #()");
		from += n;
	}
}

/* A command of tmux as the last words of another one: one word is a text, more are its words. */
static void run_tmux(struct call *k, struct word *v, size_t n)
{
	if (n == 1)
		run_chain_text(k, v, "tmux ");
	else if (n)
		classify_tmux(k, v, n);
}

/* Commands that carry others, for now or for later.  False: it is none of them. */
static bool carries_tmux(struct call *k, const struct word *verb, struct word *v, size_t n)
{
	struct arena *a = walk_arena(k->w);
	struct parsed p;
	if (is_short_for(verb, "if-shell")) {
		args_parse(a, v, n, "+t= F b", &p);
		if (p.operand_count && !args_has(&p, 1))
			run_joined(k, p.operands, 1, "tmux if-shell");
		for (size_t i = 1; i < p.operand_count; i++)
			run_tmux(k, &p.operands[i], 1);
	} else if (is_short_for(verb, "bind-key set-hook") && !word_is(verb, "set")) {
		args_parse(a, v, n, "+tTN= agnpruwR", &p);
		fx(k, TAG_WRITE_CONFIG, verb, 0);
		run_tmux(k, p.operands + 1, p.operand_count ? p.operand_count - 1 : 0);
	} else if (is_short_for(verb, "confirm-before command-prompt display-menu menu")) {
		args_parse(a, v, n, "+IptTcxsSHC= 1FikeNMOyb", &p);
		for (size_t i = 0; i < p.operand_count; i++)
			run_tmux(k, &p.operands[i], 1);
	} else if (is_short_for(verb, "source-file")) {
		args_parse(a, v, n, "t= Fnqv", &p);
		for (size_t i = 0; i < p.operand_count; i++)
			load_code(k, &p.operands[i], "tmux");
	} else if (is_short_for(verb, "set-option set-window-option setw")) {
		args_parse(a, v, n, "+t= agopqsuUwF", &p);
		fx(k, TAG_WRITE_CONFIG, verb, 0);
		const struct word *name = p.operand_count > 1 ? &p.operands[0] : NULL;
		if (name &&
			(name->certainty != CERTAIN || names_command(name->text, name->text_n) ||
				word_is_any(name, "default-shell editor"))) {
			if (is_loose_program(&p.operands[1]))
				fx(k, TAG_ENVIRONMENT_LOADER, &p.operands[1], 0);
			run_text(k, &p.operands[1], 0, "tmux set-option");
		} else if (name && word_starts(name, "command-alias")) {
			size_t at = strcspn(p.operands[1].text, "=");
			struct word text = word_tail(&p.operands[1], at + (p.operands[1].text[at] == '='));
			run_tmux(k, &text, 1);
		}
	} else {
		return false;
	}
	return true;
}

/* One command of tmux: what it runs in a new window, or types into an existing one, is judged as a
 * command. */
static void classify_tmux_command(struct call *k)
{
	static const char runs[] = "new-session new-window neww split-window splitw run-shell respawn-pane "
				   "respawnp respawn-window respawnw pipe-pane pipep display-popup popup";
	size_t places[1];
	size_t n = verb_words(k, "LSf=", 1, places);
	const struct word *verb = n ? &k->rest[places[0]] : NULL;
	struct word *v = verb ? k->rest + places[0] + 1 : NULL;
	size_t count = verb ? k->rest_count - places[0] - 1 : 0;
	struct parsed p;
	for (size_t i = 0; i < count && !word_is_any(verb, "send-keys send"); i++)
		run_formats(k, &v[i]);
	if (!verb ||
		word_is_any(verb,
			"ls list-sessions list-windows list-panes attach a attach-session capture-pane "
			"has-session has info display-message display")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (word_starts(verb, "kill")) {
		fx(k, TAG_PROCESS_SESSION, verb, 0);
	} else if (word_is_any(verb, "send-keys send")) {
		args_parse(walk_arena(k->w), v, count, "tN=", &p);
		/* Keys at the end are pressed, not typed. */
		while (p.operand_count && word_is_any(&p.operands[p.operand_count - 1], "Enter C-m ENTER"))
			p.operand_count--;
		bool is_key = p.operand_count && word_starts(&p.operands[0], "C-");
		run_joined(k, p.operands, is_key ? 0 : p.operand_count, "tmux send-keys");
	} else if (is_short_for(verb, "paste-buffer pasteb")) {
		fx(k, TAG_TAMPER_INPUT, verb, 0);
	} else if (carries_tmux(k, verb, v, count)) {
		return;
	} else if (is_short_for(verb, runs)) {
		args_parse(walk_arena(k->w), v, count, "sntcxyFeLSlp= C", &p);
		if (args_has(&p, 1) && is_short_for(verb, "run-shell"))
			run_tmux(k, p.operands, p.operand_count);
		else
			run_joined(k, p.operands, p.operand_count, "tmux");
	} else {
		fx(k, TAG_WRITE_CONFIG, verb, 0);
	}
}

/* Commands are separated by a word ";", or by one at the end of a word. */
static void classify_tmux(struct call *k, struct word *v, size_t n)
{
	struct arena *a = walk_arena(k->w);
	struct call one = *k;
	struct word *words = arena_alloc(a, (n + 1) * sizeof(*words));
	one.rest = words;
	one.rest_count = 0;
	for (size_t i = 0; i < n; i++) {
		size_t len = v[i].text_n;
		bool ends = v[i].certainty == CERTAIN && len && v[i].text[len - 1] == ';';
		if (ends && len > 1 && v[i].text[len - 2] == '\\' && len > 2)
			ends = false; /* x\; is a word that ends in one */
		if (!ends)
			one.rest[one.rest_count++] = v[i];
		else if (len > 1 && !word_is(&v[i], "\\;"))
			one.rest[one.rest_count++] = word_head(a, &v[i], len - 1);
		if (ends) {
			classify_tmux_command(&one);
			one.rest += one.rest_count;
			one.rest_count = 0;
		}
	}
	if (one.rest_count || !n)
		classify_tmux_command(&one);
}

HANDLER(tmux)
{
	classify_tmux(k, k->rest, k->rest_count);
}

/* What is typed ends with the key that starts it, as a text. */
static struct word without_return(struct call *k, const struct word *x)
{
	static const char *const ends[] = { "\\n", "\\r", "^M", "\\015", "\\012", "\n", "\r" };
	size_t n = x->text_n;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (x->certainty == CERTAIN && text_ends(x->text, ends[i]))
			n = x->text_n - strlen(ends[i]);
	return n < x->text_n ? word_head(walk_arena(k->w), x, n) : *x;
}

/* One command for a session of screen. */
static void classify_screen_command(struct call *k, struct word *v, size_t n)
{
	struct parsed p;
	if (!n || word_is_any(v, "quit kill")) {
		fx(k, n ? TAG_PROCESS_SESSION : TAG_READ_QUERY, NULL, 0);
	} else if (word_is(v, "eval")) {
		for (size_t i = 1; i < n; i++)
			run_chain_text(k, &v[i], "screen -X ");
	} else if (word_is(v, "exec")) { /* in front of the command: which ends go where */
		size_t from = n > 2 && v[1].text_n && strspn(v[1].text, ".!:|") == v[1].text_n ? 2 : 1;
		run_joined(k, v + from, n - from, "screen -X");
	} else if (word_is(v, "stuff") && n > 1) {
		struct word text = words_join(walk_arena(k->w), v + 1, n - 1);
		text = without_return(k, &text);
		run_text(k, &text, 0, "screen -X");
	} else if (word_is(v, "screen")) {
		args_parse(walk_arena(k->w), v + 1, n - 1, "+tThs= aflL", &p);
		size_t from = p.operand_count && p.operands[0].text_n &&
			strspn(p.operands[0].text, "0123456789") == p.operands[0].text_n;
		run_joined(k, p.operands + from, p.operand_count - from, "screen -X");
	} else if (word_is_any(v, "at bind bindkey")) {
		args_parse(walk_arena(k->w), v + 1, n - 1, "+c= dmakt", &p);
		if (p.operand_count > 1)
			classify_screen_command(k, p.operands + 1, p.operand_count - 1);
		fx(k, TAG_WRITE_CONFIG, v, 0);
	} else if (word_is(v, "source") && n > 1) {
		load_code(k, &v[1], "screen");
	} else if (v[0].certainty != CERTAIN || word_is_any(v, "paste process readbuf")) {
		fx(k, TAG_TAMPER_INPUT, v, 0);
	} else {
		fx(k, TAG_READ_QUERY, NULL, 0);
	}
}

/* -X sends a command to a session; operands otherwise are a program. */
HANDLER(screen)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "+X SpcehtTs= ls lwdmDRrx", &p);
	if (args_has(&p, 0))
		classify_screen_command(k, p.operands, p.operand_count);
	else if (p.operand_count)
		run_argv(k, p.operands, p.operand_count, 0, "screen");
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* xdotool: questions can follow each other; exec runs the words behind it; all else acts in a person's place.  Between questions stand only
 * options, the pattern of a search, and numbers of windows. */
HANDLER(xdotool)
{
	static const char asks[] =
		"search getactivewindow getwindowfocus getwindowname getwindowclassname getwindowpid "
		"getwindowgeometry getmouselocation getdisplaygeometry get_desktop "
		"get_num_desktops get_desktop_for_window get_desktop_viewport version help";
	bool only_asks = k->rest_count > 0, is_search = false;
	for (size_t i = 0; i < k->rest_count; i++) {
		struct word *x = &k->rest[i];
		bool is_window = i && x->text_n && strspn(x->text, "0123456789%@xabcdef") == x->text_n &&
			strchr("0123456789%", x->text[0]);
		if (x->certainty != CERTAIN) {
			only_asks &= is_search && x->is_quoted;
			is_search = false;
		} else if (word_starts(x, "-") && x->text_n > 1) {
			i += word_is_any(x, "--maxdepth --pid --screen --desktop --limit") &&
				i + 1 < k->rest_count && k->rest[i + 1].certainty == CERTAIN;
		} else if (is_search) {
			is_search = false;
		} else if (word_is(x, "exec")) {
			struct parsed p;
			args_parse(walk_arena(k->w), x + 1, k->rest_count - i - 1,
				"+:args=,terminator= :sync", &p);
			run_argv(k, p.operands, p.operand_count, 0, k->head);
			if (!args_has(&p, 0) && only_asks && p.operand_count)
				return;
			only_asks = false;
			break;
		} else if (word_is_any(x, asks)) {
			is_search = word_is(x, "search");
		} else {
			only_asks &= is_window;
		}
	}
	fx(k, only_asks ? TAG_READ_QUERY : TAG_TAMPER_INPUT, NULL, 0);
}

/* i3-msg and swaymsg: commands in one text or in words, separated by ";" and ",", each behind criteria in brackets.  Wherever exec stands,
 * what follows is run by a shell. */
HANDLER(window_manager)
{
	struct word all = words_join(walk_arena(k->w), k->rest, k->rest_count);
	if (all.certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_TEXT, &all, 0);
	for (const char *p = all.text; p && (p = strstr(p, "exec"));) {
		bool begins = p == all.text || strchr(" \t;,]", p[-1]);
		p += text_starts(p, "exec_always") ? strlen("exec_always") : strlen("exec");
		if (!begins || !strchr(" \t\"'", *p) || !*p)
			continue;
		p += strspn(p, " \t");
		if (text_starts(p, "--no-startup-id"))
			p += strlen("--no-startup-id") + strspn(p + strlen("--no-startup-id"), " \t");
		const char *end = strchr("\"'", *p) && *p ? strchr(p + 1, *p) : NULL;
		const char *text = end ? arena_strndup(walk_arena(k->w), p + 1, (size_t)(end - p - 1)) : p;
		struct word inner = walk_word(k->w, text, all.at);
		run_text(k, &inner, 0, k->head);
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}
