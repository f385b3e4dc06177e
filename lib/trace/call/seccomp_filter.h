/* seccomp_filter.h - the seccomp program that stops a tracee at relevant calls.
 *
 * Every call that is not in a table is allowed by its number alone, so the kernel
 * answers it from its bitmap cache without running the program: reads and writes cost
 * nothing.  Calls whose arguments show that no file content is involved (opening a
 * directory or with O_PATH; for ptrace, removing a directory) are allowed by the
 * program, too. */
#ifndef ROAR_TRACE_CALL_SECCOMP_FILTER_H
#define ROAR_TRACE_CALL_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

enum { FILTER_MAX = 512 };

struct filter_program {
	struct sock_filter code[FILTER_MAX];
	struct sock_fprog prog; /* points at code */
	uint32_t action;
	bool rights_matter; /* file permissions restrict us */
	uint64_t pass;
};

/* Assembles the program for this machine.  `action` is the result for a call of the
 * tables: SECCOMP_RET_TRACE (with the enum value of the call as its data) or
 * SECCOMP_RET_USER_NOTIF.  Calls of the machine's own ABI with log_mark(`pass`) as
 * their sixth argument are allowed (0: none are).  Numbers are tested first, so this
 * test costs nothing for other calls.  Calls that change permissions are in the tables
 * only where `rights_matter`. */
void filter_build(struct filter_program *f, uint32_t action, uint64_t pass,
		  bool rights_matter);

#endif
