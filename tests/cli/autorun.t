#!/bin/sh
# After any program whatsoever the set of auto-run files outside is what it was before: whatever modes it chooses, whatever it leaves running, and
# also when helm is killed in the middle of it: then the next run finishes the clean-up.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

needs_terminal
needs git "auto-run files" || exit 0
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed"
# As a plain user: modes say nothing to root.  Where that is not possible (a plain user runs this), as whoever we are.
mkdir "$scratch/bin"
cp "$HELM_REAL" "$scratch/bin/helm"
plain() { env -i HOME="$scratch/plain" PATH="$scratch/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS-}" "$@"; }
mkdir -p "$scratch/plain" "$scratch/tree"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
  chmod 755 "$scratch" "$scratch/bin"
  chmod 700 "$scratch/plain"
  chown -R 65534:65534 "$scratch/plain" "$scratch/tree" "$scratch/bin"
  plain() { setpriv --reuid 65534 --regid 65534 --clear-groups env -i HOME="$scratch/plain" PATH="$scratch/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS-}" "$@"; }
fi
cd "$scratch/tree" || exit 1
plain git init -q . || skip_all "git cannot make a repository as a plain user here"
plain helm init --path . >/dev/null 2>&1 || skip_all "a plain user cannot make a workspace here"
said=$scratch/.said
run() { plain helm profile run workspace_edit --guard-mode audit -- sh -c "$1" >"$said" 2>&1; }
told() { for one in "$@"; do grep -qF -e "$one" "$said" || { cat "$said"; return 1; }; done; }
journals() { find "$scratch/plain/.helm/journal" -name '*.json' 2>/dev/null | wc -l; }

# ---- one chmod blinds nobody ----
closed_root() {
  run "mkdir .claude; echo '{}' >.claude/settings.json; echo x >.envrc; chmod 0311 ."
  [ ! -e .envrc ] && [ ! -e .claude/settings.json ] && [ -e .envrc.held-by-helm ] && told '.envrc (held' '. (put back)' &&
    [ "$(stat -c %a .)" = 755 ] && rm -rf .claude .envrc.held-by-helm
}
ok "a root that cannot be listed" closed_root
closed_git() {
  run "git config core.fsmonitor CMD; chmod 0555 .git"
  ! grep -q fsmonitor .git/config && [ "$(stat -c %a .git)" = 755 ] && told '.git (put back)'
}
ok "a repository that cannot be written" closed_git
linked_settings() {
  run "mkdir -p z real; echo '{}' >real/settings.json; ln -s ../real z/.claude"
  [ ! -e z/.claude ] && told 'z/.claude (held' && rm -rf z real
}
ok "a link in the place of a client's directory, below the root" linked_settings
too_deep() {
  run 'i=0; while [ $i -lt 300 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done; echo x >.envrc'
  code=$?
  told 'STILL ACTIVE' && rm -rf d && plain helm task recover >/dev/null && [ "$code" = 31 ]
}
ok "a directory too deep to be looked at counts as active" too_deep
closed_deep() {
  run "mkdir -p a/b; echo x >a/b/.envrc; chmod 0 a/b a; mkdir .vscode; echo '{}' >.vscode/tasks.json; chmod 0 .vscode; mkdir z; echo x >z/.envrc"
  [ ! -e a/b/.envrc ] && [ ! -e .vscode/tasks.json ] && [ ! -e z/.envrc ] && [ -e a/b/.envrc.held-by-helm ] && told 'a (opened)' && rm -rf a .vscode z
}
ok "directories that nobody can enter, and what lies behind them" closed_deep
own_closed() {
  plain sh -c 'mkdir -p own/deep; echo mine >own/deep/.envrc; chmod 0 own'
  sleep 0.1
  run "true"
  [ "$(stat -c %a own)" = 0 ] || { stat own; return 1; }
  chmod 700 own && [ -e own/deep/.envrc ] && rm -rf own
}
ok "one that an operator has closed stays closed, with what is in it" own_closed

# ---- what cannot be taken away ----
if [ "$(id -u)" = 0 ] && [ "$(stat -c %u .)" = 65534 ]; then
  still_active() {
    mkdir -m 0733 box # of another user, open for writing, closed to looking
    run "echo x >box/.envrc"
    code=$?
    [ $code -eq 31 ] && told 'STILL ACTIVE' 'box' 'helm task recover' || { echo "exit $code"; cat "$said"; return 1; }
    tail -n 1 .helm/receipts.jsonl | grep -q '"what":"left"' || return 1
    plain helm run -- true >"$said" 2>&1
    code=$?
    [ $code -eq 25 ] && told 'STILL ACTIVE' 'box' && [ "$(journals)" -eq 1 ] || { echo "then $code"; cat "$said"; return 1; }
    plain helm task doctor >"$said" 2>&1 && return 1
    told unfinished_cleanup 'helm task recover' || return 1
    plain helm status >"$said" 2>&1
    told 'could not be looked at' || return 1
    plain helm doctor --skip-discovery >"$said" 2>&1
    told 'could not be looked at' || return 1
    exits 25 plain helm task recover || return 1
    rm -rf box
    plain helm task recover >"$said" 2>&1 && told 'finished the clean-up' && [ "$(journals)" -eq 0 ] && plain helm run -- true
  }
  ok "exit code, receipt and every view say what cannot be looked at, and nothing runs until it is gone" still_active
else
  skip "what cannot be looked at" "it takes a directory of another user"
fi
damaged() {
  plain sh -c 'echo "{\"journal\": 7}" >"$HOME/.helm/journal/x.json"'
  plain helm run -- touch ran >"$said" 2>&1 && return 1
  told x.json 'remove that file' && [ ! -e ran ] && rm "$scratch/plain/.helm/journal/x.json" &&
    plain sh -c ': >"$HOME/.helm/journal/y.json"' && plain helm run -- true && [ "$(journals)" -eq 0 ]
}
ok "a journal that cannot be understood stops everything and says which file; less than a whole one is of a run that never began" damaged
unwritable() {
  mv "$scratch/plain/.helm/journal" "$scratch/away"
  echo x >"$scratch/plain/.helm/journal"
  plain helm run -- touch ran >"$said" 2>&1
  code=$?
  rm "$scratch/plain/.helm/journal" && mv "$scratch/away" "$scratch/plain/.helm/journal"
  [ $code -ne 0 ] && told journal && [ ! -e ran ]
}
ok "where it cannot be written nothing runs" unwritable

# ---- the property ----
cat >"$scratch/property.py" <<'PY'
import os, random, signal, stat, subprocess, sys, time
rounds, seed = int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
closed, asked = ([n + "x" if n.endswith("/") else n for n in a.split()] for a in sys.argv[1:3])
names = closed + asked
def state():
    found = {}
    for root, dirs, files in os.walk("."):
        if root.startswith("./.helm"):
            dirs[:] = []
            continue
        for f in files + [d for d in dirs if os.path.islink(os.path.join(root, d))]:
            path = os.path.join(root, f)
            if "held-by-helm" in path or not (path[2:] in names or any(path.endswith("/" + n) for n in closed)):
                continue
            st = os.lstat(path)
            found[path] = (stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), os.readlink(path) if stat.S_ISLNK(st.st_mode)
                else open(path, "rb").read() if stat.S_ISREG(st.st_mode) and st.st_mode & 0o400 else None)
    return found
def tidy():
    subprocess.run("find . -path ./.helm -prune -o -type d ! -perm -700 -exec chmod u+rwx {} \\;; find . -name '*.held-by-helm*' -prune -exec chmod -R u+rwx {} + -exec rm -rf {} +; rm -rf d[0-9]* go", shell=True)
ways = {
    "plain": "mkdir -p {dir}; echo evil >{at}",
    "chmod": "mkdir -p {dir}; echo evil >{at}; chmod {mode} {at}; chmod {mode} {dir}",
    "rename": "mkdir -p {tmp}; echo evil >{tmp}/f; mkdir -p {dir}; mv -f {tmp}/f {at}",
    "dirrename": "mkdir -p {tmp}; echo evil >{tmp}/{base}; mv -T {tmp} {dir} || {{ mkdir -p {dir}; mv -f {tmp}/{base} {at}; }}",
    "link": "mkdir -p {dir}; echo evil >{tmp}.t; ln -sf $PWD/{tmp}.t {at}",
    "hardlink": "mkdir -p {dir}; echo evil >{tmp}.t; ln -f {tmp}.t {at}",
    "fifo": "mkdir -p {dir}; rm -f {at}; mkfifo {at}",
    "background": "( sleep 0.02; mkdir -p {dir}; echo evil >{at} ) & sleep 0.1",
    "remove": "rm -rf {at}",
}
bad = ran = 0
for n in range(rounds):
    picked = random.sample(names, 3)
    there = random.random() < 0.5
    lines = []
    for i, name in enumerate(picked):
        where = name if random.random() < 0.6 or name in asked else "d%d/deep/%s" % (n, name)
        kind = random.choice(sorted(ways))
        if there:
            os.makedirs(os.path.dirname("./" + where), exist_ok=True)
            if not os.path.exists(where):
                open(where, "w").write("mine\n")
        lines.append(ways[kind].format(at=where, dir=os.path.dirname(where) or ".", base=os.path.basename(where), tmp="d%dt%d" % (n, i),
            mode=random.choice(["0", "0311", "0555", "0100", "0500"])))
    time.sleep(0.03)
    before = state()
    kills = random.random() < 0.5
    text = "; ".join(lines) + ("; : >go; sleep 30" if kills else "")
    p = subprocess.Popen(["helm", "profile", "run", "workspace_edit", "--guard-mode", "audit", "--", "sh", "-c", text], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if kills:
        if random.random() < 0.7:
            until = time.monotonic() + 3
            while time.monotonic() < until and not os.path.exists("go") and p.poll() is None:
                time.sleep(0.002)
        else:
            time.sleep(random.random() * 0.06)
        p.kill()
        p.wait()
        q = subprocess.run(["helm", "run", "--", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = q.stdout
    else:
        said = p.communicate()[0]
    after = state()
    ran += "go" in os.listdir(".") or not kills and "left behind" in said
    if "AUTORUN" in said or "not run" in said:
        print(said)
        bad += 1
    # A hook that is gone starts nothing; whoever removes a repository removes its configuration.
    gone_is_fine = [k for k in before if k.startswith("./.git/") and k not in after]
    lost = {k for k in before if before[k] != after.get(k) and k not in gone_is_fine}
    # What lies deeper was not noted byte for byte: it is held, and its text with it.
    lost = {k for k in lost if not (k.startswith("./d") and os.path.lexists(k + ".held-by-helm"))}
    new = {k for k in after if k not in before}
    if new or lost:
        bad += 1
        print("round %d kills=%s there=%s\n  %s\n  new %s\n  lost %s\n%s" % (n, kills, there, text, {k: after[k] for k in new}, {k: (before[k], after.get(k)) for k in lost}, said))
        for k in new:
            subprocess.run(["rm", "-rf", k])
    tidy()
    for k in before:
        if k.startswith("./d"):
            subprocess.run(["rm", "-rf", k])
print("%d rounds, %d bad, %d did what they wanted" % (rounds, bad, ran))
sys.exit(bad > 0 or ran < rounds / 3)
PY
chmod a+r "$scratch/property.py"
# The names of the work tree: of every client, and what else starts by itself.  Deeper in the tree only what is closed counts.
of() { sed 's/{ "/\n{ "/g' "$HELM_SOURCE"/src/clients/*.c | sed -n "s/^{ \"\([^\"*]*\)\", $1 }.*/\1/p" | sort -u | tr '\n' ' '; }
closed="$(of CARE_CLOSED) .envrc"
asked="$(of CARE_ASK) .git/hooks/pre-commit .git/hooks/post-checkout"
property() { plain python3 "$scratch/property.py" "$closed" "$asked" "$1" "$2"; }
ok "the names come from the tables of clients" test "$(echo "$closed" | wc -w)" -gt 12
ok "the set of auto-run files is what it was before, after 60 hostile programs, half of them killed with their helm" property 60 "${HELM_TEST_SEED:-3}"
ok "the record is whole" plain helm log check
ok "nothing is owed" plain helm task doctor
finish
