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

enum { MAX_STEPS = 256, REFUSED = sizeof(refused) / sizeof(refused[0]), LEAF = 3 };
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

/* Refuses all of `calls`, which are sorted, by halves: the kernel walks the filter once for every call it
 * knows when the filter is installed, and halves make that a third shorter than a plain list.  A call that
 * is none of them goes on behind; those jumps are left open here and noted in `open`. */
static void refuse_calls(
	struct program *p, const uint16_t *calls, size_t n, unsigned short *open, size_t *opens)
{
	unsigned short fork = p->n;

	if (n > LEAF) {
		add(p, BPF_JMP | BPF_JGE | BPF_K, calls[n / 2], 0, 0);
		refuse_calls(p, calls, n / 2, open, opens);
		p->steps[fork].jt = (uint8_t)(p->n - fork - 1);
		refuse_calls(p, calls + n / 2, n - n / 2, open, opens);
		return;
	}
	for (size_t i = 0; i < n; i++)
		add(p, BPF_JMP | BPF_JEQ | BPF_K, calls[i], (uint8_t)(n - i), 0);
	open[(*opens)++] = p->n;
	add(p, BPF_JMP | BPF_JA, 0, 0, 0);
	answer(p, REFUSE);
}

/* The whole list, with every open jump led to what follows. */
static void refuse_listed(struct program *p)
{
	uint16_t calls[REFUSED];
	unsigned short open[REFUSED];
	size_t opens = 0;

	memcpy(calls, refused, sizeof(calls));
	qsort(calls, REFUSED, sizeof(*calls), by_number);
	refuse_calls(p, calls, REFUSED, open, &opens);
	for (size_t i = 0; i < opens; i++)
		p->steps[open[i]].k = (uint32_t)(p->n - open[i] - 1);
}

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
	mode_rule(p, 452 /* fchmodat2 */, 2);
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
	refuse_listed(&p);
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
	socket_rules(&p, rules);
	answer(&p, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { p.n, p.steps };
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		rules->desk ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
}
