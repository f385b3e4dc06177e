/* log_lines.h - the lines that the program writes about itself, to standard error.
 *
 *	text	2026-11-15T04:43:47.123456Z warning job=a worker is dead
 *	json	{"time": "...", "level": "warning", "job": "a", "message": "..."}
 *
 * One write() a line.  What a client named is made printable.  Nobody can make the
 * program wait by not reading, nor fill a disk by what he sends: lines that would wait, and
 * those beyond LOG_LINES_PER_S in a second, are left out, counted, and the next line that
 * is written says so.  The last lines are kept for who looks later (recent_lines.h), those that
 * were left out among them. */
#ifndef BASE_LOG_LINES_H
#define BASE_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/recent_lines.h"
#include "base/str.h"

enum { LOG_LINES_PER_S = 200 };

struct log_lines {
	int fd;
	int level; /* of syslog: what is less urgent is not written */
	bool json;
	struct str line; /* memory that is used again */
	struct recent_lines recent;
	int64_t second; /* the one that is counted */
	unsigned n_in_second;
	uint64_t left_out; /* since the last line */
	uint64_t left_out_total;
};

void log_lines_release(struct log_lines *n);

/* `job` may be NULL.  Errors are never beyond the limit. */
void log_lines_add(struct log_lines *n, int level, const char *job,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
