#!/bin/sh
# What a command starts and where its paths lead: scripts and build files are read, links are followed as the kernel does, and the
# profile says what happens with what stays unread.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init --path "$scratch/ws" >/dev/null
ws=$scratch/ws
cd "$ws" || exit 1
passes() { exits 0 helm guard check --shell "$1"; }
denied() { exits 25 helm guard check --shell "$1"; }
asked() { exits 24 helm guard check --shell "$1"; }

cat >Makefile <<'MK'
all: app
app:
	cc -o app main.c
	rm -rf obj
install: app
	cp app /usr/local/bin/app
late: helper
helper:
	echo x >> /etc/passwd
MK
cat >package.json <<'JSON'
{"scripts": {"build": "rm -rf dist && tsc", "evil": "cp x /etc/passwd", "prelate": "cp x /etc/passwd", "late": "tsc"}}
JSON
printf 'import os, subprocess\nsubprocess.run(cmd)\nos.remove("build/x")\nopen("out.txt", "w")\n' >plain.py
printf 'import shutil\nshutil.rmtree("/etc")\n' >evil.py
printf 'require("fs").writeFileSync("/etc/passwd", "")\n' >evil.js
printf 'echo fine\n' >plain.sh

ok "a makefile's own work passes" passes "make"
ok "also by name" passes "make app"
ok "a recipe that reaches out of the project does not" denied "make install"
ok "nor one that a target needs" denied "make late"
ok "looking at what would be done passes" passes "make -n install"
ok "a script of package.json passes" passes "npm run build"
ok "one that reaches out does not" denied "npm run evil"
ok "nor what runs before it" denied "npm run late"
ok "yarn knows it too" denied "yarn evil"
ok "a python script passes" passes "python3 plain.py"
ok "one that reaches out does not" denied "python3 evil.py"
ok "nor a node script" denied "node evil.js"
ok "whoever starts it" denied "nice python3 evil.py"

# unread: ask
mkdir -p references
sed 's/"unread": "allow"/"unread": "ask"/' "$HELM_SOURCE/share/execution_profiles.json" >references/execution_profiles.json
needs_terminal
trust "$ws" >/dev/null
ok "unread: ask asks about code" says 24 "profile.unread" helm guard check --json --shell "python3 plain.py"
ok "and about builds" asked "make"
ok "a shell script was read" passes "sh plain.sh"
ok "plain commands are not scripts" passes "ls"
ok "to take that back is to permit something" sh -c 'cp "$1/share/execution_profiles.json" references/execution_profiles.json && HOME="$2/home" "$0" workspace trust --json | grep -q "not read pass without a question"' "$HELM_REAL" "$HELM_SOURCE" "$scratch"
trust "$ws" >/dev/null

# Links on disk.
mkdir -p "$scratch/home/.ssh" deep/down
ln -s "$scratch/home/.ssh" keys
ln -s /etc/ssh sshd
ln -s ../../.helm deep/down/state
ok "a secret behind a link is a secret" asked "cat keys/id_rsa"
ok "a whole directory behind a link too" asked "grep -r . keys"
ok "as a tree" asked "cp -r keys copy"
ok ".. goes up from where a link leads" denied "echo x > sshd/../passwd"
ok "also after cd" denied "cd sshd && echo x > ../passwd"
ok "a link to the guard's state is its state" denied "echo x > deep/down/state/workspace.json"
ok "a link made by the command itself" denied "ln -s /etc e; echo x > e/passwd"
ok "in code too" denied "python3 -c \"import os; os.symlink('/etc','e')\"; echo x > e/passwd"
ok ".. without a link is what it says" passes "cat deep/../package.json"

# Another workspace is not ours to govern.
mkdir -p "$scratch/other/.helm" "$scratch/other/references"
ok "another workspace's state" denied "echo x > $scratch/other/.helm/workspace.json"
ok "another workspace's policy" denied "cp x $scratch/other/references/execution_profiles.json"
ok "an ordinary directory of that name" passes "touch references.txt"

# The same file, whichever tool opens it.
call() { # call TOOL INPUT
  printf '{"tool_name":"%s","tool_input":%s,"cwd":"%s","session_id":"s"}' "$1" "$2" "$ws" | helm hook pre-tool --client claude-code --path "$ws" 2>/dev/null
}
stops() { out=$(call "$1" "$2"); printf '%s' "$out" | grep -q '"permissionDecision":"\(deny\|ask\)"' || { echo "$out"; return 1; }; }
goes() { out=$(call "$1" "$2"); [ -z "$out" ] || { echo "$out"; return 1; }; }
ok "Read behind a link" stops Read '{"file_path":"keys/id_rsa"}'
ok "Grep of a tree behind a link" stops Grep '{"pattern":".","path":"keys"}'
ok "Write through a link" stops Write '{"file_path":"sshd/../passwd","content":"x"}'
ok "a server's tool that says it reads" stops mcp__fs__read_file '{"path":"keys/id_rsa"}'
ok "Write of a file" goes Write '{"file_path":"src/a.c","content":"x"}'
finish
