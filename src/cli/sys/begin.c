/* begin.c — the first instructions of the shipped program.
 *
 * A hook inside a supervised session needs nothing of the program but hook_inside.c: it is tried before the program is relocated and libc has
 * begun.  Everything else begins where it always does, with the stack as the kernel made it.
 *
 * Relocations and libc need more stack and memory than the smallest limits give, and would end with a signal there.  So both are looked at
 * first (main() looks again, for programs that begin elsewhere).  The rules of hook_inside.c hold here, too: nothing is called, nothing relocated. */
#include "base/limits.h"
#include "cli/hook_inside.h"

#include <sys/resource.h>
#include <sys/syscall.h>

__asm__(".text\n"
	".globl helm_begin\n"
	".hidden helm_begin\n"
	".type helm_begin, @function\n"
	"helm_begin:\n"
	"	endbr64\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rsp, %rbx\n"
	"	movq %rdx, %r12\n"
	"	movq %rsp, %rdi\n"
	"	andq $-16, %rsp\n"
	"	call helm_check_limits\n"
	"	movq %rbx, %rdi\n"
	"	call hook_inside_begin\n"
	"	movq %rbx, %rsp\n"
	"	movq %r12, %rdx\n"
	"	jmp _start\n"
	".size helm_begin, . - helm_begin\n");

static long ask_kernel(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static size_t put_text(char *to, size_t at, const char *text)
{
	while (*text)
		to[at++] = *text++;
	return at;
}

static size_t put_kib(char *to, size_t at, unsigned long kib)
{
	char digits[24];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + kib % 10);
		kib /= 10;
	} while (kib);
	while (n > 0)
		to[at++] = digits[--n];
	return at;
}

/* Exit code 2 is the block that every client knows. */
static int refusal_code(const long *stack)
{
	const char *word = stack[0] > 1 ? ((const char *const *)(stack + 1))[1] : "";

	return word[0] == 'h' && word[1] == 'o' && word[2] == 'o' && word[3] == 'k' && !word[4] ? 2 : 1;
}

/* The sentence of limits_check(), and the end. */
static void check_limit(
	const long *stack, long which, unsigned long needed_kib, const char *what, const char *remedy)
{
	struct rlimit now;
	char text[200];
	size_t n;

	if (ask_kernel(SYS_prlimit64, 0, which, 0, (long)&now) || now.rlim_cur >= needed_kib << 10)
		return;
	n = put_text(text, 0, "helm: the ");
	n = put_text(text, n, what);
	n = put_text(text, n, " is limited to ");
	n = put_kib(text, n, now.rlim_cur >> 10);
	n = put_text(text, n, " KiB here, and helm needs ");
	n = put_kib(text, n, needed_kib);
	n = put_text(text, n, ": ");
	n = put_text(text, n, remedy);
	n = put_text(text, n, "\n");
	(void)ask_kernel(SYS_write, 2, (long)text, (long)n, 0);
	(void)ask_kernel(SYS_exit_group, refusal_code(stack), 0, 0, 0);
}

void helm_check_limits(const long *stack);
void helm_check_limits(const long *stack)
{
	check_limit(stack, RLIMIT_STACK, LIMITS_STACK_KIB, "stack", LIMITS_STACK_REMEDY);
	check_limit(stack, RLIMIT_AS, LIMITS_MEMORY_KIB, "memory", LIMITS_MEMORY_REMEDY);
}
