/* records.c — the member tables of the signed records; see records.h.
 *
 * Each table lists the members of one kind of record, sorted by name: the interpreter in projection.c
 * searches them by halves and writes them in this order. Each row says how a value is written and what
 * happens when it is missing. A changed row changes every hash and signature over such records, so a table
 * is only ever extended by rows that are left out when they are empty. */
#include "model/records.h"

/* Mainline receipt. */
PROJECTION(replay_script_projection, MEMBER("engine", TEXT, ALWAYS), MEMBER("entrypoint", TEXT, ALWAYS),
	MEMBER("script_hash", TEXT, ALWAYS), MEMBER("script_id", TEXT, ALWAYS));

PROJECTION(receipt_provenance_projection, MEMBER("context", TEXT, ALWAYS),
	MEMBER("generated_at", TIME, ALWAYS), MEMBER("generated_by", TEXT, ALWAYS),
	MEMBER("parents", TEXTS, OMIT));

PROJECTION(bundled_artifact_projection, MEMBER("artifact_id", TEXT, ALWAYS), MEMBER("hash", TEXT, ALWAYS),
	MEMBER("inline_digest", TEXT, OMIT), MEMBER("type", TEXT, ALWAYS), MEMBER("uri_ref", TEXT, OMIT));

PROJECTION(port_exposure_projection, MEMBER("allowed_peers", TEXTS, OMIT), MEMBER("closed_at", TIME, UNSET),
	MEMBER("direction", TEXT, ALWAYS), MEMBER("port", INT, ALWAYS), MEMBER("protocol", TEXT, ALWAYS),
	MEMBER("started_at", TIME, ALWAYS));

PROJECTION(witness_projection, MEMBER("signature", TEXT, ALWAYS), MEMBER("witness_id", TEXT, ALWAYS));

PROJECTION(projection_path_projection, MEMBER("agent", TEXT, ALWAYS), MEMBER("path", TEXT, ALWAYS));

PROJECTION(transparency_projection, MEMBER("backend", TEXT, OMIT), MEMBER("checkpoint_hash", TEXT, OMIT),
	MEMBER("deferred", BOOL, OMIT), MEMBER("deferred_until", TIME, UNSET),
	MEMBER("inclusion_proof_hash", TEXT, OMIT), MEMBER("log_id", TEXT, OMIT));

/* The whole receipt.  Its signed members that may be empty are dropped when they are: the chain hash's view. */
PROJECTION(receipt_projection, MEMBER("action", TEXT, OMIT), MEMBER("args_hash", TEXT, OMIT),
	MEMBER("blob_hash", TEXT, OMIT),
	MEMBER_OF("bundled_artifacts", OBJECTS, OMIT, bundled_artifact_projection),
	MEMBER("content_hash", TEXT, OMIT), MEMBER("correlation_id", TEXT, OMIT),
	MEMBER("counterparty", TEXT, OMIT), MEMBER("created_at", TIME, UNSET),
	MEMBER("decision_hash", TEXT, OMIT), MEMBER("decision_id", TEXT, ALWAYS),
	MEMBER("direction", TEXT, OMIT), MEMBER("effect_graph_node_id", TEXT, OMIT),
	MEMBER("effect_id", TEXT, ALWAYS), MEMBER("effect_type", TEXT, OMIT),
	MEMBER("emergency_activation_id", TEXT, OMIT), MEMBER("emergency_delegation_session_id", TEXT, OMIT),
	MEMBER("emergency_scope_hash", TEXT, OMIT), MEMBER("evidence", MAP, OMIT),
	MEMBER("executor_id", TEXT, OMIT), MEMBER("external_reference_id", TEXT, ALWAYS),
	MEMBER("gateway_id", TEXT, OMIT), MEMBER("hash", TEXT, OMIT), MEMBER("id", TEXT, OMIT),
	MEMBER("idempotency_key", TEXT, OMIT), MEMBER("installed_at", TIME, UNSET),
	MEMBER("installed_by", TEXT, OMIT), MEMBER("issued_at", TIME, UNSET), MEMBER("key_id", TEXT, OMIT),
	MEMBER("lamport_clock", UINT, ALWAYS), MEMBER("launch_id", TEXT, OMIT),
	MEMBER("leaf_index", UINT, OMIT), MEMBER("log_id", TEXT, OMIT), MEMBER("merkle_root", TEXT, OMIT),
	MEMBER("metadata", FREE, OMIT), MEMBER("model_hash", TEXT, OMIT),
	MEMBER("network_log_ref", TEXT, OMIT), MEMBER("output_hash", TEXT, OMIT),
	MEMBER("pack_hash", TEXT, OMIT), MEMBER("pack_id", TEXT, OMIT), MEMBER("pack_name", TEXT, OMIT),
	MEMBER("pack_version", TEXT, OMIT), MEMBER("policy_hash", TEXT, OMIT),
	MEMBER_OF("port_exposures", OBJECTS, OMIT, port_exposure_projection),
	MEMBER("prev_hash", TEXT, ALWAYS), MEMBER("prev_receipt_id", TEXT, OMIT),
	MEMBER_OF("projection_paths", OBJECTS, OMIT, projection_path_projection),
	MEMBER_OF("provenance", OBJECT, OMIT, receipt_provenance_projection),
	MEMBER("public_key_set", MAP, OMIT), MEMBER("reason_code", TEXT, OMIT),
	MEMBER("receipt_id", TEXT, ALWAYS),
	MEMBER_OF("replay_script", OBJECT, OMIT, replay_script_projection), MEMBER("retry_count", INT, OMIT),
	MEMBER("risk_tier", TEXT, OMIT), MEMBER("runtime_type", TEXT, OMIT),
	MEMBER("runtime_version", TEXT, OMIT), MEMBER("safe_dep_reason_code", TEXT, OMIT),
	MEMBER("safe_dep_state", TEXT, OMIT), MEMBER("sandbox_lease_id", TEXT, OMIT),
	MEMBER("scope_hash", TEXT, OMIT), MEMBER("secret_events_ref", TEXT, OMIT),
	MEMBER("session_id", TEXT, OMIT), MEMBER("signature", TEXT, OMIT),
	MEMBER("signature_algorithm", TEXT, OMIT), MEMBER("signature_profile", TEXT, OMIT),
	MEMBER("signature_version", TEXT, OMIT), MEMBER("skill_content_hash", TEXT, OMIT),
	MEMBER("skill_id", TEXT, OMIT), MEMBER("status", TEXT, ALWAYS), MEMBER("subject", FREE, OMIT),
	MEMBER("timestamp", TIME, ALWAYS), MEMBER("tool_fingerprint", TEXT, OMIT),
	MEMBER("tool_name", TEXT, OMIT), MEMBER_OF("transparency", OBJECT, OMIT, transparency_projection),
	MEMBER("type", TEXT, OMIT), MEMBER("verdict", TEXT, OMIT),
	MEMBER_OF("witness_signatures", OBJECTS, OMIT, witness_projection));

/* What receipt.v5 signs: thirteen members, all present. */
PROJECTION(receipt_v5_projection, MEMBER("args_hash", TEXT, REQUIRED), MEMBER("decision_id", TEXT, REQUIRED),
	MEMBER("effect_id", TEXT, REQUIRED), MEMBER("lamport_clock", UINT, REQUIRED),
	MEMBER("output_hash", TEXT, REQUIRED), MEMBER("policy_hash", TEXT, REQUIRED),
	MEMBER("prev_hash", TEXT, REQUIRED), MEMBER("reason_code", TEXT, REQUIRED),
	MEMBER("receipt_id", TEXT, REQUIRED), MEMBER("session_id", TEXT, REQUIRED),
	MEMBER("signature_version", TEXT, REQUIRED), MEMBER("status", TEXT, REQUIRED),
	MEMBER("verdict", TEXT, REQUIRED));

/* Decision record.  reason_hash and threat_scan_hash are computed, not members; proof/preimage puts them in. */
PROJECTION(threat_semantic_projection, MEMBER("available", BOOL, ALWAYS),
	MEMBER("expected_model_hash", TEXT, OMIT), MEMBER("failure_reason", TEXT, OMIT),
	MEMBER("flagged", BOOL, ALWAYS), MEMBER("input_truncated", BOOL, OMIT), MEMBER("max_bp", INT, ALWAYS),
	MEMBER("model_hash", TEXT, OMIT), MEMBER("model_version", TEXT, OMIT),
	MEMBER("nearest_class", TEXT, OMIT), MEMBER("threshold_bp", INT, ALWAYS));

PROJECTION(threat_scan_projection, MEMBER("finding_count", INT, ALWAYS), MEMBER("input_hash", TEXT, ALWAYS),
	MEMBER("max_severity", TEXT, ALWAYS), MEMBER("scan_id", TEXT, ALWAYS),
	MEMBER_OF("semantic", OBJECT, OMIT, threat_semantic_projection), MEMBER("trust_level", TEXT, ALWAYS));

PROJECTION(decision_v4_projection, MEMBER("action", TEXT, ALWAYS), MEMBER("effect_digest", TEXT, ALWAYS),
	MEMBER("id", TEXT, ALWAYS), MEMBER("phenotype_hash", TEXT, ALWAYS),
	MEMBER("policy_content_hash", TEXT, ALWAYS), MEMBER("reason_code", TEXT, ALWAYS),
	MEMBER("reason_hash", TEXT, ALWAYS), MEMBER("resource", TEXT, ALWAYS),
	MEMBER("signature_type", TEXT, ALWAYS), MEMBER_IS("signature_version", "decision_record.v4"),
	MEMBER("subject_id", TEXT, ALWAYS), MEMBER("threat_scan_hash", TEXT, ALWAYS),
	MEMBER("verdict", TEXT, ALWAYS));

PROJECTION(decision_v3_projection, MEMBER("effect_digest", TEXT, ALWAYS), MEMBER("id", TEXT, ALWAYS),
	MEMBER("phenotype_hash", TEXT, ALWAYS), MEMBER("policy_content_hash", TEXT, ALWAYS),
	MEMBER("reason_code", TEXT, ALWAYS), MEMBER("reason_hash", TEXT, ALWAYS),
	MEMBER_IS("signature_version", "decision_record.v3"), MEMBER("threat_scan_hash", TEXT, ALWAYS),
	MEMBER("verdict", TEXT, ALWAYS));

PROJECTION(decision_v2_projection, MEMBER("effect_digest", TEXT, ALWAYS), MEMBER("id", TEXT, ALWAYS),
	MEMBER("phenotype_hash", TEXT, ALWAYS), MEMBER("policy_content_hash", TEXT, ALWAYS),
	MEMBER("reason_code", TEXT, ALWAYS), MEMBER("reason_hash", TEXT, ALWAYS),
	MEMBER_IS("signature_version", "decision_record.v2"), MEMBER("verdict", TEXT, ALWAYS));

/* Every member of a decision record, for reading names strictly. */
PROJECTION(decision_projection, MEMBER("action", TEXT, ALWAYS), MEMBER("correlation_id", TEXT, OMIT),
	MEMBER("effect_digest", TEXT, OMIT), MEMBER("env_fingerprint", TEXT, ALWAYS),
	MEMBER("gate_roster_hash", TEXT, OMIT), MEMBER("id", TEXT, ALWAYS),
	MEMBER("input_context", FREE, OMIT), MEMBER("intervention", FREE, OMIT),
	MEMBER("phenotype_hash", TEXT, ALWAYS), MEMBER("policy_backend", TEXT, OMIT),
	MEMBER("policy_content_hash", TEXT, OMIT), MEMBER("policy_decision_hash", TEXT, OMIT),
	MEMBER("policy_epoch", TEXT, OMIT), MEMBER("policy_version", TEXT, ALWAYS),
	MEMBER("proposal_id", TEXT, ALWAYS), MEMBER("reason", TEXT, ALWAYS),
	MEMBER("reason_code", TEXT, OMIT), MEMBER("requirement_set_hash", TEXT, OMIT),
	MEMBER("resource", TEXT, ALWAYS), MEMBER("risk_accumulation_window", FREE, OMIT),
	MEMBER("session_centroid_hash", TEXT, OMIT), MEMBER("signature", TEXT, ALWAYS),
	MEMBER("signature_type", TEXT, ALWAYS), MEMBER("signature_version", TEXT, OMIT),
	MEMBER("snapshot", TEXT, OMIT), MEMBER("state_cursor", TEXT, ALWAYS), MEMBER("step_id", TEXT, ALWAYS),
	MEMBER("subject_id", TEXT, ALWAYS), MEMBER_OF("threat_scan", OBJECT, OMIT, threat_scan_projection),
	MEMBER("timestamp", TIME, ALWAYS), MEMBER("trajectory_risk_score", FREE, OMIT),
	MEMBER("verdict", TEXT, ALWAYS));

/* An effect and what would undo it, as bound by an intent. */
PROJECTION(effect_binding_projection, MEMBER("args_hash", TEXT, OMIT),
	MEMBER_OF("compensation", OBJECT, OMIT, effect_binding_projection),
	MEMBER("effect_type", TEXT, ALWAYS), MEMBER("idempotency_key", TEXT, OMIT),
	MEMBER("irreversible", BOOL, OMIT), MEMBER("output_hash", TEXT, OMIT), MEMBER("params", FREE, OMIT),
	MEMBER("taint", TEXTS, OMIT));

PROJECTION(intent_projection, MEMBER("allowed_tool", TEXT, ALWAYS), MEMBER("decision_id", TEXT, ALWAYS),
	MEMBER_OF("effect_binding", OBJECT, OMIT, effect_binding_projection),
	MEMBER("effect_digest_hash", TEXT, ALWAYS), MEMBER("emergency_activation_id", TEXT, OMIT),
	MEMBER("emergency_delegation_session_id", TEXT, OMIT), MEMBER("emergency_scope_hash", TEXT, OMIT),
	MEMBER("expires_at", TIME, ALWAYS), MEMBER("id", TEXT, ALWAYS), MEMBER("idempotency_key", TEXT, OMIT),
	MEMBER("issued_at", TIME, ALWAYS), MEMBER("signature_type", TEXT, ALWAYS),
	MEMBER("signature_version", TEXT, ALWAYS), MEMBER("signer", TEXT, ALWAYS),
	MEMBER("taint", TEXTS, OMIT));

/* Effect permit: absent texts, lists and maps are written empty, times in UTC. */
PROJECTION(permit_scope_projection, MEMBER("allowed_action", TEXT, ALWAYS),
	MEMBER("allowed_params", TEXTS, FILLED), MEMBER("deny_patterns", TEXTS, FILLED));

PROJECTION(permit_projection, MEMBER("connector_id", TEXT, ALWAYS), MEMBER("effect_type", TEXT, ALWAYS),
	MEMBER("evidence_bindings", MAP, FILLED), MEMBER("expires_at", UTC, ALWAYS),
	MEMBER("intent_hash", TEXT, ALWAYS), MEMBER("issued_at", UTC, ALWAYS),
	MEMBER("issuer_id", TEXT, ALWAYS), MEMBER("nonce", TEXT, ALWAYS), MEMBER("permit_id", TEXT, ALWAYS),
	MEMBER("plan_hash", TEXT, ALWAYS), MEMBER("policy_hash", TEXT, ALWAYS),
	MEMBER("resource_ref", TEXT, ALWAYS), MEMBER_OF("scope", OBJECT, ALWAYS, permit_scope_projection),
	MEMBER_IS("signature_version", "effect_permit.v1"), MEMBER("single_use", BOOL, ALWAYS),
	MEMBER("verdict_hash", TEXT, ALWAYS));

/* External decision receipt. */
PROJECTION(external_decision_projection, MEMBER("action", TEXT, OMIT), MEMBER("args_hash", TEXT, OMIT),
	MEMBER("classification", TEXT, OMIT), MEMBER("decision_time", TIME, UNSET),
	MEMBER("format_id", TEXT, ALWAYS), MEMBER("format_version", TEXT, OMIT), MEMBER("kind", TEXT, ALWAYS),
	MEMBER("limitations", TEXTS, OMIT), MEMBER("metadata", MAP, OMIT),
	MEMBER("original_digest", TEXT, OMIT), MEMBER("prev_receipt_hash", TEXT, OMIT),
	MEMBER("receipt_hash", TEXT, OMIT), MEMBER("receipt_id", TEXT, ALWAYS),
	MEMBER("schema_version", TEXT, ALWAYS), MEMBER("signature", TEXT, OMIT),
	MEMBER("signature_algorithm", TEXT, OMIT), MEMBER("signing_key_id", TEXT, OMIT),
	MEMBER("source_vendor", TEXT, OMIT), MEMBER("subject", TEXT, OMIT), MEMBER("verdict", TEXT, OMIT));

/* Counterfactual receipt. */
PROJECTION(counterfactual_projection, MEMBER("args_hash", TEXT, OMIT),
	MEMBER("boundary_record_hash", TEXT, ALWAYS), MEMBER("boundary_record_id", TEXT, ALWAYS),
	MEMBER("created_at", TIME, ALWAYS), MEMBER("enforcement", TEXT, ALWAYS),
	MEMBER("mcp_server_id", TEXT, OMIT), MEMBER("observe_grant_id", TEXT, ALWAYS),
	MEMBER("policy_epoch", TEXT, ALWAYS), MEMBER("reason_code", TEXT, OMIT),
	MEMBER("receipt_hash", TEXT, OMIT), MEMBER("receipt_id", TEXT, ALWAYS),
	MEMBER("signature", TEXT, OMIT), MEMBER("signer_key_id", TEXT, OMIT), MEMBER("tool_name", TEXT, OMIT),
	MEMBER("would_have_verdict", TEXT, ALWAYS));

/* Workstation receipts. */
PROJECTION(actor_projection, MEMBER("actor_id", TEXT, ALWAYS), MEMBER("actor_type", TEXT, ALWAYS));

PROJECTION(run_workspace_projection, MEMBER("path", TEXT, OMIT), MEMBER("repository", TEXT, OMIT),
	MEMBER("workspace_id", TEXT, ALWAYS));

PROJECTION(agent_run_projection, MEMBER_OF("actor", OBJECT, ALWAYS, actor_projection),
	MEMBER("agent_surface", TEXT, ALWAYS), MEMBER("artifact_hashes", RAW, ALWAYS),
	MEMBER("changed_files", RAW, ALWAYS), MEMBER("client_observation", RAW, OMIT),
	MEMBER("completed_at", TIME, OMIT), MEMBER("created_at", TIME, ALWAYS),
	MEMBER("denied_effects", RAW, ALWAYS), MEMBER("evidence_pack_refs", RAW, ALWAYS),
	MEMBER("goal", TEXT, ALWAYS), MEMBER("memory_effects", RAW, ALWAYS),
	MEMBER("policy_profile", TEXT, ALWAYS), MEMBER("proofgraph_refs", RAW, ALWAYS),
	MEMBER("receipt_hash", TEXT, ALWAYS), MEMBER("receipt_id", TEXT, ALWAYS),
	MEMBER("receipt_version", TEXT, ALWAYS), MEMBER("recurring_loop_effects", RAW, ALWAYS),
	MEMBER("run_id", TEXT, ALWAYS), MEMBER("signature", TEXT, ALWAYS),
	MEMBER("signer_key_id", TEXT, ALWAYS), MEMBER("tool_actions", RAW, ALWAYS),
	MEMBER("validation_results", RAW, ALWAYS),
	MEMBER_OF("workspace", OBJECT, ALWAYS, run_workspace_projection));

PROJECTION(policy_request_projection, MEMBER("action", TEXT, ALWAYS), MEMBER("actor_id", TEXT, OMIT),
	MEMBER("agent_surface", TEXT, OMIT), MEMBER("effect_mode", TEXT, ALWAYS),
	MEMBER("effect_type", TEXT, ALWAYS), MEMBER("metadata", FREE, OMIT),
	MEMBER("occurred_at", TIME, ALWAYS), MEMBER("request_id", TEXT, ALWAYS), MEMBER("run_id", TEXT, OMIT),
	MEMBER("target", TEXT, OMIT), MEMBER("tool_id", TEXT, ALWAYS), MEMBER("workspace_id", TEXT, OMIT));

PROJECTION(policy_decision_projection, MEMBER("created_at", TIME, ALWAYS),
	MEMBER("decision_id", TEXT, ALWAYS), MEMBER("observed_only", BOOL, ALWAYS),
	MEMBER("policy_profile", TEXT, ALWAYS), MEMBER("reason", TEXT, OMIT),
	MEMBER("reason_code", TEXT, OMIT), MEMBER("receipt_hash", TEXT, ALWAYS),
	MEMBER("receipt_version", TEXT, ALWAYS),
	MEMBER_OF("request", OBJECT, ALWAYS, policy_request_projection), MEMBER("signature", TEXT, ALWAYS),
	MEMBER("signer_key_id", TEXT, ALWAYS), MEMBER("verdict", TEXT, ALWAYS));

/* ProofGraph node: what enters its hash. */
PROJECTION(proofgraph_node_projection, MEMBER("kind", TEXT, ALWAYS), MEMBER("lamport", UINT, ALWAYS),
	MEMBER("parents", TEXTS, ALWAYS), MEMBER("payload", RAW, ALWAYS), MEMBER("principal", TEXT, ALWAYS),
	MEMBER("principal_seq", UINT, ALWAYS), MEMBER("sig", TEXT, ALWAYS),
	MEMBER("sig_purpose", TEXT, OMIT));

/* Tree head: what is signed. */
PROJECTION(tree_head_projection, MEMBER("log_id", TEXT, ALWAYS), MEMBER("root_hash", TEXT, ALWAYS),
	MEMBER("timestamp", TEXT, ALWAYS), MEMBER("tree_size", UINT, ALWAYS));

/* External host evidence. */
PROJECTION(host_event_projection, MEMBER("action_id", TEXT, OMIT), MEMBER("attempt_id", TEXT, OMIT),
	MEMBER("bytes_received", INT, OMIT), MEMBER("bytes_sent", INT, OMIT),
	MEMBER("correlation_hints", RAW, OMIT), MEMBER("destination_host", TEXT, OMIT),
	MEMBER("destination_ip", TEXT, ALWAYS), MEMBER("destination_port", INT, ALWAYS),
	MEMBER("direction", TEXT, OMIT), MEMBER("event_id", TEXT, OMIT), MEMBER("observed_by", TEXT, OMIT),
	MEMBER("protocol", TEXT, ALWAYS), MEMBER("source_ip", TEXT, OMIT), MEMBER("timestamp", TIME, ALWAYS),
	MEMBER("verdict", TEXT, OMIT));

PROJECTION(host_action_projection, MEMBER("action_id", TEXT, ALWAYS), MEMBER("decision", TEXT, OMIT),
	MEMBER("output_hash", TEXT, OMIT), MEMBER("params_hash", TEXT, OMIT),
	MEMBER("result_count", INT, OMIT), MEMBER("reversibility", TEXT, OMIT),
	MEMBER("side_effect_class", TEXT, OMIT), MEMBER("target_ref", TEXT, OMIT),
	MEMBER("timestamp", TIME, ALWAYS), MEMBER("tool_name", TEXT, ALWAYS),
	MEMBER("transport", TEXT, OMIT));

PROJECTION(host_receipt_projection, MEMBER_OF("action_event", OBJECT, OMIT, host_action_projection),
	MEMBER("agent_id", TEXT, OMIT), MEMBER_OF("event", OBJECT, ALWAYS, host_event_projection),
	MEMBER("event_kind", TEXT, OMIT), MEMBER("hardware_root", RAW, OMIT), MEMBER("host_id", TEXT, ALWAYS),
	MEMBER("metadata", RAW, OMIT), MEMBER("prev_receipt_hash", TEXT, OMIT),
	MEMBER("process_ancestry", TEXTS, OMIT), MEMBER("process_identity", TEXT, OMIT),
	MEMBER("public_key_ref", TEXT, OMIT), MEMBER("receipt_hash", TEXT, ALWAYS),
	MEMBER("receipt_id", TEXT, ALWAYS), MEMBER("recorded_at", TIME, UNSET),
	MEMBER("sandbox_lease_id", TEXT, OMIT), MEMBER("schema_version", TEXT, OMIT),
	MEMBER("signature", TEXT, OMIT), MEMBER("signature_algorithm", TEXT, OMIT),
	MEMBER("signed_payload_b64", TEXT, OMIT), MEMBER("signing_key_id", TEXT, OMIT),
	MEMBER("source_profile", TEXT, OMIT), MEMBER("source_vendor", TEXT, OMIT),
	MEMBER("verifier_profile", TEXT, OMIT), MEMBER("workload_id", TEXT, OMIT));

/* Journals. */
PROJECTION(audit_event_projection, MEMBER("action", TEXT, ALWAYS), MEMBER("actor", TEXT, ALWAYS),
	MEMBER("hash", TEXT, ALWAYS), MEMBER("payload", RAW, ALWAYS), MEMBER("previous_hash", TEXT, ALWAYS),
	MEMBER("sequence", UINT, ALWAYS), MEMBER("timestamp", TIME, ALWAYS));

PROJECTION(audit_trail_projection, MEMBER("aat_version", TEXT, ALWAYS), MEMBER("action", TEXT, ALWAYS),
	MEMBER("action_type", TEXT, ALWAYS), MEMBER("agent_id", TEXT, ALWAYS), MEMBER("metadata", RAW, OMIT),
	MEMBER("payload_hash", TEXT, ALWAYS), MEMBER("previous_record_hash", TEXT, ALWAYS),
	MEMBER("record_hash", TEXT, ALWAYS), MEMBER("record_id", TEXT, ALWAYS),
	MEMBER("resource", TEXT, ALWAYS), MEMBER("sequence", UINT, ALWAYS), MEMBER("signature", RAW, OMIT),
	MEMBER("timestamp", TEXT, ALWAYS));

/* Launch evidence node. */
PROJECTION(launch_node_projection, MEMBER("artifact_refs", TEXTS, FILLED),
	MEMBER("evidence_reservation_ref", TEXT, ALWAYS), MEMBER("lamport", UINT, ALWAYS),
	MEMBER("parent_hashes", TEXTS, FILLED), MEMBER("proof_session_ref", TEXT, ALWAYS));
