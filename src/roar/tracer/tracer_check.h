/* tracer_check.h - does a tracer really work here?  A tiny command tells.
 *
 * The built-in one reads a file and writes another, by a shell and a program it
 * starts; what the tracer tells of it must name both files and leave no gap.  The
 * command runs once, in a fresh temporary folder. */
#ifndef ROAR_TRACER_CHECK_H
#define ROAR_TRACER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tracer.h"

struct tracer_check {
	const struct tracer_ops *ops;
	bool works;
	char why[1024]; /* not: one sentence */
	uint64_t n_events;
	uint64_t n_processes;
	int64_t attach_ns; /* until the command was let go */
	int64_t total_ns; /* and until all was known */
	int status; /* wait status of the command */
};

/* Runs `command` (a line for sh; NULL: the built-in one) under the backend. */
void tracer_check(const struct tracer_ops *ops, const char *command,
		  struct tracer_check *ret);

#endif
