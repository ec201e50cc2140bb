#!/bin/sh
# cmake --install puts program, man pages, completions and share files in place.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ok "install works" env DESTDIR="$scratch/root" cmake --install "$HELM_BUILD" --prefix /usr
root=$scratch/root/usr
ok "the program is there and runs" "$root/bin/helm" --version
ok "helm(1) is there" test -s "$root/share/man/man1/helm.1"
ok "each family has a page" sh -c 'for f in $("$1/bin/helm" help --families); do test -s "$1/share/man/man1/helm-$f.1" || exit 1; done' - "$root"
ok "bash completion is there" test -s "$root/share/bash-completion/completions/helm"
ok "zsh completion is there" test -s "$root/share/zsh/site-functions/_helm"
ok "fish completion is there" test -s "$root/share/fish/vendor_completions.d/helm.fish"
ok "profiles are there" test -s "$root/share/helm/execution_profiles.json"
if [ -x "$HELM_BUILD/helm-serve" ]; then
  ok "the program that has the network is there, and found" sh -c '"$1/bin/helm" serve routes | grep -q /api/v1/evaluate' - "$root"
fi
finish
