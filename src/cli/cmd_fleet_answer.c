/* cmd_fleet_answer.c — questions of machines, answered from the centre; and who may.
 *
 * Whoever serves the ledger carries answers and cannot make them: a yes is signed by the person's own key over the whole grant and the digest of
 * the question, and each machine asks for itself whether the root key, which was pinned there and is kept offline, names that person. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_fleet.h"
#include "kernel/fleet/fleet.h"
#include "kernel/passkey.h"
#include "kernel/person.h"
#include "proof/sshsig.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 1000 };

/* ---- questions ---- */

const struct opt fleet_questions_opts[] = {
	DATABASE,
	TENANT,
	LEDGER_URL,
	{ "node", OPT_VALUE, "NODE", "only of this machine", NULL, false },
	{ "limit", OPT_INT, "N", "at most so many, oldest first (1000)", NULL, false },
	{ 0 },
};

static int no_node(struct err *e)
{
	return err_set(
		e, E_USAGE, "USAGE", "--node takes the number of a machine; 'helm fleet nodes' shows them");
}

static void print_questions(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "QUESTION", "NODE", "HOST", "USER", "WHO", "ENDS IN", "ORDER",
		"ASKS" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (one, list) {
		const struct json *q = json_get(one, "request");
		int64_t order = json_get_int(one, "order", 0);
		const char *cells[] = { fleet_cell(r, one, "approval_id"), fleet_cell(r, one, "node"),
			fleet_cell(r, one, "host"), fleet_cell(r, one, "user"), fleet_cell(r, q, "principal"),
			arena_printf(r->a, "%lld m", (long long)json_get_int(one, "expires_s", 0) / 60),
			order ? arena_printf(r->a, "%lld", (long long)order) : "",
			fleet_cell(r, q, json_get(q, "preview") ? "preview" : "pending_action") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

int cmd_fleet_questions(struct cli *r, struct err *e)
{
	struct json *q, *list;
	const char *wanted = opt_text(r, "node", NULL);
	int64_t limit = opt_int(r, "limit", SHOWN), node;
	int rc = fleet_start(r, "questions", &q, e);

	if (rc == OK && (limit < 1 || limit > SHOWN))
		rc = err_set(e, E_USAGE, "USAGE", "--limit takes a number from 1 to %d", SHOWN);
	if (rc == OK && wanted && !text_int(wanted, &node))
		rc = no_node(e);
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	if (wanted)
		json_sets(r->a, q, "node", wanted);
	json_seti(r->a, q, "limit", limit + 1);
	rc = fleet_ask(r, q, &list, e);
	if (rc)
		return rc;
	bool has_more = list->n > limit;
	if (has_more)
		list->n = (uint32_t)limit;
	if (r->is_json)
		out_json(r, list);
	else if (!list->n)
		out(r, "Nothing waits for an answer.\n");
	else
		print_questions(r, list);
	if (has_more)
		warn(r, "the oldest %s",
			text_shown_of(r->a, limit, json_get_int(json_at(list, 0), "total", limit + 1),
				limit < SHOWN ? "more with --limit 1000, or of one machine with --node"
					      : "more of one machine with --node"));
	return 0;
}

static int find_question(struct cli *r, const char *id, struct json **ret, struct err *e)
{
	struct json *q, *list;
	int64_t node;
	const char *wanted = opt_text(r, "node", NULL);
	int rc = fleet_start(r, "questions", &q, e);

	if (rc == OK && wanted && !text_int(wanted, &node))
		rc = no_node(e);
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	json_sets(r->a, q, "id", id);
	if (wanted)
		json_sets(r->a, q, "node", wanted);
	rc = fleet_ask(r, q, &list, e);
	if (rc)
		return rc;
	if (list->n != 1)
		return err_set(e, list->n ? E_INPUT : E_MISSING, "FLEET_QUESTION",
			list->n ? "several machines ask '%s': say which one with --node"
				: "no question '%s' waits; 'helm fleet questions' shows those that do",
			id);
	struct json *one = list->items[0];
	/* Whoever serves the ledger chooses what it answers. */
	if (!text_eq(json_get_text(json_get(one, "request"), "approval_id", ""), id) ||
		!text_eq(json_get_text(one, "approval_id", ""), id))
		return err_set(e, E_DENIED, "FLEET_QUESTION",
			"the ledger answers with another question than '%s'", id);
	*ret = one;
	return OK;
}

/* ---- yes and no ---- */

const struct opt fleet_approve_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	NODE_ASKS,
	{ "once", OPT_FLAG, NULL, "this very command, one time (the default)", NULL, false },
	{ "session", OPT_FLAG, NULL, "only for the session that asked; without --shape: this very command",
		NULL, false },
	{ "shape", OPT_FLAG, NULL, "any command with the same effects on operands of the same class", NULL,
		false },
	{ "host", OPT_VALUE, "HOST", "the same effects on this host", NULL, false },
	{ "until", OPT_VALUE, "TIME", "ends then: 2026-05-01, '2026-05-01 09:00'", NULL, false },
	{ "for", OPT_VALUE, "DURATION",
		"ends after 30m, 8h or 2d (default 8h; once and session 24h; at most 30d)", NULL, false },
	{ "key", OPT_VALUE, "FILE", "your own key, NAME.key, which the list of approvers has", NULL, false },
	{ "message", OPT_FLAG, NULL,
		"only print what a key of OpenSSH signs: ssh-keygen -Y sign -n helm-approval@v1 -f KEY FILE",
		NULL, false },
	{ "passkey", OPT_FLAG, NULL,
		"with --message: it is signed by a passkey; FILE.sig is then what the browser gave, as JSON",
		NULL, false },
	{ "signed", OPT_VALUE, "FILE", "what was printed and signed; FILE.sig is the signature", NULL,
		false },
	{ 0 },
};
const struct opt fleet_deny_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	NODE_ASKS,
	WHY,
	{ 0 },
};

static int read_terms(struct cli *r, struct approval_terms *ret, struct err *e)
{
	const char *host = opt_text(r, "host", NULL);
	bool shape = opt_flag(r, "shape"), timed = opt_text(r, "for", NULL) || opt_text(r, "until", NULL);
	struct approval_terms t = { .is_for_session = opt_flag(r, "session"),
		.reach = host	? REACH_HOST
			: shape ? REACH_SHAPE
				: REACH_EXACT,
		.host = host };

	if (shape && host)
		return err_set(e, E_USAGE, "APPROVAL_REACH", "give one of --shape and --host");
	t.is_once = opt_flag(r, "once") || (t.reach == REACH_EXACT && !t.is_for_session && !timed);
	int rc = approval_read_end(r, &t, e);
	if (rc == OK)
		*ret = t;
	return rc;
}

/* The answer in its bytes, and the signature of whoever gives it. */
struct answer {
	struct bytes message;
	const char *signature;
	struct json *passkey, *assertion; /* instead of it; or NULL */
};

/* What each of several people signs: what those before have signed, as long as it is good for the question; or a new one. */
static int shared_message(struct cli *r, const struct json *question, struct bytes *ret, struct err *e)
{
	const struct json *request = json_get(question, "request");

	json_each (one, json_get(question, "answers")) {
		*ret = bytes_of(json_get_text(one, "message", ""));
		if (approval_quorum_is_live(r->sys, r->a, request, *ret))
			return OK;
	}
	return approval_quorum_message(r->sys, r->a, request, ret, e);
}

/* The bytes that say yes to it.  What takes several people is for this very command, once. */
static int message_of(
	struct cli *r, const struct json *question, enum signed_with with, struct bytes *ret, struct err *e)
{
	const struct json *request = json_get(question, "request");
	struct approval_terms t;
	int rc = read_terms(r, &t, e);

	if (rc)
		return rc;
	if (approval_people(request) <= 1)
		return approval_message_for(r->sys, r->a, request, &t, with, ret, e);
	if (t.reach != REACH_EXACT || !t.is_once)
		return err_set(e, E_USAGE, "APPROVAL_REACH",
			"this takes %d people, so it is approved for this very command, once",
			approval_people(request));
	return shared_message(r, question, ret, e);
}

/* The request and the grant, out of the very bytes that are signed: what a list has shown before is the ledger's word only. */
static int describe_answer(
	struct cli *r, struct json *request, struct bytes message, struct buf *to, struct err *e)
{
	struct json *entry = json_new(r->a, JSON_OBJECT);
	bool is_shared = approval_people(request) > 1;
	struct grant g;
	int rc = is_shared ? OK : approval_message_read(r->a, message, &g, e);

	if (rc)
		return rc;
	json_set(r->a, entry, "request", request);
	buf_init(to, r->a);
	approval_describe(r, to, entry);
	buf_adds(to, "Your answer\n");
	if (is_shared)
		buf_addf(to, "  yes, as one of %d people: this very command, once\n",
			approval_people(request));
	else
		grant_describe(r, to, &g);
	return OK;
}

/* Is what was signed an answer to this question? */
static int check_about(struct cli *r, const struct json *question, struct bytes message, struct err *e)
{
	const char *id = json_get_text(question, "approval_id", "");
	struct grant said;

	if (approval_people(json_get(question, "request")) > 1)
		return approval_quorum_is_live(r->sys, r->a, json_get(question, "request"), message)
			? OK
			: err_set(e, E_DENIED, "FLEET_QUESTION",
				  "what was signed does not answer '%s', or is too old", id);
	int rc = approval_message_read(r->a, message, &said, e);
	if (rc == OK && !text_eq(said.request_id ? said.request_id : "", id))
		rc = err_set(e, E_DENIED, "FLEET_QUESTION", "what was signed answers '%s', and not '%s'",
			said.request_id ? said.request_id : "", id);
	return rc;
}

static int read_signed(
	struct cli *r, const char *file, const struct json *question, struct answer *ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 1 << 20, FILE_FOLLOW, &ret->message, e);

	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, arena_printf(r->a, "%s.sig", file), SSHSIG_LIMIT,
			FILE_FOLLOW, &text, e);
	if (rc == OK)
		rc = check_about(r, question, ret->message, e);
	if (rc == OK && text.n && text.p[0] == '{')
		return json_parse(r->a, text, file, NULL, &ret->passkey, e);
	if (rc == OK && approval_people(json_get(question, "request")) > 1)
		return err_set(e, E_INPUT, "APPROVAL_QUORUM",
			"what takes several people is signed by a key of ours (--key) or by a passkey");
	if (rc == OK)
		ret->signature = arena_strndup(r->a, (const char *)text.p, text.n);
	return rc;
}

/* Shown, and at a terminal confirmed by the word; elsewhere the key is the word.  No signature: it was not confirmed. */
static int sign_here(struct cli *r, const struct json *question, struct answer *ret, struct err *e)
{
	struct json *request = json_get(question, "request");
	static const char *const words[] = { "APPROVE", NULL };
	AUTO(key_free) struct key *key = NULL;
	uint8_t signature[SIGN_SIZE];
	char *hex = arena_text(r->a, 2 * SIGN_SIZE + 1);
	const char *typed;
	struct buf text;
	int rc = message_of(r, question, SIGNED_FOR_FLEET, &ret->message, e);

	if (rc == OK)
		rc = person_load_key(r->sys, r->a, opt_text(r, "key", ""), &key, e);
	if (rc == OK)
		rc = describe_answer(r, request, ret->message, &text, e);
	if (rc)
		return rc;
	if (!isatty(0) || !(isatty(1) || isatty(2))) {
		out_say(r, text.p, text.n);
	} else {
		buf_adds(&text, "\nType APPROVE to go on, anything else to leave it: ");
		if (!approver_says(r, text.p, words, &typed))
			return OK;
	}
	if (approval_people(request) > 1) {
		ret->assertion = approval_quorum_assert(r->a, ret->message, key);
		return OK;
	}
	key_sign(key, ret->message, signature);
	hex_encode(signature, sizeof(signature), hex);
	ret->signature = hex;
	return OK;
}

static int print_message(struct cli *r, const struct json *question, struct err *e)
{
	struct bytes message;
	struct buf text;
	int rc = message_of(
		r, question, opt_flag(r, "passkey") ? SIGNED_WITH_PASSKEY : SIGNED_WITH_SSH, &message, e);

	if (rc == OK)
		rc = describe_answer(r, json_get(question, "request"), message, &text, e);
	if (rc)
		return rc;
	out_say(r, text.p, text.n);
	/* these bytes and no others are signed: no newline follows */
	out(r, "%s", arena_strndup(r->a, (const char *)message.p, message.n));
	return OK;
}

static struct json *body_of(struct cli *r, const struct json *question)
{
	struct json *body = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, body, "approval_id", json_get_text(question, "approval_id", ""));
	json_sets(r->a, body, "session_id", json_get_text(question, "session_id", ""));
	return body;
}

int cmd_fleet_approve(struct cli *r, struct err *e)
{
	const char *file = opt_text(r, "signed", NULL), *key = opt_text(r, "key", NULL);
	bool is_message = opt_flag(r, "message");
	struct json *question;
	struct answer x = { 0 };

	if ((file != NULL) + (key != NULL) + is_message != 1)
		return err_set(e, E_USAGE, "USAGE",
			"a yes is signed by your own key: --key FILE; or --message, and then --signed FILE");
	int rc = person_is_outside(r->sys, r->a, r->ws, e);
	if (rc == OK)
		rc = find_question(r, r->args[0], &question, e);
	if (rc == OK && is_message)
		return print_message(r, question, e);
	if (rc == OK)
		rc = file ? read_signed(r, file, question, &x, e) : sign_here(r, question, &x, e);
	if (rc)
		return rc;
	if (!x.signature && !x.passkey && !x.assertion) {
		out(r, "Nothing was changed.\n");
		return EXIT_NO;
	}
	struct json *body = body_of(r, question);
	json_sets(r->a, body, "message", arena_strndup(r->a, (const char *)x.message.p, x.message.n));
	if (x.assertion)
		json_set(r->a, body, "assertion", x.assertion);
	else if (x.passkey)
		json_set(r->a, body, "passkey", x.passkey);
	else
		json_sets(r->a, body, "signature", x.signature);
	return fleet_order(r, "grant", body, json_get_text(question, "node", ""), e);
}

int cmd_fleet_deny(struct cli *r, struct err *e)
{
	struct json *question;
	int rc = person_is_outside(r->sys, r->a, r->ws, e);

	if (rc == OK)
		rc = find_question(r, r->args[0], &question, e);
	return rc ? rc : fleet_order(r, "deny", body_of(r, question), json_get_text(question, "node", ""), e);
}

/* ---- approvers ---- */

const struct opt fleet_approvers_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	{ "node", OPT_LIST, "NODE", "give: only to this machine; without it: all", NULL, false },
	{ "root-key", OPT_VALUE, "FILE", "sign: the root key, NAME.key, on the machine where it is kept",
		NULL, false },
	{ "origin", OPT_VALUE, "ORIGIN", "sign: for the fleet with this origin", NULL, false },
	{ "serial", OPT_INT, "N",
		"sign: a list takes the place of those with lower numbers (the time in seconds)", NULL,
		false },
	{ 0 },
};

/* As it stands in trust/approvers.json where it was registered; where it signs is https:// and its name, when nothing else is said. */
static int read_passkey(struct cli *r, const char *text, struct json *row, struct err *e)
{
	static const char *const parts[] = { "algorithm", "credential_id", "public_key_hex", "rp_id" };
	struct json *doc, *p = json_new(r->a, JSON_OBJECT);
	int rc = json_parse(r->a, bytes_of(text), "passkey", NULL, &doc, e);
	const struct json *from = rc == OK && json_get(doc, "passkey") ? json_get(doc, "passkey") : NULL;

	if (rc == OK && !from)
		rc = err_set(e, E_INPUT, "FLEET_APPROVERS", "the file has no passkey in it");
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(parts); i++)
		json_sets(r->a, p, parts[i], json_get_text(from, parts[i], ""));
	if (rc == OK) {
		json_sets(r->a, p, "origin",
			json_get_text(from, "origin",
				arena_printf(r->a, "https://%s", json_get_text(from, "rp_id", ""))));
		json_set(r->a, row, "passkey", p);
	}
	return rc;
}

/* LABEL=KEY: 64 hex digits, a passkey as the console shows it, or a file with either, with a line of OpenSSH or with a passkey as it was registered. */
static int read_approver(struct cli *r, const char *text, struct json **ret, struct err *e)
{
	const char *at = strchr(text, '=');
	uint8_t pub[SIGN_PUBLIC];
	struct bytes line;
	struct ssh_key key;

	if (!at || at == text)
		return err_set(e, E_USAGE, "USAGE",
			"'%s': an approver is LABEL=KEY, with 64 hex digits, helm-passkey:..., or a file that has a public key",
			text);
	*ret = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, *ret, "label", arena_strndup(r->a, text, (size_t)(at - text)));
	at++;
	if (!hex_decode(at, strlen(at), pub, sizeof(pub), true) && !text_starts(at, PASSKEY_WORD)) {
		int rc = file_read(r->sys, r->a, AT_FDCWD, at, SSH_KEY_LIMIT, FILE_FOLLOW, &line, e);
		if (rc)
			return rc;
		at = arena_strndup(r->a, (const char *)line.p, line.n);
		if (*at == '{')
			return read_passkey(r, at, *ret, e);
		((char *)(uintptr_t)at)[strcspn(at, "\r\n")] = '\0';
	}
	if (hex_decode(at, strlen(at), pub, sizeof(pub), true)) {
		json_sets(r->a, *ret, "public_key_hex", at);
		return OK;
	}
	if (text_starts(at, PASSKEY_WORD)) {
		struct json *passkey;
		int rc = passkey_read_word(r->a, at, &passkey, e);
		if (rc == OK)
			json_set(r->a, *ret, "passkey", passkey);
		return rc;
	}
	int rc = ssh_key_parse(r->a, bytes_of(at), text, &key, e);
	if (rc == OK)
		json_sets(r->a, *ret, "ssh_key", ssh_key_text(r->a, &key));
	return rc;
}

static int sign_list(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *root = NULL;
	struct json *list = json_new(r->a, JSON_OBJECT), *keys = json_new(r->a, JSON_ARRAY), *one = NULL;
	const char *file = opt_text(r, "root-key", NULL), *origin = opt_text(r, "origin", NULL);
	int64_t now_us = r->sys->now_us(r->sys), serial = opt_int(r, "serial", now_us / 1000000);

	if (!file || !origin || serial < 1)
		return err_set(e, E_USAGE, "USAGE", "sign takes --root-key FILE and --origin ORIGIN");
	int rc = person_is_outside(r->sys, r->a, r->ws, e);
	for (size_t i = 1; rc == OK && i < r->arg_count; i++) {
		rc = read_approver(r, r->args[i], &one, e);
		if (rc == OK)
			json_push(r->a, keys, one);
	}
	if (rc == OK)
		rc = person_load_key(r->sys, r->a, file, &root, e);
	if (rc)
		return rc;
	json_sets(r->a, list, "version", FLEET_APPROVERS_V1);
	json_sets(r->a, list, "origin", origin);
	json_seti(r->a, list, "serial", serial);
	json_set(r->a, list, "keys", keys);
	json_sets(r->a, list, "at", text_time_z(r->a, now_us));
	rc = fleet_approvers_sign(r->a, root, list, e);
	if (rc == OK)
		out_json(r, list);
	return rc;
}

/* What was signed elsewhere, in the file that is named, as this member of an order's body. */
static int give_document(struct cli *r, const char *kind, const char *member, struct err *e)
{
	struct json *body = json_new(r->a, JSON_OBJECT), *doc;
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, r->args[1], 1 << 20, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(r->a, text, r->args[1], NULL, &doc, e);
	if (rc)
		return rc;
	json_set(r->a, body, member, doc);
	return fleet_order(r, kind, body, NULL, e);
}

int cmd_fleet_approvers(struct cli *r, struct err *e)
{
	if (text_eq(r->args[0], "sign"))
		return sign_list(r, e);
	if (text_eq(r->args[0], "give") && r->arg_count == 2)
		return give_document(r, "approvers", "list", e);
	return err_set(e, E_USAGE, "USAGE", "say sign LABEL=KEY..., or give FILE");
}

/* ---- the root key ---- */

const struct opt fleet_root_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	{ "root-key", OPT_VALUE, "FILE", "sign: the root key that is in force, NAME.key", NULL, false },
	{ "new-key", OPT_VALUE, "FILE", "sign: the one that takes its place, NAME.key", NULL, false },
	{ "origin", OPT_VALUE, "ORIGIN", "sign: for the fleet with this origin", NULL, false },
	{ 0 },
};

static int sign_root(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *old = NULL;
	AUTO(key_free) struct key *new = NULL;
	const char *from = opt_text(r, "root-key", NULL), *to = opt_text(r, "new-key", NULL),
		   *origin = opt_text(r, "origin", NULL);

	if (!from || !to || !origin)
		return err_set(e, E_USAGE, "USAGE",
			"sign takes --root-key FILE, --new-key FILE and --origin ORIGIN");
	int rc = person_is_outside(r->sys, r->a, r->ws, e);
	if (rc == OK)
		rc = person_load_key(r->sys, r->a, from, &old, e);
	if (rc == OK)
		rc = person_load_key(r->sys, r->a, to, &new, e);
	if (rc == OK)
		out_json(r,
			fleet_root_sign(r->a, origin, text_time_z(r->a, r->sys->now_us(r->sys)), old, new));
	return rc;
}

int cmd_fleet_root(struct cli *r, struct err *e)
{
	if (text_eq(r->args[0], "sign") && r->arg_count == 1)
		return sign_root(r, e);
	if (text_eq(r->args[0], "give") && r->arg_count == 2)
		return give_document(r, "root", "statement", e);
	return err_set(e, E_USAGE, "USAGE", "say sign, or give FILE");
}
