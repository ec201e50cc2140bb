/* commands_witness.h — rows of the table in commands.c: who vouches for the log of a fleet. */
#ifndef CLI_COMMANDS_WITNESS_H
#define CLI_COMMANDS_WITNESS_H

static const struct cmd row_signer_log_key = { KNOWN(signer_log_key), "NAME [ORIGIN]", 1, 2,
	"make or show the keys of a fleet's log, and of its orders",
	"Run by the signer's user.  With ORIGIN, which is what the log is called everywhere (ledger.example/team), they are made in ~/.helm/logs/NAME; without, what is there is shown.  "
	"The public keys are printed in the form that machines, witnesses and auditors take; the secrets never leave their files.",
	NULL, NULL, 0, cmd_signer_log_key };

static const struct cmd row_signer_log = { KNOWN(signer_log), "", 0, 0,
	"keep the keys of fleets' logs, and sign for their ledger",
	"Runs as a user of its own, until it is ended, with what 'helm signer log-key' made.  "
	"Signs a head of a log only with a proof that the head it signed last is a beginning of it, never a smaller or another tree, and an order only as the next one of its chain.\n\n"
	"  helm signer log --socket /run/helm-log/socket --for helm-ledger",
	NULL, signer_run_opts, 0, cmd_signer_log };

static const struct cmd row_witness_key = { KNOWN(witness_key), "[NAME]", 0, 1,
	"make or show the key of this user's witness",
	"With NAME, which is what the witness is called everywhere (witness.example/1), it is made in ~/.helm/witness; without, what is there is shown.  "
	"Whoever runs a log or checks it takes the line that is printed into their policy.",
	NULL, NULL, 0, cmd_witness_key };

static const struct cmd row_witness_serve = { KNOWN(witness_serve), "", 0, 0,
	"vouch for logs of others: cosign each state that goes on from the one before",
	"Starts helm-serve in its own place, on 127.0.0.1:7716; logs send their checkpoints to /add-checkpoint (c2sp.org/tlog-witness).  "
	"What was cosigned last of each log is on disk before the answer leaves; a log that shows two stories gets one cosigned, and both of its notes are kept in ~/.helm/witness/conflicts.\n\n"
	"  helm witness serve --log ledger.example/team+1a2b3c4d+AbC...",
	NULL, witness_serve_opts, 0, cmd_witness_serve };

static const struct cmd row_witness_ask = { KNOWN(witness_ask), "CHECKPOINT", 1, 1,
	"have the witnesses of a policy cosign a checkpoint",
	"CHECKPOINT is a file with the note that the log signed.  All witnesses of the policy are asked at once, for three seconds; the note with their cosignatures is printed when the quorum is met.",
	NULL, witness_ask_opts, 0, cmd_witness_ask };

#endif
