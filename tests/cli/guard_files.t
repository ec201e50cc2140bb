#!/bin/sh
# What a command starts and where its paths lead: scripts and build files are read, links are followed as the kernel does, and the
# profile says what happens with what stays unread.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init --path "$scratch/ws" >/dev/null
ws=$scratch/ws
cd "$ws" || exit 1
passes() { exits 0 helm guard check --shell "$1"; }
denied() { exits 25 helm guard check --shell "$1"; }
# Asked about; or, where no yes opens the sandbox of a run for it, denied for that reason alone.
asked() { exits 24 helm guard check --shell "$1" || says 25 "sandbox.closed" helm guard check --shell "$1"; }

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
ok "the value of another option is no such look" denied "make -o -n install"
ok "a script of package.json passes" passes "npm run build"
ok "one that reaches out does not" denied "npm run evil"
ok "nor what runs before it" denied "npm run late"
ok "yarn knows it too" denied "yarn evil"
ok "a python script passes" passes "python3 plain.py"
ok "one that reaches out does not" denied "python3 evil.py"
ok "nor a node script" denied "node evil.js"
ok "whoever starts it" denied "nice python3 evil.py"
mkdir -p pkg/sub && cp evil.py pkg/sub/tool.py && cp evil.py pkg/__main__.py
ok "as a module" denied "python3 -m evil"
ok "of a package" denied "python3 -m pkg.sub.tool"
ok "the package itself" denied "python3 -m pkg"
ok "a plain one" passes "python3 -m plain"
rm -r pkg

# unread: ask
mkdir -p references
sed 's/"unread": "allow"/"unread": "ask"/' "$HELM_SOURCE/share/execution_profiles.json" >references/execution_profiles.json
needs_terminal
trust "$ws" >/dev/null
ok "unread: ask asks about code" says 24 "profile.unread" helm guard check --json --shell "python3 plain.py"
ok "and about builds" asked "make"
ok "a shell script was read" passes "sh plain.sh"
for what in "python3 manage.py migrate" "uvicorn app:app" "invoke x" "mise run x" "expect x.exp" "kotlin x.kts" "./gradlew test" "ctest" "tox" "karma start"; do ok "what is not read is asked about: $what" asked "$what"; done
printf 'project(x)\n' >.eslintrc.cjs
ok "a file that a program takes in is a script" asked "eslint ."
rm .eslintrc.cjs
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

# Files that a program takes in without being told.
taken() { # taken FILE TEXT COMMAND: denied with the file, and passing without it
  mkdir -p "$(dirname "$1")" && printf '%b' "$2" >"$1" && exits 25 helm guard check --shell "$3" && rm "$1" && exits 0 helm guard check --shell "$3"
}
py='import shutil\nshutil.rmtree("/etc")\n'
ok "conftest.py" taken conftest.py "$py" "pytest -q"
ok "beside the tests" taken tests/conftest.py "$py" "python3 -m pytest"
ok "on the way to the test that is named" taken t/deep/conftest.py "$py" "pytest t/deep/test_a.py::test_b"
ok "the test itself" taken t/deep/test_a.py "$py" "pytest t/deep/test_a.py::test_b"
ok "setup.py" taken setup.py "$py" "python3 setup.py build"
ok "noxfile.py" taken noxfile.py "$py" "nox -s tests"
ok "tox.ini" taken tox.ini '[testenv]\ndeps = x\ncommands =\n    pytest\n    cp x /etc/passwd\n' "tox -e py3"
ok "Rakefile" taken Rakefile 'sh "cp x /etc/passwd"\n' "rake test"
ok "gulpfile.js" taken gulpfile.js 'require("fs").writeFileSync("/etc/passwd", "")\n' "gulp build"
ok "build.rs" taken build.rs 'fn main() { std::fs::remove_dir_all("/etc").unwrap(); }\n' "cargo build"
ok "build.gradle" taken build.gradle "task x(type: Exec) { commandLine 'rm', '-rf', '/etc' }\n" "gradle build"
ok "mise.toml" taken mise.toml '[tasks.build]\nrun = "cp x /etc/passwd"\n' "mise run build"
ok "its hooks" taken .mise.toml '[hooks]\nenter = "rm -rf /etc"\n' "mise run x"
ok "CMakeLists.txt" taken CMakeLists.txt 'project(x)\nexecute_process(COMMAND rm -rf /etc WORKING_DIRECTORY x)\n' "cmake -S . -B build"
ok "what it removes" taken CMakeLists.txt 'file(REMOVE_RECURSE "/etc") # all\n' "cmake --build build"
ok "a command behind another argument" taken CMakeLists.txt 'add_custom_target(t ALL DEPENDS a COMMAND cp x /etc/passwd)\n' "cmake -B b && cmake --build b"
ok "pom.xml" taken pom.xml '<plugin><configuration><executable>rm</executable><arguments><argument>-rf</argument><argument>/etc</argument></arguments></configuration></plugin>\n' "mvn -q test"
ok "build.xml" taken build.xml '<target name="x"><exec executable="cp"><arg value="x"/><arg value="/etc/passwd"/></exec></target>\n' "ant x"
ok "what it deletes" taken build.xml '<delete dir="/etc"/>\n' "ant"
ok "tasks.py" taken tasks.py "$py" "invoke build"
ok "composer.json" taken composer.json '{"scripts": {"post-install-cmd": ["cp x /etc/passwd"]}}' "composer dump-autoload"
ok ".pre-commit-config.yaml" taken .pre-commit-config.yaml 'repos:\n- repo: local\n  hooks:\n  - id: x\n    entry: cp x /etc/passwd\n' "pre-commit run -a"
ok "Vagrantfile" taken Vagrantfile 'system("cp x /etc/passwd")\n' "vagrant status"
ok "eslint.config.js" taken eslint.config.js 'require("fs").writeFileSync("/etc/passwd", "")\n' "eslint ."
ok "meson.build" taken meson.build "run_command('cp', 'x', '/etc/passwd')\n" "meson setup b"
ok "tasks of pyproject.toml" taken pyproject.toml '[tool.poe.tasks]\nx = "cp x /etc/passwd"\n' "poe x"
ok "go generate" taken gen.go 'package x\n//go:generate cp x /etc/passwd\n' "go generate ./..."
js='require("fs").writeFileSync("/etc/passwd", "")\n'
ok "Procfile" taken Procfile '# x: y\nweb: node x.js\nworker: cp x /etc/passwd\n' "foreman start"
ok "the one for development" taken Procfile.dev 'web: rm -rf /etc\n' "overmind start"
ok "babel.config.js" taken babel.config.js "$js" "babel src"
ok "astro.config.mjs" taken astro.config.mjs "$js" "astro build"
ok "main.js of storybook" taken .storybook/main.js "$js" "storybook build"
ok "knexfile.js" taken knexfile.js "$js" "knex migrate:list"
ok "project.json of nx" taken project.json '{"targets": {"x": {"options": {"command": "cp x /etc/passwd"}}}}' "nx run x"
ok "tasks of deno.json" taken deno.json '{"tasks": {"dev": "cp x /etc/passwd"}}' "deno task dev"
ok "Tiltfile" taken Tiltfile "$py" "tilt ci"
ok "Guardfile" taken Guardfile 'system("cp x /etc/passwd")\n' "guard"
ok "a shell that .npmrc names" taken .npmrc 'save-exact=true\nscript-shell=cp x /etc/passwd\n' "npm test"
printf '%b' "$py" >setup.py
ok "an installation from here" exits 25 helm guard check --profile service_ops --shell "pip install ."
ok "one from elsewhere does not read it" exits 24 helm guard check --profile service_ops --shell "pip install requests"
rm setup.py
printf '[build-system]\nbuild-backend = "own.back:make"\nbackend-path = ["tools"]\n' >pyproject.toml
mkdir -p tools/own && printf '%b' "$py" >tools/own/back.py
ok "what builds it lies in the project" exits 25 helm guard check --profile service_ops --shell "pip install -e ."
ok "of any front end" denied "python3 -m build"
rm -r tools pyproject.toml
printf '{"scripts": {"build": "tsc", "postinstall": "cp x /etc/passwd"}}' >package.json
ok "npm install runs what the project says" exits 25 helm guard check --profile service_ops --shell "npm ci"
ok "yarn alone installs" exits 25 helm guard check --profile service_ops --shell "yarn"
ok "a script is not an installation" passes "npm run build"
rm package.json
printf 'import pytest\nimport os\nos.remove("build/x")\n' >conftest.py
ok "a project's own work passes" passes "pytest"
rm conftest.py
ok "also when the command itself writes it" denied "printf 'import shutil; shutil.rmtree(\"/etc\")' > conftest.py; pytest"

# What a makefile takes in.
mkdir mk && cd mk || exit 1
printf 'include rules.mk\nall:\n\ttrue\n' >Makefile
printf 'bad: dep\n\techo fine\ndep:\n\tcp x /etc/passwd\n' >rules.mk
ok "a rule of a makefile that is included" denied "make bad"
ok "which comes first" denied "make"
ok "a rule that is fine" passes "make all"
printf 'all:\n\ttrue\n-include rules.mk # late\nsinclude Makefile\n' >Makefile
ok "an included makefile is as good as the other one" denied "make bad"
ok "and makefiles that include each other end" passes "make all"
printf 'all:\n\ttrue\ninclude /tmp/nobody/knows.mk\n' >Makefile
ok "a makefile from where everybody writes" asked "make all"
printf 'all:\n\ttrue\n-include $(wildcard *.d)\ninclude ../common.mk\n' >Makefile
ok "what a build writes for itself passes" passes "make all"
ok "also when the command itself writes the makefile" asked "printf 'include /tmp/x.mk\n' > Makefile; make"
for i in $(seq 70); do printf 'include m%s.mk\n' "$i"; done >Makefile
ok "more makefiles than anybody has" asked "make"
rm Makefile rules.mk

# What a justfile says.
cat >justfile <<'JUST'
set shell := ["bash", "-c"]
target := "x"
alias c := clean
# comment: here
[private]
default:
    echo {{target}}
clean dir="build":
    rm -rf build
@out: (late "a") && last
    true
late arg:
	cp x /etc/passwd
last:
    echo "$HOME" $(date)
env:
    F=/etc/passwd; cp x $F
through: c
JUST
ok "a recipe of a justfile" denied "just late"
ok "one that it needs" denied "just out"
ok "with what the shell knows" denied "just env"
ok "by the file's name" denied "just --justfile ./justfile late x"
for what in just "just clean" "just last" "just through" "just --list" "just c"; do ok "a plain recipe: $what" passes "$what"; done
printf 'a:\n  cp x /etc/passwd\nb:\n  true\n' >Justfile && rm justfile
ok "without a name the first" denied "just"
rm -f Justfile

# Goals beyond those that are followed one by one.
{ printf 'all:'; for i in $(seq 100); do printf ' t%s' "$i"; done; printf '\n\ttrue\n'; for i in $(seq 99); do printf 't%s:\n\ttrue\n' "$i"; done; } >Makefile
printf 't100:\n\ttrue\n' >>Makefile
ok "a hundred plain goals pass" passes "make"
printf 'other:\n\tcp x /etc/passwd\n' >>Makefile
ok "where there are more than are followed every recipe counts" denied "make"
ok "few of them are followed" passes "make t1"
rm Makefile

# What a Taskfile says.
cat >Taskfile.yml <<'TASK'
version: '3'
includes:
  docs: ./docs
vars:
  NOW: {sh: date}
tasks:
  default: {deps: [build], cmds: ['echo {{.NOW}}']}
  build:
    aliases: [b]
    cmds: [cc -o app main.c, {cmd: rm -rf obj}]
    preconditions: [{sh: test -f main.c, msg: no source}]
  late: {deps: [helper]}
  through: {cmds: [{task: helper}]}
  at_end: {cmds: [{defer: cp x /etc/passwd}, true]}
  looks: {status: ['echo x > /etc/passwd'], cmds: [true]}
  helper: |
    echo first
    cp x /etc/passwd
  short: cp x /etc/passwd
  list: [echo fine, cp x /etc/passwd]
  counted: {vars: {N: {sh: echo x > /etc/passwd}}, cmds: [true]}
  any:*: {cmds: [cp x /etc/passwd]}
TASK
mkdir docs && printf 'tasks:\n  build: {cmds: [cp x /etc/passwd]}\n' >docs/Taskfile.yml
for what in late through at_end looks helper short list counted docs:build any:thing "-d docs build" "build late" "-o --dry late" "late -- --dry" "--taskfile ./Taskfile.yml late"; do ok "a command of a Taskfile: $what" denied "task $what"; done
for what in "" build b "build -- x" "NAME=x build" "--list" "--dry late"; do ok "a plain one: task $what" passes "task $what"; done
sed -i 's/{sh: date}/{sh: cp x \/etc\/passwd}/' Taskfile.yml
ok "what is run for a variable of all" denied "task build"
rm -r Taskfile.yml docs
ok "also when the command itself writes it" denied "printf 'tasks: {default: cp x /etc/passwd}' > Taskfile.yml; task"
cd .. && rm -r mk

# Where programs are found.
mkdir -p b /tmp/helm-tools-$$ && printf '#!/bin/sh\nrm -rf /etc\n' >b/ls && printf '#!/bin/sh\necho hi\n' >b/mytool && chmod +x b/*
ok "a file of the tree is run under the name of a program" denied 'PATH=$PWD/b:$PATH ls'
ok "for all that follows" denied 'export PATH=$PWD/b:$PATH; cd b && ls'
ok "by another wrapper" denied 'env PATH=b:/usr/bin ls'
ok "from where the command stands" denied 'cd b; PATH=:$PATH ls'
ok "not where the system's comes first" passes 'PATH=/usr/bin:$PWD/b ls'
ok "not where there is none" passes 'PATH=$PWD/b:$PATH cat x'
ok "a plain tool of the tree" passes 'PATH=$PWD/b:$PATH mytool'
ok "a directory below one where everybody writes" asked 'PATH=/tmp/helm-none-here:$PATH ls'
cp b/mytool "/tmp/helm-tools-$$/helm-my-tool"
ok "a toolchain that was unpacked there" passes "PATH=/tmp/helm-tools-$$:\$PATH helm-my-tool"
cp b/mytool "/tmp/helm-tools-$$/ls"
ok "not with a name that the system has" asked "PATH=/tmp/helm-tools-$$:\$PATH helm-my-tool"
rm -r b "/tmp/helm-tools-$$"

# Settings that are shown with what a hidden file gives them.
ok "compose shows its settings" passes "docker compose config"
printf 'TOKEN=x\n' >.env
ok "and what .env says" asked "docker compose config"
ok "unless it only looks whether they are right" passes "docker compose config -q"
rm .env

# What a repository's settings take in.
git init -q .
git config include.path ../shared.cfg
printf '[core]\n\tfsmonitor = cp x /etc/passwd\n' >shared.cfg
ok "a setting in a file that is included" denied "git status"
printf '[include]\n\tpath = more.cfg\n' >shared.cfg
printf '[alias]\n\tz = !rm -rf /etc\n' >more.cfg
ok "in one that this one includes" denied "git z"
ok "for the verb that it is about" passes "git status"
printf '[include]\n\tpath = shared.cfg\n[user]\n\tname = x\n' >more.cfg
ok "files that include each other end" passes "git status"
for i in 1 2 3 4 5 6 7; do printf '[include]\n\tpath = deep%s.cfg\n' "$((i + 1))" >"deep$i.cfg"; done
printf '[include]\n\tpath = deep1.cfg\n' >more.cfg
printf '[core]\n\tfsmonitor = cp x /etc/passwd\n' >deep8.cfg
ok "as deep as git reads them" denied "git status"
rm deep*.cfg
for i in $(seq 80); do printf '[include]\n\tpath = more.cfg\n'; done >more.cfg
ok "and not more files than anybody has" asked "git status"
rm more.cfg
git config --replace-all include.path /tmp/nobody/knows.cfg
ok "one where everybody writes" asked "git status"
git config --unset-all include.path
git config includeIf.gitdir:/.path ../shared.cfg
printf '[core]\n\tpager = cp x /etc/passwd\n' >shared.cfg
ok "a condition is taken to hold" denied "git log"
git config --unset-all includeIf.gitdir:/.path
ok "without it nothing is started" passes "git log"

# Another workspace is not ours to govern.
mkdir -p "$scratch/other/.helm" "$scratch/other/references"
ok "another workspace's state" denied "echo x > $scratch/other/.helm/workspace.json"
ok "another workspace's policy" denied "cp x $scratch/other/references/execution_profiles.json"
ok "an ordinary directory of that name" passes "touch references.txt"

# A known name says nothing about a program that does not lie where the system keeps its own.
mkdir -p named
for name in ls cat git true jq ours; do
  printf '#!/bin/sh\nrm -rf "$HOME/victim"\n' >"named/$name"
  chmod +x "named/$name"
  ok "a script of the tree is read, also as $name" asked "./named/$name -la"
  ok "also when it is only asked for help" asked "named/$name --help"
done
ok "the system's own is what it is called" passes "/bin/ls -la"

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
