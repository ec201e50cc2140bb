#!/bin/sh
# The guard knows helm by what it is: a link, a second name, a copy or a stripped copy of it is judged as helm, and inside walls it refuses by itself.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace
export PWD
check() { helm guard check --profile develop --containment "$1" --shell "$2"; }

mkdir "$scratch/bin"
ln -s "$HELM_REAL" linked
ln -s linked twice
cp "$HELM_REAL" copied
ln copied second
ln -s "$HELM_REAL" "$scratch/bin/tool"
ln -s "$HELM_REAL" "$scratch/bin/git"
cp /bin/true harmless
names="./linked ./twice ./copied ./second $PWD/copied"
if strip -o stripped "$HELM_REAL" 2>/dev/null; then names="$names ./stripped"; fi
for name in $names; do
  for words in 'approval approve req-1' unfreeze 'profile use service_ops' 'workspace trust --yes' 'setup remove claude-code' '--path . unfreeze'; do
    ok "$name $words is refused" says 25 "deny.guard_tamper" check none "$name $words"
  done
  ok "$name unfreeze is refused before walls, too" exits 25 check walls "$name unfreeze"
  ok "$name status is looking" exits 0 check none "$name status --brief"
done
for text in 'env ./copied unfreeze' 'sh -c "./linked unfreeze"' 'timeout 5 ./linked unfreeze' 'w=unfreeze; ./linked $w' 'exec -a ls ./copied unfreeze' \
  'python3 -c "import os; os.system(\"./copied unfreeze\")"' 'cp copied other && ./other unfreeze' 'cp $(command -v helm) y; ./y unfreeze' \
  'ln -s $(which helm) z; ./z approval approve req-1' 'find . -name copied -exec ./copied unfreeze \;' 'cd /; cd - && ./copied unfreeze' './linked run -- rm -rf /etc' \
  'echo >>linked; ./linked unfreeze' 'echo >>copied; ./copied unfreeze' 'printf x >>second && ./copied unfreeze' ': >>linked; ./twice unfreeze' \
  'echo x | tee -a copied; ./copied unfreeze'; do
  ok "$text" exits 25 check none "$text"
done
ok "a copy that this text has added to is asked about" exits 24 check none 'cp linked other; echo >>other; ./other unfreeze'
HELM_ENV="PATH=$scratch/bin:$PATH"
ok "a name that is found on PATH" says 25 "deny.guard_tamper" check none 'tool unfreeze'
ok "also where it is that of another program" says 25 "deny.guard_tamper" check none 'git approval approve req-1'
mkdir "$scratch/first"
echo >"$scratch/first/tool"
HELM_ENV="PATH=$scratch/first:$scratch/bin:$PATH"
ok "a file that cannot be executed hides none behind it" says 25 "deny.guard_tamper" check none 'tool unfreeze'
HELM_ENV="PATH=.:$PATH"
ok "a PATH that begins here" says 25 "deny.guard_tamper" check none 'linked unfreeze'
unset HELM_ENV
ok "another program is another program" exits 0 check none './harmless unfreeze'
ok "also with something added" exits 0 check none 'echo >>harmless; ./harmless unfreeze'
ok "and git is git" exits 0 check none 'git status'

# Behind walls nothing of it is a person's, whatever it is called and whatever the guard said.
does() { helm run --profile develop --guard-mode audit -- sh -c '"$@" && echo it-was-done' - "$@" 2>&1 | grep -q it-was-done; }
refuses() { ! does "$@"; }
for name in linked copied second; do
  ok "inside, $name runs" does "./$name" --version
  for words in 'approval approve req-1' unfreeze 'profile use service_ops'; do
    # shellcheck disable=SC2086 # words on purpose
    ok "inside, $name $words is refused" refuses "./$name" $words
  done
done
ok "and nothing of it is on record" sh -c '! grep -q "approval/grant\|helm.freeze/lift" "$1"' - "$ws/.helm/receipts.jsonl"
finish
