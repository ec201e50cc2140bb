/* cmd_key.c — key show, create, export, rotate, revoke, history, repair: the key that signs what this machine
 * records.
 *
 * It lives in ~/.helm/keys (HELM_HOME moves ~/.helm), outside every workspace. No command prints the
 * secret. None replaces the key without a link in the key history: a key that is replaced silently makes
 * old records look as if somebody else had signed them. */
#include "audit/keys.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/person.h"
#include "kernel/posture.h"
#include "kernel/workspace.h"
#include "proof/key.h"
#include "record/record.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

static const char key_name[] = "root";
enum { HISTORY_LIMIT = 64 << 20 };

const struct opt key_export_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write to a new file instead of standard output", NULL, false },
	{ 0 },
};

const struct opt key_rotate_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why, for those who read the history", NULL, false },
	PERSON_KEY,
	{ 0 },
};
const struct opt key_revoke_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why, for those who read the history", NULL, false },
	{ "since", OPT_VALUE, "TIME", "from when on the key is not to be trusted; now, when not given", NULL,
		false },
	PERSON_KEY,
	{ 0 },
};

const struct opt key_repair_opts[] = {
	{ "from", OPT_VALUE, "FILE", "a copy of the history: links that are missing are taken from it", NULL,
		false },
	{ "lost", OPT_FLAG, NULL,
		"go on without links that cannot be brought back; the key in force begins a new line of keys",
		NULL, false },
	CONFIRM_OPTIONS,
	PERSON_KEY,
	{ 0 },
};

/* ~/.helm/keys, or below HELM_HOME. */
static int key_dir(struct cli *r, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (!rc)
		*ret = path_join(r->a, home, "keys");
	return rc;
}

/* The public half only. */
static void print_key(struct cli *r, const struct key *k, const char *dir)
{
	const char *file = arena_printf(r->a, "%s/%s.key", dir, key_name);
	char id[KEY_ID], hex[2 * SIGN_PUBLIC + 1];

	key_id(key_public(k), id);
	hex_encode(key_public(k), SIGN_PUBLIC, hex);
	if (!r->is_json) {
		out(r, "key_id=%s\npublic_key=%s\nfile=%s\n", id, hex, file);
		return;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "algorithm", "ed25519");
	json_sets(r->a, doc, "key_id", id);
	json_sets(r->a, doc, "public_key", hex);
	json_sets(r->a, doc, "file", file);
	json_setb(r->a, doc, "memory_locked", key_is_locked(k));
	out_json(r, doc);
}

/* What is wrong with keys/ and trust/, as every view of the record says it. */
static int check_keys(struct cli *r, struct log_report *ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	*ret = audit_report_new(r->a);
	return rc ? rc : audit_keys(r->sys, r->a, home, ret, e);
}

static void warn_findings(struct cli *r, const struct log_report *report)
{
	json_each (f, json_get(report->doc, "findings"))
		warn(r, "%s; %s", json_get_text(f, "text", ""), json_get_text(f, "remedy", ""));
}

/* The key is shown also when its history is damaged; the exit code says that something is wrong. */
int cmd_key_show(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	struct log_report report;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = keys_load(r->sys, AT_FDCWD, dir, &k, e);
	if (!rc)
		rc = check_keys(r, &report, e);
	if (rc)
		return rc;
	print_key(r, k, dir);
	warn_findings(r, &report);
	return report.is_sound ? 0 : EXIT_NO;
}

/* Refuses when there is a key already: a new one must come by rotation. */
int cmd_key_create(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = keys_create(r->sys, AT_FDCWD, dir, &k, e);
	if (!rc)
		print_key(r, k, dir);
	return rc;
}

/* --out makes a new file and never overwrites one. */
int cmd_key_export(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir, *to = opt_text(r, "out", NULL);
	char line[2 * SIGN_PUBLIC + 2];

	int rc = key_dir(r, &dir, e);
	if (!rc)
		rc = keys_load(r->sys, AT_FDCWD, dir, &k, e);
	if (rc)
		return rc;
	hex_encode(key_public(k), SIGN_PUBLIC, line);
	/* In the place of the NUL that hex_encode() wrote. */
	line[2 * SIGN_PUBLIC] = '\n';
	if (to) {
		rc = file_create(r->sys, AT_FDCWD, to, 0644,
			(struct bytes){ (const uint8_t *)line, sizeof(line) - 1 }, e);
		if (rc || !r->is_json)
			return rc;
	}
	if (r->is_json)
		print_key(r, k, dir);
	else
		out(r, "%s", line);
	return 0;
}

/* Members that are empty are left out. */
static void print_link(struct cli *r, const struct json *link)
{
	if (r->is_json) {
		out_json(r, link);
		return;
	}
	json_each_member (m, link)
		if (json_is(m->value, JSON_STRING) && m->value->n)
			out(r, "%s=%s\n", m->name, text_safe(r->a, m->value->text, m->value->n, false));
}

/* The link is signed by the old key and by the new one; it is shown together with what others need. */
int cmd_key_rotate(struct cli *r, struct err *e)
{
	const char *dir;
	struct json *link;
	int rc = person_is_there(r, e);

	if (rc == OK)
		rc = key_dir(r, &dir, e);
	if (rc == OK)
		rc = keys_rotate(r->sys, r->a, AT_FDCWD, dir, opt_text(r, "reason", ""), &link, e);
	if (rc)
		return rc;
	print_link(r, link);
	if (!r->is_json)
		out(r, "\nGive the new public key to those who verify, or the history itself: %s/%s\n", dir,
			KEY_HISTORY);
	return 0;
}

/* Times are read in any spelling and written in one. */
static int read_since(struct cli *r, const char **ret, struct err *e)
{
	int64_t us = 0;
	int rc = opt_since(r, "since", &us, e);

	*ret = opt_text(r, "since", NULL) ? text_time_z(r->a, us) : NULL;
	return rc;
}

/* Everything is read and checked before the history is touched. */
int cmd_key_revoke(struct cli *r, struct err *e)
{
	uint8_t pub[SIGN_PUBLIC];
	const char *dir, *since;
	struct json *link;
	int rc = key_parse_public(bytes_of(r->args[0]), r->args[0], pub, e);

	if (rc == OK)
		rc = read_since(r, &since, e);
	if (rc == OK)
		rc = person_is_there(r, e);
	if (rc == OK)
		rc = key_dir(r, &dir, e);
	if (rc == OK)
		rc = keys_revoke(
			r->sys, r->a, AT_FDCWD, dir, pub, opt_text(r, "reason", ""), since, &link, e);
	if (rc == OK)
		print_link(r, link);
	return rc;
}

/* Lines that are no JSON are passed over here; what is said below them has reported them. */
static void print_history(
	struct cli *r, const struct verification *v, struct bytes text, const struct log_report *report)
{
	static const char *const headings[] = { "#", "AT", "EVENT", "KEY", "REASON" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	while (text.n) {
		struct json *link;
		if (json_parse(r->a, text_cut(&text, '\n'), KEY_HISTORY, NULL, &link, NULL))
			continue;
		const char *reason = json_get_text(link, "reason", "");
		const char *cells[] = { arena_printf(
						r->a, "%lld", (long long)json_get_int(link, "sequence", 0)),
			text_safe(r->a, json_get_text(link, "at", ""), strlen(json_get_text(link, "at", "")),
				false),
			json_get_text(link, "event", ""), json_get_text(link, "key", ""),
			text_safe(r->a, reason, strlen(reason), false) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (report->is_sound && v->integrity == ANSWER_YES)
		out(r, "\nunbroken; in force: %s\n", json_get_text(v->values, "active", "none"));
	json_each (f, json_get(report->doc, "findings"))
		out(r, "\nBROKEN: %s\n%s\n", json_get_text(f, "text", ""), json_get_text(f, "remedy", ""));
}

/* The history is verified before it is shown, and compared with the key in force and with how far it went; the exit code says whether
 * all of it holds. */
int cmd_key_history(struct cli *r, struct err *e)
{
	struct trust nobody = { 0 };
	struct log_report report;
	struct verification v;
	struct bytes text = { 0 };
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (rc == OK)
		rc = check_keys(r, &report, e);
	if (rc)
		return rc;
	rc = file_read(r->sys, r->a, AT_FDCWD, path_join(r->a, dir, KEY_HISTORY), HISTORY_LIMIT, 0, &text, e);
	if ((rc == E_MISSING || (rc == OK && !memchr(text.p, '\n', text.n))) && report.is_sound)
		return err_set(e, E_MISSING, "KEY_HISTORY",
			"there is no key history yet; 'helm key create' starts it");
	if (rc && report.is_sound)
		return rc;
	if (rc)
		text = (struct bytes){ 0 };
	while (text.n && text.p[text.n - 1] != '\n')
		/* A last line without a newline is what a crash left of a link that nobody was told about. */
		text.n--;
	/* The history proves itself: each link is signed by the key before it. */
	verification_begin(&v, r->a, &nobody, "key history");
	verify_key_history(&v, text, KEY_HISTORY);
	if (r->is_json) {
		struct json *doc = verification_json(r->a, &v), *links = json_new(r->a, JSON_ARRAY), *link;
		for (struct bytes rest = text; rest.n;)
			if (json_parse(r->a, text_cut(&rest, '\n'), KEY_HISTORY, NULL, &link, NULL) == OK)
				json_push(r->a, links, link);
		json_set(r->a, doc, "links", links);
		json_set(r->a, doc, "findings", json_get(report.doc, "findings"));
		out_json(r, doc);
	} else {
		print_history(r, &v, text, &report);
	}
	return report.is_sound && v.integrity == ANSWER_YES ? 0 : EXIT_NO;
}

static void print_repair(struct cli *r, const struct keys_repaired *done, bool apply)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (r->is_json) {
		json_setb(r->a, doc, "applied", apply && !done->is_sound);
		json_setb(r->a, doc, "sound_before", done->is_sound);
		json_setb(r->a, doc, "whole", done->is_whole);
		json_setb(r->a, doc, "new_line", done->has_new_line);
		json_seti(r->a, doc, "links", done->links);
		json_seti(r->a, doc, "mended", done->mended);
		json_seti(r->a, doc, "brought", done->brought);
		json_sets(r->a, doc, "aside", done->aside);
		json_sets(r->a, doc, "lost", done->text);
		out_json(r, doc);
		return;
	}
	if (done->is_sound) {
		out(r, "The key history is unbroken and ends with the key in force.%s\n",
			done->mended ? " root.key had one wrong digit; it was made right." : "");
		return;
	}
	out(r, "%s%lld %s%s; %lld of them mended by their digest, %lld from the record or a copy.\n",
		apply && (done->is_whole || done->aside) ? "" : "can be brought back: ",
		(long long)done->links, done->links == 1 ? "link" : "links",
		apply && (done->is_whole || done->aside) ? " are in the key history again" : "",
		(long long)done->mended, (long long)done->brought);
	if (done->text)
		out(r, "Lost: %s.\n", done->text);
	if (done->has_new_line)
		out(r,
			"The key in force begins a new line of keys. What older keys signed counts again after: helm key "
			"trust add KEY\n");
	if (done->aside)
		out(r, "What was damaged lies in %s\n", done->aside);
	if (!apply)
		out(r,
			done->is_whole
				? "Nothing was changed. To do it:\n  helm key repair --yes\n"
				: "Nothing was changed. Put a copy of the history in (helm key repair --from FILE --yes), or go on "
				  "without them:\n  helm key repair --lost --yes\n");
	else if (!done->is_whole && !done->aside && !done->has_new_line)
		out(r,
			"Nothing was changed. A copy of the history may have them: helm key repair --from FILE --yes\nTo go "
			"on without them: helm key repair --lost --yes\n");
}

/* An operator may repair whatever else is damaged: a history that is broken makes what older keys have decided, a freeze among it, look
 * forged, and only the repair ends that.  Nothing counts afterwards that did not count before.  Going on without links is another thing. */
static int may_repair(struct cli *r, const struct keys_repair *how, struct err *e)
{
	struct person who = { 0 };
	int rc = person_here(r, &who, e);

	key_free(&who.key);
	if (rc || !how->accept_loss || (r->ws && posture_of(r->sys, r->ws)->broken))
		return rc;
	return person_may_loosen(r->sys, r->a, r->ws, e);
}

/* Says first; does it for an operator. */
static int repair(struct cli *r, bool is_dry, bool *ret_has_work, struct err *e)
{
	struct keys_repair how = {
		.state_fd = r->ws ? r->ws->state_fd : -1, .apply = !is_dry, .accept_loss = opt_flag(r, "lost")
	};
	const char *dir, *from = opt_text(r, "from", NULL);
	struct keys_repaired done;
	int rc = how.apply ? may_repair(r, &how, e) : OK;

	if (rc == OK)
		rc = key_dir(r, &dir, e);
	if (rc == OK && from)
		rc = file_read(r->sys, r->a, AT_FDCWD, from, HISTORY_LIMIT, FILE_FOLLOW, &how.copy, e);
	if (rc == OK)
		rc = audit_keys_repair(r->sys, r->a, dir, &how, &done, e);
	if (rc)
		return rc;
	print_repair(r, &done, how.apply);
	*ret_has_work = !done.is_sound;
	return done.is_sound || done.is_whole || how.accept_loss ? 0 : EXIT_NO;
}

int cmd_key_repair(struct cli *r, struct err *e)
{
	return confirm_and_do(r, repair, "repair it?", e);
}
