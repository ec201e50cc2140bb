/* secret.c — the list; see secret.h.  Whatever is added here is asked about by the guard and closed to every run whose profile does not
 * name it. */
#include "model/secret.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

/* Below a home. */
static const char *const places[] = {
	/* keys */
	".ssh/",
	".gnupg/",
	".password-store/",
	".local/share/keyrings/",
	".local/share/kwalletd/",
	".config/op/",
	".config/Bitwarden/",
	".config/sops/",
	".config/age/",
	/* clouds and clusters */
	".aws/",
	".azure/",
	".config/gcloud/",
	".kube/",
	".oci/",
	".config/doctl/",
	".config/hcloud/",
	".fly/",
	".config/rclone/",
	".s3cfg",
	".boto",
	".databrickscfg",
	".vault-token",
	".terraformrc",
	".terraform.d/credentials.tfrc.json",
	/* code and packages */
	".netrc",
	"_netrc",
	".git-credentials",
	".config/git/credentials",
	".config/gh/",
	".config/hub",
	".config/glab-cli/",
	".npmrc",
	".pypirc",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".local/share/gem/credentials",
	".m2/settings.xml",
	".m2/settings-security.xml",
	".ivy2/.credentials",
	".sbt/.credentials",
	".coursier/credentials",
	".nuget/NuGet/",
	".dotnet/corefx/",
	".composer/auth.json",
	".bundle/config",
	".local/share/uv/credentials/",
	".rye/credentials",
	".pub-cache/credentials.json",
	".hex/hex.config",
	".cabal/config",
	".julia/servers/",
	".npm/_logs/",
	".deno/auth.json",
	".platformio/appstate.json",
	".arduino15/arduino-cli.yaml",
	".gradle/gradle.properties",
	".docker/config.json",
	".config/containers/auth.json",
	".huggingface/token",
	".cache/huggingface/token",
	".cache/huggingface/stored_tokens",
	/* databases */
	".pgpass",
	".my.cnf",
	".snowsql/config",
	/* what was typed, with passwords among it */
	".bash_history",
	".zsh_history",
	".python_history",
	".psql_history",
	".mysql_history",
	".node_repl_history",
	".local/share/fish/fish_history",
	/* agents' own tokens */
	".claude/.credentials.json",
	".codex/auth.json",
	".gemini/oauth_creds.json",
	/* browsers and mail */
	".mozilla/",
	".thunderbird/",
	".config/google-chrome/",
	".config/chromium/",
	".config/BraveSoftware/",
	".config/microsoft-edge/",
	".config/vivaldi/",
	".config/opera/",
	"snap/firefox/",
	".var/app/org.mozilla.firefox/",
};

static const char *const system_places[] = {
	/* passwords and keys of the machine */
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/security/opasswd",
	"/etc/krb5.keytab",
	"/etc/ssl/private/",
	"/etc/pki/tls/private/",
	"/etc/letsencrypt/archive/",
	"/etc/letsencrypt/accounts/",
	"/etc/ssh/ssh_host_rsa_key",
	"/etc/ssh/ssh_host_dsa_key",
	"/etc/ssh/ssh_host_ecdsa_key",
	"/etc/ssh/ssh_host_ed25519_key",
	"/etc/wireguard/",
	"/etc/NetworkManager/system-connections/",
	"/etc/credstore/",
	"/etc/credstore.encrypted/",
	"/var/lib/systemd/credential.secret",
	/* what a service or container was given */
	"/run/secrets/",
	"/run/credentials/",
	"/var/run/secrets/",
	/* of containers and clusters */
	"/etc/kubernetes/",
	"/etc/rancher/",
	"/var/lib/kubelet/",
	"/var/lib/rancher/",
	"/var/lib/docker/",
	"/var/lib/containerd/",
	"/var/lib/containers/",
};

/* Sockets behind which somebody starts programs, or types, for whoever asks: absolute, or below a home; what ends in '*' is the beginning
 * of a name. */
static const char *const doors[] = {
	"/run/docker.sock",
	"/run/docker/",
	"/run/containerd/",
	"/run/podman/",
	"/run/crio/",
	"/run/libvirt/",
	"/run/snapd.socket",
	"/run/lxd.socket",
	"/var/snap/lxd/",
	"/var/lib/lxd/",
	"/run/dbus/",
	"/run/systemd/private",
	"/run/user/",
	"/run/screen/",
	"/run/tmux/",
	"/tmp/tmux-*",
	"/tmp/screens/",
	"/tmp/.X11-unix/",
	"/tmp/.ICE-unix/",
	".screen/",
};

const char *secret_door_at(size_t i)
{
	return i < ARRAY_SIZE(doors) ? doors[i] : NULL;
}

const char *secret_system_at(size_t i)
{
	return i < ARRAY_SIZE(system_places) ? system_places[i] : NULL;
}

const char *secret_place_at(size_t i)
{
	return i < ARRAY_SIZE(places) ? places[i] : NULL;
}

/* `name` or something below it, of absolute paths. */
static bool is_system_place(const char *path, bool is_itself)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_places); i++) {
		bool is_dir = text_ends(system_places[i], "/");
		size_t n = strlen(system_places[i]) - is_dir;
		if (strncmp(path, system_places[i], n) == 0 &&
			(!path[n] || (is_dir && path[n] == '/' && (!is_itself || !path[n + 1]))))
			return true;
	}
	return false;
}

static size_t name_length(const char *place)
{
	return strlen(place) - text_ends(place, "/");
}

bool secret_place_is(const char *name)
{
	const size_t n = name_length(name);

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strncmp(name, places[i], n) == 0 && n == name_length(places[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
		if (strncmp(name, doors[i], n) == 0 && n == name_length(doors[i]))
			return true;
	return name[0] == '/' && is_system_place(name, true);
}

bool secret_place_holds(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t n = name_length(places[i]);
		for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
			if (strncmp(at + 1, places[i], n) == 0 &&
				(!at[1 + n] || (places[i][n] && at[1 + n] == '/')))
				return true;
	}
	return is_system_place(path, false);
}
