#!/bin/sh
# One effect, one answer: another spelling of a command is never judged more mildly than the plain one where no sandbox stands (INV-3130).  Clients
# of databases and queues reach their host (INV-3131); programs that nobody knows are asked about without a sandbox (INV-3132); a client's
# own fetch of the loopback is a call outside the sandbox (INV-3133).
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed"
command -v git >/dev/null 2>&1 || skip_all "git is needed"
me=$scratch/home
mkdir -p "$me/.ssh" "$me/.aws" tree/sub tree/zap tree/.cargo tree/src/bin
touch "$me/.ssh/id_rsa" "$me/.aws/credentials" "$me/.bashrc"
cd tree || exit 1
git init -q .
touch .env list payload x.js
printf '#!/bin/sh\nrm -rf ~\n' >bad.sh
chmod +x bad.sh
cp bad.sh sub/bad.sh
cat >package.json <<'X'
{"name": "x", "scripts": {"test": "rm -rf ~", "bad": "rm -rf ~", "start": "rm -rf ~", "stop": "rm -rf ~", "restart": "rm -rf ~", "go": "npm run bad",
  "prepre": "rm -rf ~", "pre": "true", "version": "rm -rf ~", "prepack": "rm -rf ~", "posted": "true", "postposted": "rm -rf ~"}}
X
printf 'bad:\n\trm -rf ~\n' | tee Makefile sub/Makefile >justfile
printf 'version: "3"\ntasks:\n  bad:\n    cmds:\n      - rm -rf ~\n' >Taskfile.yml
printf '[alias]\nzap = "run --bin zap"\nwipe = ["run", "--bin", "zap"]\n' >.cargo/config.toml
printf '[package]\nname = "x"\nversion = "0.1.0"\n' >Cargo.toml
printf 'fn main() { std::fs::remove_dir_all("/etc").unwrap(); }\n' >src/bin/zap.rs
printf 'module x\n' >go.mod
printf 'package main\n\nimport "os"\n\n//go:generate rm -rf ~\nfunc main() { os.RemoveAll("/etc") }\n' >zap/main.go
printf '{"tasks": {"bad": "rm -rf ~", "test": "rm -rf ~"}}' >deno.json
printf '{"scripts": {"bad": "rm -rf ~"}}' >composer.json
printf 'require("child_process").execSync("rm -rf ~")\n' | tee bad.js >jest.config.js
printf 'import { execSync } from "child_process"\nexecSync("rm -rf ~")\n' | tee bad.ts >vitest.config.ts
printf 'import os\nos.system("rm -rf ~")\n' | tee bad.py >conftest.py
printf 'system("rm -rf ~")\n' >bad.rb
printf 'system("rm -rf ~");\n' >bad.pl
printf '<?php system("rm -rf ~");\n' >bad.php
printf 'os.execute("rm -rf ~")\n' >bad.lua
printf 'BEGIN{system("rm -rf ~")}\n' >bad.awk
printf 'execute_process(COMMAND sh -c "rm -rf ~")\n' >bad.cmake
printf 'task :bad do\n  sh "rm -rf ~"\nend\n' >Rakefile
printf 'from invoke import task\n@task\ndef bad(c):\n    c.run("rm -rf ~")\n' >tasks.py
printf 'import nox, os\n@nox.session\ndef bad(s):\n    os.system("rm -rf ~")\n' >noxfile.py
printf '[testenv:bad]\ncommands = rm -rf {env:HOME}\n  sh -c "rm -rf ~"\nallowlist_externals = rm\n' >tox.ini
printf '[tool.hatch.envs.default.scripts]\nbad = "rm -rf ~"\n[tool.pdm.scripts]\nbad = "rm -rf ~"\n[tool.poe.tasks]\nbad = {shell = "rm -rf ~"}\n' >pyproject.toml
git add -A
printf '#!/bin/sh\nHOME=%s exec %s "$@"\n' "$me" "$HELM_REAL" >"$scratch/helm"
chmod +x "$scratch/helm"
ok "another spelling is judged no more mildly than the plain one" python3 "$HELM_SOURCE/tests/tools/guard_pairs.py" "$scratch/helm"

# ---- programs that nobody knows ----
check() { want=$1 && shift && "$scratch/helm" guard check --containment "$@" >/dev/null 2>&1; [ $? = "$want" ]; }
for profile in workspace_edit develop service_ops; do
  ok "$profile: without a sandbox a program that nobody knows is asked about" check 24 none --profile $profile -- frobnicate x
  ok "$profile: one that is known is not" check 0 none --profile $profile -- shellcheck bad.sh
done
ok "nor is one that was built here" check 0 none --shell 'touch app && ./app x'
ok "in a text of code or a script it is the same question" check 24 none --shell 'sh -c "frobnicate x"'
printf 'frobnicate x\n' >unknown.sh
ok "and in a script that was read" check 24 none --shell 'sh unknown.sh'

# ---- a client's own fetch ----
helm init >/dev/null 2>&1
fetch() { # fetch URL: how the hook answers Claude Code's own tool
  printf '{"tool_name":"WebFetch","tool_input":{"url":"%s","prompt":"x"},"session_id":"s","cwd":"%s"}' "$1" "$PWD" | helm hook pre-tool --client claude-code
}
stopped() { fetch "$1" | grep -q '"permissionDecision":"\(deny\|ask\)"' || { echo "passed: $1"; return 1; }; }
for url in http://127.0.0.1:2375/ http://localhost:8080/ 'http://[::1]/' http://127.1/ http://2130706433/ http://0x7f.1/ http://0.0.0.0/ http://169.254.169.254/latest/meta-data/ \
  http://169.254.10.10/ 'http://[fe80::1]/' http://metadata.google.internal/; do
  ok "a fetch of $url is stopped" stopped "$url"
done
ok "the loopback is not, for a command" check 0 none --profile workspace_edit -- curl http://127.0.0.1:8080/
finish
