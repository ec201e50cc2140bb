/* fuzz_contract.c — any bytes as a contract: terms that are read never permit more than the profile they are laid over. */
#include "base/text.h"
#include "fuzz.h"
#include "model/terms.h"

#include <stdlib.h>

/* Names of hosts are compared one by one: a contract may name some of a shipped list. */
static bool is_within(const struct profile *n, const struct profile *p)
{
	struct profile x = *n;

	for (size_t i = 0; profile_reach(p) == NETWORK_NAMED && i < n->hosts.n; i++) {
		bool is_known = false;
		for (size_t j = 0; j < p->hosts.n; j++)
			is_known |= text_eq(p->hosts.list[j].text, n->hosts.list[i].text);
		if (!is_known &&
			(!n->hosts.list[i].host ||
				!egress_names(&p->hosts, n->hosts.list[i].host, n->hosts.list[i].port)))
			return false;
	}
	x.egress = p->egress;
	x.egress_count = profile_reach(p) == NETWORK_NAMED ? p->egress_count : 0;
	return profile_is_within(&x, p);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct profiles all;
	struct json *doc;
	struct terms t;

	if (json_parse(&a, (struct bytes){ data, size }, "contract", NULL, &doc, NULL) ||
		terms_read(&a, "s", doc, &t, NULL))
		return;
	profiles_builtin(&a, &all);
	for (size_t i = 0; i < all.count; i++)
		if (!all.list[i].handoff_required &&
			!is_within(terms_narrow(&a, &all.list[i], &t), &all.list[i]))
			abort();
	const struct terms *both = terms_both(&a, &t, &t);
	if (terms_bind(&t) && !terms_bind(both))
		abort();
}
