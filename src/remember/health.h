/* health.h — which models answer, and which one to use: policy, state, selection, providers.  Nothing is called here. */
#ifndef REMEMBER_HEALTH_H
#define REMEMBER_HEALTH_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

struct health_place {
	struct sys *sys;
	struct arena *a;
	int root_fd;
	const char *state_name; /* ".helm" */
};
struct health {
	struct health_place at;
	struct json *policy, *models; /* models: by priority, those of the policy or derived ones */
	const char *state_path; /* below the workspace */
};
int health_open(struct health *h, const struct health_place *at, struct err *e);
/* One of the policy's models; or NULL. */
struct json *health_model(const struct health *h, const char *ref);
const char *health_provider(const struct json *model);
/* {version, models, selected_model, updated_at} */
int health_state(const struct health *h, struct json **ret, struct err *e);
/* {model, reason, source}; kept in the state when `save`.  model null: there is none. */
int health_select(const struct health *h, bool save, struct json **ret, struct err *e);
/* What a probe found, into the state: {model, provider, status, checked_at, detail, auth_status, generation_status, latency_ms}.  A failure counts: the
 * next probe waits twice as long (`next_probe_at`), and a limit of the provider's as long as it said. */
int health_keep(const struct health *h, const struct json *results, struct err *e);
/* Until when a model need not be asked again; 0: now. */
int64_t health_wait_until(const struct json *state, const char *ref);

/* {mode, readiness, cloud, detected_env_names, local, providers [{provider, kind, configured, confidence, detected_env_names[]}]}: by the names in the
 * environment, never their values, and by which ports of this machine somebody listens on. */
struct json *health_providers(struct sys *s, struct arena *a);

/* How a model is asked: {url, method, headers?, body, secret_env, auth none|bearer|key, kind, timeout_ms}; keys are named, not read.  The answer that
 * needs no question is in *ret_result instead: no key, a kind that nobody knows. */
int health_request(const struct health *h, const struct json *model, struct json **ret_request,
	struct json **ret_result, struct err *e);
/* What an answer means. */
struct health_answer {
	int status; /* of HTTP; 0: there was none */
	struct bytes body;
	const char *error; /* why there was none: "timeout", "failed"; or NULL */
	int64_t latency_ms, retry_after_s; /* retry_after 0: not said */
};
struct json *health_result(
	const struct health *h, const struct json *model, const struct health_answer *answer);

/* ---- freshness.c: sources outside, and how old what they said is ---- */

/* {state_version, checked_at, connectors[]} of a file like connector-freshness.json. */
int freshness_status(struct sys *s, struct arena *a, int dirfd, const char *file, bool is_strict,
	struct json **ret, struct err *e);

#endif
