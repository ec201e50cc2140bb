/* host.c — the machine itself: processes, services, power, disks, firewall, accounts, kernel, schedules.
 *
 * Most of these programs can both show and change. Each handler finds out which it is, by the options or
 * verbs that only ask; what is not known to be a question counts as a change. */
#include "propose/programs/programs.h"

#include <string.h>

static bool has(struct call *k, const char *options)
{
	return args_find(k->rest, k->rest_count, options);
}

/* A list of signals and signal 0 only ask. -1 as a target is every process; %job is one that this shell
 * itself started. */
HANDLER(kill)
{
	bool lists = false, probes = false, all = false;
	size_t i = 0, targets = 0, jobs = 0;
	for (; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (word_is_any(x, "-l -L --list --table")) {
			lists = true;
		} else if (word_is(x, "-0")) {
			probes = true;
		} else if (word_is_any(x, "-s --signal -n -q") && i + 1 < k->rest_count) {
			probes |= word_is_any(&k->rest[++i], "0 EXIT");
		} else if (word_is(x, "--")) {
			i++;
			break;
		} else if (i > 0 && word_is(x, "-1")) {
			/* As the first word -1 is a signal, as a later one it is a target. */
			all = true;
		} else if (!word_starts(x, "-")) {
			break;
		}
	}
	for (; i < k->rest_count; i++, targets++) {
		all |= word_is(&k->rest[i], "-1");
		jobs += word_starts(&k->rest[i], "%") || word_starts(&k->rest[i], "-%");
	}
	if (lists || probes)
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (all)
		fx(k, TAG_PROCESS_KILL_ALL, NULL, 0);
	else if (targets && jobs == targets)
		fx(k, TAG_PROCESS_JOB, NULL, 0);
	else
		fx(k, TAG_PROCESS_KILL, k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

/* Signal 0 and -l only look which processes match. */
HANDLER(pkill)
{
	bool probes = has(k, "0 l list") || (k->rest_count && word_is(&k->rest[0], "-0"));
	fx(k, probes ? TAG_READ_QUERY : TAG_PROCESS_KILL, k->rest_count ? &k->rest[k->rest_count - 1] : NULL,
		0);
}

/* Shows who uses a file, and with -k kills them. */
HANDLER(fuser)
{
	fx(k, has(k, "k kill") ? TAG_PROCESS_KILL : TAG_READ_QUERY, NULL, 0);
}

/* Runlevels 0, 1, 6 and s end what runs; others start and stop services. */
HANDLER(init)
{
	bool is_power = k->rest_count && word_is_any(&k->rest[0], "0 1 6 s S");
	fx(k, is_power ? TAG_POWER_OFF : TAG_PROCESS_SERVICE, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* shutdown -c takes an announced shutdown back. */
HANDLER(power)
{
	fx(k, k->rest_count && word_is(&k->rest[0], "-c") ? TAG_PROCESS_SERVICE : TAG_POWER_OFF, NULL, 0);
}

/* Partitioning tools that also list; which options list differs by tool. */
HANDLER(disk)
{
	const char *asks = text_eq(k->head, "sgdisk") ? "p i v print info verify"
		: text_eq(k->head, "parted")	      ? "l list"
						      : "l x s list show-size verify";
	bool lists = has(k, asks);
	for (size_t i = 0; i < k->rest_count; i++)
		lists |= word_is_any(&k->rest[i], "print --print") && k->rest_count <= i + 2;
	fx(k, lists ? TAG_READ_QUERY : k->program->tag, k->rest_count ? &k->rest[k->rest_count - 1] : NULL,
		0);
}

HANDLER(wipefs)
{
	fx(k, has(k, "n no-act") ? TAG_DEVICE_READ : TAG_DEVICE_WIPE,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

HANDLER(badblocks)
{
	fx(k, has(k, "w") ? TAG_DEVICE_WIPE : TAG_DEVICE_READ,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

/* Shows and tunes a disk; some options erase it. */
HANDLER(hdparm)
{
	bool erases = has(k,
		"security-erase security-erase-enhanced trim-sector-ranges write-sector make-bad-sector "
		"fwdownload dco-restore");
	fx(k, erases ? TAG_DEVICE_WIPE : TAG_READ_QUERY, NULL, 0);
}

/* Repairs, unless told to change nothing. */
HANDLER(fsck)
{
	fx(k, has(k, "n N") ? TAG_DEVICE_READ : TAG_DEVICE_VOLUME_CHANGE,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

/* Alone it lists. Otherwise the place it is mounted on is changed; -a may mean any place. */
HANDLER(mount)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"toLUOT=:types=,options=,label=,uuid= alhVnrwvfBRM:all,bind,rbind,move", &p);
	if (!p.operand_count && !has(k, "a all")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	struct word root = walk_word(k->w, "/", k->c->at);
	if (p.operand_count)
		(void)fx_path(k, TAG_KERNEL_MOUNT, &p.operands[p.operand_count - 1],
			has(k, "f force l lazy") ? FXF_FORCE : 0);
	else
		(void)fx_path(k, TAG_KERNEL_MOUNT, &root, 0);
}

/* name=value sets. */
HANDLER(sysctl)
{
	bool sets = has(k, "w write p load system");
	for (size_t i = 0; i < k->rest_count; i++)
		sets |= !word_starts(&k->rest[i], "-") && strchr(k->rest[i].text, '=');
	fx(k, sets ? TAG_KERNEL_SYSCTL : TAG_READ_QUERY, NULL, 0);
}

/* -r deletes, -l shows, anything else replaces or edits. */
HANDLER(crontab)
{
	if (has(k, "r"))
		fx(k, TAG_CRON_DELETE, NULL, 0);
	else if (has(k, "l"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else
		fx(k, TAG_CRON_EDIT, NULL, 0);
	/* Known lines are commands that will run. */
	if (k->c->in.kind == FEED_KNOWN && k->rest_count && word_is(&k->rest[0], "-"))
		fx(k, TAG_PERSISTENCE_AT, NULL, 0);
}

/* Known input is the command that will run later, so it is judged now. */
HANDLER(at)
{
	if (has(k, "l") || text_eq(k->head, "atq")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (has(k, "d r") || text_eq(k->head, "atrm")) {
		fx(k, TAG_CRON_EDIT, NULL, 0);
	} else {
		fx(k, TAG_PERSISTENCE_AT, NULL, 0);
		if (k->c->in.kind == FEED_KNOWN)
			walk_bytes(k->w, k->c, k->c->in.text, k->c->in.n, k->c->at, "at");
		else if (k->c->in.kind == FEED_FILE) {
			struct word file = walk_word(k->w, k->c->in.text, k->c->at);
			run_script(k, &file, "sh");
		}
	}
}

/* Packet filters: listing is harmless, anything else is not. */
HANDLER(firewall)
{
	bool lists = has(k,
			     "L S list list-rules list-all list-all-zones state get-active-zones "
			     "get-default-zone V") ||
		(k->rest_count && word_is_any(&k->rest[0], "status list show version app"));
	if (text_eq(k->head, "nft"))
		lists = k->rest_count &&
			word_is_any(&k->rest[k->rest_count > 1 && word_starts(&k->rest[0], "-")],
				"list monitor describe");
	/* iptables -L lists, but -L together with an option of a change is a part of that change. */
	else if (text_starts(k->head, "ip")) /* -L and -S ask; -A, -s and the like are of a change */
		lists &= !has(k, "A D I R F X P Z N E append delete insert replace flush policy");
	else if (text_eq(k->head, "pfctl"))
		lists = has(k, "s") && !has(k, "F d e f");
	fx(k, lists ? TAG_READ_QUERY : TAG_FIREWALL_CHANGE, k->rest_count ? &k->rest[0] : NULL, 0);
}

HANDLER(ip_netns_exec)
{
	if (k->rest_count > 1)
		run_argv(k, k->rest + 1, k->rest_count - 1, 0, "ip netns exec");
}

/* With a setting behind the interface it changes the network. */
HANDLER(ifconfig)
{
	fx(k, k->rest_count > 1 ? TAG_FIREWALL_ROUTE : TAG_READ_QUERY, NULL, 0);
}

/* The verb may stand behind options, so every word is looked at. */
HANDLER(route)
{
	bool changes = false;
	for (size_t i = 0; i < k->rest_count; i++)
		changes |= word_is_any(&k->rest[i], "add del delete flush change replace apply -d -s");
	fx(k, changes ? TAG_FIREWALL_ROUTE : TAG_READ_QUERY, NULL, 0);
}

/* Changes a password, unless the state of it is asked for. */
HANDLER(passwd)
{
	bool is_query = has(k, "S status") || (text_eq(k->head, "chage") && has(k, "l list"));
	fx(k, is_query ? TAG_READ_QUERY : TAG_ACCOUNT_PASSWORD,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

HANDLER(setenforce)
{
	fx(k, TAG_KERNEL_SECURITY, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* security of macOS, pass, secret-tool: stores of secrets. Reading one is a secret read, not a query. */
static void run_behind_dashes(struct call *k)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "--")) {
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, k->head);
			return;
		}
	fx(k, TAG_SECRET_STORE, NULL, 0);
}

HANDLER(keychain)
{
	const struct word *verb = k->rest_count ? &k->rest[0] : NULL;
	if (!verb ||
		word_is_any(verb, "ls list find-identity list-keychains show-keychain-info version help"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (k->rest_count > 1 && word_is(verb, "document") && word_is(&k->rest[1], "get"))
		fx(k, TAG_SECRET_STORE, verb, 0);
	else if (word_is(verb, "run")) /* op run -- cmd: the command gets the secrets */
		run_behind_dashes(k);
	else if (verb_in("delete rm remove clear destroy", verb->text, verb->text_n) ||
		(k->rest_count > 1 &&
			verb_in("delete remove suspend revoke", k->rest[1].text, k->rest[1].text_n)))
		fx(k, TAG_DELETE_KEY, verb, 0);
	else if (verb_in("find dump export show lookup search get read item cp otp", verb->text,
			 verb->text_n) ||
		text_eq(k->head, "pass"))
		fx(k, TAG_SECRET_STORE, verb, 0);
	else
		fx(k, TAG_WRITE_CONFIG, verb, 0);
}

/* name=value, -x and -set... change; a name alone is shown. */
HANDLER(sysrc)
{
	bool changes = has(k, "x");
	for (size_t i = 0; i < k->rest_count; i++)
		changes |= strchr(k->rest[i].text, '=') || word_starts(&k->rest[i], "-set");
	fx(k, changes ? k->program->tag : TAG_READ_QUERY, NULL, 0);
}

/* timedatectl and hostnamectl: alone they show, as does a noun without a value. */
HANDLER(timedatectl)
{
	size_t places[2];
	size_t n = verb_words(k, "", 2, places);
	bool sets =
		n && (word_starts(&k->rest[places[0]], "set-") || (n > 1 && text_eq(k->head, "hostnamectl")));
	fx(k, sets ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

/* Tools that show what they would otherwise set. */
HANDLER(boot_setting)
{
	bool is_query = text_eq(k->head, "ldconfig") ? has(k, "p print-cache V N")
		: text_eq(k->head, "efibootmgr")     ? !k->rest_count || word_is_any(&k->rest[0], "-v -u -V")
						     : has(k, "list display query get-selections");
	fx(k, is_query ? TAG_READ_QUERY : TAG_KERNEL_BOOT, k->rest_count ? &k->rest[0] : NULL, 0);
}

HANDLER(swap)
{
	fx(k, has(k, "s show summary") ? TAG_READ_QUERY : TAG_KERNEL_SWAP, NULL, 0);
}

/* gsettings set, dconf write: a key that names what is run, where traffic goes, or what keeps others out is more than a taste. */
HANDLER(desktop_setting)
{
	static const char *const runs[] = { "command", "exec", "keybinding", "autorun", "extension",
		"startup", "terminal" };
	static const char *const guards[] = { "lockdown", "lock-enabled", "lock-screen", "lock-on",
		"lock-delay", "screensaver", "privacy", "remote-desktop", "vino", "rdp" };
	size_t n = k->rest_count > 2 ? k->rest_count - 1 : k->rest_count ? 1 : 0; /* the value stands last */
	enum tag t = TAG_WRITE_CONFIG;
	for (size_t i = 0; i < n; i++) {
		const struct word *x = &k->rest[i];
		for (size_t j = 0; j < ARRAY_SIZE(runs); j++)
			t = word_has(x, runs[j]) ? TAG_PERSISTENCE_UNIT : t;
		for (size_t j = 0; j < ARRAY_SIZE(guards); j++)
			t = word_has(x, guards[j]) ? TAG_KERNEL_SECURITY : t;
		t = word_has(x, "proxy") ? TAG_ENVIRONMENT_PROXY : t;
		t = x->certainty != CERTAIN ? TAG_DYNAMIC_OPTION : t;
	}
	fx(k, t, k->rest_count ? &k->rest[0] : NULL, 0);
}

HANDLER(scutil)
{
	fx(k, args_find(k->rest, k->rest_count, "set") ? TAG_KERNEL_SECURITY : TAG_READ_QUERY, NULL, 0);
}

/* bpftrace -e, bpftool prog load: code for the kernel; listing what runs there is a question. */
HANDLER(kernel_code)
{
	bool asks = !k->rest_count || has(k, "l h V version help list-probes info") ||
		args_find(k->rest, k->rest_count, "version help");
	for (size_t i = 0; i < k->rest_count && i < 3; i++)
		asks |= word_is_any(&k->rest[i], "list show dump help version feature");
	fx(k, asks ? TAG_READ_QUERY : TAG_KERNEL_MODULE, NULL, 0);
}

/* The firewall of macOS: --get... asks, everything else changes it. */
HANDLER(app_firewall)
{
	bool asks = !k->rest_count || word_starts(&k->rest[0], "--get") || word_starts(&k->rest[0], "--list");
	fx(k, asks ? TAG_READ_QUERY : TAG_KERNEL_SECURITY, NULL, 0);
}
