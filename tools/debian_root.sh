#!/bin/sh
# debian_root.sh WORK ROOT [PACKAGE...]: a minimal Debian in ROOT, with these packages; WORK is for files of ours.
# Packages come from where this machine's apt gets them, through its proxies.  HELM_FRESH_SUITE names another Debian than 12.
set -eu
work=$1 root=$2
shift 2
suite=${HELM_FRESH_SUITE:-bookworm}

# sources SUITE: Debian's own archives as this machine knows them, under another suite's name where it is another Debian.
# Only what apt has fetched before says whose archive it is.
sources() {
  list() { apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Identifier: Packages' 'Origin: Debian'; }
  [ -n "$(list)" ] || apt-get update -q >/dev/null
  here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  list | sort -u | awk -v here="$here" -v suite="$1" '{ if (here != "" && index($3, here) == 1) $3 = suite substr($3, length(here) + 1); print }'
}
sources "$suite" >"$work/sources.list"
[ -s "$work/sources.list" ] || { echo "debian_root.sh: this machine's apt knows no archive of Debian" >&2; exit 1; }
apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv4|ForceIPv6|Check-Valid-Until)[: ]' >"$work/apt.conf" || true

include=""
for package in "$@"; do
  include="${include:+$include,}$package"
done
# What nobody reads in there is not unpacked, and nothing is flushed to a disk that is thrown away.
mmdebstrap --quiet --variant=minbase --mode=root --format=directory --aptopt="$work/apt.conf" ${include:+--include="$include"} \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='force-unsafe-io' "$suite" "$root" "$work/sources.list"
