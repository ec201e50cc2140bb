/* hosts.c — whom a client of a database or queue talks to.
 *
 * `psql -h HOST`, `mongosh mongodb://HOST/x`, `PGHOST=HOST psql`: the address is an option, an operand or a variable, and the "host:"
 * entries of share/programs/values.txt say which.  Loopback and local sockets are this machine; any other address is
 * the network, and a statement that changes data there is data that was sent.  An address that is not known may be any. */
#include "propose/programs/programs.h"

#include <string.h>
#include <strings.h>

/* One address of a list, without scheme, login, port and path. */
static const char *host_of(struct arena *a, const char *address)
{
	static const char *const prefixes[] = { "tcp:", "admin:", "lpc:", "np:" };
	const char *scheme = strstr(address, "://");
	const char *p = scheme ? scheme + 3 : address;

	for (size_t i = 0; !scheme && i < ARRAY_SIZE(prefixes); i++)
		if (strncasecmp(p, prefixes[i], strlen(prefixes[i])) == 0)
			p += strlen(prefixes[i]);
	if (*p == '/' && !scheme) /* the directory of a socket */
		return "";
	size_t n = strcspn(p, "/?#\\");
	const char *at = memrchr(p, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	if (*p == '[') {
		const char *end = memchr(p, ']', n);
		return arena_strndup(a, p + 1, end ? (size_t)(end - p) - 1 : n - 1);
	}
	const char *colon = memchr(p, ':', n);
	if (colon && colon == memrchr(p, ':', n)) /* host:port, and no bare IPv6 address */
		n = (size_t)(colon - p);
	return arena_strndup(a, p, n);
}

static bool is_local(const char *address, const char *host)
{
	static const char *const schemes[] = { "unix:", "file:", "sqlite:", "sqlite3:", "duckdb:" };
	static const char *const names[] = { "", "localhost", "localhost.localdomain", "ip6-localhost", "::1",
		"0:0:0:0:0:0:0:1", "0.0.0.0", ".", "(local)", "(localdb)" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(address, schemes[i], strlen(schemes[i])) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(host, names[i]) == 0)
			return true;
	return text_starts(host, "127.") && strspn(host, "0123456789.") == strlen(host);
}

static void reach(struct call *k, const struct word *host)
{
	struct word *copy = arena_alloc(walk_arena(k->w), sizeof(*copy));

	*copy = *host;
	k->remote = copy;
	fx(k, TAG_NETWORK_CONNECT, host, 0);
}

/* A list of addresses; what is no more than a number is a port (sqlcmd -S HOST,1433). */
static void judge_list(struct call *k, const char *list, struct span at)
{
	struct arena *a = walk_arena(k->w);
	struct bytes rest = bytes_of(list);

	while (rest.p && rest.n) {
		struct bytes part = text_cut(&rest, ',');
		const char *address = arena_strndup(a, (const char *)part.p, part.n);
		const char *host = host_of(a, address);
		if (is_local(address, host) || strspn(host, "0123456789") == strlen(host))
			continue;
		struct word x = walk_word(k->w, strstr(address, "://") ? address : host, at);
		reach(k, &x);
	}
}

/* "host=A port=1" and "...?host=A": settings of a connection, inside of one word. */
static bool judge_settings(struct call *k, const struct word *x)
{
	static const char *const keys[] = { "host=", "hostaddr=", "service=", "server=" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (const char *p = x->text; (p = strcasestr(p, keys[i]));) {
			bool begins = p == x->text || strchr(" \t?&;'\":", p[-1]);
			p += strlen(keys[i]);
			const char *value = p + strspn(p, " '\"");
			size_t n = strcspn(value, " \t&;'\"");
			if (!begins)
				continue;
			found = true;
			judge_list(k, arena_strndup(walk_arena(k->w), value, n), x->at);
		}
	return found;
}

void judge_host(struct call *k, const struct word *x)
{
	if (x->certainty != CERTAIN) {
		/* "mongodb://localhost/$DB": who it is stands in the part that is known. */
		const char *scheme = strstr(x->text, "://");
		const char *host = host_of(walk_arena(k->w), x->text);
		size_t end = scheme ? (size_t)(scheme + 3 - x->text) : 0;
		end += strcspn(x->text + end, "/?,");
		if (end < x->known_n && is_local(x->text, host) && *host)
			return;
		reach(k, x);
		return;
	}
	if (!judge_settings(k, x) || strstr(x->text, "://"))
		judge_list(k, x->text, x->at);
}

/* "*": the first operand is an address; "*.": an operand is one if it is spelled like one. */
static void judge_operands(struct call *k, const char *how)
{
	struct args s;
	size_t count = 0;

	args_start(&s, walk_arena(k->w), k->rest, k->rest_count, program_options(k->program));
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item != ARG_OPERAND && item != ARG_DYNAMIC)
			continue;
		const struct word *x = &s.value;
		bool is_address = word_has(x, "://") || word_has(x, "host=") || word_has(x, "service=");
		if (count++ == 0 && how)
			is_address |= !how[1] || x->certainty != CERTAIN ||
				(strpbrk(x->text, ".:/@") && !text_ends(x->text, ".js"));
		if (is_address)
			judge_host(k, x);
	}
}

/* A variable of the environment has the address, as far as this text has set it. */
static void judge_host_variable(struct call *k, const char *name)
{
	const char *value;

	for (size_t i = 0; (value = walk_value(k->w, name, i)); i++) {
		struct word x = walk_word(k->w, value, k->c->at);
		if (strpbrk(value, WALK_MARKS))
			x = (struct word){ .text = "", .certainty = DYNAMIC, .at = k->c->at };
		judge_host(k, &x);
	}
}

bool names_host_variable(const char *name)
{
	for (size_t i = 0; i < program_count; i++)
		for (size_t j = 0; j < programs[i].value_count; j++) {
			const struct value_option *v = &program_values[programs[i].first_value + j];
			const char *option = program_text + v->option;
			if (v->meaning == VALUE_HOST && option[0] == '$' && text_eq(option + 1, name))
				return true;
		}
	return false;
}

static bool changes_data(const struct effect *e)
{
	return e->kind == FX_DATABASE && !text_eq(e->tag, "sql.session");
}

void classify_hosts(struct call *k)
{
	const struct value_option *rows = &program_values[k->program->first_value];
	const char *operand = NULL;
	bool any = false;

	for (size_t i = 0; i < k->program->value_count; i++) {
		const char *option = program_text + rows[i].option;
		if (rows[i].meaning != VALUE_HOST)
			continue;
		any = true;
		if (option[0] == '*')
			operand = option;
		else if (option[0] == '$')
			judge_host_variable(k, option + 1);
	}
	if (any)
		judge_operands(k, operand);
}

/* A change of data on another machine is data that was sent there. */
void classify_sent_data(struct call *k, struct walk_mark mark)
{
	if (k->remote && walk_has(k->w, mark, changes_data))
		fx(k, TAG_NETWORK_MUTATE, k->remote, FXF_MUTATING);
}
