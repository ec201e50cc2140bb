/* seccomp.c — a filter written by hand, because it must be small, static and readable.
 *
 * The list is of what escapes or weakens the other walls: new namespaces and mounts, kernel modules and
 * tracing of the kernel, io_uring (it makes sockets without a system call that could be seen), raw sockets,
 * keys of other sessions, injecting input into the terminal.  Everything else is allowed: Landlock decides
 * about files, not this filter.  A refused call fails with EPERM, so that programs can report it; a foreign
 * instruction set ends the process.
 *
 * How the filter reads.  It is a list of instructions for a small machine with one register.  Each check
 * loads what it looks at, compares, and either answers or jumps over its own answer to the next check; jump
 * distances count instructions, which is why the order within a check must not change.  The last answer is
 * "allow". */
#include "execute/seccomp.h"

#include "execute/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this processor"
#endif

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define CALL_FCHMODAT2 452
#define FLAG_WAIT_KILLABLE (1u << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */

/* Calls that are refused whatever their arguments. */
static const uint16_t refused[] = {
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_open_by_handle_at,
	SYS_fanotify_init,
	SYS_pidfd_getfd,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_sethostname,
	SYS_setdomainname,
#ifdef SYS_iopl
	SYS_iopl,
	SYS_ioperm,
#endif
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
};

/* Calls that change files or their metadata, and take a path or a descriptor: carried out by the supervisor.  Opening is decided by its
 * flags, below. */
static const uint16_t file_calls[] = {
	SYS_mkdirat,
	SYS_mknodat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_unlinkat,
	SYS_truncate,
	SYS_fchmod,
	SYS_fchmodat,
	CALL_FCHMODAT2,
	SYS_fchown,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_mkdir /* the older calls of x86-64 */
	SYS_creat,
	SYS_mkdir,
	SYS_mknod,
	SYS_rename,
	SYS_link,
	SYS_symlink,
	SYS_unlink,
	SYS_rmdir,
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
};

static const uint16_t signal_calls[] = {
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_send_signal,
};

static const uint16_t rename_calls[] = {
	SYS_renameat2,
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_rename
	SYS_rename,
#endif
};

static const uint16_t socket_calls[] = { SYS_bind, SYS_connect, SYS_listen };

/* Without an IPC namespace these reach processes outside. */
static const uint16_t shared_calls[] = {
	SYS_shmget,
	SYS_shmat,
	SYS_shmctl,
	SYS_semget,
	SYS_semop,
	SYS_semctl,
	SYS_semtimedop,
	SYS_msgget,
	SYS_msgsnd,
	SYS_msgrcv,
	SYS_msgctl,
	SYS_mq_open,
	SYS_mq_unlink,
	SYS_sched_setscheduler,
	SYS_sched_setparam,
	SYS_sched_setattr,
};

/* Newer calls that take a path, or their flags, from memory: programs fall back to the older ones. */
static const uint16_t newer_calls[] = { SYS_openat2, 463 /* setxattrat */, 466 /* removexattrat */,
	467 /* open_tree_attr */, 469 /* file_setattr */ };
enum { NEWEST_CALL = 470 }; /* what lies behind is not known yet */

enum { MAX_STEPS = 1024, LISTED_MOST = 64, LEAF = 3 };
struct program {
	struct sock_filter steps[MAX_STEPS];
	unsigned short n;
};

/* jt and jf say how many instructions to skip when the comparison holds, and when it does not. */
static void add(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->steps[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void load(struct program *p, size_t offset)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t what)
{
	add(p, BPF_RET | BPF_K, what, 0, 0);
}

#define ARG(n) \
	(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t)) /* low half: little endian only */
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)

/* The system call number is in the register; when it is `call`, the filter ends with the answer `what`. */
static void refuse_call(struct program *p, uint32_t call, uint32_t what)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
	answer(p, what);
}

static int by_number(const void *x, const void *y)
{
	return *(const uint16_t *)x - *(const uint16_t *)y;
}

/* Answers `what` to all of `calls`, which are sorted, by halves: the kernel walks the filter once for every call it
 * knows when the filter is installed, and halves make that a third shorter than a plain list.  A call that
 * is none of them goes on behind; those jumps are left open here and noted in `open`. */
static void answer_calls(struct program *p, const uint16_t *calls, size_t n, uint32_t what,
	unsigned short *open, size_t *opens)
{
	unsigned short fork = p->n;

	if (n > LEAF) {
		add(p, BPF_JMP | BPF_JGE | BPF_K, calls[n / 2], 0, 0);
		answer_calls(p, calls, n / 2, what, open, opens);
		p->steps[fork].jt = (uint8_t)(p->n - fork - 1);
		answer_calls(p, calls + n / 2, n - n / 2, what, open, opens);
		return;
	}
	for (size_t i = 0; i < n; i++)
		add(p, BPF_JMP | BPF_JEQ | BPF_K, calls[i], (uint8_t)(n - i), 0);
	open[(*opens)++] = p->n;
	add(p, BPF_JMP | BPF_JA, 0, 0, 0);
	answer(p, what);
}

/* The whole list, with every open jump led to what follows. */
static void answer_listed(struct program *p, const uint16_t *list, size_t n, uint32_t what)
{
	uint16_t calls[LISTED_MOST];
	unsigned short open[LISTED_MOST];
	size_t opens = 0;

	memcpy(calls, list, n * sizeof(*calls));
	qsort(calls, n, sizeof(*calls), by_number);
	answer_calls(p, calls, n, what, open, &opens);
	for (size_t i = 0; i < opens; i++)
		p->steps[open[i]].k = (uint32_t)(p->n - open[i] - 1);
}
#define ANSWER(p, list, what) \
	do { \
		_Static_assert(ARRAY_SIZE(list) <= LISTED_MOST, "the list is too long"); \
		answer_listed(p, list, ARRAY_SIZE(list), what); \
	} while (0)

/* socket(domain, type): which families of sockets exist for the child.  First raw sockets are refused,
 * whatever the family; netlink is excepted, because its sockets are raw by nature.  Then only the families
 * that the rules name are allowed. */
static void socket_rules(struct program *p, const struct seccomp_rules *rules)
{
	static const uint16_t inet[] = { AF_INET, AF_INET6, AF_NETLINK };
	unsigned short jump = p->n;

	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 0); /* else: skip this part; patched below */
	load(p, ARG(1));
	add(p, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0); /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SOCK_RAW, 0, 4);
	load(p, ARG(0)); /* netlink is raw by nature; every other raw socket is refused */
	add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
	answer(p, REFUSE);
	add(p, BPF_JMP | BPF_JA, 0, 0, 0);
	load(p, ARG(0));
	if (rules->unix_socket)
		add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1), answer(p, SECCOMP_RET_ALLOW);
	for (size_t i = 0; rules->inet && i < sizeof(inet) / sizeof(inet[0]); i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, inet[i], 0, 1);
		answer(p, SECCOMP_RET_ALLOW);
	}
	answer(p, REFUSE);
	p->steps[jump].jf = (uint8_t)(p->n - jump - 1);
}

/* ---- supervised calls ---- */

/* A call whose argument `at` has one of these bits, or with 0 any value but 0, is answered with `what`; others go on. */
static void argument_rule(struct program *p, uint32_t call, size_t at, uint32_t bits, uint32_t what)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
	load(p, ARG(at));
	if (bits)
		add(p, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	else
		add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	answer(p, what);
	load(p, offsetof(struct seccomp_data, nr));
}

/* Requests to a file system that change a file through a descriptor that may only read; and who gets a signal from a descriptor. */
static void file_request_rules(struct program *p)
{
	static const uint32_t requests[] = { 0x40086602 /* FS_IOC_SETFLAGS */, 0x40046602,
		0x40086604 /* EXT4_IOC_SETVERSION */, 0x40046604, 0x6609 /* EXT4_IOC_MIGRATE */,
		0x401c5820 /* FS_IOC_FSSETXATTR */, 0x40087602 /* FS_IOC_SETVERSION */, 0x40047602,
		0x40806685 /* FS_IOC_ENABLE_VERITY */, 0x800c6613 /* FS_IOC_SET_ENCRYPTION_POLICY */,
		0x40047211 /* FAT_IOCTL_SET_ATTRIBUTES */, 0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */ };
	static const uint32_t clones[] = { 0x40049409 /* FICLONE */, 0x4020940d /* FICLONERANGE */,
		0xc0189436 /* FIDEDUPERANGE */ };
	unsigned short jump = p->n;

	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 0); /* else: skip this part; patched below */
	load(p, ARG(1));
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		refuse_call(p, requests[i], REFUSE);
	for (size_t i = 0; i < ARRAY_SIZE(clones); i++)
		refuse_call(p, clones[i], SECCOMP_RET_ALLOW);
	add(p, BPF_ALU | BPF_AND | BPF_K, 0xff00, 0,
		0); /* the kind of device: all that is left of btrfs and f2fs */
	refuse_call(p, 0x9400, REFUSE);
	refuse_call(p, 0xf500, REFUSE);
	load(p, offsetof(struct seccomp_data, nr));
	p->steps[jump].jf = (uint8_t)(p->n - jump - 1);
}

/* fcntl(F_SETOWN): a descriptor that signals another process.  F_SETLEASE: the supervisor would wait for whoever holds it. */
static void owner_rule(struct program *p)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 6);
	load(p, ARG(1));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN, 2, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 1, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 15 /* F_SETOWN_EX */, 0, 1);
	answer(p, REFUSE);
	load(p, offsetof(struct seccomp_data, nr));
}

/* setsockopt(level, name): options that send a connection another way than its address says, or data before it is judged. */
static void option_rules(struct program *p)
{
	static const struct {
		uint32_t level, name;
	} options[] = { { 0, 4 /* IP_OPTIONS */ }, { 6, 30 /* TCP_FASTOPEN_CONNECT */ },
		{ 6, 34 /* TCP_FASTOPEN_NO_COOKIE */ }, { 6, 19 /* TCP_REPAIR */ },
		{ 41, 5 /* IPV6_2292RTHDR */ }, { 41, 6 /* IPV6_2292PKTOPTIONS */ },
		{ 41, 1 /* IPV6_ADDRFORM */ }, { 41, 54 /* IPV6_HOPOPTS */ },
		{ 41, 55 /* IPV6_RTHDRDSTOPTS */ }, { 41, 57 /* IPV6_RTHDR */ },
		{ 41, 59 /* IPV6_DSTOPTS */ } };
	unsigned short jump = p->n;

	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 0); /* else: skip this part; patched below */
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		load(p, ARG(1));
		add(p, BPF_JMP | BPF_JEQ | BPF_K, options[i].level, 0, 3);
		load(p, ARG(2));
		add(p, BPF_JMP | BPF_JEQ | BPF_K, options[i].name, 0, 1);
		answer(p, REFUSE);
	}
	load(p, offsetof(struct seccomp_data, nr));
	p->steps[jump].jf = (uint8_t)(p->n - jump - 1);
}

/* TCP sockets are made by the supervisor; routes and addresses may be asked for; there are no others. */
static void supervised_socket_rules(struct program *p)
{
	unsigned short jump = p->n;

	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 0); /* else: skip this part; patched below */
	load(p, ARG(0));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3);
	load(p, ARG(2));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 0 /* NETLINK_ROUTE */, 0, 5);
	answer(p, SECCOMP_RET_ALLOW);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 2);
	answer(p, SECCOMP_RET_USER_NOTIF);
	answer(p, REFUSE);
	answer(p, REFUSE);
	p->steps[jump].jf = (uint8_t)(p->n - jump - 1);
	ANSWER(p, socket_calls, SECCOMP_RET_USER_NOTIF);
	option_rules(p);
	argument_rule(p, SYS_sendto, 3, MSG_FASTOPEN, REFUSE);
	argument_rule(p, SYS_sendmsg, 2, MSG_FASTOPEN, REFUSE);
	argument_rule(p, SYS_sendmmsg, 3, MSG_FASTOPEN, REFUSE);
}

static void supervised_rules(struct program *p, const struct seccomp_rules *rules)
{
	/* And directories: those above hidden places, which Landlock closes, are listed with the supervisor's help. */
	const uint32_t changing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE;

	add(p, BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1);
	answer(p, ABSENT);
	ANSWER(p, newer_calls, ABSENT);
	ANSWER(p, shared_calls, REFUSE);
	ANSWER(p, file_calls, SECCOMP_RET_USER_NOTIF);
#ifdef SYS_open
	argument_rule(p, SYS_open, 1, changing, SECCOMP_RET_USER_NOTIF);
#endif
	argument_rule(p, SYS_openat, 2, changing, SECCOMP_RET_USER_NOTIF);
	file_request_rules(p);
	/* A process of its own is 0; the number of another one may be that of one outside. */
	argument_rule(p, SYS_prlimit64, 0, 0, REFUSE);
	argument_rule(p, SYS_setpriority, 0, 3 /* a group or a user */, REFUSE);
	argument_rule(p, SYS_setpriority, 1, 0, REFUSE);
	argument_rule(p, SYS_ioprio_set, 0, 2 /* a group or a user */, REFUSE);
	argument_rule(p, SYS_ioprio_set, 1, 0, REFUSE);
	argument_rule(p, SYS_sched_setaffinity, 0, 0, SECCOMP_RET_USER_NOTIF);
	if (rules->signals)
		ANSWER(p, signal_calls, SECCOMP_RET_USER_NOTIF);
	owner_rule(p);
	/* A pair of datagram sockets can be sent to any other that has a name. */
	if (!rules->unix_socket)
		argument_rule(p, SYS_socketpair, 1, SOCK_DGRAM, REFUSE);
}

/* The call by which a program inside a session asks its supervisor (desk.c).  It stands before the rules for sockets, which refuse or
 * permit all others.  The call's number is loaded again for them. */
static void desk_rule(struct program *p)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 6);
	load(p, ARG(0));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 3);
	load(p, ARG(2));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, DESK_PROTOCOL, 0, 1);
	answer(p, SECCOMP_RET_USER_NOTIF);
	load(p, offsetof(struct seccomp_data, nr));
}

/* New namespaces would give the child new powers inside them.  clone3() takes its flags from memory, which
 * a filter cannot look into, so it answers "no such call", and the C library falls back to clone(). */
static void clone_rules(struct program *p)
{
	const uint32_t spaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
		CLONE_NEWUTS | CLONE_NEWCGROUP;

	refuse_call(p, SYS_clone3, ABSENT);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	load(p, ARG(0));
	add(p, BPF_JMP | BPF_JSET | BPF_K, spaces, 0, 1);
	answer(p, REFUSE);
	answer(p, SECCOMP_RET_ALLOW);
}

/* A file that runs as its owner is left for others to use: not made by the calls that change modes.  `at`: which argument is the
 * mode. */
static void mode_rule(struct program *p, uint32_t call, size_t at)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
	load(p, ARG(at));
	add(p, BPF_JMP | BPF_JSET | BPF_K, S_ISUID, 0, 1);
	answer(p, REFUSE);
	answer(p, SECCOMP_RET_ALLOW);
}

static void mode_rules(struct program *p)
{
#ifdef SYS_chmod
	mode_rule(p, SYS_chmod, 1);
#endif
	mode_rule(p, SYS_fchmod, 1);
	mode_rule(p, SYS_fchmodat, 2);
	mode_rule(p, CALL_FCHMODAT2, 2);
}

/* TIOCSTI and TIOCLINUX put characters into a terminal as if a person had typed them: a way to run commands
 * outside the walls once this run is over. */
static void ioctl_rules(struct program *p)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5);
	load(p, ARG(1));
	add(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1);
	answer(p, REFUSE);
	answer(p, SECCOMP_RET_ALLOW);
}

/* First the instruction set is checked, since call numbers mean something else in another one.  Then the
 * checks follow from the simplest to the most special one. */
int seccomp_install(const struct seccomp_rules *rules)
{
	struct program p = { .n = 0 };

	load(&p, offsetof(struct seccomp_data, arch));
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
	answer(&p, SECCOMP_RET_KILL_PROCESS);
	load(&p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	add(&p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* the x32 table */
	answer(&p, SECCOMP_RET_KILL_PROCESS);
#endif
	ANSWER(&p, refused, REFUSE);
	if (rules->supervised)
		supervised_rules(&p, rules);
	if (rules->renames)
		ANSWER(&p, rename_calls, SECCOMP_RET_USER_NOTIF);
	if (rules->no_truncate)
		refuse_call(&p, SYS_truncate, REFUSE);
	if (rules->no_exec) {
		refuse_call(&p, SYS_execve, REFUSE);
		refuse_call(&p, SYS_execveat, REFUSE);
	}
	clone_rules(&p);
	ioctl_rules(&p);
	mode_rules(&p);
	if (rules->desk)
		desk_rule(&p);
	if (rules->sockets)
		supervised_socket_rules(&p);
	else
		socket_rules(&p, rules);
	answer(&p, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { p.n, p.steps };
	/* A signal must not break off, and so repeat, a call that the supervisor is carrying out. */
	unsigned flags = rules->supervised || rules->renames
		? SECCOMP_FILTER_FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE
		: rules->desk ? SECCOMP_FILTER_FLAG_NEW_LISTENER
			      : 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}
