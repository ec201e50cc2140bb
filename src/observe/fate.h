/* fate.h — inside observe/: what became of calls that were asked about. */
#ifndef OBSERVE_FATE_H
#define OBSERVE_FATE_H

#include "base/json.h"

struct witnesses {
	struct witness *list;
	size_t n;
};
struct fates {
	struct witnesses ends, passed;
	const struct json *answers;
};

/* `rows`: the ledger of calls, in order.  `answers`: {approval_id: state of the request}; or NULL. */
void fates_begin(struct fates *f, struct arena *a, const struct json *rows, const struct json *answers);
/* The note of a client that this call was made; or NULL. */
const struct json *fate_end(const struct fates *f, const struct json *call);
/* A few words: "ran, approved", "still waiting", ... */
const char *fate_of(const struct fates *f, const struct json *call);

#endif
