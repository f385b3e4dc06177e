/* tracer_check.h - tests a tracer with a small command.
 *
 * The built-in command reads a file and writes another, by a shell and a program it starts.
 * The tracer's events must name both files and have no gap.  The command runs once, in a
 * new temporary directory. */
#ifndef ROAR_TRACER_CHECK_H
#define ROAR_TRACER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tracer.h"

struct tracer_check {
	const struct tracer_ops *ops;
	bool works;
	char why[1024]; /* if not: one sentence */
	uint64_t n_events;
	uint64_t n_processes;
	int64_t attach_ns; /* until the command was started */
	int64_t total_ns; /* until all events were read */
	int status; /* wait status of the command */
};

/* Runs `command` (a line for sh; NULL: the built-in one) under the backend. */
void tracer_check(const struct tracer_ops *ops, const char *command,
		  struct tracer_check *ret);

#endif
