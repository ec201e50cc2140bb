/* sdjwt_issue.h — the issuer and the holder of docs/formats/sd-jwt.md, whose documents proof/sdjwt.h verifies.  The product only
 * verifies. */
#ifndef TOOLS_SDJWT_ISSUE_H
#define TOOLS_SDJWT_ISSUE_H

#include "proof/sdjwt.h"

/* One claim that can be shown or withheld.  The salt must be unguessable (22 characters of base64url are 128 bits). */
struct sdjwt_claim {
	const char *salt, *name;
	const struct json *value;
};
/* base64url of ["salt","name",value] */
char *sdjwt_disclosure(struct arena *a, const struct sdjwt_claim *claim);

/* Sign `open` claims with digests of the others, sorted so that their order says nothing; all disclosures are attached.
 * Refused (SDJWT_DISCLOSURE) when a hidden claim has a reserved or an open claim's name, or two have the same. */
int sdjwt_issue(struct arena *a, const struct json *open, const char *issuer_name,
	const struct sdjwt_claim *hidden, size_t hidden_n, const struct key *k, char **ret_presentation,
	struct err *e);

/* The same document with only the named disclosures; names not among them are refused. */
int sdjwt_present(struct arena *a, const char *issued, const char *const *names, size_t names_n,
	char **ret_presentation, struct err *e);

#endif
