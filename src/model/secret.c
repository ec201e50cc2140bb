/* secret.c — the list; see secret.h.  Whatever is added here is asked about by the guard and closed to every run whose profile does not
 * name it. */
#include "model/secret.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>

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
	".m2/settings.xml",
	".gradle/gradle.properties",
	".docker/config.json",
	".config/containers/auth.json",
	".huggingface/token",
	".cache/huggingface/token",
	/* databases */
	".pgpass",
	".my.cnf",
	".snowsql/config",
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

const char *secret_place_at(size_t i)
{
	return i < ARRAY_SIZE(places) ? places[i] : NULL;
}

static size_t name_length(const char *place)
{
	return strlen(place) - text_ends(place, "/");
}

bool secret_place_is(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (name_length(name) == name_length(places[i]) &&
			strncmp(name, places[i], name_length(places[i])) == 0)
			return true;
	return false;
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
	return false;
}
