#!/bin/sh
# Guides whose lines need a machine of their own: for each line that they show a test is named here that runs it, or does the same in a root of its own.  A line
# without one is an error.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace

# LINE OF THE GUIDE (its beginning) | FILE | words of that file which run it
cat >"$scratch/table" <<'TABLE'
install.md|cmake --preset release && cmake --build|check|cmake --preset
install.md|cmake --install build/release --prefix|tests/cli/install.t|cmake --install
install.md|sh tools/package.sh --name warden|tests/cli/other_name.t|HELM_NAME=warden
install.md|sh tools/package.sh|cmake/testing.cmake|sh tools/package.sh --out
install.md|sudo apt install ./build/packages/helm-boundary_|tools/package_try.sh|dpkg -i /packages/helm-boundary_
install.md|sudo apt install ./build/packages/helm-boundary-serve_|tools/package_try.sh|dpkg -i /packages/helm-boundary-serve_
install.md|sha256sum -c SHA256SUMS|tools/package.sh|sha256sum -c SHA256SUMS
install.md|helm verify --key "$(cat release.pub)"|tools/package.sh|verify --key "$(cat "$work/release.pub")"
install.md|ssh-keygen -Y verify -f allowed_signers -I release -n helm-release -s SHA256SUMS.sig|tools/package.sh|ssh-keygen -Y verify -f allowed_signers -I release -n helm-release -s SHA256SUMS.sig
install.md|python3 tools/site.py --helm build/release/helm --out|tests/cli/site.t|tools/site.py
install.md|HELM_NAME=warden cmake --install|tests/cli/other_name.t|HELM_NAME=warden DESTDIR
install.md|sudo cp policy.yaml /etc/helm/policy.yaml|tools/package_try.sh|cat >/etc/helm/policy.yaml
install.md|sudo systemctl enable --now helm-serve|tools/package_try.sh|systemctl start helm-serve.service
install.md|sudo -u helm-log helm signer log-key acme|tools/package_try.sh|as helm-log helm signer log-key acme
install.md|echo 'HELM_FLEET_DATABASE=dbname=helm'|tools/package_try.sh|echo 'HELM_FLEET_DATABASE=dbname=helm' >/etc/helm/fleet.env
install.md|sudo systemctl enable --now helm-log helm-fleet|tools/package_try.sh|systemctl start helm-fleet.service
install.md|sudo -u helm-serve env HELM_HOME=|tests/cli/serve_guide.t|serve
fleet-witness.md|useradd --system --create-home helm-log|tests/fleet/lib.sh|signer log
fleet-witness.md|install -d -o helm-log|tests/fleet/lib.sh|--socket
fleet-witness.md|sudo -u helm-log helm signer log-key|tests/fleet/lib.sh|signer log-key
fleet-witness.md|sudo -u helm-log helm signer log --socket|tests/fleet/lib.sh|signer log --socket
fleet-witness.md|helm witness key|tests/fleet/tenants.t|witness key
fleet-witness.md|helm witness serve --log|tests/fleet/tenants.t|witness serve --log
fleet-witness.md|log ledger.example/team|tests/fleet/tenants.t|log %s
fleet-witness.md|witness |tests/fleet/tenants.t|witness w %s
fleet-witness.md|group two|tests/cli/witness.t|group
fleet-witness.md|quorum two|tests/fleet/tenants.t|quorum w
fleet-witness.md|helm verify fleet.tar --policy|tests/cli/fleet_pack.t|verify "$pack" --policy
fleet-witness.md|helm verify fleet.tar --log-key|tests/fleet/front_console.t|--log-key
how-commands-are-understood.md|helm guard explain --shell|tests/cli/docs_typed.t|guard explain --shell
TABLE
for guide in install.md fleet-witness.md how-commands-are-understood.md; do
  sed -n 's/^    //p' "$HELM_SOURCE/docs/guides/$guide" | grep -v '^ ' >"$scratch/lines"
  while IFS= read -r line <&3; do
    found=
    while IFS='|' read -r g begin file words <&4; do
      [ "$g" = "$guide" ] || continue
      case $line in "$begin"*) found=$file grep -qF -e "$words" "$HELM_SOURCE/$file" && found="$found yes" && break ;; esac
    done 4<"$scratch/table"
    ok "$guide: $(printf '%.60s' "$line")" sh -c 'case $1 in *yes) ;; "") echo "no test runs it"; exit 1 ;; *) echo "$1 does not run it"; exit 1 ;; esac' - "$found"
  done 3<"$scratch/lines"
done
# The one that needs nothing is typed.
# shellcheck disable=SC2016 # as the guide shows it
ok "a command is explained, as it is shown" sh -c '"$1" guard explain --shell "D=/; rm -rf \"\$D\"" | grep -q rm_root' - "$HELM_REAL"
finish
