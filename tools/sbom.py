#!/usr/bin/env python3
"""sbom.py --version V --helm PROGRAM DEB...: what is inside the packages, as SPDX 2.3 in JSON, on standard output.

The libraries that are linked into `helm` are those that the program itself names (`helm version --json`), with the Debian package and
source version they came from.  Times are SOURCE_DATE_EPOCH, so that the same packages give the same bytes."""
import argparse
import datetime
import hashlib
import json
import os
import subprocess

# What the build links in, by the names of pkg-config: the Debian package, and the licence of the code that is used.
LIBRARIES = {
    "libsodium": ("libsodium-dev", "ISC"),
    "sqlite3": ("libsqlite3-dev", "blessing"),
    "libpcre2-8": ("libpcre2-dev", "BSD-3-Clause"),
    "yaml-0.1": ("libyaml-dev", "MIT"),
    "libzstd": ("libzstd-dev", "BSD-3-Clause"),
    "libutf8proc": ("libutf8proc-dev", "MIT"),
    "libcrypto": ("libssl-dev", "Apache-2.0"),
    "zlib": ("zlib1g-dev", "Zlib"),
    "glibc": ("libc6-dev", "LGPL-2.1-or-later"),
}


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def library(name, version):
    package, licence = LIBRARIES[name]  # one that is not listed here is an error on purpose
    source, source_version = said("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
    return {
        "SPDXID": "SPDXRef-library-" + name.replace("_", "-"),
        "name": name,
        "versionInfo": version or source_version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{source}@{source_version}?arch=source",
        }],
    }


def package(path, version):
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    name = os.path.basename(path)
    return {
        "SPDXID": "SPDXRef-package-" + name.split("_")[0],
        "name": name.split("_")[0],
        "versionInfo": version,
        "packageFileName": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "The Helm authors",
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--version", required=True)
    p.add_argument("--helm", required=True)
    p.add_argument("debs", nargs="+")
    a = p.parse_args()
    inside = dict(json.loads(said(a.helm, "version", "--json"))["libraries"], glibc=None)
    packages = [package(d, a.version) for d in sorted(a.debs)]
    libraries = [library(n, v) for n, v in sorted(inside.items())]
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    doc = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"helm-{a.version}",
        "documentNamespace": f"urn:helm:release:{a.version}:{packages[0]['checksums'][0]['checksumValue']}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: helm-sbom-{a.version}"]},
        "packages": packages + libraries,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": one["SPDXID"]} for one in packages
        ] + [
            {"spdxElementId": one["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": "SPDXRef-package-helm-boundary"}
            for one in libraries
        ],
    }
    print(json.dumps(doc, indent=1, sort_keys=True))


main()
