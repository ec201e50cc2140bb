/* effect_type.c — the types of effects that are known, and how dangerous each is (docs/formats/authority-court.md). */
#include "decide/bounds/parts.h"

/* Canonical ones first, in the order of the published taxonomy; then those of the catalogue; then the names that the published cases use. */
static const struct effect_type types[] = {
	{ "DATA_READ", 0, EFFECT_CANONICAL },
	{ "DATA_WRITE", 2, EFFECT_CANONICAL },
	{ "DATA_DELETE", 3, EFFECT_CANONICAL },
	{ "DATA_EXPORT", 2, EFFECT_CANONICAL },
	{ "IAM_CHANGE", 3, EFFECT_CANONICAL },
	{ "SECRET_READ", 2, EFFECT_CANONICAL },
	{ "SECRET_WRITE", 3, EFFECT_CANONICAL },
	{ "PAYMENT_SEND", 4, EFFECT_CANONICAL },
	{ "BILLING_CHANGE", 3, EFFECT_CANONICAL },
	{ "DEPLOY_RELEASE", 3, EFFECT_CANONICAL },
	{ "INFRA_CHANGE", 3, EFFECT_CANONICAL },
	{ "MESSAGING_BULK_SEND", 3, EFFECT_CANONICAL },
	{ "CUSTOMER_OUTREACH", 2, EFFECT_CANONICAL },
	{ "CODE_EXEC", 3, EFFECT_CANONICAL },
	{ "SHELL_EXEC", 4, EFFECT_CANONICAL },
	{ "NETWORK_EXFIL", 4, EFFECT_CANONICAL },
	{ "CONFIG_CHANGE", 2, EFFECT_CANONICAL },
	{ "AUDIT_LOG", 0, EFFECT_CANONICAL },
	{ "EXTERNAL_API_CALL", 1, EFFECT_CANONICAL },
	{ "NOTIFY", 1, EFFECT_CANONICAL },
	{ "MODULE_INSTALL", 4, EFFECT_CANONICAL },
	{ "FUNDS_TRANSFER", 4, EFFECT_CANONICAL },
	{ "PERMISSION_CHANGE", 3, EFFECT_CANONICAL },
	{ "INFRA_DESTROY", 4, 0 },
	{ "CI_CREDENTIAL_ACCESS", 4, 0 },
	{ "SOFTWARE_PUBLISH", 4, 0 },
	{ "DATA_EGRESS", 4, 0 },
	{ "REQUEST_PURCHASE", 4, 0 },
	{ "EXECUTE_PAYMENT", 4, 0 },
	{ "PROVIDER_TEARDOWN", 4, 0 },
	{ "CLOUD_COMPUTE_BUDGET", 2, 0 },
	{ "SEND_EMAIL", 2, 0 },
	{ "SCREEN_CANDIDATE", 2, 0 },
	{ "CALL_WEBHOOK", 2, 0 },
	{ "COMPANY_ARTIFACT_UPDATE", 2, 0 },
	{ "AGENT_IDENTITY_ISOLATION", 1, 0 },
	{ "SEND_CHAT_MESSAGE", 1, 0 },
	{ "CREATE_CAL_EVENT", 1, 0 },
	{ "UPDATE_DOC", 1, 0 },
	{ "CREATE_TASK", 1, 0 },
	{ "COMMENT_TICKET", 1, 0 },
	{ "RUN_SANDBOXED_CODE", 1, 0 },
	{ "noop", 0, 0 },
	{ "file_read", 0, 0 },
	{ "data_read", 0, 0 },
	{ "api_call", 1, 0 },
	{ "file_write", 2, 0 },
	{ "data_collect", 2, 0 },
	{ "data_process", 2, 0 },
	{ "data_retain", 2, 0 },
	{ "document_share", 2, 0 },
	{ "financial_transfer", 4, 0 },
	{ "trade_execute", 4, 0 },
	{ "bundle_install", 4, 0 },
	{ "harness_mutation", 4, 0 },
};

const struct effect_type *effect_type_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_eq(types[i].name, name))
			return &types[i];
	return NULL;
}

static int class_of_kind(enum effect_kind k)
{
	switch (k) {
	case FX_READ:
		return 0;
	case FX_WRITE:
	case FX_MOVE:
	case FX_PACKAGE:
	case FX_ENVIRONMENT:
	case FX_SECRET_READ:
	case FX_CREDENTIAL:
		return 2;
	case FX_DEVICE:
	case FX_POWER:
	case FX_PUBLISH:
	case FX_DATABASE:
	case FX_CLOUD:
	case FX_FIREWALL:
	case FX_ACCOUNT:
	case FX_KERNEL:
	case FX_TAMPER:
	case FX_FORK_BOMB:
	case FX_REVERSE_SHELL:
		return 4;
	default:
		return 3;
	}
}

static int worst_of(const struct proposal *p)
{
	int worst = p->readable ? 0 : 4;

	for (size_t i = 0; i < p->effect_count; i++)
		if (class_of_kind(p->effects[i].kind) > worst)
			worst = class_of_kind(p->effects[i].kind);
	return worst;
}

const char *effect_class(const char *type, const struct proposal *proposal)
{
	static const char *const names[] = { "E0", "E1", "E2", "E3", "E4" };
	const struct effect_type *known = effect_type_find(type);

	if (proposal)
		return names[worst_of(proposal)];
	return names[known ? known->class : 3];
}
