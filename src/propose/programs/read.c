/* read.c — programs that only look, and what they print.
 *
 * Most of what an agent runs is here, and must never be stopped; so a reader's operands are separated from its pattern and
 * option values before they are judged (grep '.env' is not a secret, cat .env is).  What echo, printf, cat and the
 * decoders print is followed, because a shell on the right side of the pipe will run it. */
#include "propose/programs/programs.h"

#include <string.h>

enum {
	PATTERN_FIRST = 1, /* the first operand is no file, unless item 0 of the spec was given */
	NOT_FILES = 2, /* operands are not files at all */
	FILTER = 4, /* what it prints is its input, transformed */
	METADATA = 8 /* names, sizes, kinds and numbers, never what is in the file */
};

static void pass_on(struct call *k)
{
	if (k->c->in.kind == FEED_FETCHED)
		k->c->out = k->c->in;
	else
		k->c->out = (struct feed){ .kind = FEED_DECODED };
}

/* ls -l .env, stat /dev/sda: looking at the outside of a thing is no reading of it. */
static void look_at(struct call *k, const struct word *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct effect *e = fx_path(k, TAG_READ_FILE, &v[i], 0);
		if (e && (e->kind == FX_SECRET_READ || e->kind == FX_DEVICE)) {
			e->kind = FX_READ;
			e->tag = tag_name(TAG_READ_QUERY);
		}
	}
}

static void classify_reader(struct call *k)
{
	struct parsed p;
	unsigned mode = k->program->mode;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, k->program->spec ? k->program->spec : "", &p);
	size_t first = mode & PATTERN_FIRST && !args_has(&p, 0) && p.operand_count ? 1 : 0;
	if (mode & NOT_FILES || p.operand_count == first)
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (mode & METADATA && !(text_eq(k->head, "file") && args_find(k->rest, k->rest_count, "s")))
		look_at(k, p.operands, p.operand_count);
	else if (mode & PATTERN_FIRST)
		fx_read_tree(k, p.operands + first, p.operand_count - first);
	else
		fx_read(k, p.operands + first, p.operand_count - first);
	if (mode & FILTER)
		pass_on(k);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What follows a backslash; returns where the text goes on. */
static const char *unescape(const char *p, struct buf *b)
{
	switch (*p) {
	case 'n':
		buf_addc(b, '\n');
		return p + 1;
	case 't':
		buf_addc(b, '\t');
		return p + 1;
	case 'r':
		buf_addc(b, '\r');
		return p + 1;
	case 'e':
		buf_addc(b, 27);
		return p + 1;
	case '\\':
		buf_addc(b, '\\');
		return p + 1;
	default:
		break;
	}
	unsigned value = 0;
	size_t n = 0;
	bool is_hex = *p == 'x';
	const char *digits = is_hex ? p + 1 : p + (*p == '0' && p[1] >= '0' && p[1] <= '7');
	for (; n < (is_hex ? 2u : 3u); n++) {
		int d = hex_value(digits[n]);
		if (d < 0 || (!is_hex && d > 7))
			break;
		value = value * (is_hex ? 16 : 8) + (unsigned)d;
	}
	if (!n) {
		buf_addc(b, '\\');
		return p;
	}
	if (value)
		buf_addc(b, (char)value);
	return digits + n;
}

static void add_unescaped(struct buf *b, const char *text)
{
	for (const char *p = text; *p;)
		if (*p == '\\' && p[1])
			p = unescape(p + 1, b);
		else
			buf_addc(b, *p++);
}

/* The output cannot be known; say where it comes from. */
static bool outputs_unknown(struct call *k)
{
	enum origin worst = ORIGIN_LITERAL;
	for (size_t i = 0; i < k->rest_count; i++)
		if (k->rest[i].certainty != CERTAIN && k->rest[i].origin >= worst)
			worst = k->rest[i].origin ? k->rest[i].origin : ORIGIN_UNKNOWN;
	if (worst == ORIGIN_LITERAL)
		return false;
	k->c->out.kind = worst == ORIGIN_FETCHED ? FEED_FETCHED
		: worst == ORIGIN_DECODED	 ? FEED_DECODED
						 : FEED_UNKNOWN;
	return true;
}

static void classify_echo(struct call *k)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
	if (outputs_unknown(k))
		return;
	size_t i = 0;
	bool escapes = false, newline = true;
	for (; i < k->rest_count && k->rest[i].text[0] == '-' && k->rest[i].text_n > 1 &&
		strspn(k->rest[i].text + 1, "neE") == k->rest[i].text_n - 1;
		i++) {
		escapes |= strchr(k->rest[i].text, 'e') != NULL;
		newline &= strchr(k->rest[i].text, 'n') == NULL;
	}
	struct buf b;
	buf_init(&b, walk_arena(k->w));
	for (size_t from = i; i < k->rest_count; i++) {
		if (i > from)
			buf_addc(&b, ' ');
		if (escapes)
			add_unescaped(&b, k->rest[i].text);
		else
			buf_add(&b, k->rest[i].text, k->rest[i].text_n);
	}
	if (newline)
		buf_addc(&b, '\n');
	k->c->out = (struct feed){ .kind = FEED_KNOWN, .text = b.p, .n = b.n };
}

/* One pass over the format; arguments consumed as they come. */
static size_t print_format(struct buf *b, const char *format, const struct word *v, size_t n)
{
	size_t used = 0;
	for (const char *p = format; *p;) {
		if (*p == '\\' && p[1]) {
			p = unescape(p + 1, b);
		} else if (*p == '%' && p[1] == '%') {
			buf_addc(b, '%');
			p += 2;
		} else if (*p == '%' && p[1]) {
			p++;
			p += strspn(p, "-+ #0123456789.*'");
			const char *text = used < n ? v[used++].text : "";
			if (*p == 'b')
				add_unescaped(b, text);
			else if (*p == 'c')
				buf_add(b, text, *text != '\0');
			else
				buf_adds(b, text);
			p += *p != '\0';
		} else {
			buf_addc(b, *p++);
		}
	}
	return used;
}

static void classify_printf(struct call *k)
{
	size_t i = k->rest_count && word_is(&k->rest[0], "--") ? 1 : 0;
	fx(k, TAG_READ_QUERY, NULL, 0);
	if (outputs_unknown(k) || i >= k->rest_count || word_is(&k->rest[i], "-v"))
		return;
	struct buf b;
	buf_init(&b, walk_arena(k->w));
	const struct word *v = k->rest + i + 1;
	size_t n = k->rest_count - i - 1;
	for (size_t used = 1, rounds = 0; rounds == 0 || (n && used && rounds < 4096); rounds++) {
		used = print_format(&b, k->rest[i].text, v, n);
		used = used < n ? used : n;
		v += used;
		n -= used;
	}
	k->c->out = (struct feed){ .kind = FEED_KNOWN, .text = b.p, .n = b.n };
}

static void classify_cat(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "AbeEnstTuv", &p);
	if (!p.operand_count) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		k->c->out = k->c->in;
		return;
	}
	fx_read(k, p.operands, p.operand_count);
	const struct word *x = &p.operands[0];
	if (p.operand_count == 1 && word_is(x, "-")) {
		k->c->out = k->c->in;
	} else if (p.operand_count == 1 && x->certainty == CERTAIN) {
		k->c->out = (struct feed){ .kind = FEED_FILE, .text = x->text, .n = x->text_n };
	} else if (x->origin == ORIGIN_FETCHED) { /* cat <(curl ...) */
		k->c->out.kind = FEED_FETCHED;
	}
}

static int base64_value(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	if (c == '-')
		return 62;
	if (c == '_')
		return 63;
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

static bool decode_base64(struct buf *b, const char *p, size_t n)
{
	unsigned bits = 0, have = 0;
	for (size_t i = 0; i < n; i++) {
		int v = base64_value(p[i]);
		if (v < 0) {
			if (strchr("=\r\n \t", p[i]))
				continue;
			return false;
		}
		bits = bits << 6 | (unsigned)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			buf_addc(b, (char)(bits >> have & 0xff));
		}
	}
	return b->n > 0;
}

static bool decode_hex(struct buf *b, const char *p, size_t n)
{
	unsigned value = 0, have = 0;
	for (size_t i = 0; i < n; i++) {
		int d = hex_value(p[i]);
		if (d < 0)
			continue;
		value = value << 4 | (unsigned)d;
		if (++have % 2 == 0)
			buf_addc(b, (char)(value & 0xff));
	}
	return b->n > 0;
}

/* Decoded text is kept for the report: it will be shown what it says, and asked about all the same. */
static void decoded_output(struct call *k, bool (*decode)(struct buf *, const char *, size_t))
{
	struct feed out = { .kind = k->c->in.kind == FEED_FETCHED ? FEED_FETCHED : FEED_DECODED };
	struct buf b;
	buf_init(&b, walk_arena(k->w));
	if (k->c->in.kind == FEED_KNOWN && decode && decode(&b, k->c->in.text, k->c->in.n) &&
		!memchr(b.p, 0, b.n)) {
		out.text = b.p;
		out.n = b.n;
	}
	k->c->out = out;
}

static void classify_base64(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "dD:decode wi:ignore-garbage o=", &p);
	fx_read(k, p.operands, p.operand_count);
	if (!p.operand_count)
		fx(k, TAG_READ_QUERY, NULL, 0);
	if (args_has(&p, 0))
		decoded_output(k, text_eq(k->head, "base64") ? decode_base64 : NULL);
}

static void classify_xxd(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"r:revert p:plain,ps c=g=l=s=o=:cols,len,seek abeiuE", &p);
	fx_read(k, p.operands, p.operand_count ? 1 : 0);
	if (p.operand_count > 1)
		(void)fx_path(k, TAG_WRITE_FILE, &p.operands[1], FXF_OVERWRITE);
	else if (!p.operand_count)
		fx(k, TAG_READ_QUERY, NULL, 0);
	if (args_has(&p, 0))
		decoded_output(k, args_has(&p, 1) ? decode_hex : NULL);
}

/* rev, tr, od, uudecode and the rest: what comes out is not what went in. */
static void classify_decoder(struct call *k)
{
	classify_reader(k);
	decoded_output(k, NULL);
}

static void classify_openssl(struct call *k)
{
	if (k->rest_count && word_is(&k->rest[0], "s_client")) {
		fx(k, TAG_NETWORK_CONNECT, k->rest_count > 1 ? &k->rest[k->rest_count - 1] : NULL, 0);
		k->c->out.kind = FEED_SOCKET;
		return;
	}
	if (k->rest_count && word_is(&k->rest[0], "s_server")) {
		fx(k, TAG_LISTEN_PORT, NULL, 0);
		return;
	}
	/* Making a new key for a test server is no leak of an old one. */
	bool makes_key = k->rest_count &&
		(word_is_any(&k->rest[0], "genrsa genpkey ecparam dhparam gendsa x509 ca") ||
			(word_is(&k->rest[0], "req") &&
				args_find(k->rest, k->rest_count, "new newkey x509")));
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-out -keyout -CAout"))
			(void)fx_path(k, makes_key ? TAG_WRITE_KEY : TAG_WRITE_FILE, &k->rest[i + 1],
				FXF_OVERWRITE);
		else if (word_is_any(&k->rest[i], "-in -inkey"))
			fx_read(k, &k->rest[i + 1], 1);
	fx(k, TAG_READ_QUERY, NULL, 0);
	if (k->rest_count && word_is_any(&k->rest[0], "enc base64 smime cms aes-256-cbc"))
		decoded_output(k, NULL);
}

static void classify_gpg(struct call *k)
{
	if (args_find(k->rest, k->rest_count,
		    "delete-key delete-keys delete-secret-key delete-secret-keys "
		    "delete-secret-and-public-key"))
		fx(k, TAG_DELETE_KEY, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "export-secret-keys export-secret-subkeys"))
		fx(k, TAG_SECRET_STORE, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "keyserver recv-keys send-keys refresh-keys"))
		fx(k, TAG_NETWORK_GET, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "o output"))
		fx(k, TAG_WRITE_FILE, NULL, 0);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
	decoded_output(k, NULL);
}

static void classify_environment(struct call *k)
{
	if (!k->rest_count || (args_find(k->rest, k->rest_count, "p x") && k->rest_count == 1)) {
		fx(k, TAG_CREDENTIAL_ENVIRONMENT, NULL, 0);
		return;
	}
	for (size_t i = 0; i < k->rest_count; i++)
		if (is_assignment(&k->rest[i]))
			note_assignment(k, &k->rest[i]);
	fx(k, TAG_READ_QUERY, NULL, 0);
}

static void classify_printenv(struct call *k)
{
	fx(k, k->rest_count ? TAG_READ_QUERY : TAG_CREDENTIAL_ENVIRONMENT, NULL, 0);
}

/* set alone prints every variable; with options it only changes the shell. */
static void classify_set(struct call *k)
{
	fx(k, k->rest_count ? TAG_READ_QUERY : TAG_CREDENTIAL_ENVIRONMENT, NULL, 0);
}

static void classify_unset(struct call *k)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "HELM_") || word_starts(&k->rest[i], "OPENCLAW_"))
			fx(k, TAG_TAMPER_VARIABLE, &k->rest[i], 0);
		else if (word_is_any(&k->rest[i], "HISTFILE"))
			fx(k, TAG_DELETE_HISTORY, &k->rest[i], 0);
}

static void classify_history(struct call *k)
{
	bool erases = args_find(k->rest, k->rest_count, "c d w delete clear") ||
		(k->rest_count && word_is_any(&k->rest[0], "clear delete"));
	fx(k, erases ? TAG_DELETE_HISTORY : TAG_READ_QUERY, NULL, 0);
}

static void classify_source(struct call *k)
{
	if (!k->rest_count)
		return;
	fx_read(k, &k->rest[0], 1);
	run_script(k, &k->rest[0], "sh");
}

/* type NAME asks about a command; type FILE is the Windows cat. */
static void classify_type(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (strpbrk(k->rest[i].text, "./\\")) {
			classify_show(k);
			return;
		}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* awk: its program is code; -i inplace edits. */
static void classify_awk(struct call *k)
{
	enum { FILE_, SOURCE, INCLUDE };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"f=:file e=:source i=:include F=v=:field-separator,assign E=", &p);
	size_t first = 0;
	if (p.values[SOURCE])
		classify_code(k, "awk", p.values[SOURCE]);
	else if (!args_has(&p, FILE_) && p.operand_count)
		classify_code(k, "awk", &p.operands[first++]);
	if (p.values[INCLUDE] && word_is(p.values[INCLUDE], "inplace"))
		fx_paths(k, TAG_WRITE_EDIT, p.operands + first, p.operand_count - first, FXF_OVERWRITE);
	else
		fx_read(k, p.operands + first, p.operand_count - first);
	if (p.operand_count <= first)
		fx(k, TAG_READ_QUERY, NULL, 0);
	pass_on(k);
}

/* Readers that write with -o or -i. */
static void classify_output_option(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, k->program->spec, &p);
	if (p.values[0])
		(void)fx_path(k, TAG_WRITE_FILE, p.values[0], FXF_OVERWRITE);
	if (args_has(&p, 1) && p.operand_count)
		fx_paths(k, TAG_WRITE_EDIT, p.operands + 1, p.operand_count - 1, FXF_OVERWRITE);
	if (!p.values[0] && !args_has(&p, 1))
		fx(k, TAG_READ_QUERY, NULL, 0);
	if (k->program->mode & FILTER)
		pass_on(k);
}

/* A lister that can act: dmesg -C, journalctl --vacuum, date -s ... */
static void classify_log(struct call *k)
{
	bool erases = args_find(k->rest, k->rest_count,
		"C c clear read-clear vacuum-time vacuum-size vacuum-files rotate flush relinquish-var "
		"smart-relinquish-var");
	if (text_eq(k->head, "journalctl"))
		erases = args_find(k->rest, k->rest_count,
			"vacuum-time vacuum-size vacuum-files rotate flush relinquish-var");
	fx(k, erases ? TAG_DELETE_LOG : TAG_READ_QUERY, NULL, 0);
}

static void classify_date(struct call *k)
{
	bool sets = args_find(k->rest, k->rest_count, "s set");
	fx(k, sets ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

static void classify_hostname(struct call *k)
{
	bool sets = k->rest_count && !word_starts(&k->rest[0], "-");
	fx(k, sets || args_find(k->rest, k->rest_count, "b F") ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

static void classify_ss(struct call *k)
{
	fx(k, args_find(k->rest, k->rest_count, "K kill") ? TAG_PROCESS_KILL : TAG_READ_QUERY, NULL, 0);
}

/* The pager may be told to run something; agents never do, so only that is looked at. */
static void classify_man(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "P=:pager= H= M=:manpath=", &p);
	if (p.values[0])
		run_text(k, p.values[0], 0, "man -P");
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* less +!cmd starts with a command of the reader's, here to run another program. */
static void classify_less(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "+!")) {
			struct word text = word_tail(&k->rest[i], 2);
			run_text(k, &text, 0, "less +!");
		}
	classify_reader(k);
}

/* rg --pre program: run for every file it searches */
static void classify_rg(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		bool is_next = word_is(&k->rest[i], "--pre") && i + 1 < k->rest_count;
		if (!is_next && !word_starts(&k->rest[i], "--pre="))
			continue;
		struct word text = is_next ? k->rest[i + 1] : word_tail(&k->rest[i], 6);
		run_text(k, &text, 0, "rg --pre");
		if (is_loose_program(&text))
			fx(k, TAG_ENVIRONMENT_LOADER, &k->rest[i], 0);
	}
	classify_reader(k);
}

#define READ(name, spec, mode) \
	{ \
		name, classify_reader, TAG_READ_FILE, spec, NULL, 0, mode \
	}
#define QUERY(name) \
	{ \
		name, classify_reader, TAG_READ_QUERY, "", NULL, 0, NOT_FILES \
	}
#define RUNS(name, run) \
	{ \
		name, run, TAG_READ_QUERY, "", NULL, 0, 0 \
	}
#define GREP \
	"ef=:regexp=,file= " \
	"m=A=B=C=d=D=:max-count,after-context,before-context,context,include=,exclude=,exclude-dir=,color="
#define RG \
	"ef=:regexp=,file= " \
	"g=t=T=m=A=B=C=j=M=r=E=:glob,type,type-not,max-count,after-context,before-context,context,replace," \
	"max-depth=,iglob=,sort=,color=,pre=,pre-glob="

static const struct program rows[] = {
	RUNS(".", classify_source),
	QUERY(":"),
	QUERY("["),
	QUERY("[["),
	READ("ack", GREP, PATTERN_FIRST),
	QUERY("acpi"),
	READ("ag", RG, PATTERN_FIRST),
	QUERY("alias"),
	QUERY("ansible-doc"),
	QUERY("apropos"),
	QUERY("arp-scan"),
	RUNS("awk", classify_awk),
	READ("b2sum", "", 0),
	RUNS("base32", classify_base64),
	RUNS("base64", classify_base64),
	QUERY("basename"),
	QUERY("basenc"),
	READ("bat", "l=H=r=:language,style=,theme=,line-range,paging=,color=", 0),
	READ("batcat", "l=", 0),
	QUERY("bg"),
	QUERY("bind"),
	READ("blkid", "", METADATA),
	QUERY("break"),
	READ("bzcat", "", FILTER),
	READ("bzgrep", GREP, PATTERN_FIRST),
	QUERY("cal"),
	QUERY("caller"),
	RUNS("cat", classify_cat),
	QUERY("cd"),
	READ("cksum", "", 0),
	QUERY("clear"),
	READ("cloc", "", 0),
	READ("cmp", "n=i=", 0),
	READ("col", "", FILTER),
	READ("colordiff", "", 0),
	READ("column", "s=o=c=", FILTER),
	READ("comm", "", 0),
	QUERY("compgen"),
	QUERY("complete"),
	QUERY("continue"),
	READ("crc32", "", 0),
	READ("csvcut", "c=", FILTER),
	READ("csvlook", "", FILTER),
	READ("cut", "d=f=c=b=:delimiter,fields,characters,bytes", FILTER),
	RUNS("date", classify_date),
	RUNS("declare", classify_environment),
	READ("delta", "", FILTER),
	READ("df", "t=x=B=", 0),
	READ("diff", "U=C=I=x=X=L=:label=,exclude=", 0),
	READ("diff3", "", 0),
	READ("difft", "", 0),
	READ("dir", "", METADATA),
	QUERY("dircolors"),
	QUERY("dirname"),
	QUERY("dirs"),
	QUERY("disown"),
	RUNS("dmesg", classify_log),
	QUERY("dpkg-query"),
	READ("du", "d=t=:max-depth=,exclude=,threshold=", METADATA),
	READ("dumpe2fs", "", METADATA),
	READ("dust", "d=n=", METADATA),
	RUNS("echo", classify_echo),
	READ("egrep", GREP, PATTERN_FIRST),
	QUERY("enable"),
	READ("exa", "L=I=s=", METADATA),
	READ("exiftool", "", 0),
	QUERY("exit"),
	READ("expand", "t=", FILTER),
	RUNS("export", classify_environment),
	QUERY("expr"),
	READ("eza", "L=I=s=", METADATA),
	QUERY("factor"),
	QUERY("false"),
	QUERY("fc"),
	QUERY("fc-list"),
	QUERY("fg"),
	READ("fgrep", GREP, PATTERN_FIRST),
	READ("file", "m=F=f=", METADATA),
	READ("fmt", "w=", FILTER),
	READ("fold", "w=", FILTER),
	QUERY("free"),
	QUERY("fzf"),
	RUNS("gawk", classify_awk),
	QUERY("getconf"),
	QUERY("getent"),
	READ("getfacl", "", 0),
	QUERY("getopt"),
	QUERY("getopts"),
	RUNS("gpg", classify_gpg),
	RUNS("gpg2", classify_gpg),
	READ("grep", GREP, PATTERN_FIRST),
	QUERY("groups"),
	QUERY("hash"),
	READ("head", "n=c=:lines,bytes", FILTER),
	QUERY("help"),
	READ("hexdump", "n=s=e=", FILTER),
	READ("hexyl", "n=", FILTER),
	RUNS("history", classify_history),
	QUERY("hostid"),
	RUNS("hostname", classify_hostname),
	QUERY("htop"),
	{ "iconv", classify_output_option, TAG_READ_QUERY, "o=:output= _ f=t=:from-code,to-code", NULL, 0,
		FILTER },
	QUERY("id"),
	READ("identify", "", 0),
	QUERY("info"),
	QUERY("iostat"),
	QUERY("jobs"),
	READ("join", "t=j=1=2=", FILTER),
	RUNS("journalctl", classify_log),
	READ("jq", "f:from-file L=:indent=,arg=,argjson= ", PATTERN_FIRST | FILTER),
	QUERY("killsnoop"),
	QUERY("last"),
	QUERY("lastlog"),
	READ("ldd", "", 0),
	{ "less", classify_less, TAG_READ_FILE, "p=P=", NULL, 0, 0 },
	QUERY("let"),
	RUNS("local", classify_environment),
	QUERY("locale"),
	QUERY("locate"),
	QUERY("logger"),
	QUERY("logname"),
	QUERY("logout"),
	QUERY("look"),
	READ("ls", "I=w=T=:ignore=,width=,color=,sort=,format=", METADATA),
	QUERY("lsb_release"),
	QUERY("lsblk"),
	QUERY("lscpu"),
	QUERY("lsd"),
	QUERY("lsmod"),
	QUERY("lsof"),
	QUERY("lspci"),
	QUERY("lsusb"),
	QUERY("ltrace-stat"),
	RUNS("man", classify_man),
	QUERY("mapfile"),
	RUNS("mawk", classify_awk),
	READ("md5", "", 0),
	READ("md5sum", "", 0),
	READ("mdls", "", 0),
	READ("mediainfo", "", 0),
	QUERY("mktemp"),
	READ("mlr", "", NOT_FILES | FILTER),
	{ "more", classify_less, TAG_READ_FILE, "", NULL, 0, 0 },
	QUERY("mpstat"),
	RUNS("nawk", classify_awk),
	QUERY("ncal"),
	QUERY("ncdu"),
	QUERY("neofetch"),
	QUERY("netstat"),
	READ("nl", "b=w=s=", FILTER),
	READ("nm", "", 0),
	QUERY("nproc"),
	QUERY("numfmt"),
	READ("objdump", "j=M=", 0),
	RUNS("od", classify_decoder),
	RUNS("openssl", classify_openssl),
	READ("otool", "", 0),
	READ("pandoc", "o=", NOT_FILES),
	READ("paste", "d=", FILTER),
	QUERY("pathchk"),
	READ("pcregrep", GREP, PATTERN_FIRST),
	READ("pdftotext", "", 0),
	QUERY("pgrep"),
	QUERY("pidof"),
	QUERY("pidstat"),
	QUERY("pinky"),
	QUERY("pmap"),
	QUERY("popd"),
	QUERY("posh"),
	READ("pr", "", FILTER),
	RUNS("printenv", classify_printenv),
	RUNS("printf", classify_printf),
	QUERY("procs"),
	QUERY("ps"),
	QUERY("pstree"),
	QUERY("ptx"),
	QUERY("pushd"),
	QUERY("pwd"),
	QUERY("pwgen"),
	QUERY("read"),
	QUERY("readarray"),
	READ("readelf", "", 0),
	QUERY("readlink"),
	RUNS("readonly", classify_environment),
	QUERY("realpath"),
	QUERY("return"),
	RUNS("rev", classify_decoder),
	{ "rg", classify_rg, TAG_READ_FILE, RG, NULL, 0, PATTERN_FIRST },
	QUERY("rpmquery"),
	QUERY("runlevel"),
	QUERY("sar"),
	READ("scc", "", METADATA),
	READ("sdiff", "w=", 0),
	QUERY("select"),
	QUERY("seq"),
	RUNS("set", classify_set),
	READ("sha1sum", "", 0),
	READ("sha224sum", "", 0),
	READ("sha256sum", "", 0),
	READ("sha384sum", "", 0),
	READ("sha512sum", "", 0),
	READ("shasum", "a=", 0),
	READ("shellcheck", "s=e=f=S=:shell,exclude,format,severity", 0),
	QUERY("shift"),
	QUERY("shopt"),
	READ("shuf", "n=e=i=", FILTER),
	READ("size", "", 0),
	QUERY("slabtop"),
	QUERY("sleep"),
	QUERY("slop"),
	RUNS("source", classify_source),
	RUNS("ss", classify_ss),
	READ("stat", "c=:format=,printf=", METADATA),
	READ("strings", "n=t=e=", FILTER),
	QUERY("stty"),
	READ("sum", "", 0),
	QUERY("suspend"),
	READ("tac", "s=", FILTER),
	READ("tail", "n=c=s=:lines,bytes,pid=,sleep-interval=", FILTER),
	QUERY("test"),
	QUERY("tig"),
	QUERY("times"),
	QUERY("tldr"),
	READ("tokei", "", METADATA),
	QUERY("top"),
	QUERY("tput"),
	{ "tr", classify_decoder, TAG_READ_QUERY, "", NULL, 0, NOT_FILES },
	QUERY("trap"),
	READ("tree", "L=I=P=o=", METADATA),
	QUERY("true"),
	QUERY("tsort"),
	QUERY("tty"),
	RUNS("type", classify_type),
	RUNS("typeset", classify_environment),
	QUERY("ulimit"),
	QUERY("umask"),
	QUERY("unalias"),
	QUERY("uname"),
	READ("unexpand", "t=", FILTER),
	RUNS("unset", classify_unset),
	QUERY("uptime"),
	QUERY("users"),
	RUNS("uudecode", classify_decoder),
	RUNS("uuencode", classify_decoder),
	QUERY("uuidgen"),
	READ("vdir", "", METADATA),
	QUERY("vmstat"),
	QUERY("w"),
	QUERY("wait"),
	READ("wc", ":files0-from=", METADATA),
	QUERY("whatis"),
	QUERY("whereis"),
	QUERY("which"),
	QUERY("who"),
	QUERY("whoami"),
	READ("xmllint", "", 0),
	READ("xq", "", PATTERN_FIRST | FILTER),
	READ("xsv", "", NOT_FILES | FILTER),
	RUNS("xxd", classify_xxd),
	READ("xzcat", "", FILTER),
	READ("xzgrep", GREP, PATTERN_FIRST),
	QUERY("yes"),
	{ "yq", classify_output_option, TAG_READ_QUERY,
		":_out= i:inplace,in-place p=o=:input-format=,output-format=", NULL, 0, FILTER },
	READ("zcat", "", FILTER),
	READ("zgrep", GREP, PATTERN_FIRST),
	READ("zless", "", 0),
	READ("zstdcat", "", FILTER),
};
const struct program_table programs_readers = { rows, ARRAY_SIZE(rows) };
