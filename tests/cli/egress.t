#!/bin/sh
# Network by name: a run whose profile names hosts reaches them through one door, and nothing else; every connection is on record.
# shellcheck disable=SC2016,SC2154,SC2317 # texts for sh -c; set by lib.sh; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
command -v unshare >/dev/null || skip_all "unshare is not here"
unshare -n true 2>/dev/null || unshare -rn true 2>/dev/null || skip_all "no network namespaces here"
needs_terminal

# The internet of this test: servers on the loopback outside, which the profile names as addresses.
python3 "$HELM_SOURCE/tests/tools/internet.py" "$scratch/ports" $$ >/dev/null 2>&1 &
waited=0
while [ ! -e "$scratch/ports" ] && [ $waited -lt 500 ]; do
  sleep 0.02
  waited=$((waited + 1))
done
. "$scratch/ports"
web=$web echo=$echo first=$first quiet=$quiet spare=$spare

ok "without a workspace it is the profile that decides there" says 0 "Profile workspace_edit" helm egress list
ok "as the policy says" says 0 "Profile workspace_edit" helm policy show
mkdir place && cd place || exit 1
helm init --path . >/dev/null || exit 1
cp "$HELM_SOURCE/tests/tools/speak.py" .
python3 - "$HELM_SOURCE/share/execution_profiles.json" "$web" "$echo" "$first" "$quiet" "$spare" >references/execution_profiles.json <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
web, echo, first, quiet, spare = sys.argv[2:]
p = dict(doc["profiles"]["workspace_edit"], network="named", network_allowed=True)
p["egress"] = ["127.0.0.1:" + port for port in (web, echo, first, quiet, spare)] + ["localhost:" + web, "localhost:" + echo, "unknown.invalid", "@pypi"]
doc["profiles"]["netted"] = p
doc["profiles"]["careful"] = dict(p, network_allowed=False)
doc["profiles"]["names_only"] = dict(p, egress=["localhost:" + web, "localhost:" + echo])
json.dump(doc, sys.stdout)
PY
ok "a person accepts the profiles" says 0 "may reach 127.0.0.1:$web" trust "$PWD"
in_door() { helm profile run netted -- "$@"; }
speak() { in_door python3 speak.py "$@"; }

# 1. What works.
ok "the walls stand and have a door" sh -c 'cd "$1" && HOME="$2/home" "$0" profile run netted --task-id first -- true && grep -q "\"network_door\": true" .helm/task-ledger.jsonl' "$HELM_REAL" "$PWD" "$scratch"
if command -v curl >/dev/null; then
  ok "curl gets a page by its address" says 0 "hello" in_door curl -s "http://127.0.0.1:$web/hello" --noproxy ""
  ok "and by a name" says 0 "hello" in_door curl -s "http://localhost:$web/hello" --noproxy ""
  ok "and through SOCKS" says 0 "hello" in_door curl -s --socks5-hostname 127.0.0.1:3128 --noproxy "" "http://localhost:$web/hello"
  ok "and through a tunnel" says 0 "hello" in_door curl -s -p --noproxy "" "http://localhost:$web/hello"
  ok "an answer comes down whole" says 0 "20000000" in_door curl -s --noproxy "" -o big -w '%{size_download}' "http://localhost:$web/big?20000000"
  ok "two requests on one line" says 0 "hello" in_door curl -s --noproxy "" "http://localhost:$web/hello" "http://127.0.0.1:$web/hello"
  ok "a redirect to what is named" says 0 "hello" in_door curl -sL --noproxy "" "http://localhost:$web/to?http://127.0.0.1:$web/hello"
  ok "a redirect to what is not is refused" says 0 "helm: 169.254.169.254:80 is not named in profile netted" in_door curl -sL --noproxy "" "http://localhost:$web/to?http://169.254.169.254/latest/meta-data/"
  ok "a refusal can be read" says 0 "helm: example.com:443 is not named in profile netted; a person can allow it: helm allow host example.com" in_door sh -c 'curl -sv https://example.com/ 2>&1; true'
fi
ok "who speaks first is heard" says 0 "you said hi" speak "CONNECT 127.0.0.1:$first HTTP/1.1\r\n\r\n" "" "hi"
ok "a tunnel gives back" says 0 "abc" speak "CONNECT localhost:$echo HTTP/1.1\r\nHost: localhost:$echo\r\n\r\n" "abc"
ok "what comes with the request goes on" says 0 "early" speak "CONNECT localhost:$echo HTTP/1.1\r\n\r\nearly"
cat >post.py <<'PY'
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", 3128)
body = b"z" * 300000
c.request("POST", sys.argv[1], iter([body]) if sys.argv[2] == "chunks" else body, encode_chunked=sys.argv[2] == "chunks",
          headers={"Transfer-Encoding": "chunked"} if sys.argv[2] == "chunks" else {"Expect": "100-continue"})
print(c.getresponse().read().decode())
PY
ok "a body goes up whole" says 0 "300000" in_door python3 post.py "http://localhost:$web/post" length
ok "also in chunks" says 0 "300000" in_door python3 post.py "http://localhost:$web/post" chunks
cat >own.py <<'PY'
import socket, threading
s = socket.create_server(("127.0.0.1", 8123))
threading.Thread(target=lambda: s.accept()[0].sendall(b"own"), daemon=True).start()
print(socket.create_connection(("127.0.0.1", 8123)).recv(10))
PY
ok "what the run itself serves is reached without the door" says 0 "own" in_door python3 own.py

# 2. What has no other way out.
none() { # none DESCRIPTION PYTHON: the text must fail with an error of the network
  ok "$1" says 0 "no way" in_door python3 -c "
import socket
try:
    $2
    print('got out')
except OSError as why:
    print('no way:', why)"
}
none "no route to an address" "socket.create_connection(('127.0.0.1', $web), 3)"
none "nor to another one" "socket.create_connection(('192.0.2.1', 80), 3)"
none "no name is resolved" "socket.getaddrinfo('pypi.org', 443)"
none "no UDP leaves" "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.53', 53))"
none "nor by IPv6" "socket.socket(socket.AF_INET6, socket.SOCK_STREAM).connect(('2001:db8::1', 443))"
none "no raw socket" "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"
none "no socket of the file system" "socket.socket(socket.AF_UNIX)"

# 3. What the door refuses.
refused() { # refused DESCRIPTION TEXT WORD...
  what=$1 text=$2
  shift 2
  ok "$what" says 0 "$text" speak "$@"
}
refused "a name that nobody named" "403 helm: example.com:443 is not named" 'CONNECT example.com:443 HTTP/1.1\r\n\r\n'
refused "a named one at another port" "403 helm: pypi.org:22" 'CONNECT pypi.org:22 HTTP/1.1\r\n\r\n'
refused "a name below one" "403 helm: x.pypi.org:443" 'CONNECT x.pypi.org:443 HTTP/1.1\r\n\r\n'
refused "a name that ends like one" "403 helm: evilpypi.org:443" 'CONNECT evilpypi.org:443 HTTP/1.1\r\n\r\n'
refused "an address at another port" "403 helm: 127.0.0.1:22 is not named" 'CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n'
refused "metadata" "403 helm: 169.254.169.254:80" 'GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n'
refused "IPv6" "403 helm: ::1:$web is not named" "CONNECT [::1]:$web HTTP/1.1\r\n\r\n"
refused "an address dressed as IPv6 is the same address" "200 Connection" "CONNECT [::ffff:127.0.0.1]:$web HTTP/1.1\r\n\r\n" "GET /hello HTTP/1.0\r\n\r\n"
refused "an address in another spelling" "400 helm: CONNECT takes host:port" "CONNECT 2130706433:$web HTTP/1.1\r\n\r\n"
refused "and in hexadecimal" "400 helm: CONNECT takes host:port" "CONNECT 0x7f.1:$web HTTP/1.1\r\n\r\n"
refused "a name that does not exist" "502 helm: unknown.invalid:443 is unknown" 'CONNECT unknown.invalid:443 HTTP/1.1\r\n\r\n'
refused "two hosts in one request" "400 helm: the Host field" "GET http://localhost:$web/hello HTTP/1.1\r\nHost: example.com\r\n\r\n"
refused "a Host twice" "400 helm: the Host field" "GET http://localhost:$web/hello HTTP/1.1\r\nHost: localhost:$web\r\nHost: localhost:$web\r\n\r\n"
refused "a user in front of the host" "400 helm: the target names no host" "GET http://pypi.org@localhost:$web/hello HTTP/1.1\r\nHost: localhost:$web\r\n\r\n"
refused "a length and chunks" "400 helm: the body has a length and is chunked" "POST http://localhost:$web/p HTTP/1.1\r\nHost: localhost:$web\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
refused "two lengths" "400 helm: the length" "POST http://localhost:$web/p HTTP/1.1\r\nHost: localhost:$web\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n"
refused "another coding" "400 helm: the body must be chunked" "POST http://localhost:$web/p HTTP/1.1\r\nHost: localhost:$web\r\nTransfer-Encoding: identity\r\n\r\n"
refused "a bare line feed" "400 helm: a line does not end in CR LF" "GET http://localhost:$web/hello HTTP/1.1\nHost: localhost:$web\n\n"
refused "a folded field" "400 helm: a field is not spelled" "GET http://localhost:$web/hello HTTP/1.1\r\nHost: localhost:$web\r\nX: a\r\n b\r\n\r\n"
refused "a blank before the colon" "400 helm: a field is not spelled" "GET http://localhost:$web/hello HTTP/1.1\r\nHost : localhost:$web\r\n\r\n"
refused "a Connection field that takes Host away" "400 helm: the Connection field" "GET http://localhost:$web/hello HTTP/1.1\r\nHost: localhost:$web\r\nConnection: host\r\n\r\n"
refused "an https target without a tunnel" "400 helm: the target must begin with http://" "GET https://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n"
refused "a request that is for no proxy" "400 helm: this is a proxy" 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
refused "another language" "400 helm" 'hello there\r\n\r\n'

ok "the run says it, too" says 0 "the door refused 1 connection, the first to example.com:8443; a person can allow it: helm allow host example.com:8443" speak 'CONNECT example.com:8443 HTTP/1.1\r\n\r\n'

# 4. One request for each connection: what follows it is not passed on.
smuggled() {
  speak "GET http://localhost:$web/hello HTTP/1.1\r\nHost: localhost:$web\r\n\r\nGET http://localhost:$web/head HTTP/1.1\r\nHost: evil.example\r\n\r\n" >out
  cat out
  grep -q hello out && grep -q '^Connection: close' out && grep -q '\[end\]' out && ! grep -q evil.example out
}
ok "a second request is not smuggled in" smuggled
hops() {
  speak "GET http://localhost:$web/head HTTP/1.1\r\nHost: localhost:$web\r\nProxy-Authorization: Basic c2VjcmV0\r\nConnection: x-one\r\nX-One: 1\r\nX-Two: 2\r\n\r\n" >out
  cat out
  grep -q '^GET /head HTTP/1.1' out && grep -q 'X-Two: 2' out && ! grep -qi -e 'x-one' -e secret -e c2VjcmV0 out
}
ok "fields of one hop stay on it" hops

# 5. A tunnel is for the name it was asked for.
ok "a hello for the same name passes" says 0 "[open]" speak --wait 1 "CONNECT localhost:$echo HTTP/1.1\r\n\r\n" "hello=localhost"
front() {
  speak --wait 3 "CONNECT localhost:$echo HTTP/1.1\r\n\r\n" "hello=other.example" >out
  cat out
  grep -q '\[end\]\|error' out && ! grep -q '\[open\]' out
}
ok "one for another name ends it" front
ok "in pieces, too" says 0 "ended" speak --bytes "CONNECT localhost:$echo HTTP/1.1\r\n\r\n" "hello=other.example"
ok "and one in pieces that fits passes" says 0 "came back" speak --bytes "CONNECT localhost:$echo HTTP/1.1\r\n\r\n" "hello=localhost"

# 6. SOCKS.
refused "a name by SOCKS" 'abc' '\x05\x01\x00' "\x05\x01\x00\x03\x09localhost$(printf '\\x%02x\\x%02x' $((echo / 256)) $((echo % 256)))" 'abc'
socks_code() { # socks_code CODE WORD...
  code=$1
  shift
  in_door python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", 3128), timeout=5)
for w in sys.argv[1:]:
    s.sendall(w.encode().decode("unicode_escape").encode("latin-1"))
    answer = s.recv(100)
print("code", answer[1])' "$@" | grep -qx "code $code"
}
ok "a name that nobody named is forbidden" socks_code 2 '\x05\x01\x00' '\x05\x01\x00\x03\x0bexample.com\x01\xbb'
ok "an address that nobody named, too" socks_code 2 '\x05\x01\x00' '\x05\x01\x00\x01\x0a\x00\x00\x01\x01\xbb'
ok "and an IPv6 one" socks_code 2 '\x05\x01\x00' '\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\xbb'
ok "listening is no command here" socks_code 7 '\x05\x01\x00' '\x05\x02\x00\x01\x7f\x00\x00\x01\x01\xbb'
ok "nor is UDP" socks_code 7 '\x05\x01\x00' '\x05\x03\x00\x01\x7f\x00\x00\x01\x01\xbb'

# 7. A name that leads inside needs the address named, too.
ok "a named name that leads to the loopback is refused" says 0 "localhost leads to 127.0.0.1, which is loopback" helm profile run names_only -- python3 speak.py "CONNECT localhost:$web HTTP/1.1\r\n\r\n"

# 8. Many, and slow ones.
ok "a thousand at once, or as many as the system lets us have" sh -c 'ulimit -n 4096 2>/dev/null || ulimit -n "$(ulimit -Hn)"; n=1000; test "$(ulimit -n)" -ge 2200 || n=400; cd "$1" && HOME="$2/home" "$0" profile run netted -- python3 speak.py --many $n "localhost:$3" | tee out; grep -qx "$n of $n" out' "$HELM_REAL" "$PWD" "$scratch" "$echo"
slow() {
  in_door python3 -c '
import socket, sys, time
door = ("127.0.0.1", 3128)
slow = [socket.create_connection(door) for _ in range(200)]
for s in slow:
    s.sendall(b"CONNECT exam")
t = time.monotonic()
s = socket.create_connection(door)
s.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.1\r\n\r\n" % sys.argv[1].encode())
print(s.recv(12).decode(), "soon" if time.monotonic() - t < 5 else "late")' "$echo" | grep -q "HTTP/1.1 200 soon"
}
ok "slow clients hold nobody" slow
mute() { # a server that never answers holds nobody else
  in_door sh -c 'python3 speak.py --wait 8 "CONNECT 127.0.0.1:'"$quiet"' HTTP/1.1\r\n\r\n" "x" >/dev/null & python3 speak.py --wait 5 "CONNECT 127.0.0.1:'"$echo"' HTTP/1.1\r\n\r\n" "abc" | grep abc; kill $!'
}
ok "nor does a server that never answers" says 0 "abc" mute

# 9. The record.
rows() { cat .helm/egress.jsonl; }
ok "every connection has its row" sh -c 'grep -q "\"verdict\": \"admitted\"" .helm/egress.jsonl && grep -q "\"verdict\": \"refused\"" .helm/egress.jsonl'
exact() {
  helm profile run netted --task-id counted -- python3 speak.py "CONNECT localhost:$echo HTTP/1.1\r\n\r\n" "12345" >/dev/null
  grep '"task_id": "counted"' .helm/egress.jsonl >out
  cat out
  test "$(wc -l <out)" = 1 && grep -q '"bytes_in": 5' out && grep -q '"bytes_out": 5' out && grep -q '"address": "127.0.0.1"' out && grep -q '"rule": "localhost:' out
}
ok "with what went through" exact
receipt() {
  helm receipts list --json --limit 3 >out 2>/dev/null || helm receipts list --json >out
  python3 - <<'PY'
import hashlib, json
digest = hashlib.sha256()
for line in open(".helm/egress.jsonl"):
    if json.loads(line)["task_id"] == "counted":
        digest.update(hashlib.sha256(line.rstrip("\n").encode()).hexdigest().encode())
said = [json.loads(l) for l in open(".helm/receipts.jsonl") if '"egress"' in l and '"counted"' in l]
egress = [v["metadata"]["egress"] if "egress" in v.get("metadata", {}) else v for v in said][-1]
text = json.dumps(said[-1])
assert digest.hexdigest() in text, text
PY
}
ok "and their digest is in the receipt" receipt
ok "which still verifies" exits 0 helm log check
cp .helm/egress.jsonl kept.jsonl
sed 's/"bytes_in": 5,/"bytes_in": 6,/' kept.jsonl >.helm/egress.jsonl
ok "a row that was changed is found" says 1 "ledger entries of task counted" helm log check --all
cp kept.jsonl .helm/egress.jsonl
ok "and is not missed when it is back" exits 0 helm log check --all

# 10. The process behind the door: without a key, closed in, and gone with its run.
cat >look.py <<'PY'
import os, sys, time
helm = int(sys.argv[1])
def below(pid):
    return [int(p) for p in open("/proc/%d/task/%d/children" % (pid, pid)).read().split()]
for _ in range(500):
    doors = [p for p in below(helm) if b"egress\0serve" in open("/proc/%d/cmdline" % p, "rb").read()]
    status = open("/proc/%d/status" % doors[0]).read() if doors else ""
    if "Seccomp:\t2" in status:
        break
    time.sleep(0.02)
print("door", doors[0])
print("\n".join(l for l in status.splitlines() if l.startswith(("Seccomp:", "NoNewPrivs:"))))
PY
cat >wait.py <<'PY'
import os, time
open("started", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
PY
start_run() { # in the background: its pid is that of helm itself
  rm -f started go
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" profile run netted --task-id "$1" -- python3 wait.py >/dev/null 2>&1 &
  run=$!
  waited=0
  while [ ! -e started ] && [ $waited -lt 1000 ]; do
    sleep 0.02
    waited=$((waited + 1))
  done
  python3 look.py $run >looked
  door=$(sed -n 's/^door //p' looked)
}
start_run looked-at
ok "it is closed in" sh -c 'grep -q "Seccomp:.2" looked && grep -q "NoNewPrivs:.1" looked'
touch go
wait $run
ok "and gone with its run" eval '! is_alive "$door"'
start_run killed
kill -9 $run
wait $run 2>/dev/null
gone() {
  waited=0
  while is_alive "$door" && [ $waited -lt 250 ]; do
    sleep 0.02
    waited=$((waited + 1))
  done
  ! is_alive "$door"
}
ok "also when helm is killed" gone
start_run orphaned
kill -9 "$door"
touch go
wait $run
ok "a door that is killed ends no run" test $? -eq 0

# 11. git, as it is.
if command -v git >/dev/null && git --exec-path >/dev/null 2>&1 && [ -e "$(git --exec-path)/git-http-backend" ]; then
  mkdir "$scratch/served"
  (cd "$scratch/served" && git init -q --bare x.git && git init -q work && cd work && echo text >file && git add file &&
    git -c user.name=a -c user.email=a@example.org commit -qm one && git push -q ../x.git HEAD:refs/heads/main && git -C ../x.git symbolic-ref HEAD refs/heads/main &&
    git -C ../x.git update-server-info) >/dev/null 2>&1
  python3 -c '
import functools, http.server, os, sys
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), h)
import threading, time
threading.Thread(target=s.serve_forever, daemon=True).start()
open(sys.argv[1] + "/ready", "w").close()
while os.path.exists("/proc/" + sys.argv[3]):
    time.sleep(0.2)' "$scratch/served" "$spare" $$ >/dev/null 2>&1 &
  waited=0
  while [ ! -e "$scratch/served/ready" ] && [ $waited -lt 500 ]; do
    sleep 0.02
    waited=$((waited + 1))
  done
  clone() { helm profile run netted --approve-risk -- sh -c "no_proxy= NO_PROXY= git clone -q http://127.0.0.1:$spare/x.git cloned" && grep -q text cloned/file; }
  ok "git clones through the door" clone
fi

# 12. Judging without running.
ok "check says yes, and why" says 0 "yes: rule pypi.org of @pypi" helm egress check pypi.org --profile netted
ok "and no, and what to do" says 1 "helm allow host example.com" helm egress check example.com --profile netted
ok "list has the rules" says 0 "files.pythonhosted.org" helm egress list --profile netted
ok "and all lists" says 0 "@debian" helm egress list --lists
ok "the guard lets pass what is named" exits 0 helm guard check --profile careful -- curl https://pypi.org/simple/
ok "and not what is not" exits 25 helm guard check --profile careful -- curl https://example.com/
ok "nobody serves it by hand" says 1 "nobody starts this by hand" helm egress serve
sed 's/"@pypi"/"*.com"/' references/execution_profiles.json >bad.json && cp references/execution_profiles.json good.json && cp bad.json references/execution_profiles.json
ok "a rule that names everybody is an error that says so" says 1 "behind '*.' stands a name with a dot" trust "$PWD"
cp good.json references/execution_profiles.json

# 13. What the work here needs.
mkdir needs && cd needs || exit 1
printf '[remote "origin"]\n\turl = git@git.example.org:a/b.git\n[remote "up"]\n\turl = https://user:pw@code.example.net:8443/x.git\n' >config
mkdir .git && mv config .git/
echo '{"lockfileVersion": 3, "packages": {"node_modules/a": {"resolved": "https://npm.corp.example/a.tgz"}, "node_modules/b": {"resolved": "https://npm.jsr.io/b.tgz"}}}' >package-lock.json
echo 'module x' >go.mod
helm egress suggest >../needs.txt
ok "suggest: the registry" grep -q '^@npm' ../needs.txt
ok "suggest: a registry of somebody's own" grep -q '^npm.corp.example' ../needs.txt
ok "suggest: ssh remotes" grep -q '^git.example.org:22' ../needs.txt
ok "suggest: other ports, without the password" sh -c 'grep -q "^code.example.net:8443" ../needs.txt && ! grep -q pw ../needs.txt'
ok "suggest: go" grep -q '^@go' ../needs.txt
ok "suggest: nothing twice" sh -c 'test -z "$(awk "{ print \$1 }" ../needs.txt | sort | uniq -d)"'
finish
