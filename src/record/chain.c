/* chain.c — appending to the chain of receipts.
 *
 * Under the log's lock: find the last receipt, compute its chain hash, sign the new ones behind it, write all lines in one
 * write, sync.  A write that fails is cut back, so the file ends where it ended.  A torn last line is what a crash left of an
 * append nobody was told about: it is moved aside and cut.
 *
 * The signature of a receipt covers its predecessor's hash, which covers the predecessor's signature: signing is serial by
 * nature, and that bounds how fast a chain can grow. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

enum { TAIL_STEP = 16 << 10, LINE_LIMIT = 16 << 20, DEFAULT_HEADS = 256, DEFAULT_ROTATE = 64 << 20 };

void recorder_open(struct recorder *ret, struct sys *s, int state_fd, struct key *key)
{
	*ret = (struct recorder){ .sys = s,
		.state_fd = state_fd,
		.key = key,
		.known_size = -1,
		.head_interval = DEFAULT_HEADS,
		.rotate_bytes = DEFAULT_ROTATE };
}

int record_new_id(struct arena *a, struct sys *s, const char *prefix, char **ret, struct err *e)
{
	uint8_t raw[16];
	char hex[33];

	if (s->random(s, raw, sizeof(raw)))
		return err_sys(e, "RECORD_RANDOM", "cannot make an identifier");
	hex_encode(raw, sizeof(raw), hex);
	*ret = arena_printf(a, "%s%s", prefix, hex);
	return OK;
}

int log_lock(struct recorder *r, int *ret_fd, struct err *e)
{
	int rc = file_mkdirs(r->sys, r->state_fd, LOG_DIR, 0700, e);

	return rc ? rc : file_lock(r->sys, r->state_fd, LOG_LOCK, -1, ret_fd, e);
}

int write_all_at_end(struct sys *s, int fd, struct bytes data)
{
	while (data.n) {
		ssize_t done = s->write(s, fd, data.p, data.n);
		if (done < 0)
			return -1;
		data.p += done;
		data.n -= (size_t)done;
	}
	return 0;
}

int tail_line(struct sys *s, struct arena *a, int fd, off_t size, struct bytes *ret_line, off_t *ret_end,
	struct err *e)
{
	size_t window = TAIL_STEP;

	for (;; window *= 4) {
		off_t from = (off_t)window < size ? size - (off_t)window : 0;
		size_t n = (size_t)(size - from);
		char *text = arena_text(a, n + 1);
		for (size_t done = 0; done < n;) {
			ssize_t got = s->pread(s, fd, text + done, n - done, from + (off_t)done);
			if (got <= 0)
				return err_sys(e, "LOG_READ", "cannot read the end of %s", RECEIPTS);
			done += (size_t)got;
		}
		const char *end = n ? memrchr(text, '\n', n) : NULL;
		const char *before = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
		if (end && (before || from == 0)) {
			const char *start = before ? before + 1 : text;
			*ret_line = (struct bytes){ (const uint8_t *)start, (size_t)(end - start) };
			*ret_end = from + (end - text) + 1;
			return OK;
		}
		if (from == 0) {
			*ret_line = (struct bytes){ NULL, 0 };
			*ret_end = 0;
			return OK;
		}
		if (n > LINE_LIMIT)
			return err_set(e, E_CORRUPT, "LOG_DAMAGED",
				"%s: the last line is longer than any receipt; see 'helm log check'",
				RECEIPTS);
	}
}

/* What a crash left of an unacknowledged append: kept aside, then cut. */
static int cut_torn(struct recorder *r, struct arena *a, int fd, off_t end, off_t size, struct err *e)
{
	struct sys *s = r->sys;
	size_t n = (size_t)(size - end);
	char *torn = arena_text(a, n + 1);

	if (s->pread(s, fd, torn, n, end) != (ssize_t)n)
		return err_sys(e, "LOG_READ", "cannot read the torn end of %s", RECEIPTS);
	AUTO(close_fd)
	int keep = s->open(
		s, r->state_fd, RECEIPTS ".torn", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);
	torn[n] = '\n';
	if (keep < 0 || write_all_at_end(s, keep, (struct bytes){ (uint8_t *)torn, n + 1 }) ||
		s->sync(s, keep))
		return err_sys(e, "LOG_REPAIR", "cannot keep the torn end of %s", RECEIPTS);
	if (s->truncate(s, fd, end) || s->sync(s, fd))
		return err_sys(e, "LOG_REPAIR", "cannot cut the torn end of %s", RECEIPTS);
	return OK;
}

static int read_last(struct recorder *r, struct arena *a, struct bytes line, struct err *e)
{
	struct json *last;
	int64_t clock;
	uint8_t chain[SHA256_SIZE];

	if (json_parse(a, line, RECEIPTS, NULL, &last, e) ||
		!json_int(json_get(last, "lamport_clock"), &clock) || clock < 1 ||
		!json_text(json_get(last, "session_id")) || receipt_chain_hash(a, last, chain, e))
		return err_set(e, E_CORRUPT, "LOG_DAMAGED",
			"%s: the last line is no receipt; 'helm log check' explains, 'helm log repair' "
			"records it",
			RECEIPTS);
	r->clock = (uint64_t)clock;
	memcpy(r->last.b, chain, SHA256_SIZE);
	snprintf(r->chain_id, sizeof(r->chain_id), "%s", json_text(json_get(last, "session_id")));
	return OK;
}

/* Segments of a rotated chain are receipts-000001.jsonl and on; the newest rows are in receipts.jsonl. */
static bool is_segment(const char *name)
{
	return text_glob("receipts-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl", name, true);
}

int receipts_files(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e)
{
	char **names;
	size_t n, kept = 0;
	int rc = file_list(s, a, state_fd, ".", &names, &n, e);

	if (rc)
		return rc;
	char **all = arena_zalloc(a, n + 1, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		if (is_segment(names[i]))
			all[kept++] = names[i];
	if (file_exists(s, state_fd, RECEIPTS))
		all[kept++] = (char *)RECEIPTS;
	*ret = all;
	*ret_n = kept;
	return OK;
}

static int new_chain(struct recorder *r, struct arena *a, struct err *e)
{
	char *id;
	int rc = record_new_id(a, r->sys, "ws-", &id, e);

	if (rc)
		return rc;
	r->clock = 0;
	memset(&r->last, 0, sizeof(r->last));
	snprintf(r->chain_id, sizeof(r->chain_id), "%s", id);
	return OK;
}

/* The empty file behind a rotation continues the newest segment. */
static int last_of_segments(struct recorder *r, struct arena *a, struct err *e)
{
	char **files;
	size_t n;
	struct bytes line;
	off_t end;
	struct stat st;
	int rc = receipts_files(r->sys, a, r->state_fd, &files, &n, e);

	while (rc == OK && n && text_eq(files[n - 1], RECEIPTS))
		n--;
	if (rc)
		return rc;
	if (!n)
		return new_chain(r, a, e);
	AUTO(close_fd) int fd = r->sys->open(r->sys, r->state_fd, files[n - 1], O_RDONLY | O_NOFOLLOW, 0, 0);
	if (fd < 0 || r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", files[n - 1]);
	rc = tail_line(r->sys, a, fd, st.st_size, &line, &end, e);
	return rc ? rc : read_last(r, a, line, e);
}

/* Where the chain ends.  Nothing is read when the file is as the last append left it. */
static int find_end(struct recorder *r, struct arena *a, int fd, struct err *e)
{
	struct stat st;
	struct bytes line;
	off_t end;

	if (r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", RECEIPTS);
	if (st.st_size == r->known_size && st.st_ino == r->known_inode)
		return OK;
	int rc = tail_line(r->sys, a, fd, st.st_size, &line, &end, e);
	if (rc == OK && end < st.st_size)
		rc = cut_torn(r, a, fd, end, st.st_size, e);
	if (rc == OK)
		rc = end == 0 ? last_of_segments(r, a, e) : read_last(r, a, line, e);
	if (rc == OK)
		rc = log_catch_up(r, a, e);
	if (rc)
		return rc;
	r->known_size = end;
	r->known_inode = st.st_ino;
	return OK;
}

int recorder_settle(struct recorder *r, struct arena *a, struct err *e)
{
	AUTO(close_fd)
	int fd = r->sys->open(
		r->sys, r->state_fd, RECEIPTS, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);

	return fd < 0 ? err_sys(e, "LOG_OPEN", "cannot open %s", RECEIPTS) : find_end(r, a, fd, e);
}

static void set_signed(struct arena *a, struct json *receipt, const char *name, const char *value)
{
	json_sets(a, receipt, name, value ? value : "");
}

static void set_given(struct arena *a, struct json *receipt, const char *name, const char *value)
{
	if (value && *value)
		json_sets(a, receipt, name, value);
}

static struct json *fill(struct recorder *r, struct arena *a, const struct draft *d)
{
	struct json *receipt = json_new(a, JSON_OBJECT);
	char previous[SHA256_HEX] = "";

	if (r->clock)
		hex_encode(r->last.b, SHA256_SIZE, previous);
	json_sets(a, receipt, "receipt_id",
		d->receipt_id ? d->receipt_id
			      : arena_printf(a, "rcpt_%s", d->decision_id ? d->decision_id : ""));
	set_signed(a, receipt, "decision_id", d->decision_id);
	set_signed(a, receipt, "effect_id", d->effect_id);
	json_sets(a, receipt, "external_reference_id", "");
	set_signed(a, receipt, "status", d->status);
	set_signed(a, receipt, "verdict", d->verdict);
	set_signed(a, receipt, "reason_code", d->reason_code);
	set_signed(a, receipt, "policy_hash", d->policy_hash);
	set_signed(a, receipt, "args_hash", d->args_hash);
	set_signed(a, receipt, "output_hash", d->output_hash);
	json_sets(a, receipt, "session_id", r->chain_id);
	json_sets(a, receipt, "prev_hash", previous);
	json_seti(a, receipt, "lamport_clock", (int64_t)r->clock + 1);
	json_sets(a, receipt, "signature_version", RECEIPT_V5);
	json_sets(a, receipt, "timestamp", text_time_z(a, r->sys->now_us(r->sys)));
	set_given(a, receipt, "executor_id", d->executor_id);
	set_given(a, receipt, "correlation_id", d->correlation_id);
	set_given(a, receipt, "type", d->type);
	set_given(a, receipt, "effect_type", d->effect_type);
	set_given(a, receipt, "tool_name", d->tool_name);
	if (d->metadata && d->metadata->n)
		json_set(a, receipt, "metadata", d->metadata);
	if (d->subject)
		json_set(a, receipt, "subject", d->subject);
	return receipt;
}

static char *log_id(struct arena *a, const struct key *key)
{
	return sha256_hex(a, key_public(key), SIGN_PUBLIC);
}

static int sign(
	struct recorder *r, struct arena *a, struct json *receipt, struct hash *ret_chain, struct err *e)
{
	struct bytes preimage;
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1], pub[2 * SIGN_PUBLIC + 1], id[KEY_ID];
	struct json *keys = json_new(a, JSON_OBJECT);
	int rc = receipt_preimage_v5(a, receipt, &preimage, e);

	if (rc)
		return rc;
	key_sign(r->key, preimage, signature);
	hex_encode(signature, SIGN_SIZE, hex);
	hex_encode(key_public(r->key), SIGN_PUBLIC, pub);
	key_id(key_public(r->key), id);
	json_sets(a, receipt, "signature", hex);
	json_sets(a, receipt, "signature_profile", "classical");
	json_sets(a, receipt, "signature_algorithm", "ed25519");
	json_sets(a, receipt, "key_id", id);
	json_sets(a, keys, "ed25519", pub);
	json_set(a, receipt, "public_key_set", keys);
	rc = receipt_chain_hash(a, receipt, ret_chain->b, e);
	if (rc)
		return rc;
	json_sets(a, receipt, "log_id", log_id(a, r->key));
	if (r->clock) /* index 0 is written by leaving it out */
		json_seti(a, receipt, "leaf_index", (int64_t)r->clock);
	return OK;
}

/* All lines in one write and one sync; cut back when that fails, so that nothing half-written stays. */
static int put_lines(struct recorder *r, int fd, struct bytes lines, struct err *e)
{
	struct sys *s = r->sys;

	if (write_all_at_end(s, fd, lines) == 0 && s->sync(s, fd) == 0) {
		r->known_size += (off_t)lines.n;
		return OK;
	}
	int rc = err_sys(e, "LOG_APPEND", "cannot append to %s", RECEIPTS);
	if (s->truncate(s, fd, r->known_size) || s->sync(s, fd))
		err_wrap(e, "and the half-written end could not be cut");
	r->known_size = -1;
	return rc;
}

static int rotate_if_large(struct recorder *r, struct arena *a, int *fd, struct err *e);

static int append_locked(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	struct sys *s = r->sys;
	AUTO(close_fd)
	int fd = s->open(s, r->state_fd, RECEIPTS, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);
	struct hash *chains = arena_zalloc(a, n, sizeof(*chains));
	struct recorder before;
	struct buf lines;

	if (fd < 0)
		return err_sys(e, "LOG_OPEN", "cannot open %s", RECEIPTS);
	int rc = find_end(r, a, fd, e);
	if (rc == OK)
		rc = rotate_if_large(r, a, &fd, e);
	if (rc) {
		r->known_size = -1;
		return rc;
	}
	before = *r;
	buf_init(&lines, a);
	for (size_t i = 0; rc == OK && i < n; i++) {
		struct json *receipt = fill(r, a, &drafts[i]);
		rc = sign(r, a, receipt, &chains[i], e);
		if (rc)
			break;
		json_canonical(&lines, receipt);
		buf_addc(&lines, '\n');
		r->clock++;
		r->last = chains[i];
		if (ret_receipts)
			ret_receipts[i] = receipt;
	}
	if (rc == OK)
		rc = put_lines(r, fd, buf_bytes(&lines), e);
	if (rc) {
		*r = before;
		r->known_size = -1;
		return rc;
	}
	if (before.clock == 0 && (s->fsync(s, r->state_fd)))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	log_advance(r, chains, n);
	return log_head_if_due(r, a, e);
}

int recorder_append(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	AUTO(close_fd) int lock = -1;

	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY",
			"no signing key, so nothing can be recorded; 'helm key create' makes one");
	int rc = log_lock(r, &lock, e);
	return rc ? rc : append_locked(r, a, drafts, n, ret_receipts, e);
}

/* A chain file that has grown large is put aside under the next number; the first receipt of the new one is a seam that names
 * the old file and its hash.  The chain itself runs on. */
static int hash_file(struct sys *s, int fd, off_t size, uint8_t out[SHA256_SIZE])
{
	struct sha256 h;
	char chunk[64 << 10];

	sha256_begin(&h);
	for (off_t at = 0; at < size;) {
		ssize_t n = s->pread(s, fd, chunk, sizeof(chunk), at);
		if (n <= 0)
			return -1;
		sha256_add(&h, chunk, (size_t)n);
		at += n;
	}
	sha256_end(&h, out);
	return 0;
}

static int put_seam(struct recorder *r, struct arena *a, const char *old_name,
	const uint8_t old_hash[SHA256_SIZE], int fd, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);
	char hex[SHA256_HEX];
	struct hash chain;
	struct buf line;

	hex_encode(old_hash, SHA256_SIZE, hex);
	json_sets(a, about, "continues", old_name);
	json_sets(a, about, "sha256", hex);
	struct draft seam = { .decision_id = arena_printf(a, "seam-%llu", (unsigned long long)r->clock + 1),
		.effect_id = "helm.log/rotate",
		.status = "SEALED",
		.type = "seam",
		.output_hash = arena_printf(a, "sha256:%s", hex),
		.metadata = about };
	struct json *receipt = fill(r, a, &seam);
	int rc = sign(r, a, receipt, &chain, e);
	if (rc)
		return rc;
	buf_init(&line, a);
	json_canonical(&line, receipt);
	buf_addc(&line, '\n');
	rc = put_lines(r, fd, buf_bytes(&line), e);
	if (rc)
		return rc;
	r->clock++;
	r->last = chain;
	log_advance(r, &chain, 1);
	return OK;
}

static int rotate_if_large(struct recorder *r, struct arena *a, int *fd, struct err *e)
{
	struct sys *s = r->sys;
	uint8_t hash[SHA256_SIZE];
	char **files;
	size_t n;
	struct stat st;

	if ((uint64_t)r->known_size < r->rotate_bytes)
		return OK;
	int rc = receipts_files(s, a, r->state_fd, &files, &n, e);
	if (rc)
		return rc;
	const char *name = arena_printf(a, "receipts-%06zu.jsonl", n);
	if (hash_file(s, *fd, r->known_size, hash) ||
		s->rename(s, r->state_fd, RECEIPTS, r->state_fd, name, RENAME_NOREPLACE))
		return err_sys(e, "LOG_ROTATE", "cannot put %s aside as %s", RECEIPTS, name);
	close_fd(fd);
	*fd = s->open(s, r->state_fd, RECEIPTS, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_EXCL, 0600, 0);
	if (*fd < 0 || s->fsync(s, r->state_fd) || s->stat(s, *fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_ROTATE", "cannot start a new %s", RECEIPTS);
	r->known_size = 0;
	r->known_inode = st.st_ino;
	return put_seam(r, a, name, hash, *fd, e);
}

int record_decision(struct arena *a, struct sys *s, struct key *key, const struct decision_draft *d,
	struct json **ret_record, char **ret_content_hash, struct err *e)
{
	struct json *record = json_new(a, JSON_OBJECT);
	char id[KEY_ID], hex[2 * SIGN_SIZE + 1];
	uint8_t signature[SIGN_SIZE];
	struct bytes preimage;

	if (!key)
		return err_set(e, E_DENIED, "LOG_KEY",
			"no signing key, so nothing can be recorded; 'helm key create' makes one");
	key_id(key_public(key), id);
	json_sets(a, record, "id", d->id);
	json_sets(a, record, "verdict", d->verdict);
	json_sets(a, record, "subject_id", d->subject_id);
	json_sets(a, record, "action", d->action);
	json_sets(a, record, "resource", d->resource);
	json_sets(a, record, "effect_digest", d->effect_digest ? d->effect_digest : "");
	json_sets(a, record, "phenotype_hash", "");
	json_sets(a, record, "policy_version", d->policy_version ? d->policy_version : "");
	json_sets(a, record, "policy_content_hash", d->policy_content_hash ? d->policy_content_hash : "");
	json_sets(a, record, "reason", d->reason ? d->reason : "");
	json_sets(a, record, "reason_code", d->reason_code ? d->reason_code : "");
	json_sets(a, record, "policy_backend", "helm");
	json_sets(a, record, "timestamp", text_time_z(a, s->now_us(s)));
	if (d->input_context)
		json_set(a, record, "input_context", d->input_context);
	json_sets(a, record, "signature_type", id);
	json_sets(a, record, "signature_version", DECISION_V4);
	int rc = decision_preimage(a, record, &preimage, e);
	if (rc)
		return rc;
	key_sign(key, preimage, signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(a, record, "signature", hex);
	*ret_content_hash = preimage_prefixed(a, preimage);
	*ret_record = record;
	return OK;
}
