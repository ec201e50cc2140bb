/* data.c — databases: what SQL, key-value and document commands would do.
 *
 * SQL is read word by word with comments, strings and quoted names taken out, statement by statement.
 * The first word names the statement; a WITH in front is looked through. No dialect is parsed: the
 * clients of many databases come here, and the words that destroy are the same in all of them. What
 * comes from a file or from unknown input is opaque: it may be anything, and is asked about.
 *
 * Strings are taken out first because data must not be taken for statements: INSERT ... VALUES ('drop
 * table x') only inserts. */
#include "propose/programs/programs.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { STATEMENT_WORDS = 48 };

/* The words of one statement. Longer statements and words are cut, which is enough to tell what a
 * statement does. */
struct statement {
	char words[STATEMENT_WORDS][20]; /* upper case, cut */
	const char *raw[STATEMENT_WORDS]; /* where they stand */
	size_t n;
	const char *string; /* first string literal */
	size_t string_n;
};

struct sql {
	const char *p, *end;
};

/* Behind a quoted text; doubled quotes stay inside. */
static const char *skip_quoted(const char *p, const char *end, char quote)
{
	for (p++; p < end; p++) {
		if (*p == '\\' && quote == '\'' && p + 1 < end && p[1] != '\'')
			p++;
		else if (*p == quote) {
			if (p + 1 < end && p[1] == quote)
				p++;
			else
				return p + 1;
		}
	}
	return end;
}

/* $tag$ ... $tag$ of PostgreSQL. */
static const char *skip_dollar(const char *p, const char *end)
{
	const char *tag_end = p + 1;
	while (tag_end < end && (isalnum((unsigned char)*tag_end) || *tag_end == '_'))
		tag_end++;
	if (tag_end >= end || *tag_end != '$')
		return p + 1;
	size_t n = (size_t)(tag_end + 1 - p);
	const char *close = memmem(tag_end + 1, (size_t)(end - tag_end - 1), p, n);
	return close ? close + n : end;
}

/* Behind a comment, or p when there is none. MySQL runs what stands in a comment that starts with an
 * exclamation mark, so that text is read. */
static const char *skip_comment(const char *p, const char *end)
{
	if (p + 1 >= end)
		return p;
	if ((p[0] == '-' && p[1] == '-') || *p == '#') {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		return nl ? nl : end;
	}
	if (p[0] == '/' && p[1] == '*') {
		if (p + 2 < end && p[2] == '!') /* MySQL runs these */
			return p + 3;
		const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
		return close ? close + 2 : end;
	}
	return p;
}

/* Adds a word in upper case and returns where it ends. */
static const char *add_word(struct statement *s, const char *p, const char *end)
{
	size_t n = 0;
	if (s->n < STATEMENT_WORDS)
		s->raw[s->n] = p;
	for (; p < end && (isalnum((unsigned char)*p) || *p == '_'); p++)
		if (s->n < STATEMENT_WORDS && n < sizeof(s->words[0]) - 1)
			s->words[s->n][n++] = (char)toupper((unsigned char)*p);
	if (s->n < STATEMENT_WORDS)
		s->words[s->n++][n] = '\0';
	return p;
}

/* Collects the words of the next statement. False at the end. */
static bool next_statement(struct sql *q, struct statement *s)
{
	*s = (struct statement){ 0 };
	bool any = false;
	while (q->p < q->end) {
		const char *after = skip_comment(q->p, q->end);
		if (after != q->p) {
			q->p = after;
			continue;
		}
		char c = *q->p;
		if (c == ';') {
			q->p++;
			return true;
		}
		if (c == '\\' && !any) /* a client's own command takes the line */
			return true;
		any |= !isspace((unsigned char)c);
		if (c == '\'' || c == '"' || c == '`') {
			const char *next = skip_quoted(q->p, q->end, c);
			/* The first string is kept: COPY ... PROGRAM 'command' runs it. */
			if (c == '\'' && !s->string) {
				s->string = q->p + 1;
				s->string_n = (size_t)(next - q->p) > 1 ? (size_t)(next - q->p) - 2 : 0;
			}
			if (c != '\'' &&
				s->n < STATEMENT_WORDS) /* a quoted name is a word that is no keyword */
				memcpy(s->words[s->n++], "\"", 2);
			q->p = next;
		} else if (c == '$') {
			q->p = skip_dollar(q->p, q->end);
		} else if (isalpha((unsigned char)c) || c == '_') {
			q->p = add_word(s, q->p, q->end);
		} else {
			q->p++;
		}
	}
	return any;
}

/* DROP TABLE IF EXISTS users, UPDATE users SET ...: what the statement is about, as it was written. */
static const char *statement_object(struct call *k, const struct statement *s)
{
	static const char grammar[] =
		"TABLE DATABASE SCHEMA VIEW INDEX FROM INTO IF EXISTS NOT ONLY USER ROLE "
		"MATERIALIZED CONCURRENTLY TEMPORARY UNIQUE SEQUENCE TRIGGER FUNCTION OR REPLACE";
	for (size_t i = 1; i < s->n; i++)
		if (s->raw[i] && !list_has(grammar, s->words[i], strlen(s->words[i])))
			return arena_strndup(walk_arena(k->w), s->raw[i], strlen(s->words[i]));
	return NULL;
}

/* Whether one of the words stands at `from` or behind it. */
static bool has_word(const struct statement *s, size_t from, const char *list)
{
	for (size_t i = from; i < s->n; i++)
		if (list_has(list, s->words[i], strlen(s->words[i])))
			return true;
	return false;
}

static const struct {
	const char *first;
	enum tag tag;
} sql_verbs[] = {
	{ "SELECT SHOW DESCRIBE DESC EXPLAIN TABLE VALUES USE SET BEGIN COMMIT ROLLBACK START END SAVEPOINT "
	  "RELEASE PRAGMA ANALYZE HELP LIST "
	  "FETCH DECLARE CLOSE PRINT GO LISTEN NOTIFY PREPARE DEALLOCATE STATUS CHECKPOINT EXIT QUIT EXISTS",
		TAG_SQL_READ },
	{ "INSERT CREATE COMMENT COPY LOAD IMPORT UPSERT ATTACH INSTALL SECURITY LOCK UNLOCK REFRESH",
		TAG_SQL_WRITE },
	{ "DROP", TAG_SQL_DROP },
	{ "TRUNCATE", TAG_SQL_TRUNCATE },
	{ "DELETE", TAG_SQL_DELETE },
	{ "UPDATE MERGE REPLACE", TAG_SQL_UPDATE },
	{ "ALTER RENAME GRANT REVOKE REASSIGN EXCHANGE DETACH UNDROP", TAG_SQL_ALTER },
	{ "VACUUM REINDEX CLUSTER KILL PURGE RESET FLUSH SHUTDOWN OPTIMIZE STOP CHANGE REPAIR DISCARD SYSTEM",
		TAG_SQL_MAINTENANCE },
	{ "DO CALL EXEC EXECUTE SOURCE READ", TAG_SQL_OPAQUE },
	{ "RESTORE BACKUP", TAG_DB_RESTORE },
};

/* What a statement that starts with this word does; TAG_COUNT when the word is not known. */
static enum tag tag_of_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(sql_verbs); i++)
		if (list_has(sql_verbs[i].first, word, strlen(word)))
			return sql_verbs[i].tag;
	return TAG_COUNT;
}

static bool is_changing(enum tag t)
{
	return t == TAG_SQL_DELETE || t == TAG_SQL_UPDATE || t == TAG_SQL_DROP || t == TAG_SQL_TRUNCATE;
}

/* A SELECT can act through functions; WITH and EXPLAIN ANALYZE carry another statement that is executed. */
static enum tag tag_of_select(const struct statement *s)
{
	if (has_word(s, 0,
		    "PG_TERMINATE_BACKEN PG_CANCEL_BACKEND LO_UNLINK PG_READ_FILE PG_READ_BINARY_FILE "
		    "DBLINK_EXEC LO_IMPORT LO_EXPORT "
		    "LOAD_FILE SYS_EXEC SYS_EVAL XP_CMDSHELL PG_LS_DIR PG_ROTATE_LOGFILE SETVAL"))
		return TAG_SQL_MAINTENANCE;
	/* EXPLAIN alone only plans; with ANALYZE it executes the statement. */
	bool carries = list_has("WITH EXPLAIN", s->words[0], strlen(s->words[0]));
	if (text_eq(s->words[0], "EXPLAIN") && !has_word(s, 1, "ANALYZE ANALYSE"))
		carries = false;
	for (size_t i = 1; carries && i < s->n; i++) {
		enum tag t = tag_of_word(s->words[i]);
		if (is_changing(t) && !text_eq(s->words[i - 1], "FOR"))
			return t;
	}
	return has_word(s, 1, "INTO OUTFILE DUMPFILE") ? TAG_SQL_WRITE : TAG_SQL_READ;
}

/* COPY ... PROGRAM and xp_cmdshell: the server runs the string as a command. */
static void run_sql_program(struct call *k, const struct statement *s)
{
	struct word text = walk_word(
		k->w, arena_strndup(walk_arena(k->w), s->string ? s->string : "", s->string_n), k->c->at);
	if (s->string)
		run_text(k, &text, FXF_REMOTE_SIDE, "SQL program");
	else
		fx(k, TAG_DYNAMIC_TEXT, NULL, 0);
}

/* Functions and clauses by which a statement opens files; the engine runs on this machine for databases that are files. */
static void judge_statement_files(struct call *k, const struct statement *s)
{
	struct word file = walk_word(
		k->w, arena_strndup(walk_arena(k->w), s->string ? s->string : "", s->string_n), k->c->at);
	if (!s->string || !(k->program->mode & MODE_DATABASE_FILE))
		return;
	if (word_has(&file, "://") ||
		word_has(&file, "host=")) { /* not a file: another database, or an address */
		judge_host(k, &file);
		return;
	}
	if (has_word(s, 0, "LOAD_EXTENSION") || (text_eq(s->words[0], "LOAD")))
		load_code(k, &file, "sql");
	else if (has_word(s, 0, "READFILE READ_CSV READ_TEXT READ_BLOB READ_JSON READ_PARQUET READ_CSV_AUTO"))
		fx_read(k, &file, 1);
	else if (text_eq(s->words[0], "ATTACH")) { /* opened for both */
		fx_read(k, &file, 1);
		(void)fx_path(k, TAG_WRITE_FILE, &file, 0);
	} else if (has_word(s, 0, "WRITEFILE EDIT ATTACH") ||
		(text_eq(s->words[0], "VACUUM") && has_word(s, 1, "INTO")) ||
		(text_eq(s->words[0], "COPY") && has_word(s, 1, "TO")) || text_eq(s->words[0], "EXPORT"))
		(void)fx_path(k, TAG_WRITE_FILE, &file, 0);
}

/* The first word names the statement, and the other words can only make it worse. A statement that is
 * not known counts as reading unless a destroying word stands in it. */
static void judge_statement(struct call *k, const struct statement *s)
{
	if (!s->n)
		return;
	enum tag t = text_eq(s->words[0], "WITH") ? TAG_SQL_READ : tag_of_word(s->words[0]);
	unsigned flags = 0;
	if (has_word(s, 1, "PROGRAM XP_CMDSHELL"))
		run_sql_program(k, s);
	judge_statement_files(k, s);
	if (t == TAG_SQL_READ)
		t = tag_of_select(s);
	if (has_word(s, 1, "OUTFILE DUMPFILE"))
		t = TAG_SQL_MAINTENANCE; /* a file of the server */
	if (text_eq(s->words[0], "COPY") && has_word(s, 1, "PROGRAM"))
		t = TAG_SQL_MAINTENANCE; /* the server runs it, with its powers */
	if (t == TAG_SQL_READ && text_eq(s->words[0], "SET") && has_word(s, 1, "GLOBAL PERSIST PASSWORD"))
		t = TAG_SQL_ALTER;
	/* A word that is not known: some dialect's own statement. */
	if (t == TAG_COUNT)
		t = has_word(s, 0, "DROP TRUNCATE DELETE") ? TAG_SQL_DROP : TAG_SQL_READ;
	if ((t == TAG_SQL_DELETE || t == TAG_SQL_UPDATE) && !has_word(s, 1, "WHERE LIMIT"))
		/* Without a condition it changes every row. */
		flags = FXF_FORCE;
	if (t == TAG_SQL_MAINTENANCE && text_eq(s->words[0], "VACUUM") && !has_word(s, 1, "FULL"))
		t = TAG_SQL_WRITE;
	if (t == TAG_SQL_WRITE && text_eq(s->words[0], "CREATE") && has_word(s, 1, "USER ROLE"))
		t = TAG_SQL_ALTER;
	const char *target = statement_object(k, s);
	fx_name(k, t, target, flags);
}

/* The next word of a client's line, its quotes taken off; `p` is moved behind it. */
static struct word next_word(struct call *k, const char **p, const char *end)
{
	while (*p < end && isspace((unsigned char)**p))
		(*p)++;
	const char *from = *p;
	char quote = *p < end && (*from == '\'' || *from == '"') ? *from : 0;
	if (quote) {
		const char *close = memchr(from + 1, quote, (size_t)(end - from - 1));
		*p = close ? close + 1 : end;
		return walk_word(k->w,
			arena_strndup(walk_arena(k->w), from + 1, (size_t)((close ? close : end) - from - 1)),
			k->c->at);
	}
	while (*p < end && !isspace((unsigned char)**p))
		(*p)++;
	return walk_word(k->w, arena_strndup(walk_arena(k->w), from, (size_t)(*p - from)), k->c->at);
}

/* .once FILE, \o FILE, \copy t to 'FILE': commands of the client that open files of this machine. */
static void judge_client_file(struct call *k, const char *p, size_t n)
{
	const char *at = p, *end = p + n;
	struct word verb = next_word(k, &at, end), file = next_word(k, &at, end);
	if (strcasecmp(verb.text, "\\copy") == 0) {
		const char *last = file.text;
		while (at < end) {
			struct word x = next_word(k, &at, end);
			bool to = strcasecmp(last, "to") == 0, from = strcasecmp(last, "from") == 0;
			if ((to || from) && strcasecmp(x.text, "program") == 0) {
				struct word text = walk_word(k->w,
					arena_strndup(walk_arena(k->w), at, (size_t)(end - at)), k->c->at);
				text = word_tail(&text, strspn(text.text, " '$"));
				run_text(k, &text, 0, "\\copy");
			} else if (to && strcasecmp(x.text, "stdout") != 0) {
				(void)fx_path(k, TAG_WRITE_FILE, &x, FXF_OVERWRITE);
			} else if (from && strcasecmp(x.text, "stdin") != 0) {
				fx_read(k, &x, 1);
			}
			last = x.text;
		}
	} else if (!file.text_n || file.text[0] == '|') {
		return;
	} else if (
		word_is_any(&verb,
			".output .once .backup .save .clone .log .trace .open .excel \\o \\w \\g \\out \\write")) {
		while (file.text[0] == '-' && at < end) /* .once -e FILE */
			file = next_word(k, &at, end);
		if (!word_is_any(&file, "stdout off on stderr"))
			(void)fx_path(k, TAG_WRITE_FILE, &file, FXF_OVERWRITE);
	} else if (word_is_any(&verb, ".import .read .restore \\i \\ir \\include")) {
		fx_read(k, &file, 1);
	}
}

/* Commands of the client itself: \! and .shell run programs, \i and .read run files, the rest look. */
static void judge_client_line(struct call *k, const char *p, size_t n)
{
	static const struct {
		const char *prefix;
		enum tag tag;
	} known[] = { { "\\!", TAG_DYNAMIC_TEXT }, { ".shell ", TAG_DYNAMIC_TEXT },
		{ ".system ", TAG_DYNAMIC_TEXT }, { "system ", TAG_DYNAMIC_TEXT }, { "\\i", TAG_SQL_OPAQUE },
		{ ".read", TAG_SQL_OPAQUE }, { "source ", TAG_SQL_OPAQUE }, { "\\. ", TAG_SQL_OPAQUE },
		{ ".load", TAG_SQL_OPAQUE }, { ".restore", TAG_DB_RESTORE }, { ".import", TAG_SQL_WRITE },
		{ "\\copy", TAG_SQL_WRITE } };
	judge_client_file(k, p, n);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t len = strlen(known[i].prefix);
		if (n < len || strncasecmp(p, known[i].prefix, len) != 0 || memchr(p, '|', n))
			continue;
		if (known[i].tag == TAG_DYNAMIC_TEXT) {
			struct word text =
				walk_word(k->w, arena_strndup(walk_arena(k->w), p + len, n - len), k->c->at);
			run_text(k, &text, 0, "database client");
		} else {
			fx(k, known[i].tag, NULL, 0);
		}
		return;
	}
	const char *bar = memchr(p, '|', n);
	if (bar) { /* .output |cmd, \o |cmd */
		struct word text = walk_word(
			k->w, arena_strndup(walk_arena(k->w), bar + 1, n - (size_t)(bar + 1 - p)), k->c->at);
		run_text(k, &text, 0, "database client");
	}
	fx(k, TAG_SQL_READ, NULL, 0);
}

/* Lines for the client and statements for the server may alternate. */
void classify_sql_bytes(struct call *k, const char *text, size_t n)
{
	struct sql q = { text, text + n };
	struct statement s;
	while (q.p < q.end) {
		while (q.p < q.end && isspace((unsigned char)*q.p))
			q.p++;
		if (q.p >= q.end)
			break;
		/* Lines that the client takes for itself do not reach the server. */
		bool is_client = *q.p == '\\' ||
			(*q.p == '.' && q.p + 1 < q.end && isalpha((unsigned char)q.p[1])) ||
			strncasecmp(q.p, "source ", q.end - q.p < 7 ? (size_t)(q.end - q.p) : 7) == 0 ||
			(q.end - q.p > 7 && strncmp(q.p, "system ", 7) == 0);
		if (is_client) {
			const char *nl = memchr(q.p, '\n', (size_t)(q.end - q.p));
			size_t len = (size_t)((nl ? nl : q.end) - q.p);
			judge_client_line(k, q.p, len);
			q.p += len;
			continue;
		}
		if (next_statement(&q, &s))
			judge_statement(k, &s);
	}
	if (memmem(text, n, "load_extension(", 15)) /* a library, from inside a statement */
		fx(k, TAG_DYNAMIC_CODE, NULL, 0);
}

/* What is not certain is opaque, and what is known of it is judged in addition. */
void classify_sql(struct call *k, const struct word *text)
{
	if (text->certainty != CERTAIN)
		fx(k, TAG_SQL_OPAQUE, text, 0);
	if (text->text_n)
		classify_sql_bytes(k, text->text, text->text_n);
	else if (text->certainty == CERTAIN)
		fx(k, TAG_SQL_READ, NULL, 0);
}

/* Item 0 of the options is SQL text, item 1 a file of it, item 2 options that only ask.
 * MODE_DATABASE_FILE: operands behind the first are SQL (sqlite3). Without any of these, standard input
 * is the text: known input is judged, a terminal is a session in which a person or agent types, and
 * anything else is opaque. */
HANDLER(sql_client)
{
	enum { TEXT, FILE_, ASKS };
	struct args s;
	bool has_sql = false, asks = false;
	size_t operands = 0;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, program_options(k->program));
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == TEXT && s.value.text) {
			classify_sql(k, &s.value);
			has_sql = true;
		} else if (item == FILE_) {
			fx(k, TAG_SQL_OPAQUE, s.value.text ? &s.value : NULL, 0);
			has_sql = true;
		} else if (item == ASKS) {
			asks = true;
		} else if ((item == ARG_OPERAND || item == ARG_DYNAMIC) && ++operands > 1 &&
			k->program->mode & MODE_DATABASE_FILE) {
			classify_sql(k, &s.value);
			has_sql = true;
		} else if (item == ARG_OPERAND && k->program->mode & MODE_DATABASE_FILE &&
			!word_starts(&s.value, ":")) {
			fx_read(k, &s.value, 1);
		} else if (item == ARG_DYNAMIC && k->program->mode & MODE_DATABASE_FILE &&
			!walk_knows_name(&s.value)) {
			/* A database that is opened is made where there is none, and which one it is nobody knows. */
			(void)fx_path(k, TAG_WRITE_FILE, &s.value, 0);
		}
	}
	if (has_sql)
		return;
	switch (k->c->in.kind) {
	case FEED_KNOWN:
		classify_sql_bytes(k, k->c->in.text, k->c->in.n);
		break;
	case FEED_INHERIT:
	case FEED_EMPTY:
		fx(k, asks ? TAG_READ_QUERY : TAG_SQL_SESSION, NULL, 0);
		break;
	default:
		fx(k, asks ? TAG_READ_QUERY : TAG_SQL_OPAQUE, NULL, 0);
	}
}

/* What a command of redis does; `next` is its first argument, which decides for CONFIG, CLUSTER and the
 * like. */
static enum tag redis_tag(const char *command, const char *next)
{
	static const struct {
		const char *commands;
		enum tag tag;
	} known[] = {
		{ "FLUSHALL FLUSHDB", TAG_KV_FLUSH },
		{ "DEL UNLINK HDEL LREM SREM ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE LTRIM SPOP LPOP RPOP XDEL "
		  "XTRIM GETDEL EXPIRE PEXPIRE EXPIREAT MOVE "
		  "RENAME MIGRATE",
			TAG_KV_DELETE },
		{ "SHUTDOWN DEBUG SLAVEOF REPLICAOF FAILOVER EVAL EVALSHA FUNCTION MODULE ACL SWAPDB RESTORE "
		  "SAVE BGREWRITEAOF",
			TAG_KV_CONFIG },
		{ "SET MSET SETEX SETNX APPEND INCR DECR INCRBY HSET HMSET LPUSH RPUSH SADD ZADD XADD "
		  "PUBLISH PERSIST SETBIT PFADD GEOADD COPY",
			TAG_KV_WRITE },
	};
	/* Commands that read or change by their second word. */
	static const char *const pairs[] = { "CONFIG SET", "CONFIG REWRITE", "CONFIG RESETSTAT",
		"CLUSTER RESET", "CLUSTER FORGET", "CLUSTER FLUSHSLOTS", "CLUSTER FAILOVER", "SCRIPT FLUSH",
		"SCRIPT KILL", "CLIENT KILL", "CLIENT PAUSE", "LATENCY RESET" };
	char up[24] = { 0 };
	for (size_t i = 0; i < sizeof(up) - 1 && command[i]; i++)
		up[i] = (char)toupper((unsigned char)command[i]);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (list_has(known[i].commands, up, strlen(up)))
			return known[i].tag;
	for (size_t i = 0; i < ARRAY_SIZE(pairs) && next; i++) {
		size_t n = strlen(up);
		if (strncmp(pairs[i], up, n) == 0 && pairs[i][n] == ' ' &&
			strcasecmp(pairs[i] + n + 1, next) == 0)
			return TAG_KV_CONFIG;
	}
	return TAG_READ_QUERY;
}

/* One command per line. */
static void redis_lines(struct call *k, const char *p, size_t n)
{
	struct bytes rest = { (const uint8_t *)p, n };
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		char *text = arena_strndup(walk_arena(k->w), (const char *)line.p, line.n);
		size_t len = strcspn(text, " \t\r");
		char *next = text[len] ? text + len + 1 : NULL;
		text[len] = '\0';
		if (next)
			next[strcspn(next, " \t\r")] = '\0';
		if (len)
			fx_name(k, redis_tag(text, next), next, 0);
	}
}

/* One argument with blanks is a whole command line; otherwise the operands are the command. */
HANDLER(redis)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"+hpsaunrdiDX=:user=,pass=,uri=,pattern=,host=,count= :eval= x:pipe", &p);
	if (p.values[1])
		fx(k, TAG_KV_CONFIG, p.values[1], 0);
	else if (p.operand_count == 1 && strchr(p.operands[0].text, ' '))
		redis_lines(k, p.operands[0].text, p.operands[0].text_n);
	else if (p.operand_count && p.operands[0].certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_OPTION, &p.operands[0], 0);
	else if (p.operand_count)
		fx(k, redis_tag(p.operands[0].text, p.operand_count > 1 ? p.operands[1].text : NULL),
			p.operand_count > 1 ? &p.operands[1] : NULL, 0);
	else if (k->c->in.kind == FEED_KNOWN)
		redis_lines(k, k->c->in.text, k->c->in.n);
	else
		fx(k, k->c->in.kind == FEED_INHERIT ? TAG_SQL_SESSION : TAG_SQL_OPAQUE, NULL, 0);
}

/* Methods are found by name behind a dot or a bracket, wherever they stand. */
static void mongo_text(struct call *k, const char *p, size_t n)
{
	static const struct {
		const char *methods;
		enum tag tag;
	} known[] = { { "dropDatabase drop dropIndex dropIndexes dropCollection dropUser dropRole "
			"dropAllUsersFromDatabase removeUser",
			      TAG_DOC_DROP },
		{ "deleteOne deleteMany remove findOneAndDelete findAndModify bulkWrite", TAG_DOC_DELETE },
		{ "updateOne updateMany replaceOne update findOneAndUpdate findOneAndReplace "
		  "renameCollection shutdownServer createUser "
		  "updateUser grantRolesToUser runCommand adminCommand save fsyncLock reIndex compact",
			TAG_DOC_UPDATE },
		{ "insert insertOne insertMany createCollection createIndex", TAG_KV_WRITE } };
	bool any = false;
	for (const char *at = p, *end = p + n; at < end; at++) {
		if (*at != '.' && *at != '[')
			continue;
		const char *name = at + 1 + (at[1] == '"' || at[1] == '\'');
		size_t len = 0;
		while (name + len < end && (isalnum((unsigned char)name[len]) || name[len] == '_'))
			len++;
		for (size_t i = 0; len && i < ARRAY_SIZE(known); i++)
			if (list_has(known[i].methods, name, len)) {
				fx_name(k, known[i].tag, arena_strndup(walk_arena(k->w), name, len), 0);
				any = true;
			}
	}
	if (!any)
		fx(k, TAG_READ_QUERY, NULL, 0);
}

HANDLER(mongo)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		":eval= f=:file= upha=:username=,password=,host=,port=,authenticationDatabase= ", &p);
	bool has_script = p.operand_count && text_ends(p.operands[p.operand_count - 1].text, ".js");
	if (p.values[0] && p.values[0]->certainty != CERTAIN)
		fx(k, TAG_SQL_OPAQUE, p.values[0], 0);
	/* The shell is node's: what is no question to the database is judged as such. */
	if (p.values[0] && word_has(p.values[0], "require("))
		classify_code(k, "node", p.values[0]);
	if (p.values[0])
		mongo_text(k, p.values[0]->text, p.values[0]->text_n);
	else if (k->c->in.kind == FEED_KNOWN)
		mongo_text(k, k->c->in.text, k->c->in.n);
	else if (p.values[1] || has_script || (k->c->in.kind != FEED_INHERIT && k->c->in.kind != FEED_EMPTY))
		fx(k, TAG_SQL_OPAQUE, NULL, 0);
	else
		fx(k, TAG_SQL_SESSION, NULL, 0);
}

/* Code that runs inside an application can change its data without any of the usual names: a word of
 * changing in it is enough to ask. */
static void run_application_code(struct call *k, const char *language, const struct word *text)
{
	static const char *const says[] = { "delete", "destroy", "drop", "truncate", "update", "remove",
		"save", "insert", "create", "execute", "exec", "system", "`", "eval", "send", "forget",
		"flush", "clear", "!" };
	bool changes = text->certainty != CERTAIN;
	for (size_t i = 0; i < ARRAY_SIZE(says); i++)
		changes |= strcasestr(text->text, says[i]) != NULL;
	if (changes)
		fx(k, TAG_DYNAMIC_CODE, text, 0);
	else
		classify_code(k, language, text);
}

/* The first operand is a script or code of the application. */
HANDLER(rails_runner)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "e=:environment=", &p);
	if (p.operand_count && text_ends(p.operands[0].text, ".rb"))
		fx(k, TAG_SCRIPT_FILE, &p.operands[0], 0);
	else if (p.operand_count)
		run_application_code(k, "ruby", &p.operands[0]);
	else
		fx(k, TAG_DYNAMIC_CODE, NULL, 0);
}

/* --execute takes code of the application; without it a prompt opens. */
HANDLER(artisan_tinker)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, ":execute=", &p);
	if (p.values[0])
		run_application_code(k, "php", p.values[0]);
	else
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* manage.py shell -c takes Python. */
HANDLER(django_shell)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "c=:command= i=:interface=", &p);
	if (p.values[0])
		classify_code(k, "python", p.values[0]);
	else
		fx(k, TAG_DYNAMIC_CODE, NULL, 0);
}

/* clickhouse client, cockroach sql: the words behind the verb are those of a client with a name of its own. */
static void run_as_client(struct call *k, const char *program)
{
	struct call inner = *k;
	inner.program = program_find(program, strlen(program));
	if (inner.program)
		handle_sql_client(&inner);
}

HANDLER(clickhouse)
{
	run_as_client(k, "clickhouse-client");
}

HANDLER(cockroach)
{
	run_as_client(k, "mysql"); /* -e TEXT */
}

/* Version 1 takes statements, version 2 verbs. */
HANDLER(influx)
{
	if (args_find(k->rest, k->rest_count, "execute"))
		handle_sql_client(k);
	else
		run_verbs(k);
}

/* Starts and stops a server; only `status` asks. */
HANDLER(pg_ctl)
{
	size_t places[1];
	size_t n = verb_words(k, "Dlopt=:pgdata=,log=,options=,timeout=", 1, places);
	bool is_query = n && word_is(&k->rest[places[0]], "status");
	fx(k, is_query ? TAG_READ_QUERY : TAG_PROCESS_SERVICE, n ? &k->rest[places[0]] : NULL, 0);
}

/* Without a database to restore to it prints a list or a script. */
HANDLER(pg_restore)
{
	bool restores = args_find(k->rest, k->rest_count, "d dbname");
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-f --file"))
			(void)fx_path(k, TAG_WRITE_FILE, &k->rest[i + 1], FXF_OVERWRITE);
	fx(k, restores ? TAG_DB_RESTORE : TAG_READ_QUERY, NULL, 0);
}
