/* stub_x86_64.c - the code of the exempt page, and how to get there.
 *
 * stub_code is copied to the page whose address the seccomp filter knows; without a
 * filter it is used where it is.  stub_call() moves its arguments into place and
 * jumps, so that the `ret` in the page returns to the C caller. */
#include "preload.h"

__asm__(".text\n"
	".globl stub_code, stub_code_end\n"
	".hidden stub_code, stub_code_end\n"
	"stub_code:\n"
	"	.cfi_startproc\n"
	"	syscall\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"stub_code_end:\n"
	".globl stub_call\n"
	".hidden stub_call\n"
	".type stub_call, @function\n"
	"stub_call:\n"
	"	.cfi_startproc\n"
	"	mov	%rdi, %r11\n"
	"	mov	%rsi, %rax\n"
	"	mov	%rdx, %rdi\n"
	"	mov	%rcx, %rsi\n"
	"	mov	%r8, %rdx\n"
	"	mov	%r9, %r10\n"
	"	jmp	*%r11\n"
	"	.cfi_endproc\n"
	".size stub_call, . - stub_call\n");
