/* finding.h — inside audit/: every kind of finding that a check of the record can give, in one table.
 *
 * A kind says how bad it is, what repairs it, and what to type; a kind without a row cannot be written down, because the list below makes
 * the enum and the table.  The names (`what`) are those of docs/formats/receipt-log.md, "Findings". */
#ifndef AUDIT_FINDING_H
#define AUDIT_FINDING_H

#include "audit/audit.h"

/* Damage: what was recorded is lost or changed.  Untrusted: unchanged, but signed by a key that does not count here.  Rows: an entry of a
 * ledger, or a sealed piece, is not what receipts say of it.  Notice: does not make a record unsound. */
enum severity { SEVERITY_DAMAGE, SEVERITY_UNTRUSTED, SEVERITY_ROWS, SEVERITY_NOTICE };

/* Who repairs it: `helm log repair`, whoever records something next, or nobody. */
enum repair { REPAIR_LOG, REPAIR_WRITER, REPAIR_NONE };

#define PUT_ON_RECORD "'helm log repair' shows what it would do, and with --yes puts the loss on record"
#define FROM_COPY \
	"put the file back from a copy; where there is none, 'helm log repair' keeps what is there aside and puts the loss on record"
#define TRUST_KEY \
	"no repair: nothing is damaged; an operator who knows that key adds it with 'helm key trust add KEY'"
#define MADE_AGAIN "'helm log repair' makes them again from the receipts"
#define NEXT_WRITER "nothing to do: the next command that records something mends it"
#define ON_RECORD "no repair: it is lost, and a signed receipt says so"

/* X(name of the kind, `what`, severity, repair, remedy) */
#define FINDINGS(X) \
	X(CLOCK, "clock", DAMAGE, LOG, PUT_ON_RECORD) \
	X(CHANGED, "changed", DAMAGE, LOG, PUT_ON_RECORD) \
	X(LINK_BROKEN, "link_broken", DAMAGE, LOG, PUT_ON_RECORD) \
	X(SESSION, "session", DAMAGE, LOG, PUT_ON_RECORD) \
	X(SPELLING, "spelling", DAMAGE, LOG, PUT_ON_RECORD) \
	X(UNKNOWN_MEMBER, "unknown_member", DAMAGE, LOG, PUT_ON_RECORD) \
	X(LEAF_INDEX, "leaf_index", DAMAGE, LOG, PUT_ON_RECORD) \
	X(LOG_ID, "log_id", DAMAGE, LOG, PUT_ON_RECORD) \
	X(NO_RECEIPT, "no_receipt", DAMAGE, LOG, PUT_ON_RECORD) \
	X(SEGMENT_MISSING, "segment_missing", DAMAGE, LOG, FROM_COPY) \
	X(SEGMENT_CHANGED, "segment_changed", DAMAGE, LOG, FROM_COPY) \
	X(RECEIPTS_LOST, "receipts_lost", DAMAGE, LOG, FROM_COPY) \
	X(OTHER_HISTORY, "other_history", DAMAGE, LOG, FROM_COPY) \
	X(REWRITTEN, "rewritten", DAMAGE, LOG, PUT_ON_RECORD) \
	X(SIGNATURE, "integrity_failed", DAMAGE, LOG, PUT_ON_RECORD) \
	X(SIGNER, "signer_not_trusted", UNTRUSTED, NONE, TRUST_KEY) \
	X(NO_HEAD, "no_head", DAMAGE, LOG, PUT_ON_RECORD) \
	X(HEADS_LOST, "heads_lost", DAMAGE, LOG, PUT_ON_RECORD) \
	X(HEAD_KEY, "head_key", DAMAGE, LOG, PUT_ON_RECORD) \
	X(HEAD_SIGNATURE, "head_signature", DAMAGE, LOG, PUT_ON_RECORD) \
	X(HEAD_UNTRUSTED, "head_signature", UNTRUSTED, NONE, TRUST_KEY) \
	X(KEY_ORDER, "key_order", UNTRUSTED, NONE, \
		"no repair: a key signed that was no longer in force; 'helm key history' shows when it was") \
	X(ANCHORS, "anchors", DAMAGE, LOG, PUT_ON_RECORD) \
	X(ANCHOR_UNREADABLE, "anchor_unreadable", NOTICE, NONE, \
		"no repair here: bring the place of the anchor back within reach") \
	X(ANCHOR_BEFORE_REPAIR, "anchor_before_repair", NOTICE, NONE, \
		"nothing to do: 'helm log anchor --to PLACE' keeps a newer head there") \
	X(ANOTHER_CHAIN, "another_chain", NOTICE, NONE, \
		"nothing to do when this workspace was begun anew; put the record back from a copy when it was not") \
	X(GAP, "gap", NOTICE, NONE, ON_RECORD) \
	X(TORN, "torn", NOTICE, WRITER, NEXT_WRITER) \
	X(LEAVES_WRONG, "leaves", NOTICE, LOG, MADE_AGAIN) \
	X(LEAVES_MISSING, "leaves", NOTICE, WRITER, NEXT_WRITER) \
	X(LEAVES_ARCHIVED, "leaves_archived", NOTICE, NONE, \
		"bring the archived file back; then 'helm log repair' makes the leaves again") \
	X(ARCHIVED, "archived", NOTICE, NONE, "nothing to do: bring the file back to have it read") \
	X(NOT_A_FILE, "not_a_file", DAMAGE, LOG, \
		"'helm log repair --yes' puts it aside, and puts on record what is lost then") \
	X(ROWS_CHANGED, "rows_changed", ROWS, LOG, FROM_COPY) \
	X(ROWS_MOVED, "rows_moved", ROWS, LOG, "'helm log repair' puts them back into their order") \
	X(ENTRY_CHANGED, "entry_changed", ROWS, LOG, FROM_COPY) \
	X(NOTES_CHANGED, "notes_changed", ROWS, LOG, FROM_COPY) \
	X(PIECE_CHANGED, "piece_changed", ROWS, LOG, FROM_COPY) \
	X(PIECE_MISSING, "piece_missing", ROWS, LOG, FROM_COPY) \
	X(PIECE_ARCHIVED, "piece_archived", NOTICE, NONE, \
		"nothing to do: bring the file back to have it read") \
	X(ROWS_AWAY, "rows_away", NOTICE, NONE, "nothing to do: bring the pieces back to have them read") \
	X(ROWS_UNREADABLE, "rows_unreadable", NOTICE, LOG, \
		"'helm log repair' keeps such lines aside and takes them out of the ledger") \
	X(ROWS_LOST, "rows_lost", NOTICE, NONE, ON_RECORD)

enum finding {
#define FINDING_ENUM(name, what, severity, repair, remedy) FINDING_##name,
	FINDINGS(FINDING_ENUM)
#undef FINDING_ENUM
		FINDING_COUNT
};

struct finding_kind {
	const char *what;
	enum severity severity;
	enum repair repair;
	const char *remedy;
};
extern const struct finding_kind finding_kinds[FINDING_COUNT];

/* One more finding, at the end of `list`: {severity, what, text, repair, remedy}, and what it means for the answer.  Beyond a thousand they
 * are counted and no longer kept, but they still decide.  Returned, so that a place and members can be added. */
struct json *finding_put(
	struct arena *a, struct log_report *report, struct json *list, enum finding kind, const char *text);

#endif
