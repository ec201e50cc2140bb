/* begin.c — the first instructions of the shipped program.
 *
 * A hook inside a supervised session needs nothing of the program but hook_inside.c: it is tried before the program is relocated and libc has
 * begun.  Everything else begins where it always does, with the stack as the kernel made it. */
#include "cli/hook_inside.h"

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
	"	call hook_inside_begin\n"
	"	movq %rbx, %rsp\n"
	"	movq %r12, %rdx\n"
	"	jmp _start\n"
	".size helm_begin, . - helm_begin\n");
