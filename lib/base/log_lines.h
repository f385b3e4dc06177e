/* log_lines.h - the log of a server, as lines on standard error.
 *
 *	text	2026-11-15T04:43:47.123456Z warning job=a worker is dead
 *	json	{"time": "...", "level": "warning", "job": "a", "message": "..."}
 *
 * One write() per line.  Text from clients is made printable.  A reader that does not read
 * cannot block the program, and a client cannot fill the disk: lines that would block, and
 * lines beyond LOG_LINES_PER_S in a second, are dropped and counted, and the next line
 * reports the count.  The last lines, dropped ones included, stay in memory
 * (recent_lines.h).
 *
 * One thread. */
#ifndef BASE_LOG_LINES_H
#define BASE_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/recent_lines.h"
#include "base/str.h"

enum { LOG_LINES_PER_S = 200 };

struct log_lines {
	int fd;
	int level; /* of syslog: less urgent lines are not written */
	bool json;
	struct str line; /* the memory is reused */
	struct recent_lines recent;
	int64_t second; /* that `n_in_second` counts */
	unsigned n_in_second;
	uint64_t left_out; /* lines dropped since the last one written */
	uint64_t left_out_total;
};

void log_lines_release(struct log_lines *n);

/* Adds a line.  `job` may be NULL.  The rate limit does not apply to errors. */
void log_lines_add(struct log_lines *n, int level, const char *job,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
