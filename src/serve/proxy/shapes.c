/* shapes.c — what a refusal looks like on the wire. */
#include "base/text.h"
#include "privacy/privacy.h"
#include "serve/proxy/form.h"

struct json *shape_helm(struct arena *a, const struct refusal *r)
{
	const struct {
		const char *name, *value;
	} texts[] = { { "status", r->kind }, { "reason_code", r->code },
		{ "correlation_id", r->correlation_id }, { "receipt_id", r->receipt_id },
		{ "decision_id", r->decision_id }, { "approval_id", r->approval_id } };
	struct json *doc = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].value)
			json_sets(a, doc, texts[i].name, texts[i].value);
	for (size_t i = 0; i < r->tool_n; i++)
		json_pushs(a, tools, r->tools[i]);
	json_set(a, doc, "tool_names", tools);
	if (r->left)
		json_set(a, doc, "left", json_copy(a, r->left));
	return doc;
}

struct json *shape_openai_error(struct arena *a, const struct refusal *r)
{
	struct json *doc = json_new(a, JSON_OBJECT), *error = json_new(a, JSON_OBJECT);

	json_sets(a, error, "message", privacy_redact_text(a, r->message));
	json_sets(a, error, "type",
		r->status == 429	   ? "insufficient_quota"
			: r->status == 401 ? "authentication_error"
			: r->status >= 500 ? "server_error"
			: r->status == 403 ? "helm_governance_denied"
					   : "invalid_request_error");
	json_sets(a, error, "code", r->code);
	json_sets(a, error, "reason_code", r->code);
	json_set(a, error, "param", json_new(a, JSON_NULL));
	json_set(a, doc, "error", error);
	json_set(a, doc, "helm", shape_helm(a, r));
	return doc;
}

void shape_event(struct buf *to, const char *name, const struct json *data)
{
	if (name)
		buf_addf(to, "event: %s\n", name);
	buf_adds(to, "data: ");
	json_write(to, data, 0);
	buf_adds(to, "\n\n");
}
