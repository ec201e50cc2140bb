/* host.c — the machine itself: processes, services, power, disks, firewall, accounts, kernel, schedules. */
#include "propose/programs/programs.h"

#include <string.h>

static bool has(struct call *k, const char *options)
{
	return args_find(k->rest, k->rest_count, options);
}

static void classify_kill(struct call *k)
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

static void classify_pkill(struct call *k)
{
	bool probes = has(k, "0 l list") || (k->rest_count && word_is(&k->rest[0], "-0"));
	fx(k, probes ? TAG_READ_QUERY : TAG_PROCESS_KILL, k->rest_count ? &k->rest[k->rest_count - 1] : NULL,
		0);
}

static void classify_fuser(struct call *k)
{
	fx(k, has(k, "k kill") ? TAG_PROCESS_KILL : TAG_READ_QUERY, NULL, 0);
}

static void classify_init(struct call *k)
{
	bool is_power = k->rest_count && word_is_any(&k->rest[0], "0 1 6 s S");
	fx(k, is_power ? TAG_POWER_OFF : TAG_PROCESS_SERVICE, k->rest_count ? &k->rest[0] : NULL, 0);
}

static void classify_power(struct call *k)
{
	fx(k, k->rest_count && word_is(&k->rest[0], "-c") ? TAG_PROCESS_SERVICE : TAG_POWER_OFF, NULL, 0);
}

/* A disk tool that also lists. */
static void classify_disk(struct call *k)
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

static void classify_wipefs(struct call *k)
{
	fx(k, has(k, "n no-act") ? TAG_DEVICE_READ : TAG_DEVICE_WIPE,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

static void classify_badblocks(struct call *k)
{
	fx(k, has(k, "w") ? TAG_DEVICE_WIPE : TAG_DEVICE_READ,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

static void classify_hdparm(struct call *k)
{
	bool erases = has(k,
		"security-erase security-erase-enhanced trim-sector-ranges write-sector make-bad-sector "
		"fwdownload dco-restore");
	fx(k, erases ? TAG_DEVICE_WIPE : TAG_READ_QUERY, NULL, 0);
}

static void classify_fsck(struct call *k)
{
	fx(k, has(k, "n N") ? TAG_DEVICE_READ : TAG_DEVICE_VOLUME_CHANGE,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

static void classify_mount(struct call *k)
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

static void classify_sysctl(struct call *k)
{
	bool sets = has(k, "w write p load system");
	for (size_t i = 0; i < k->rest_count; i++)
		sets |= !word_starts(&k->rest[i], "-") && strchr(k->rest[i].text, '=');
	fx(k, sets ? TAG_KERNEL_SYSCTL : TAG_READ_QUERY, NULL, 0);
}

static void classify_crontab(struct call *k)
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

static void classify_at(struct call *k)
{
	if (has(k, "l") || text_eq(k->head, "atq")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (has(k, "d r") || text_eq(k->head, "atrm")) {
		fx(k, TAG_CRON_EDIT, NULL, 0);
	} else {
		fx(k, TAG_PERSISTENCE_AT, NULL, 0);
		if (k->c->in.kind == FEED_KNOWN)
			walk_bytes(k->w, k->c, k->c->in.text, k->c->in.n, k->c->at, "at");
	}
}

/* Packet filters: listing is harmless, anything else is not. */
static void classify_firewall(struct call *k)
{
	bool lists = has(k,
			     "L S list list-rules list-all list-all-zones state get-active-zones "
			     "get-default-zone V") ||
		(k->rest_count && word_is_any(&k->rest[0], "status list show version app"));
	if (text_eq(k->head, "nft"))
		lists = k->rest_count &&
			word_is_any(&k->rest[k->rest_count > 1 && word_starts(&k->rest[0], "-")],
				"list monitor describe");
	else if (text_starts(k->head, "ip")) /* -L and -S ask; -A, -s and the like are of a change */
		lists &= !has(k, "A D I R F X P Z N E append delete insert replace flush policy");
	else if (text_eq(k->head, "pfctl"))
		lists = has(k, "s") && !has(k, "F d e f");
	fx(k, lists ? TAG_READ_QUERY : TAG_FIREWALL_CHANGE, k->rest_count ? &k->rest[0] : NULL, 0);
}

static void ip_netns_exec(struct call *k)
{
	if (k->rest_count > 1)
		run_argv(k, k->rest + 1, k->rest_count - 1, 0, "ip netns exec");
}

static void classify_ifconfig(struct call *k)
{
	fx(k, k->rest_count > 1 ? TAG_FIREWALL_ROUTE : TAG_READ_QUERY, NULL, 0);
}

static void classify_route(struct call *k)
{
	bool changes = false;
	for (size_t i = 0; i < k->rest_count; i++)
		changes |= word_is_any(&k->rest[i], "add del delete flush change replace apply -d -s");
	fx(k, changes ? TAG_FIREWALL_ROUTE : TAG_READ_QUERY, NULL, 0);
}

static void classify_passwd(struct call *k)
{
	bool is_query = has(k, "S status") || (text_eq(k->head, "chage") && has(k, "l list"));
	fx(k, is_query ? TAG_READ_QUERY : TAG_ACCOUNT_PASSWORD,
		k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
}

static void classify_setenforce(struct call *k)
{
	fx(k, TAG_KERNEL_SECURITY, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* security (macOS keychains), pass, secret-tool */
static void classify_keychain(struct call *k)
{
	const struct word *verb = k->rest_count ? &k->rest[0] : NULL;
	if (!verb ||
		word_is_any(verb, "ls list find-identity list-keychains show-keychain-info version help"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (k->rest_count > 1 && word_is(verb, "document") && word_is(&k->rest[1], "get"))
		fx(k, TAG_SECRET_STORE, verb, 0);
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

/* name=value and -x change, -set... too; a name alone is shown. */
static void classify_sysrc(struct call *k)
{
	bool changes = has(k, "x");
	for (size_t i = 0; i < k->rest_count; i++)
		changes |= strchr(k->rest[i].text, '=') || word_starts(&k->rest[i], "-set");
	fx(k, changes ? k->program->tag : TAG_READ_QUERY, NULL, 0);
}

/* timedatectl, hostnamectl: alone they show, as does a noun without a value. */
static void classify_timedatectl(struct call *k)
{
	size_t places[2];
	size_t n = verb_words(k, "", 2, places);
	bool sets =
		n && (word_starts(&k->rest[places[0]], "set-") || (n > 1 && text_eq(k->head, "hostnamectl")));
	fx(k, sets ? TAG_KERNEL_CLOCK : TAG_READ_QUERY, NULL, 0);
}

/* Tools that show what they would otherwise set. */
static void classify_boot_setting(struct call *k)
{
	bool is_query = text_eq(k->head, "ldconfig") ? has(k, "p print-cache V N")
		: text_eq(k->head, "efibootmgr")     ? !k->rest_count || word_is_any(&k->rest[0], "-v -u -V")
						     : has(k, "list display query get-selections");
	fx(k, is_query ? TAG_READ_QUERY : TAG_KERNEL_BOOT, k->rest_count ? &k->rest[0] : NULL, 0);
}

static void classify_swap(struct call *k)
{
	fx(k, has(k, "s show summary") ? TAG_READ_QUERY : TAG_KERNEL_SWAP, NULL, 0);
}

/* One command of tmux; its commands are separated by a word ";". */
static void classify_tmux_command(struct call *k)
{
	static const char runs[] = "new-session new new-window neww split-window splitw run-shell run "
				   "respawn-pane respawnp if-shell";
	size_t places[1];
	size_t n = verb_words(k, "LSf=", 1, places);
	const struct word *verb = n ? &k->rest[places[0]] : NULL;
	if (!verb ||
		word_is_any(verb,
			"ls list-sessions list-windows list-panes attach a attach-session capture-pane "
			"has-session has info display-message"))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (word_starts(verb, "kill"))
		fx(k, TAG_PROCESS_SESSION, verb, 0);
	else if (word_is_any(verb, runs)) {
		struct parsed p;
		args_parse(walk_arena(k->w), k->rest + places[0] + 1, k->rest_count - places[0] - 1,
			"sntcxyFeLSlp=", &p);
		struct word text = words_join(walk_arena(k->w), p.operands, p.operand_count);
		if (p.operand_count)
			run_text(k, &text, 0, "tmux");
		else
			fx(k, TAG_READ_QUERY, NULL, 0);
	} else if (word_is_any(verb, "send-keys send")) {
		struct parsed p;
		args_parse(
			walk_arena(k->w), k->rest + places[0] + 1, k->rest_count - places[0] - 1, "tN=", &p);
		while (p.operand_count && word_is_any(&p.operands[p.operand_count - 1], "Enter C-m ENTER"))
			p.operand_count--;
		struct word text = words_join(walk_arena(k->w), p.operands, p.operand_count);
		if (p.operand_count && !word_starts(&text, "C-"))
			run_text(k, &text, 0, "tmux send-keys");
		else
			fx(k, TAG_READ_QUERY, NULL, 0);
	} else {
		fx(k, TAG_WRITE_CONFIG, verb, 0);
	}
}

static void classify_tmux(struct call *k)
{
	struct call one = *k;
	for (size_t from = 0, i = 0; i <= k->rest_count; i++) {
		if (i < k->rest_count && !word_is_any(&k->rest[i], "; \\;"))
			continue;
		one.rest = k->rest + from;
		one.rest_count = i - from;
		classify_tmux_command(&one);
		from = i + 1;
	}
}

static void classify_screen(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "+X SpcehtTs= ls lwdmDRrx", &p);
	if (args_has(&p, 0)) {
		bool quits = p.operand_count && word_is_any(&p.operands[0], "quit kill");
		fx(k, quits ? TAG_PROCESS_SESSION : TAG_READ_QUERY, NULL, 0);
	} else if (p.operand_count) {
		run_argv(k, p.operands, p.operand_count, 0, "screen");
	} else {
		fx(k, TAG_READ_QUERY, NULL, 0);
	}
}

#define ROW(words, needs, forbids, tag) \
	{ \
		words, needs, forbids, tag, 0, NULL \
	}
#define CALL(words, run) \
	{ \
		words, NULL, NULL, TAG_READ_QUERY, 0, run \
	}
#define END \
	{ \
		NULL, NULL, NULL, 0, 0, NULL \
	}

static const struct verb systemctl_verbs[] = {
	ROW("poweroff|reboot|halt|kexec|suspend|hibernate|hybrid-sleep|emergency|rescue|default|exit|soft-"
	    "reboot",
		NULL, NULL, TAG_POWER_OFF),
	ROW("isolate", NULL, NULL, TAG_POWER_OFF),
	ROW("status|show|list-units|list-unit-files|list-timers|list-sockets|list-dependencies|is-active|is-"
	    "enabled|is-failed|cat|help|get-default|"
	    "show-environment|list-jobs|is-system-running|whoami",
		NULL, NULL, TAG_READ_QUERY),
	ROW("enable|link|preset|add-wants|add-requires|edit|set-default|set-environment|import-environment",
		NULL, NULL, TAG_PERSISTENCE_UNIT),
	ROW("*", NULL, NULL, TAG_PROCESS_SERVICE),
	ROW("", NULL, NULL, TAG_READ_QUERY), /* alone it lists the units */
	END,
};
static const struct verb service_verbs[] = {
	ROW("* status", NULL, NULL, TAG_READ_QUERY),
	ROW("", "status-all", NULL, TAG_READ_QUERY),
	ROW("", "help version", NULL, TAG_READ_QUERY),
	END,
};
static const struct verb launchctl_verbs[] = {
	ROW("list|print|blame|examine|dumpstate|help|version|managername|print-disabled", NULL, NULL,
		TAG_READ_QUERY),
	ROW("load|bootstrap|enable|submit", NULL, NULL, TAG_PERSISTENCE_UNIT),
	ROW("reboot", NULL, NULL, TAG_POWER_OFF),
	END,
};
static const struct verb loginctl_verbs[] = {
	ROW("terminate-user|terminate-session|kill-user|kill-session|terminate-seat", NULL, NULL,
		TAG_PROCESS_SESSION),
	ROW("poweroff|reboot|halt|suspend", NULL, NULL, TAG_POWER_OFF),
	ROW("enable-linger", NULL, NULL, TAG_PERSISTENCE_UNIT),
	END,
};
static const struct verb supervisor_verbs[] = {
	ROW("status|list|ls|l|logs|log|show|describe|info|jlist|prettylist|monit|tail|avail|pid|version|"
	    "maintail|env|id",
		NULL, NULL, TAG_READ_QUERY),
	ROW("delete|del|kill|shutdown|flush|reset|unstartup", NULL, NULL, TAG_PROCESS_SESSION),
	ROW("startup|save", NULL, NULL, TAG_PERSISTENCE_UNIT),
	END,
};
static const struct verb ip_verbs[] = {
	CALL("netns exec", ip_netns_exec),
	ROW("* add|del|delete|set|flush|change|replace|append|exec|attach|up|down", NULL, NULL,
		TAG_FIREWALL_ROUTE),
	END,
};
static const struct verb resolvectl_verbs[] = {
	ROW("dns|domain|dnssec|dnsovertls|revert|default-route|llmnr|mdns|nta", NULL, NULL,
		TAG_FIREWALL_ROUTE),
	END,
};
static const struct verb nmcli_verbs[] = {
	ROW("* up|down|delete|modify|add|off|on|disconnect|connect|reload|edit|hotspot|clone|import|reapply",
		NULL, NULL, TAG_FIREWALL_ROUTE),
	ROW("* * off|on", NULL, NULL, TAG_FIREWALL_ROUTE),
	END,
};
static const struct verb zfs_verbs[] = {
	ROW("destroy|rollback", NULL, "n", TAG_DEVICE_VOLUME),
	ROW("labelclear|remove|detach|offline|split", NULL, NULL, TAG_DEVICE_VOLUME),
	ROW("list|get|status|iostat|history|events|holds|diff|version", NULL, NULL, TAG_READ_QUERY),
	END,
};
static const struct verb btrfs_verbs[] = {
	ROW("subvolume|sub|subv delete|del", NULL, NULL, TAG_DEVICE_SNAPSHOT),
	ROW("device|dev delete|remove|del", NULL, NULL, TAG_DEVICE_VOLUME),
	ROW("* list|show|usage|df|stats|status|get|du|get-default", NULL, NULL, TAG_READ_QUERY),
	ROW("check", "repair init-csum-tree init-extent-tree", NULL, TAG_DEVICE_VOLUME),
	ROW("rescue|restore", NULL, NULL, TAG_DEVICE_VOLUME_CHANGE),
	END,
};
static const struct verb lvm_verbs[] = {
	ROW("lvremove|vgremove|pvremove|lvreduce|vgreduce", NULL, NULL, TAG_DEVICE_VOLUME),
	ROW("lvs|vgs|pvs|lvdisplay|vgdisplay|pvdisplay|lvscan|vgscan|pvscan", NULL, NULL, TAG_READ_QUERY),
	END,
};
static const struct verb mdadm_verbs[] = {
	ROW("", "zero-superblock stop S remove r fail f create C", NULL, TAG_DEVICE_VOLUME),
	ROW("", "detail D examine E query Q", NULL, TAG_READ_QUERY),
	END,
};
static const struct verb cryptsetup_verbs[] = {
	ROW("status|luksdump|luksDump|isluks|isLuks|luksuuid|luksUUID|benchmark", NULL, NULL, TAG_READ_QUERY),
	ROW("open|luksopen|luksOpen|close|luksclose|luksClose|create|resize|refresh", NULL, NULL,
		TAG_DEVICE_VOLUME_CHANGE),
	END,
};
static const struct verb diskutil_verbs[] = {
	ROW("list|info|activity|verifydisk|verifyDisk|verifyvolume|verifyVolume|listfilesystems", NULL, NULL,
		TAG_READ_QUERY),
	ROW("apfs|cs|appleraid list|listUsers|listSnapshots", NULL, NULL, TAG_READ_QUERY),
	ROW("mount|unmount|mountDisk|unmountDisk|eject|enableOwnership|rename", NULL, NULL, TAG_KERNEL_MOUNT),
	END,
};
static const struct verb hdiutil_verbs[] = {
	ROW("erase|burn", NULL, NULL, TAG_DEVICE_WIPE),
	ROW("", "erase", NULL, TAG_DEVICE_WIPE),
	END,
};
static const struct verb tmutil_verbs[] = {
	ROW("delete|deletelocalsnapshots|deleteinprogress|thinlocalsnapshots", NULL, NULL,
		TAG_DEVICE_SNAPSHOT),
	ROW("disable|disablelocal|removedestination|stopbackup|restore|addexclusion", NULL, NULL,
		TAG_DELETE_BACKUP),
	END,
};
static const struct verb nvme_verbs[] = {
	ROW("format|sanitize|write|write-zeroes|dsm|delete-ns|reset|fw-download|fw-commit|security-send|"
	    "subsystem-reset|write-uncor",
		NULL, NULL, TAG_DEVICE_WIPE),
	END,
};
static const struct verb snapper_verbs[] = {
	ROW("delete|remove|rm|cleanup|undochange|rollback|delete-config", NULL, NULL, TAG_DEVICE_SNAPSHOT),
	ROW("", "delete delete-all", NULL, TAG_DEVICE_SNAPSHOT),
	ROW("", "restore", NULL, TAG_DEVICE_VOLUME_CHANGE),
	END,
};
static const struct verb backup_verbs[] = {
	ROW("forget|prune|delete|rdelete|repo-delete|compact|break-lock|recreate|remove-older-than|remove-"
	    "all-but-n-full|remove-"
	    "all-inc-of-but-n-full|purge|unlock|rewrite|repair|key",
		NULL, NULL, TAG_DELETE_BACKUP),
	ROW("restore|extract", NULL, NULL, TAG_WRITE_EXTRACT),
	END,
};
static const struct verb blockdev_verbs[] = {
	ROW("", "report getro getss getsz getsize64 getbsz getra getfra getpbsz getiomin", "setro setrw",
		TAG_READ_QUERY),
	END,
};
static const struct verb proxy_verbs[] = {
	ROW("", "t T c v V vv q", "s sf st", TAG_READ_QUERY),
	ROW("", "s sf st", NULL, TAG_PROCESS_SERVICE),
	END,
};
static const struct verb dmsetup_verbs[] = {
	ROW("remove|remove_all|wipe_table|clear", NULL, NULL, TAG_DEVICE_VOLUME),
	ROW("ls|info|status|table|deps|targets|version", NULL, NULL, TAG_READ_QUERY),
	END,
};
static const struct verb dscl_verbs[] = {
	ROW("* -read|-list|-search|-readall", NULL, NULL, TAG_READ_QUERY),
	ROW("", "read list search readall", "create delete append merge change passwd", TAG_READ_QUERY),
	END,
};
static const struct verb pfx_read[] = {
	ROW("status|show|list|query|ls|get|info|dump|help|version|search|statistics", NULL, NULL,
		TAG_READ_QUERY),
	ROW("", "l s list status show query version", "d D a w delete disable clear", TAG_READ_QUERY),
	END,
};
static const struct verb iw_verbs[] = {
	ROW("dev|phy * set|del|add|connect|disconnect|switch|interface", NULL, NULL, TAG_FIREWALL_ROUTE),
	ROW("reg|dev|phy set|del|add|connect|disconnect", NULL, NULL, TAG_FIREWALL_ROUTE),
	ROW("list|dev|phy|reg|event|help", NULL, NULL, TAG_READ_QUERY),
	END,
};
static const struct verb bus_verbs[] = {
	ROW("list|status|tree|introspect|monitor|capture|get-property", NULL, NULL, TAG_READ_QUERY),
	END,
};
static const struct verb settings_verbs[] = {
	ROW("reset|reset-recursively|load", NULL, NULL, TAG_UNKNOWN_DESTRUCTIVE),
	ROW("get|list-schemas|list-keys|list-recursively|describe|read|list|dump|watch|monitor|range", NULL,
		NULL, TAG_READ_QUERY),
	END,
};
static const struct verb xattr_verbs[] = { ROW("", "c d w", NULL, TAG_PERMISSION_ATTR), END };
static const struct verb ethtool_verbs[] = {
	ROW("", "s K A G C L N U X f p E change set-eee reset flash", NULL, TAG_FIREWALL_ROUTE),
	END,
};
static const struct verb fwupd_verbs[] = {
	ROW("install|update|upgrade|downgrade|reinstall|activate|switch-branch|local-install", NULL, NULL,
		TAG_KERNEL_BOOT),
	END,
};
static const struct verb puppet_verbs[] = {
	ROW("apply|agent|device", NULL, NULL, TAG_PROCESS_SERVICE),
	END,
};
static const struct verb defaults_verbs[] = {
	ROW("read|find|domains|help|read-type", NULL, NULL, TAG_READ_QUERY),
	ROW("delete", NULL, NULL, TAG_UNKNOWN_DESTRUCTIVE),
	END,
};

#define TAGGED(name, tag) \
	{ \
		name, NULL, tag, NULL, NULL, 0, 0 \
	}
#define RUNS(name, run, tag) \
	{ \
		name, run, tag, NULL, NULL, 0, 0 \
	}
#define VERBS(name, tag, verbs) \
	{ \
		name, NULL, tag, "", verbs, 0, 0 \
	}
static void classify_scutil(struct call *k)
{
	fx(k, args_find(k->rest, k->rest_count, "set") ? TAG_KERNEL_SECURITY : TAG_READ_QUERY, NULL, 0);
}

/* bpftrace -e, bpftool prog load: code for the kernel; listing what runs there is a question. */
static void classify_kernel_code(struct call *k)
{
	bool asks = !k->rest_count || has(k, "l h V version help list-probes info") ||
		args_find(k->rest, k->rest_count, "version help");
	for (size_t i = 0; i < k->rest_count && i < 3; i++)
		asks |= word_is_any(&k->rest[i], "list show dump help version feature");
	fx(k, asks ? TAG_READ_QUERY : TAG_KERNEL_MODULE, NULL, 0);
}

/* The Mac's own firewall: --get... asks, everything else changes it. */
static void classify_app_firewall(struct call *k)
{
	bool asks = !k->rest_count || word_starts(&k->rest[0], "--get") || word_starts(&k->rest[0], "--list");
	fx(k, asks ? TAG_READ_QUERY : TAG_KERNEL_SECURITY, NULL, 0);
}

static const struct program rows[] = {
	TAGGED("aa-complain", TAG_KERNEL_SECURITY),
	TAGGED("aa-disable", TAG_KERNEL_SECURITY),
	TAGGED("aa-teardown", TAG_KERNEL_SECURITY),
	TAGGED("addgroup", TAG_ACCOUNT_CHANGE),
	TAGGED("adduser", TAG_ACCOUNT_CHANGE),
	TAGGED("anacron", TAG_CRON_EDIT),
	TAGGED("apparmor_parser", TAG_KERNEL_SECURITY),
	TAGGED("arp", TAG_READ_QUERY),
	TAGGED("arptables", TAG_FIREWALL_CHANGE),
	RUNS("at", classify_at, TAG_PERSISTENCE_AT),
	RUNS("atq", classify_at, TAG_READ_QUERY),
	RUNS("atrm", classify_at, TAG_CRON_EDIT),
	VERBS("auditctl", TAG_KERNEL_SECURITY, pfx_read),
	RUNS("badblocks", classify_badblocks, TAG_DEVICE_WIPE),
	RUNS("batch", classify_at, TAG_PERSISTENCE_AT),
	TAGGED("blkdiscard", TAG_DEVICE_WIPE),
	TAGGED("blkzone", TAG_DEVICE_WIPE),
	VERBS("blockdev", TAG_DEVICE_VOLUME_CHANGE, blockdev_verbs),
	VERBS("bootctl", TAG_KERNEL_BOOT, pfx_read),
	VERBS("borg", TAG_READ_QUERY, backup_verbs),
	RUNS("bpftool", classify_kernel_code, TAG_KERNEL_MODULE),
	RUNS("bpftrace", classify_kernel_code, TAG_KERNEL_MODULE),
	VERBS("btrfs", TAG_DEVICE_VOLUME_CHANGE, btrfs_verbs),
	VERBS("busctl", TAG_PROCESS_SERVICE, bus_verbs),
	RUNS("cfdisk", classify_disk, TAG_DEVICE_PARTITION),
	RUNS("chage", classify_passwd, TAG_ACCOUNT_CHANGE),
	TAGGED("chef-client", TAG_PROCESS_SERVICE),
	TAGGED("chef-solo", TAG_PROCESS_SERVICE),
	TAGGED("chflags", TAG_PERMISSION_ATTR),
	TAGGED("chfn", TAG_ACCOUNT_CHANGE),
	VERBS("chkconfig", TAG_PROCESS_SERVICE, pfx_read),
	TAGGED("chpasswd", TAG_ACCOUNT_PASSWORD),
	TAGGED("chsh", TAG_ACCOUNT_CHANGE),
	RUNS("crontab", classify_crontab, TAG_CRON_EDIT),
	VERBS("cryptsetup", TAG_DEVICE_CRYPT, cryptsetup_verbs),
	VERBS("csrutil", TAG_KERNEL_SECURITY, pfx_read),
	TAGGED("dbus-send", TAG_PROCESS_SERVICE),
	VERBS("dconf", TAG_WRITE_CONFIG, settings_verbs),
	VERBS("defaults", TAG_WRITE_CONFIG, defaults_verbs),
	TAGGED("delgroup", TAG_ACCOUNT_CHANGE),
	TAGGED("deluser", TAG_ACCOUNT_CHANGE),
	TAGGED("depmod", TAG_KERNEL_MODULE),
	VERBS("diskutil", TAG_DEVICE_PARTITION, diskutil_verbs),
	VERBS("dmsetup", TAG_DEVICE_VOLUME_CHANGE, dmsetup_verbs),
	VERBS("dscl", TAG_ACCOUNT_CHANGE, dscl_verbs),
	VERBS("duplicity", TAG_READ_QUERY, backup_verbs),
	TAGGED("e2fsck", TAG_DEVICE_VOLUME_CHANGE),
	RUNS("ebtables", classify_firewall, TAG_FIREWALL_CHANGE),
	RUNS("efibootmgr", classify_boot_setting, TAG_KERNEL_BOOT),
	VERBS("ethtool", TAG_READ_QUERY, ethtool_verbs),
	TAGGED("fdesetup", TAG_DEVICE_CRYPT),
	RUNS("fdisk", classify_disk, TAG_DEVICE_PARTITION),
	TAGGED("findmnt", TAG_READ_QUERY),
	RUNS("firewall-cmd", classify_firewall, TAG_FIREWALL_CHANGE),
	TAGGED("flashrom", TAG_DEVICE_WIPE),
	RUNS("fsck", classify_fsck, TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("fstrim", TAG_DEVICE_VOLUME_CHANGE),
	RUNS("fuser", classify_fuser, TAG_PROCESS_KILL),
	VERBS("fwupdmgr", TAG_READ_QUERY, fwupd_verbs),
	RUNS("gdisk", classify_disk, TAG_DEVICE_PARTITION),
	TAGGED("gpart", TAG_DEVICE_PARTITION),
	TAGGED("gparted", TAG_DEVICE_PARTITION),
	TAGGED("gpasswd", TAG_ACCOUNT_CHANGE),
	TAGGED("groupadd", TAG_ACCOUNT_CHANGE),
	TAGGED("groupdel", TAG_ACCOUNT_CHANGE),
	TAGGED("groupmod", TAG_ACCOUNT_CHANGE),
	TAGGED("grub-install", TAG_KERNEL_BOOT),
	TAGGED("grub-mkconfig", TAG_KERNEL_BOOT),
	VERBS("gsettings", TAG_WRITE_CONFIG, settings_verbs),
	RUNS("halt", classify_power, TAG_POWER_OFF),
	{ "haproxy", NULL, TAG_LISTEN_PORT, "f=", proxy_verbs, 0, 0 },
	VERBS("hdiutil", TAG_KERNEL_MOUNT, hdiutil_verbs),
	RUNS("hdparm", classify_hdparm, TAG_DEVICE_WIPE),
	RUNS("hostnamectl", classify_timedatectl, TAG_KERNEL_CLOCK),
	TAGGED("hwclock", TAG_KERNEL_CLOCK),
	RUNS("ifconfig", classify_ifconfig, TAG_FIREWALL_ROUTE),
	TAGGED("ifdown", TAG_FIREWALL_ROUTE),
	TAGGED("ifup", TAG_FIREWALL_ROUTE),
	RUNS("init", classify_init, TAG_POWER_OFF),
	TAGGED("insmod", TAG_KERNEL_MODULE),
	VERBS("ip", TAG_READ_QUERY, ip_verbs),
	RUNS("ip6tables", classify_firewall, TAG_FIREWALL_CHANGE),
	TAGGED("ip6tables-restore", TAG_FIREWALL_CHANGE),
	TAGGED("ipset", TAG_FIREWALL_CHANGE),
	RUNS("iptables", classify_firewall, TAG_FIREWALL_CHANGE),
	TAGGED("iptables-restore", TAG_FIREWALL_CHANGE),
	TAGGED("iptables-save", TAG_READ_QUERY),
	VERBS("iw", TAG_FIREWALL_ROUTE, iw_verbs),
	TAGGED("kexec", TAG_POWER_OFF),
	TAGGED("kextload", TAG_KERNEL_MODULE),
	TAGGED("kextunload", TAG_KERNEL_MODULE),
	TAGGED("keyctl", TAG_SECRET_STORE),
	RUNS("kill", classify_kill, TAG_PROCESS_KILL),
	RUNS("killall", classify_pkill, TAG_PROCESS_KILL),
	TAGGED("killall5", TAG_PROCESS_KILL_ALL),
	VERBS("launchctl", TAG_PROCESS_SERVICE, launchctl_verbs),
	RUNS("ldconfig", classify_boot_setting, TAG_KERNEL_BOOT),
	VERBS("loginctl", TAG_READ_QUERY, loginctl_verbs),
	TAGGED("logrotate", TAG_DELETE_LOG),
	TAGGED("losetup", TAG_KERNEL_MOUNT),
	TAGGED("lvcreate", TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("lvdisplay", TAG_READ_QUERY),
	TAGGED("lvextend", TAG_DEVICE_VOLUME_CHANGE),
	VERBS("lvm", TAG_DEVICE_VOLUME_CHANGE, lvm_verbs),
	TAGGED("lvreduce", TAG_DEVICE_VOLUME),
	TAGGED("lvremove", TAG_DEVICE_VOLUME),
	TAGGED("lvresize", TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("lvs", TAG_READ_QUERY),
	VERBS("mdadm", TAG_DEVICE_VOLUME_CHANGE, mdadm_verbs),
	TAGGED("mke2fs", TAG_DEVICE_PARTITION),
	TAGGED("mkfs", TAG_DEVICE_MKFS),
	TAGGED("mkinitcpio", TAG_KERNEL_BOOT),
	TAGGED("mkswap", TAG_DEVICE_MKFS),
	TAGGED("modprobe", TAG_KERNEL_MODULE),
	RUNS("mount", classify_mount, TAG_KERNEL_MOUNT),
	RUNS("netplan", classify_route, TAG_FIREWALL_ROUTE),
	TAGGED("newfs", TAG_DEVICE_MKFS),
	TAGGED("newgrp", TAG_PRIVILEGE_SHELL),
	RUNS("nft", classify_firewall, TAG_FIREWALL_CHANGE),
	{ "nginx", NULL, TAG_LISTEN_PORT, "c=g=p=", proxy_verbs, 0, 0 },
	VERBS("nmcli", TAG_READ_QUERY, nmcli_verbs),
	VERBS("nvme", TAG_READ_QUERY, nvme_verbs),
	TAGGED("nvram", TAG_KERNEL_BOOT),
	RUNS("op", classify_keychain, TAG_SECRET_STORE),
	RUNS("parted", classify_disk, TAG_DEVICE_PARTITION),
	TAGGED("partprobe", TAG_DEVICE_VOLUME_CHANGE),
	RUNS("pass", classify_keychain, TAG_SECRET_STORE),
	RUNS("passwd", classify_passwd, TAG_ACCOUNT_PASSWORD),
	RUNS("pfctl", classify_firewall, TAG_FIREWALL_CHANGE),
	TAGGED("pivot_root", TAG_CONTAINER_NAMESPACE),
	RUNS("pkill", classify_pkill, TAG_PROCESS_KILL),
	VERBS("pm2", TAG_PROCESS_SERVICE, supervisor_verbs),
	VERBS("pmset", TAG_WRITE_CONFIG, pfx_read),
	RUNS("poweroff", classify_power, TAG_POWER_OFF),
	VERBS("puppet", TAG_READ_QUERY, puppet_verbs),
	TAGGED("pvcreate", TAG_DEVICE_VOLUME),
	TAGGED("pvremove", TAG_DEVICE_VOLUME),
	TAGGED("pvs", TAG_READ_QUERY),
	TAGGED("pwconv", TAG_ACCOUNT_CHANGE),
	TAGGED("rc-service", TAG_PROCESS_SERVICE),
	TAGGED("rc-update", TAG_PERSISTENCE_UNIT),
	RUNS("reboot", classify_power, TAG_POWER_OFF),
	TAGGED("renice", TAG_PROCESS_PRIORITY),
	TAGGED("resize2fs", TAG_DEVICE_VOLUME_CHANGE),
	VERBS("resolvectl", TAG_READ_QUERY, resolvectl_verbs),
	VERBS("restic", TAG_READ_QUERY, backup_verbs),
	VERBS("rfkill", TAG_FIREWALL_ROUTE, pfx_read),
	TAGGED("rmmod", TAG_KERNEL_MODULE),
	RUNS("route", classify_route, TAG_FIREWALL_ROUTE),
	RUNS("rpool", classify_disk, TAG_DEVICE_VOLUME),
	TAGGED("rsyslogd", TAG_PROCESS_SERVICE),
	TAGGED("salt", TAG_REMOTE_SHELL),
	TAGGED("salt-call", TAG_PROCESS_SERVICE),
	TAGGED("salt-ssh", TAG_REMOTE_SHELL),
	RUNS("screen", classify_screen, TAG_READ_QUERY),
	RUNS("scutil", classify_scutil, TAG_KERNEL_SECURITY),
	RUNS("secret-tool", classify_keychain, TAG_SECRET_STORE),
	RUNS("security", classify_keychain, TAG_SECRET_STORE),
	TAGGED("semanage", TAG_KERNEL_SECURITY),
	VERBS("service", TAG_PROCESS_SERVICE, service_verbs),
	TAGGED("sestatus", TAG_READ_QUERY),
	RUNS("setenforce", classify_setenforce, TAG_KERNEL_SECURITY),
	RUNS("setsebool", classify_setenforce, TAG_KERNEL_SECURITY),
	TAGGED("setserial", TAG_DEVICE_VOLUME_CHANGE),
	RUNS("sfdisk", classify_disk, TAG_DEVICE_PARTITION),
	TAGGED("sg_format", TAG_DEVICE_WIPE),
	TAGGED("sg_sanitize", TAG_DEVICE_WIPE),
	RUNS("sgdisk", classify_disk, TAG_DEVICE_PARTITION),
	RUNS("shutdown", classify_power, TAG_POWER_OFF),
	RUNS("skill", classify_pkill, TAG_PROCESS_KILL),
	RUNS("slay", classify_pkill, TAG_PROCESS_KILL),
	TAGGED("smartctl", TAG_READ_QUERY),
	VERBS("snapper", TAG_READ_QUERY, snapper_verbs),
	RUNS("socketfilterfw", classify_app_firewall, TAG_KERNEL_SECURITY),
	VERBS("spctl", TAG_KERNEL_SECURITY, pfx_read),
	RUNS("stap", classify_kernel_code, TAG_KERNEL_MODULE),
	VERBS("supervisorctl", TAG_PROCESS_SERVICE, supervisor_verbs),
	TAGGED("sv", TAG_PROCESS_SERVICE),
	RUNS("swapoff", classify_swap, TAG_KERNEL_SWAP),
	RUNS("swapon", classify_swap, TAG_KERNEL_SWAP),
	TAGGED("sync", TAG_READ_QUERY),
	TAGGED("sysadminctl", TAG_ACCOUNT_CHANGE),
	RUNS("sysctl", classify_sysctl, TAG_KERNEL_SYSCTL),
	RUNS("sysrc", classify_sysrc, TAG_PERSISTENCE_UNIT),
	{ "systemctl", NULL, TAG_PROCESS_SERVICE,
		"tpnoHM=:type=,property=,lines=,output=,host=,machine=,state=,root=", systemctl_verbs, 0, 0 },
	RUNS("systemsetup", classify_sysrc, TAG_KERNEL_SECURITY),
	RUNS("tc", classify_route, TAG_FIREWALL_ROUTE),
	RUNS("telinit", classify_init, TAG_POWER_OFF),
	RUNS("timedatectl", classify_timedatectl, TAG_KERNEL_CLOCK),
	VERBS("timeshift", TAG_READ_QUERY, snapper_verbs),
	VERBS("tmutil", TAG_READ_QUERY, tmutil_verbs),
	RUNS("tmux", classify_tmux, TAG_READ_QUERY),
	VERBS("tune2fs", TAG_DEVICE_VOLUME_CHANGE, pfx_read),
	TAGGED("udevadm", TAG_KERNEL_BOOT),
	RUNS("ufw", classify_firewall, TAG_FIREWALL_CHANGE),
	RUNS("umount", classify_mount, TAG_KERNEL_MOUNT),
	RUNS("update-alternatives", classify_boot_setting, TAG_KERNEL_BOOT),
	TAGGED("update-grub", TAG_KERNEL_BOOT),
	TAGGED("update-initramfs", TAG_KERNEL_BOOT),
	TAGGED("update-rc.d", TAG_PERSISTENCE_UNIT),
	TAGGED("useradd", TAG_ACCOUNT_CHANGE),
	TAGGED("userdel", TAG_ACCOUNT_CHANGE),
	TAGGED("usermod", TAG_ACCOUNT_CHANGE),
	TAGGED("vgchange", TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("vgcreate", TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("vgreduce", TAG_DEVICE_VOLUME),
	TAGGED("vgremove", TAG_DEVICE_VOLUME),
	TAGGED("vgs", TAG_READ_QUERY),
	TAGGED("vigr", TAG_ACCOUNT_CHANGE),
	TAGGED("vipw", TAG_ACCOUNT_CHANGE),
	TAGGED("visudo", TAG_PERSISTENCE_SUDOERS),
	TAGGED("wall", TAG_PROCESS_SERVICE),
	TAGGED("wg", TAG_READ_QUERY),
	TAGGED("wg-quick", TAG_FIREWALL_ROUTE),
	RUNS("wipefs", classify_wipefs, TAG_DEVICE_WIPE),
	VERBS("xattr", TAG_READ_QUERY, xattr_verbs),
	TAGGED("xfs_repair", TAG_DEVICE_VOLUME_CHANGE),
	TAGGED("xkill", TAG_PROCESS_KILL),
	VERBS("zfs", TAG_DEVICE_VOLUME_CHANGE, zfs_verbs),
	VERBS("zpool", TAG_DEVICE_VOLUME_CHANGE, zfs_verbs),
};
const struct program_table programs_host = { rows, ARRAY_SIZE(rows) };
