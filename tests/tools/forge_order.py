"""forge_order.py SOCKET KIND [AT]: an order that the control key signs, with the body on standard input; prints the SQL that puts it into the ledger.
FORGE_COUNT: so many of them; FORGE_NODE: for this machine only."""
import hashlib
import json
import os
import sys
import time

from tlog import Line

line = Line(sys.argv[1])
body, node = json.load(sys.stdin), os.environ.get("FORGE_NODE")
for _ in range(int(os.environ.get("FORGE_COUNT", "1"))):
    facts = line.ask("log_facts", {"log": "acme"})
    order = {"version": "helm-fleet-order/1", "origin": "ledger.test/acme", "seq": int(facts["order_seq"]) + 1, "prev_hash": facts["order_hash"], "kind": sys.argv[2], "nodes": [node] if node else [],
             "body": body, "at": sys.argv[3] if len(sys.argv) > 3 else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    answer = line.ask("log_order", {"log": "acme", "order": order})
    text = json.dumps(answer.get("order", answer), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    print("INSERT INTO fleet.directive(tenant_id, seq, kind, body, hash, made_by) VALUES (1, %d, '%s', decode('%s', 'hex'), decode('%s', 'hex'), 'forged');" % (order["seq"], order["kind"], text.hex(), hashlib.sha256(text).hexdigest()))
