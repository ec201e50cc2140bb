#!/bin/sh
# The units of the packages: well formed, as closed as they promise, and started by commands that there are.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
units=$HELM_SOURCE/packaging/systemd

for unit in "$units"/*.service "$units"/user/*.service; do
  name=${unit#"$units"/}
  # Every command of ours in it exists, with those options.
  sed -nE 's,^Exec(Start|StartPre|Reload)=/usr/bin/helm ,,p' "$unit" | while read -r line; do
    # shellcheck disable=SC2086 # words on purpose
    set -- $line
    helm "$1" ${2:+"$2"} --help >/dev/null 2>&1 || helm "$1" --help >/dev/null 2>&1 || echo "$1"
    for word in $line; do
      case $word in --*) helm help --json | grep -q "\"${word#--}\"" || echo "$word" ;; esac
    done
  done >"$scratch/unknown"
  ok "$name: its commands and options are there" test ! -s "$scratch/unknown"
  ok "$name: nothing of it is started before it is configured" grep -qE '^(ConditionPathExists=(/etc/helm/|%h/.helm/)|ConditionDirectoryNotEmpty=/var/lib/|ExecCondition=.*joined.json)' "$unit"
  case $name in user/*) ;; *) ok "$name: no capabilities" grep -qx 'CapabilityBoundingSet=' "$unit" ;; esac
done
if command -v systemd-analyze >/dev/null 2>&1; then
  bar() { systemd-analyze security --offline=yes --threshold="$2" "$units/$1" >"$scratch/bar" 2>&1 || { tail -n 1 "$scratch/bar"; return 1; }; }
  ok "helm-signer is exposed to 0.5 of 10 at most" bar helm-signer.service 5
  ok "helm-serve, which is on the network, to 1.3" bar helm-serve.service 13
  ok "helm-fleet, which is, too, to 1.3" bar helm-fleet.service 13
  ok "helm-log, which has the keys of a log, to 0.5" bar helm-log.service 5
  cp "$units/helm-ship@.service" "$scratch/helm-ship@anna.service"
  ok "helm-ship, which writes in a user's homes, to 2" systemd-analyze security --offline=yes --threshold=20 "$scratch/helm-ship@anna.service"
  cp "$units/user/helm-ship.service" "$scratch/helm-ship.service"
  ok "and as a unit of a user, where less can be closed, to 6.4" env XDG_RUNTIME_DIR="$scratch" systemd-analyze security --user --offline=yes --threshold=64 "$scratch/helm-ship.service"
  sed 's/^ProtectSystem=strict/ProtectSystem=no/; s/^NoNewPrivileges=yes//; s/^RestrictAddressFamilies=.*//' "$units/helm-signer.service" >"$scratch/open.service"
  ok "an opened one does not pass" sh -c '! systemd-analyze security --offline=yes --threshold=5 "$1" >/dev/null 2>&1' - "$scratch/open.service"
else
  skip "how exposed the units are" "systemd-analyze is not installed"
fi
finish
