/* records.h — the signed records as tables: which members enter their preimages (projection.h).
 *
 * One table per record kind, in the order docs/formats/ describes them.  The tables carry no rules beyond presence and
 * type; what a record must say to be accepted is in verify/. */
#ifndef MODEL_RECORDS_H
#define MODEL_RECORDS_H

#include "model/projection.h"

/* Mainline receipt. */
extern const struct projection replay_script_projection;
extern const struct projection receipt_provenance_projection;
extern const struct projection bundled_artifact_projection;
extern const struct projection port_exposure_projection;
extern const struct projection witness_projection;
extern const struct projection projection_path_projection;
extern const struct projection transparency_projection;

/* The whole receipt.  Its signed members that may be empty are dropped when they are: the chain hash's view. */
extern const struct projection receipt_projection;

/* What receipt.v5 signs: thirteen members, all present. */
extern const struct projection receipt_v5_projection;

/* Decision record.  reason_hash and threat_scan_hash are computed, not members; proof/preimage puts them in. */
extern const struct projection threat_semantic_projection;
extern const struct projection threat_scan_projection;
extern const struct projection decision_v4_projection;
extern const struct projection decision_v3_projection;
extern const struct projection decision_v2_projection;

/* Every member of a decision record, for reading names strictly. */
extern const struct projection decision_projection;

/* An effect and what would undo it, as bound by an intent. */
extern const struct projection effect_binding_projection;
extern const struct projection intent_projection;

/* Effect permit: absent texts, lists and maps are written empty, times in UTC. */
extern const struct projection permit_scope_projection;
extern const struct projection permit_projection;

/* External decision receipt. */
extern const struct projection external_decision_projection;

/* Counterfactual receipt. */
extern const struct projection counterfactual_projection;

/* Workstation receipts. */
extern const struct projection actor_projection;
extern const struct projection run_workspace_projection;
extern const struct projection agent_run_projection;
extern const struct projection policy_request_projection;
extern const struct projection policy_decision_projection;

/* ProofGraph node: what enters its hash. */
extern const struct projection proofgraph_node_projection;

/* Tree head: what is signed. */
extern const struct projection tree_head_projection;

/* External host evidence. */
extern const struct projection host_event_projection;
extern const struct projection host_action_projection;
extern const struct projection host_receipt_projection;

/* Journals. */
extern const struct projection audit_event_projection;
extern const struct projection audit_trail_projection;

/* Launch evidence node. */
extern const struct projection launch_node_projection;

#endif
