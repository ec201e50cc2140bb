/* commands_fleet.h — rows of commands.c: many machines, one ledger. */

static const struct cmd row_serve_fleet = { KNOWN(serve_fleet), "[migrate|rebuild|retain|tiles DIR]", 0, 2,
	"serve the ledger of a fleet: what many machines record, on PostgreSQL",
	"Starts helm-serve in its own place, on 127.0.0.1:7715.  Machines that have joined send their receipts, signed; each is verified before it is stored, and folded into one signed Merkle log for each tenant.  "
	"Any number of servers may work with one database.  A database that could lose what it acknowledged, or a role that sees across tenants, is refused.  It also serves the console for all machines of a tenant, under /console/: people come in by 'helm fleet reader invite NAME --link URL', and beyond this machine by the name of --origin.  "
	"migrate makes or advances the tables, as the owner of the database; --login names the role that servers use.  rebuild makes the projection of one tenant again from what was received; retain detaches months that are old, with every proof kept; tiles writes the log of one tenant as files for any web server.  docs/guides/fleet.md shows it from the beginning.",
	NULL, serve_fleet_opts, MAY_WORKSPACE, cmd_serve_fleet };

static const struct cmd row_fleet_join = { KNOWN(fleet_join), "[URL]", 0, 1,
	"join a fleet with this workspace",
	"With the token that the centre gave, which also says whose log and whose orders these are; their keys are pinned from then on.  "
	"Without URL and token this workspace is added to the fleet that was joined.  Nothing waits for the network: what is recorded is sent by 'helm fleet ship', a service of this user, or by 'helm fleet sync' once.",
	NULL, fleet_join_opts, NEEDS_WORKSPACE, cmd_fleet_join };
static const struct cmd row_fleet_status = { KNOWN(fleet_status), "", 0, 0,
	"what of this machine the ledger has, and what is wrong",
	"Reads only, and counts how many receipts are still to be sent.  Ends with 1 when something is stopped or the ledger cannot be believed.",
	NULL, NULL, MAY_WORKSPACE, cmd_fleet_status };
static const struct cmd row_fleet_sync = { KNOWN(fleet_sync), "", 0, 0,
	"send what is recorded, and hear what is new, once",
	"Sends everything, however much it is.  Ends with 1 when something is left after four minutes: run it again to go on.",
	NULL, NULL, MAY_WORKSPACE, cmd_fleet_sync };
static const struct cmd row_fleet_ship = { KNOWN(fleet_ship), "", 0, 0,
	"the same until it is stopped: for a service of this user",
	"Sends what is recorded within a second, says every 30 seconds that this machine is there, and does what the centre orders.",
	NULL, NULL, MAY_WORKSPACE, cmd_fleet_ship };
static const struct cmd row_fleet_rejoin = { KNOWN(fleet_rejoin), "", 0, 0,
	"begin again in the ledger with a workspace that was set back or copied",
	"The ledger keeps what it had, and both ways in which the chain went on.", NULL, NULL,
	NEEDS_WORKSPACE, cmd_fleet_rejoin };

static const struct cmd row_fleet_tenant = { KNOWN(fleet_tenant), "add NAME|list", 1, 2,
	"the tenants of a ledger, at the centre",
	"A tenant has a log of its own, with its own name and keys, and sees nothing of another.", NULL,
	fleet_tenant_opts, MAY_WORKSPACE, cmd_fleet_tenant };
static const struct cmd row_fleet_token = { KNOWN(fleet_token), "", 0, 0,
	"a token with which a machine joins, at the centre", "It is shown once; only its digest is kept.",
	NULL, fleet_token_opts, MAY_WORKSPACE, cmd_fleet_token };
static const struct cmd row_fleet_nodes = { KNOWN(fleet_nodes), "", 0, 0,
	"the machines of a fleet and how they stand, at the centre",
	"green: heard within 90 s with an armed guard; unarmed: heard, and no guard is armed or one is less than that; yellow, dark: not heard for 90 s, 10 minutes; "
	"red: a chain of it was set back or continued in two ways.",
	NULL, fleet_view_opts, MAY_WORKSPACE, cmd_fleet_nodes };

static const struct cmd row_fleet_freeze = { KNOWN(fleet_freeze), "", 0, 0,
	"stop every machine of the fleet, from the centre",
	"The order is signed by the control key and fetched by the machines, within a second where 'helm fleet ship' runs; each records it, and what it recorded flows back as the confirmation that 'helm fleet orders' counts.  "
	"A machine that cannot be reached goes on, unless it has a lease.  With --key a person signs it, and then only a person of the list of approvers lifts it.",
	NULL, fleet_freeze_opts, MAY_WORKSPACE, cmd_fleet_freeze };
static const struct cmd row_fleet_unfreeze = { KNOWN(fleet_unfreeze), "", 0, 0, "let them go on",
	"What was frozen without a person's signature is lifted by the control key alone.  What a person has signed, here with --key or in the console with a passkey, is lifted only by what a person of the list of approvers has signed (--key), later than that; a machine refuses anything else, on record.",
	NULL, fleet_freeze_opts, MAY_WORKSPACE, cmd_fleet_unfreeze };
static const struct cmd row_fleet_lease = { KNOWN(fleet_lease), "DURATION|off", 1, 1,
	"how long a machine may go on without its centre",
	"Without a contact for so long, counted by a clock that nobody sets and that runs on while a machine sleeps, everything there stands as if it were frozen.  It is the only answer to a freeze and a cut cable.",
	NULL, fleet_order_opts, MAY_WORKSPACE, cmd_fleet_lease };
static const struct cmd row_fleet_revoke_key = { KNOWN(fleet_revoke_key), "KEY", 1, 1,
	"a machine's key counts no more, from the centre",
	"From this moment on nothing that it signs is taken, whatever time it writes; what is in the ledger stays.",
	NULL, fleet_order_opts, MAY_WORKSPACE, cmd_fleet_revoke_key };
static const struct cmd row_fleet_retire = { KNOWN(fleet_retire), "NODE", 1, 1,
	"a machine is expected no more, from the centre",
	"What it has sent stays, with every proof, and the order stands in the signed chain of orders.  A machine that still runs records it, sends what it has, and then nothing more of it is taken; one that is gone is no longer dark.  With a new token it may join again.",
	NULL, fleet_retire_opts, MAY_WORKSPACE, cmd_fleet_retire };
static const struct cmd row_fleet_root = { KNOWN(fleet_root), "sign|give FILE", 1, 2,
	"another root key takes the place of the one that machines have pinned",
	"sign is done where both keys are, without a network: the old one says it, and the new one, too.  give orders every machine to pin the new key; each takes it only when the one it has pinned signed that.  Then nobody answers from the centre until the new key has signed a list ('helm fleet approvers').  Where the old key is lost or was taken, a person at each machine leaves and joins again with --root.",
	NULL, fleet_root_opts, MAY_WORKSPACE, cmd_fleet_root };
static const struct cmd row_fleet_orders = { KNOWN(fleet_orders), "", 0, 0,
	"what was ordered, and who has obeyed",
	"With --taken: packs and exports that were taken from the console of a front end, each an order of its own in the same signed chain, for no machine: who took it, over what, when, and the digest of the bytes.",
	NULL, fleet_orders_opts, MAY_WORKSPACE, cmd_fleet_orders };

static const struct cmd row_fleet_questions = { KNOWN(fleet_questions), "", 0, 0,
	"what machines ask a person, at the centre",
	"Of machines that have joined with --ship questions.  A question is gone from here when the receipt of its answer has come, wherever that was given, or its time is over.",
	NULL, fleet_questions_opts, MAY_WORKSPACE, cmd_fleet_questions };
static const struct cmd row_fleet_approve = { KNOWN(fleet_approve), "QUESTION", 1, 1,
	"answer a machine's question with yes, from the centre",
	"Signed by your own key over the whole grant and the digest of the question.  The machine takes it only when its fleet's root key, which was pinned there at joining, names you as an approver ('helm fleet approvers'), and when the very same grant follows from the question as it is on record there.  "
	"A question that takes several people is answered by each of them with this command, for this very command, once: all sign the same, within an hour, and the machine counts people, not keys.  'helm fleet orders' says whether it was obeyed or refused.",
	NULL, fleet_approve_opts, MAY_WORKSPACE, cmd_fleet_approve };
static const struct cmd row_fleet_deny = { KNOWN(fleet_deny), "QUESTION", 1, 1,
	"answer a machine's question with no, from the centre", NULL, NULL, fleet_deny_opts, MAY_WORKSPACE,
	cmd_fleet_deny };
static const struct cmd row_fleet_approvers = { KNOWN(fleet_approvers), "sign LABEL=KEY...|give FILE", 1, -1,
	"who may answer questions from the centre",
	"sign makes the list, with the root key, on the machine where that is kept, which needs no network; a list without keys ends everybody's.  give orders every machine to take it.  A key is 64 hex digits, a passkey as the console of the front end shows it (helm-passkey:...), or a file with either, with a line of OpenSSH, or with a passkey as it stands in trust/approvers.json where it was registered.  A list with a lower number than the one in force is refused, so that nobody shows an old one again.",
	NULL, fleet_approvers_opts, MAY_WORKSPACE, cmd_fleet_approvers };
static const struct cmd row_fleet_reader = { KNOWN(fleet_reader),
	"add NAME|invite NAME|set NAME|revoke NAME|list", 1, 2,
	"who looks at the ledger over HTTP: programs by a token, people by a passkey; at the centre",
	"add makes the token of a program: it opens search, nodes, orders and questions of one tenant (--url and --token-file), and what the console shows of it, to look; nothing else.  It is shown once; only its digest is kept.  "
	"invite makes a link that works once, for a person: by it they register a passkey at the front end, and come in with that from then on.  Again for the same name it takes the place of a key that was lost, which opens nothing from then on.  "
	"A person sees all machines of the tenant, or those of --machines and nothing else; set changes that, and ends their sessions.",
	NULL, fleet_reader_opts, MAY_WORKSPACE, cmd_fleet_reader };

static const struct cmd row_fleet_leave = { KNOWN(fleet_leave), "", 0, 0, "leave the fleet",
	"It is on record here, and in the ledger where that can be reached; what the centre had frozen goes on.  The ledger keeps what it has.",
	NULL, fleet_leave_opts, NEEDS_WORKSPACE, cmd_fleet_leave };
static const struct cmd row_fleet_search = { KNOWN(fleet_search), "", 0, 0,
	"what was recorded on all machines, at the centre", NULL, NULL, fleet_search_opts, MAY_WORKSPACE,
	cmd_fleet_search };
static const struct cmd row_fleet_audit = { KNOWN(fleet_audit), "", 0, 0,
	"is anything missing, forked, set back, dark or unsigned, at the centre",
	"Looks at every chain for gaps, at what was forked or rolled back, for machines that are not heard or whose clocks differ, at the age of the newest checkpoint, at the chain of orders and its signatures, and computes the root of the tree from its tiles.  With --deep each row is held against what was received, unpacked and hashed, and the hashes against the entries of the log: whoever changed rows in the database is found out.  Signatures of receipts are checked by 'helm verify' on a pack.  Ends with 1 when there is something to tell.",
	NULL, fleet_audit_opts, MAY_WORKSPACE, cmd_fleet_audit };
static const struct cmd row_fleet_export = { KNOWN(fleet_export), "", 0, 0,
	"evidence of a fleet in one file, at the centre",
	"Every chain with the history of the keys that signed it, a proof that its end is in the signed tree, the checkpoint with its cosignatures, the orders and the forks.  'helm verify' checks it alone, with the log's key and a witness's (docs/formats/fleet-pack.md).",
	NULL, fleet_export_opts, MAY_WORKSPACE, cmd_fleet_export };
