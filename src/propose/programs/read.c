/* read.c — programs that only look, and what they print.
 *
 * Most of what an agent runs is here, and must never be stopped; so a reader's operands are separated from its pattern and
 * option values before they are judged (grep '.env' is not a secret, cat .env is).  What echo, printf, cat and the
 * decoders print is followed, because a shell on the right side of the pipe will run it. */
#include "propose/programs/programs.h"

#include <string.h>

/* What a filter prints is its input, changed: fetched text stays fetched, anything else counts as
 * decoded. */
static void pass_on(struct call *k)
{
	if (k->c->in.kind == FEED_FETCHED)
		k->c->out = k->c->in;
	else
		k->c->out = (struct feed){ .kind = FEED_DECODED, .below = k->c->in.below };
}

/* head, grep, sort: the lines that come out are lines that went in, so a shell behind it is judged by all of them.  Only where something
 * reads it: files are opened for that. */
void keep_lines(struct call *k, const struct word *file)
{
	struct bytes text;
	const struct feed *in = &k->c->in;
	const char *path = file		? (file->certainty == CERTAIN ? file->text : NULL)
		: in->kind == FEED_FILE ? in->text
					: NULL;

	if ((k->c->out.kind != FEED_DECODED && k->c->out.kind != FEED_UNKNOWN) || !walk_is_piped(k->w))
		return;
	if (!file && in->kind == FEED_KNOWN)
		k->c->out.lines = arena_strndup(walk_arena(k->w), in->text, in->n);
	else if (!file && in->lines)
		k->c->out.lines = in->lines;
	else if (path && project_here(k, path) && project_text(k, project_here(k, path), &text))
		k->c->out.lines = arena_strndup(walk_arena(k->w), (const char *)text.p, text.n);
}

/* rev: each line from its end. */
static bool decode_reversed(struct buf *b, const char *p, size_t n)
{
	struct bytes rest = { (const uint8_t *)p, n };

	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		for (size_t i = line.n; i-- > 0;)
			buf_addc(b, (char)line.p[i]);
		buf_addc(b, '\n');
	}
	return b->n > 0;
}

/* ls -l .env, stat /dev/sda: looking at the outside of a thing is no reading of it. */
static void look_at(struct call *k, const struct word *v, size_t n)
{
	const char *names = NULL; /* ls ~/.ssh/id_*: what it prints are names of secrets */
	for (size_t i = 0; i < n; i++) {
		struct effect *e = fx_path(k, TAG_READ_FILE, &v[i], 0);
		if (e && e->target &&
			(e->kind == FX_SECRET_READ ||
				(strstr(e->target, "/.") &&
					paths_holds_secrets(
						walk_surroundings(k->w), walk_arena(k->w), e->target))))
			names = e->target;
		if (e && (e->kind == FX_SECRET_READ || e->kind == FX_DEVICE)) {
			e->kind = FX_READ;
			e->tag = tag_name(TAG_READ_QUERY);
		}
	}
	if (names && !text_eq(k->head, "wc"))
		k->c->out = (struct feed){ .kind = FEED_UNKNOWN, .below = names };
}

/* rg and ag leave hidden files alone unless they are told otherwise, and a hidden directory that is named is searched. */
static bool skips_hidden(const struct call *k)
{
	if (!list_has("rg ag", k->head, strlen(k->head)) ||
		args_find(k->rest, k->rest_count, ". u a hidden unrestricted all-types"))
		return false;
	for (size_t i = 0; i < k->rest_count; i++)
		if (strstr(k->rest[i].text, "/.") || word_starts(&k->rest[i], "."))
			return false;
	return true;
}

/* A text that is looked for, and is part of a credential's name. */
bool says_credential(const struct word *pattern)
{
	static const char *const words[] = { "secret", "token", "passw", "key", "cred", "private" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(pattern->text, words[i]))
			return true;
	/* env | grep ^AWS_: what these call their variables are credentials. */
	const char *name = pattern->text + strspn(pattern->text, "^");
	size_t n = strcspn(name, "_.*$");
	return !name[n + strspn(name + n, "_.*$")] &&
		(list_has("aws azure openai anthropic stripe", name, n) ||
			list_has("AWS AZURE OPENAI ANTHROPIC STRIPE", name, n));
}

/* ls -a | grep id_rsa, locate id_rsa, rg --files -g '*.pem': names are looked for, and these are of secrets.  `pattern`: of a program
 * that reads its input; or NULL. */
static void note_found(struct call *k, const struct word *pattern)
{
	const struct surroundings *at = walk_surroundings(k->w);
	bool locates = text_ends(k->head, "locate");
	bool lists =
		text_eq(k->head, "rg") && args_find(k->rest, k->rest_count, "files l files-with-matches");

	if (pattern && k->c->in.kind >= FEED_UNKNOWN &&
		!args_find(k->rest, k->rest_count, "v invert-match") &&
		paths_selects_secrets(at, walk_arena(k->w), pattern->text))
		k->c->out.below = pattern->text;
	for (size_t i = 0; (locates || lists) && i < k->rest_count; i++)
		if ((locates || (i && word_is_any(&k->rest[i - 1], "-g --glob --iglob"))) &&
			paths_selects_secrets(at, walk_arena(k->w), k->rest[i].text))
			k->c->out.below = k->rest[i].text;
}

/* jq -n 'env.API_TOKEN', '$ENV.API_TOKEN', yq -n 'strenv(API_TOKEN)' */
static bool names_credential(const struct word *filter)
{
	for (const char *p = filter->text; (p = strcasestr(p, "env"));) {
		p += 3 + strspn(p + 3, ".[(\"");
		size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		if (n && paths_is_secret_variable(p, n))
			return true;
	}
	return false;
}

/* The files that patterns among the operands stand for, one a line; NULL: none, or nobody reads them. */
static const char *listed_names(struct call *k, const struct word *v, size_t n)
{
	const char *files[SCRIPTS_FOUND];
	struct buf b;

	if (!walk_is_piped(k->w))
		return NULL;
	buf_init(&b, walk_arena(k->w));
	for (size_t i = 0; i < n && i < 8; i++)
		for (size_t j = 0, count = tree_glob(k, &v[i], files, SCRIPTS_FOUND); j < count; j++)
			buf_addf(&b, "%s\n", files[j]);
	return b.n ? b.p : NULL;
}

/* For all programs that only read. The mode of the row says what the first operand is and whether files
 * are opened at all. */
HANDLER(reader)
{
	struct parsed p;
	unsigned mode = k->program->mode;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, program_options(k->program), &p);
	/* grep PATTERN file, but grep -e PATTERN file: with the option there is no pattern among the
	 * operands. */
	size_t first = mode & MODE_PATTERN_FIRST && !args_has(&p, 0) && p.operand_count ? 1 : 0;
	if (first && feed_is_environment(&k->c->in) && says_credential(&p.operands[0])) /* env | grep TOKEN */
		fx(k, TAG_SECRET_STORE, &p.operands[0], 0);
	note_found(k, first && p.operand_count == 1 ? &p.operands[0] : NULL);
	if (first && text_eq(k->head, "jq") && names_credential(&p.operands[0]))
		fx(k, TAG_SECRET_STORE, &p.operands[0], 0);
	else if (first && text_eq(k->head, "jq") && word_is_any(&p.operands[0], "env $ENV"))
		print_environment(k);
	const char *cwd = text_eq(k->head, "ls") && !p.operand_count ? walk_cwd(k->w, k->c) : NULL;
	if (cwd && strstr(cwd, "/.")) { /* cd ~/.ssh; ls | xargs cat */
		struct word here = walk_word(k->w, cwd, k->c->at);
		look_at(k, &here, 1);
	} else if (mode & MODE_NOT_FILES || p.operand_count == first)
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (mode & MODE_METADATA &&
		/* file -s reads devices. */
		!(text_eq(k->head, "file") && args_find(k->rest, k->rest_count, "s")))
		look_at(k, p.operands, p.operand_count);
	else if (skips_hidden(k))
		fx_read(k, p.operands + first, p.operand_count - first);
	else
		fx_read_tree(k, p.operands + first, p.operand_count - first);
	if (mode & MODE_FILTER && !feed_is_environment(&k->c->out))
		pass_on(k);
	if (list_has("head tail tac grep egrep fgrep rg nl", k->head, strlen(k->head)))
		keep_lines(k, p.operand_count == first + 1 ? &p.operands[first] : NULL);
	if (text_eq(k->head, "ls")) /* ls *.sh | xargs sh */
		k->c->out.names = listed_names(k, p.operands, p.operand_count);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What follows a backslash in echo -e and printf; returns where the text goes on. Zero bytes are left
 * out. */
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

/* When a word is not certain, the output is not either; this notes where it comes from. */
static bool outputs_unknown(struct call *k)
{
	enum origin worst = ORIGIN_LITERAL;
	for (size_t i = 0; i < k->rest_count; i++)
		if (k->rest[i].certainty != CERTAIN && k->rest[i].origin >= worst)
			worst = k->rest[i].origin ? k->rest[i].origin : ORIGIN_UNKNOWN;
	if (worst == ORIGIN_LITERAL)
		return false;
	k->c->out.kind = feed_kind_of(worst);
	for (size_t i = 0; i < k->rest_count; i++) { /* printf '%s' ~/.ssh/id_*: names of secrets */
		const char *path = k->rest[i].is_glob ? project_here(k, k->rest[i].text) : NULL;
		if (path && paths_is_secret(walk_surroundings(k->w), path))
			k->c->out.below = path;
	}
	if (worst == ORIGIN_SECRETS)
		k->c->out.below = "files with secrets";
	return true;
}

/* The text is followed exactly, because a shell behind a pipe would run it. */
HANDLER(echo)
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

/* One pass over the format, consuming arguments as they come; widths and precisions are ignored. Returns
 * how many were used. */
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

/* The format is used again while arguments are left, as printf does. The number of rounds is limited. */
HANDLER(printf)
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

/* One known file is passed on as that file, so that `cat x.sh | sh` can be judged by the script. */
HANDLER(cat)
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

/* Both alphabets, the usual one and the one for URLs. */
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

/* False when the text is no base64. */
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

/* Anything that is no digit is skipped, as xxd does. */
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

/* What a decoder prints. When the input is known the decoded text is kept for the report: a person sees
 * what it says, and is asked about it all the same. */
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

/* base64, base32 and the like; only base64 is decoded here. */
HANDLER(base64)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "dD:decode w=:wrap= i:ignore-garbage o=", &p);
	fx_read(k, p.operands, p.operand_count);
	if (!p.operand_count)
		fx(k, TAG_READ_QUERY, NULL, 0);
	if (args_has(&p, 0))
		decoded_output(k, text_eq(k->head, "base64") ? decode_base64 : NULL);
}

/* The second operand is written. */
HANDLER(xxd)
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
HANDLER(decoder)
{
	handle_reader(k);
	decoded_output(k, text_eq(k->head, "rev") ? decode_reversed : NULL);
}

/* A subcommand decides: a connection, a server, a decoder, or files that are read and written. */
HANDLER(openssl)
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
	for (size_t i = 1; i < k->rest_count && word_is(&k->rest[0], "engine"); i++)
		if (word_has(&k->rest[i], "/")) { /* openssl engine /tmp/x.so, -pre SO_PATH:/tmp/x.so */
			struct word file = word_tail(&k->rest[i], strcspn(k->rest[i].text, "/"));
			load_code(k, word_has(&k->rest[i], ":/") ? &file : &k->rest[i], "so");
		}
	/* Making a new key for a test server does not reveal an old one. */
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

/* gpg takes the beginning of an option for the whole. */
static bool exports_secrets(const struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "--export-s") && !word_is(&k->rest[i], "--export-ssh-key"))
			return true;
	return false;
}

/* What gpg prints may be decrypted text. */
HANDLER(gpg)
{
	if (args_find(k->rest, k->rest_count,
		    "delete-key delete-keys delete-secret-key delete-secret-keys "
		    "delete-secret-and-public-key"))
		fx(k, TAG_DELETE_KEY, NULL, 0);
	else if (exports_secrets(k))
		fx(k, TAG_SECRET_STORE, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "keyserver recv-keys send-keys refresh-keys"))
		fx(k, TAG_NETWORK_GET, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "o output"))
		fx(k, TAG_WRITE_FILE, NULL, 0);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
	decoded_output(k, NULL);
}

void print_environment(struct call *k)
{
	fx(k, TAG_CREDENTIAL_ENVIRONMENT, NULL, 0);
	k->c->out = (struct feed){ .kind = FEED_UNKNOWN, .below = FEED_ENVIRONMENT };
}

HANDLER(print_environment)
{
	print_environment(k);
}

/* What a word of ps says: ps eww, ps ax e, ps -E show variables; *ret_takes: the next word is its value. */
static bool ps_shows_variables(const struct word *x, bool *ret_takes)
{
	static const char valued[] =
		"pid ppid quick-pid user User group Group tty sid sort format cols columns width rows lines";
	const char *text = x->text;
	size_t dashes = strspn(text, "-");
	*ret_takes = dashes > 1 && list_has(valued, text + dashes, strlen(text + dashes));
	if (dashes > 1)
		return false;
	const char *letters = text + dashes;
	size_t n = strcspn(letters, dashes ? "CGgOopqstUuk" : "OopqtUk");
	*ret_takes = letters[n] && !letters[n + 1];
	return memchr(letters, dashes ? 'E' : 'e', n) != NULL;
}

/* ps e: with the variables of every process of this user. */
HANDLER(ps)
{
	bool takes = false, shows = false;
	for (size_t i = 0; i < k->rest_count; i++)
		if (takes)
			takes = false;
		else
			shows |= ps_shows_variables(&k->rest[i], &takes);
	if (shows)
		print_environment(k);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* export and its kin as programs: alone they print all variables; with NAME=value they assign. */
HANDLER(environment)
{
	if (!k->rest_count || (args_find(k->rest, k->rest_count, "p x") && k->rest_count == 1)) {
		print_environment(k);
		return;
	}
	for (size_t i = 0; i < k->rest_count; i++)
		if (is_assignment(&k->rest[i]))
			note_assignment(k, &k->rest[i]);
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* Alone it prints every variable; with a name only that one. */
HANDLER(printenv)
{
	if (!k->rest_count)
		print_environment(k);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
	for (size_t i = 0; i < k->rest_count; i++)
		if (k->rest[i].certainty == CERTAIN && !walk_is_piped(k->w) &&
			paths_is_secret_variable(k->rest[i].text, k->rest[i].text_n))
			fx(k, TAG_SECRET_STORE, &k->rest[i], 0);
}

/* set alone prints every variable; with options it only changes the shell. */
HANDLER(set)
{
	if (!k->rest_count)
		print_environment(k);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

/* As a program of an argv; in a shell's text the builtin of the same name is used. */
HANDLER(unset)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "HELM_") || word_starts(&k->rest[i], "OPENCLAW_"))
			fx(k, TAG_TAMPER_VARIABLE, &k->rest[i], 0);
		else if (word_is_any(&k->rest[i], "HISTFILE"))
			fx(k, TAG_DELETE_HISTORY, &k->rest[i], 0);
}

/* Erasing the history hides what was done. */
HANDLER(history)
{
	bool erases = args_find(k->rest, k->rest_count, "c d w delete clear") ||
		(k->rest_count && word_is_any(&k->rest[0], "clear delete"));
	fx(k, erases ? TAG_DELETE_HISTORY : TAG_READ_QUERY, NULL, 0);
}

/* The file is read and runs in this shell. */
HANDLER(source)
{
	if (!k->rest_count)
		return;
	fx_read(k, &k->rest[0], 1);
	run_script(k, &k->rest[0], "sh");
}

/* type NAME asks about a command; type FILE is the cat of Windows. */
HANDLER(type)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (strpbrk(k->rest[i].text, "./\\")) {
			handle_show(k);
			return;
		}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* Its program is code; -i inplace edits the files. */
HANDLER(awk)
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

/* Readers that write with -o (item 0 of the options) or in place (item 1). */
HANDLER(output_option)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, program_options(k->program), &p);
	if (p.values[0])
		(void)fx_path(k, TAG_WRITE_FILE, p.values[0], FXF_OVERWRITE);
	if (args_has(&p, 1) && p.operand_count)
		fx_paths(k, TAG_WRITE_EDIT, p.operands + 1, p.operand_count - 1, FXF_OVERWRITE);
	if (!p.values[0] && !args_has(&p, 1))
		fx(k, TAG_READ_QUERY, NULL, 0);
	size_t first = k->program->mode & MODE_PATTERN_FIRST && p.operand_count ? 1 : 0;
	if (!args_has(&p, 1))
		fx_read(k, p.operands + first, p.operand_count - first);
	if (k->program->mode & MODE_FILTER)
		pass_on(k);
}

/* yq -n 'load("file")', load_str, load_xml ...: the expression reads files of its own. */
static void read_loaded(struct call *k, const struct word *expression)
{
	for (const char *p = expression->text; (p = strstr(p, "load"));) {
		p += strcspn(p, "(\"");
		if (text_starts(p, "(\"")) {
			struct word file = walk_word(k->w,
				arena_strndup(walk_arena(k->w), p + 2, strcspn(p + 2, "\"")), expression->at);
			fx_read(k, &file, 1);
		}
	}
}

/* yq -n '"$API_TOKEN" | envsubst' */
static bool fills_in_credential(const struct word *expression)
{
	const char *p = strstr(expression->text, "envsubst") ? expression->text : "";
	while ((p = strchr(p, '$'))) {
		p += 1 + (p[1] == '{');
		size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		if (n && paths_is_secret_variable(p, n))
			return true;
	}
	return false;
}

/* yq [eval] EXPRESSION FILE...: like jq, and it edits in place. */
HANDLER(yq)
{
	enum { IN_PLACE, SPLIT };
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, program_options(k->program), &p);
	size_t first = p.operand_count && word_is_any(&p.operands[0], "e eval ea eval-all") ? 1 : 0;
	if (first < p.operand_count) {
		const struct word *expression = &p.operands[first++];
		read_loaded(k, expression);
		if (names_credential(expression) || fills_in_credential(expression))
			fx(k, TAG_SECRET_STORE, expression, 0);
	}
	if (args_has(&p, IN_PLACE))
		fx_paths(k, TAG_WRITE_EDIT, p.operands + first, p.operand_count - first, FXF_OVERWRITE);
	else
		fx_read(k, p.operands + first, p.operand_count - first);
	fx(k, args_has(&p, SPLIT) ? TAG_WRITE_TOOL : TAG_READ_QUERY, NULL, 0);
	pass_on(k);
}

/* Programs that show logs and can also erase them. */
HANDLER(log)
{
	bool erases = args_find(k->rest, k->rest_count,
		"C c clear read-clear vacuum-time vacuum-size vacuum-files rotate flush relinquish-var "
		"smart-relinquish-var");
	if (text_eq(k->head, "journalctl"))
		erases = args_find(k->rest, k->rest_count,
			"vacuum-time vacuum-size vacuum-files rotate flush relinquish-var");
	fx(k, erases ? TAG_DELETE_LOG : TAG_READ_QUERY, NULL, 0);
}

HANDLER(date)
{
	bool sets = args_find(k->rest, k->rest_count, "s set");
	fx(k, sets ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

/* With a name as its operand it renames the machine. */
HANDLER(hostname)
{
	bool sets = k->rest_count && !word_starts(&k->rest[0], "-");
	fx(k, sets || args_find(k->rest, k->rest_count, "b F") ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

HANDLER(ss)
{
	fx(k, args_find(k->rest, k->rest_count, "K kill") ? TAG_PROCESS_KILL : TAG_READ_QUERY, NULL, 0);
}

/* +!cmd makes less run a command at its start. */
HANDLER(less)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "+!")) {
			struct word text = word_tail(&k->rest[i], 2);
			run_text(k, &text, 0, "less +!");
		}
	handle_reader(k);
}

/* fzf --bind 'key:execute(command)': actions that run a command.  What they name is known when it is chosen. */
HANDLER(fzf)
{
	static const char *const actions[] = { "execute(", "execute-silent(", "become(", "reload(",
		"reload-sync(", "transform(", "preview(" };
	for (size_t i = 0; i < k->rest_count; i++) {
		bool is_next = word_is(&k->rest[i], "--bind") && i + 1 < k->rest_count;
		if (!is_next && !word_starts(&k->rest[i], "--bind="))
			continue;
		const struct word *x = &k->rest[is_next ? i + 1 : i];
		for (size_t j = 0; j < ARRAY_SIZE(actions); j++)
			for (const char *p = x->text; (p = strstr(p, actions[j]));) {
				p += strlen(actions[j]);
				size_t n = strcspn(p, ")");
				struct word text =
					walk_word(k->w, arena_strndup(walk_arena(k->w), p, n), x->at);
				run_text(k, &text, 0, "fzf --bind");
			}
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}
