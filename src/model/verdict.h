/* verdict.h — the three answers.
 *
 * Far apart in Hamming distance (13 bits or more from each other, from 0 and from ~0), so that a flipped bit or an
 * uninitialised word is none of them.  Compare for equality with V_ALLOW; never test "not V_DENY". */
#ifndef MODEL_VERDICT_H
#define MODEL_VERDICT_H

enum verdict { V_DENY = 0x2d5ad6da, V_ESCALATE = 0x4b369c33, V_ALLOW = 0x52a2925a };

/* "ALLOW", "DENY", "ESCALATE"; anything that is none of the three is "DENY". */
const char *verdict_name(enum verdict v);

#endif
