#!/bin/sh
# Of a home a run sees its work tree, toolchains, and what an operator allowed; credentials are in neither, wherever a tool keeps them.  In every profile, with
# mounts and without.
# Not in /tmp: develop has a /tmp of its own, which would hide a home in it.
if mkdir -p "$HELM_BUILD/homes" 2>/dev/null && [ -w "$HELM_BUILD/homes" ]; then TMPDIR=$HELM_BUILD/homes && export TMPDIR; fi
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

# shellcheck disable=SC2154 # by lib.sh
me=$scratch/home
machine=$HELM_BUILD/tests/lesser_machine_test
mkdir -p "$me/project/sub" "$me/other" && cd "$me/project" && git init -q . || exit 1
helm init >/dev/null || exit 1
helm run -- true || skip_all "this machine has no sandbox"

# Where well-known tools keep credentials, and what people type and keep.
cat >"$scratch/places" <<'END'
.ssh/id_rsa
.ssh/id_ed25519
.ssh/config
.gnupg/secring.gpg
.gnupg/private-keys-v1.d/a.key
.password-store/mail.gpg
.local/share/keyrings/login.keyring
.config/op/config
.config/Bitwarden CLI/data.json
.config/Bitwarden/data.json
.config/sops/age/keys.txt
.config/age/key.txt
.config/1Password/settings.json
.config/keepassxc/keepassxc.ini
passwords.kdbx
Documents/vault.kdbx
.electrum/wallets/default_wallet
.bitcoin/wallet.dat
.ethereum/keystore/key
.config/solana/id.json
.monero/wallet
.aws/credentials
.aws/config
.aws/sso/cache/a.json
.azure/accessTokens.json
.azure/msal_token_cache.json
.config/gcloud/credentials.db
.config/gcloud/application_default_credentials.json
.kube/config
.oci/config
.config/doctl/config.yaml
.config/hcloud/cli.toml
.config/linode-cli
.config/scw/config.yaml
.config/exoscale/exoscale.toml
.config/vultr-cli.yaml
.fly/config.yml
.config/rclone/rclone.conf
.s3cfg
.boto
.mc/config.json
.databrickscfg
.vault-token
.terraformrc
.terraform.d/credentials.tfrc.json
.pulumi/credentials.json
.config/stripe/config.toml
.config/stripe-cli/config.toml
.vercel/auth.json
.local/share/com.vercel.cli/auth.json
.config/netlify/config.json
.netlify/config.json
.config/configstore/firebase-tools.json
.config/configstore/update-notifier.json
.supabase/access-token
.config/supabase/access-token
.local/share/heroku/session
.config/heroku/config.json
.railway/config.json
.config/railway/config.json
.render/cli.yaml
.config/cloudflare/credentials
.wrangler/config/default.toml
.config/.wrangler/config/default.toml
.cloudflared/cert.pem
.config/planetscale/access-token
.config/turso/settings.json
.config/neonctl/credentials.json
.config/prisma-cli/credentials.json
.kaggle/kaggle.json
.huggingface/token
.cache/huggingface/token
.cache/huggingface/stored_tokens
.config/wandb/settings
.netrc
_netrc
.git-credentials
.config/git/credentials
.config/gh/hosts.yml
.config/hub
.config/glab-cli/config.yml
.config/tea/config.yml
.npmrc
.yarnrc.yml
.yarnrc
.bunfig.toml
.config/pnpm/rc
.pypirc
.config/pip/pip.conf
.pip/pip.conf
.config/uv/uv.toml
.local/share/uv/credentials/credentials.toml
.config/pypoetry/auth.toml
.config/pypoetry/config.toml
.condarc
.rye/credentials
.cargo/credentials
.cargo/credentials.toml
.gem/credentials
.local/share/gem/credentials
.bundle/config
.m2/settings.xml
.m2/settings-security.xml
.gradle/gradle.properties
.ivy2/.credentials
.sbt/.credentials
.coursier/credentials/main.properties
.nuget/NuGet/NuGet.Config
.config/NuGet/NuGet.Config
.composer/auth.json
.config/composer/auth.json
.hex/hex.config
.pub-cache/credentials.json
.config/dart/pub-credentials.json
.cabal/config
.julia/servers/pkg/auth.toml
.docker/config.json
.config/containers/auth.json
.config/helm/registry/config.json
.pgpass
.my.cnf
.mylogin.cnf
.snowsql/config
.dbt/profiles.yml
.config/mongodb/config
.mongorc.js
.rediscli_auth
.bash_history
.zsh_history
.python_history
.psql_history
.mysql_history
.sqlite_history
.node_repl_history
.rediscli_history
.dbshell
.lesshst
.viminfo
.local/share/fish/fish_history
.env
.envrc
.profile
.bashrc
.zshrc
.bash_profile
.config/environment.d/secrets.conf
.claude/.credentials.json
.claude.json
.claude/settings.json
.codex/auth.json
.gemini/oauth_creds.json
.local/share/opencode/auth.json
.config/github-copilot/hosts.json
.config/github-copilot/apps.json
.config/Cursor/User/globalStorage/state.vscdb
.cursor/mcp.json
.config/goose/config.yaml
.config/goose/secrets.yaml
.aider.conf.yml
.continue/config.json
.config/Code/User/settings.json
.mozilla/firefox/logins.json
.thunderbird/logins.json
.config/google-chrome/Default/Cookies
.config/chromium/Default/Cookies
.config/BraveSoftware/Brave-Browser/Default/Cookies
.config/microsoft-edge/Default/Cookies
snap/firefox/logins.json
.cache/mozilla/cache
.cache/google-chrome/cache
.config/Slack/Cookies
.config/discord/Cookies
.config/Signal/config.json
.config/syncthing/key.pem
.config/nm-openvpn/key
.wg/wg0.conf
.android/adbkey
.jupyter/jupyter_server_config.json
.ipython/profile_default/history.sqlite
.config/filezilla/sitemanager.xml
.smbcredentials
.config/remmina/a.remmina
.msmtprc
.mbsyncrc
.muttrc
.irssi/config
other/secret.txt
notes.txt
END
while IFS= read -r f; do mkdir -p "$me/$(dirname "$f")" && echo "sesame $f" >"$me/$f"; done <"$scratch/places"
number=$(wc -l <"$scratch/places")

# A program that the guard does not read prints the places that it could open, as the shell's ~ and as the account's path.
cat >"$scratch/open.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int n, char **args)
{
	char line[4096], path[8192], text[64];
	FILE *list = fopen(args[1], "r");
	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = 0;
		for (int i = 2; i < n; i++) {
			snprintf(path, sizeof(path), "%s/%s", args[i], line);
			FILE *f = fopen(path, "r");
			if (f && fgets(text, sizeof(text), f) && strncmp(text, "sesame", 6) == 0)
				printf("%s\n", line);
			if (f)
				fclose(f);
		}
	}
	puts("end");
	return 0;
}
END
cc -o "$me/project/open" "$scratch/open.c" 2>/dev/null || skip_all "there is no C compiler"
cp "$scratch/places" "$me/project/places"

in_kind() { # in_kind namespaces|supervised COMMAND...: on a machine that has this kind of sandbox
  kind=$1
  shift
  rm -f "$me/.helm/machine.json"
  if [ "$kind" = supervised ]; then HOME=$me "$machine" --without namespaces "$HELM_REAL" "$@"; else helm "$@"; fi
}
# shellcheck disable=SC2016 # words of the shell inside
readable() { # readable KIND PROFILE: the places that a run can open; the last line is "end"
  in_kind "$1" run --profile "$2" --guard-mode audit -- sh -c './open places "$0" "$HOME"' "$me" 2>"$scratch/said" | sort -u
}
none_readable() {
  readable "$1" "$2" >"$scratch/open"
  [ "$(cat "$scratch/open")" = end ] && return 0
  head -20 "$scratch/open" "$scratch/said"
  return 1
}
only_named() {
  readable "$1" service_ops >"$scratch/open"
  printf '%s\n' .cargo/credentials .cargo/credentials.toml .config/containers/auth.json .config/gh/hosts.yml .config/git/credentials .config/glab-cli/config.yml .docker/config.json \
    .gem/credentials .git-credentials .netrc .npmrc .pypirc .ssh/config .ssh/id_ed25519 .ssh/id_rsa end | sort -u >"$scratch/want"
  cmp "$scratch/want" "$scratch/open"
}
[ "$(sandbox_kind)" = supervised ] && kinds=supervised || kinds="namespaces supervised"
for kind in $kinds; do
  for p in inspect_local workspace_edit develop risky_edit; do
    ok "$kind, $p: none of $number places with credentials can be read" none_readable $kind $p
  done
  ok "$kind, service_ops: only those that the profile names" only_named $kind
done

# ---- what is there ----
mkdir -p "$me/.rustup/toolchains" "$me/.nvm/versions" "$me/.local/bin" "$me/tools/bin" "$me/tools/lib" "$me/.cache/pip" "$me/.npm"
for f in .rustup/toolchains/t .nvm/nvm.sh .local/bin/x tools/bin/y tools/lib/z .cache/pip/w .cargo/bin-x; do echo here >"$me/$f"; done
git config --file "$me/.gitconfig" user.email me@example.org
git config --file "$me/.gitconfig" github.token sesame
sees() { # sees KIND PROFILE PATH
  in_kind "$1" run --profile "$2" --guard-mode audit -- sh -c 'cat "$0"' "$3" >"$scratch/said" 2>&1 && grep -q here "$scratch/said" && return 0
  cat "$scratch/said"
  return 1
}
on_path() (
  PATH="$me/tools/bin:$PATH"
  sees "$1" inspect_local "$me/tools/bin/y" && sees "$1" inspect_local "$me/tools/lib/z"
)
misses() { ! sees "$@" >/dev/null; }
for kind in $kinds; do
  for f in .rustup/toolchains/t .nvm/nvm.sh .local/bin/x .cache/pip/w .cargo/bin-x; do
    ok "$kind: a toolchain is found: ~/$f" sees $kind develop "$me/$f"
  done
  ok "$kind: a directory of PATH is, with the libraries beside it" on_path $kind
  ok "$kind: which is not there otherwise" misses $kind inspect_local "$me/tools/bin/y"
  # shellcheck disable=SC2016 # words of the shell inside
  ok "$kind: git knows who commits, and no token" says 0 "me@example.org none" in_kind $kind run --profile develop --guard-mode audit -- sh -c 'echo "$(git config user.email) $(git config github.token || echo none)"'
  ok "$kind: the home itself cannot be written" exits 1 in_kind $kind run --profile develop --guard-mode audit -- sh -c 'touch ~/new'
  ok "$kind: a cache can, and is as it was" exits 0 in_kind $kind run --profile develop --guard-mode audit -- sh -c 'd=${XDG_CACHE_HOME:-$HOME/.cache}; mkdir -p $d/pip && echo soiled >$d/pip/w'
  ok "$kind: it is" grep -q here "$me/.cache/pip/w"
  ok "$kind: a failed read says what to type" says 1 "helm allow path --read $me/notes.txt" in_kind $kind run --profile workspace_edit -- cat "$me/notes.txt"
  ok "$kind: also where the program says so in its own words" says 1 "helm allow path --read $me/notes.txt" in_kind $kind run --profile workspace_edit -- python3 -c "open('$me/notes.txt')"
  ok "$kind: one of a tree that is not there does not" sh -c '! printf %s "$0" | grep -q "helm allow"' "$(in_kind $kind run --profile workspace_edit -- cat "$me/nothing-of-this-name" 2>&1)"
done
rm -f "$me/.helm/machine.json"

mkdir -p "$me/opt/made/bin" && printf '#!/bin/sh\necho here\n' >"$me/opt/made/bin/made-x" && chmod +x "$me/opt/made/bin/made-x" && ln -s "$me/opt/made/bin/made-x" "$me/.local/bin/made-x"
linked_program() (
  PATH="$me/.local/bin:$PATH"
  says 0 here helm run --profile workspace_edit --guard-mode audit -- made-x
)
ok "a program in PATH that is a link to where it was installed runs" linked_program
printf '[includeIf "gitdir:~/project/"]\n\tpath = ~/.gitconfig-work\n' >>"$me/.gitconfig"
git config --file "$me/.gitconfig-work" user.email work@example.org
ok "settings of git that are for this tree count" says 0 work@example.org helm run --profile workspace_edit --guard-mode audit -- git config user.email
rm -rf "$me/.cache"
ok_mounts "a home without caches has one in the run" exits 0 helm run --profile develop --guard-mode audit -- sh -c 'mkdir -p ~/.cache/x && echo y >~/.cache/x/y'
ok "and none afterwards" test ! -e "$me/.cache"

# ---- what an operator allows ----
ok "an agent allows nothing" exits 25 governed allow path --read "$me/other"
ok "an operator lets a place be read" says 0 "allowed=$me/other" terminal -- helm allow path --read "$me/other"
ok "it is listed" says 0 "read  $me/other" helm allow list
ok "and shown by the profile" says 0 "$me/other" helm profile show develop
ok "it is read" says 0 "sesame other" helm run --profile workspace_edit -- cat "$me/other/secret.txt"
ok "and not written" exits 1 helm run --profile workspace_edit --guard-mode audit -- touch "$me/other/new"
ok "credentials cannot be allowed" exits 1 terminal -- helm allow path --read "$me/.ssh"
ok "nor the home" exits 1 terminal -- helm allow path --read "$me"
ok "taking it back" says 0 "forbidden=$me/other" helm allow remove "$me/other"
ok "closes it" exits 1 helm run --profile workspace_edit -- cat "$me/other/secret.txt"

# ---- Helm's own state ----
mkdir "$scratch/ws" && helm init --path "$scratch/ws" >/dev/null
in_record() (cd "$scratch/ws" && helm "$@")
ok_mounts "the record is not shown inside" says 25 "is not shown inside the sandbox" in_record run -- "$HELM_REAL" status
# shellcheck disable=SC2016 # words of the shell inside
ok_mounts "nor its files" says 0 "seen 0" in_record run --guard-mode audit -- sh -c 'echo seen $(cat .helm/* 2>/dev/null | wc -c)'
mkdir "$scratch/ws/inner" && helm init --path "$scratch/ws/inner" >/dev/null
# shellcheck disable=SC2016 # words of the shell inside
ok_mounts "nor those of a workspace in the tree" says 0 "seen 0" in_record run --guard-mode audit -- sh -c 'echo seen $(cat inner/.helm/* 2>/dev/null | wc -c)'
finish
