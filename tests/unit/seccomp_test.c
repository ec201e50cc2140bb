/* seccomp_test.c — the filter of system calls, tried by a process that put it on itself. */
#include "base/mem.h"
#include "execute/seccomp.h"
#include "tools/unit.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every call of the list is refused, whatever stands around it, and the calls next to each are not: they get as far as
 * finding their arguments wrong, or nobody knows them. */
static void test_listed_calls(void **state)
{
	(void)state;
	static const int listed[] = { SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare,
		SYS_setns, SYS_open_tree, SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
		442 /* mount_setattr */, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
		SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_bpf, SYS_perf_event_open,
		SYS_userfaultfd, SYS_io_uring_setup, SYS_add_key, SYS_request_key, SYS_keyctl,
		SYS_open_by_handle_at, SYS_fanotify_init, SYS_pidfd_getfd, SYS_settimeofday,
		SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname };
	static const int free_calls[] = { SYS_read, SYS_openat, SYS_fstat, SYS_mkdirat, SYS_getdents64,
		SYS_statx, SYS_execveat, SYS_close, SYS_preadv2, SYS_faccessat2 };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct seccomp_rules rules = { 0 };
		int wrong = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || seccomp_install(&rules);
		for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
			wrong += syscall(listed[i], -1L, -1L, -1L, -1L, -1L, -1L) != -1 || errno != EPERM;
		for (size_t i = 0; i < ARRAY_SIZE(free_calls); i++)
			wrong += syscall(free_calls[i], -1L, -1L, -1L, -1L, -1L, -1L) != -1 || errno == EPERM;
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* By none of the calls that change modes is a file made to run as its owner; other modes get as far as finding no file. */
static void test_modes(void **state)
{
	(void)state;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct seccomp_rules rules = { 0 };
		int wrong = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || seccomp_install(&rules);
		for (int bit = 0; bit < 2; bit++) {
			long mode = bit ? 04755 : 02755;
			wrong += syscall(SYS_fchmod, -1L, mode) != -1 || (errno == EPERM) != bit;
			wrong += syscall(SYS_fchmodat, -1L, "none", mode) != -1 || (errno == EPERM) != bit;
			wrong += syscall(452 /* fchmodat2 */, -1L, "none", mode, 0L) != -1 ||
				(errno == EPERM) != bit;
#ifdef SYS_chmod
			wrong += syscall(SYS_chmod, "none", mode) != -1 || (errno == EPERM) != bit;
#endif
		}
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listed_calls),
		cmocka_unit_test(test_modes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
