/* filter.h - the seccomp program that stops a tracee where it matters.
 *
 * Everything that is in no table is allowed, by number alone, so the kernel
 * answers it from its bitmap cache without running the program: reads and
 * writes cost nothing.  Calls whose arguments already show that no file content
 * is involved (opening a directory or a bare handle, removing a directory) are
 * allowed in the program, too. */
#ifndef ROAR_TRACE_PTRACE_FILTER_H
#define ROAR_TRACE_PTRACE_FILTER_H

#include <linux/filter.h>

enum { FILTER_MAX = 512 };

struct filter_program {
	struct sock_filter code[FILTER_MAX];
	struct sock_fprog prog; /* points at code */
};

/* Assembles the program for this machine. */
void filter_build(struct filter_program *f);

#endif
