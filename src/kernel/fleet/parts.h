/* parts.h — inside kernel/fleet/: whose answers count. */
#ifndef KERNEL_FLEET_PARTS_H
#define KERNEL_FLEET_PARTS_H

#include "kernel/fleet/fleet.h"
#include "kernel/person.h"

/* The list in force here, checked against the root key that was pinned, with the rows that can be read here.  E_MISSING: none. */
int fleet_approvers(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	struct json **ret, struct err *e);
/* May this list take the place of that one?  *ret_is_new false: it is the very same.  FLEET_APPROVERS_OLD. */
int fleet_approvers_newer(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	const struct json *list, bool *ret_is_new, struct err *e);
/* So many of its rows cannot be read here. */
uint32_t fleet_approvers_unread(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *joined);
int fleet_approvers_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *list, struct err *e);
/* What came with an order, one of three. */
struct fleet_answer {
	struct bytes message;
	const char *signature; /* of a key of ours, or of OpenSSH */
	const struct json *passkey; /* {id?, authenticator_data, client_data_json, signature} */
	const struct json *assertion; /* of one of several people */
	webauthn_es256 *es256; /* or NULL */
};
/* Who of the list has signed it; `order` brought it.  APPROVER_UNKNOWN. */
int fleet_person(struct arena *a, const struct json *list, const struct fleet_answer *x,
	const struct json *order, struct person *ret, struct err *e);

/* touch.c: an order that stops, or lets go on, may say which person wanted it: body.signed is {message, passkey} or {message, signature}.  *ret NULL: it names nobody.  Otherwise it is what
 * stands in the record; E_DENIED FLEET_TOUCH when what was signed is not this order, or by nobody of the list. */
int fleet_order_person(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	const struct json *order, webauthn_es256 *es256, const struct json **ret, struct err *e);

#endif
