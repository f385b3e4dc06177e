/* recent_lines.h - the last log lines of a server, kept in memory.
 *
 * A ring of RECENT_LINES_MAX lines, each cut to RECENT_LINE_LEN bytes: half a megabyte at most.
 * Lines are numbered from 1, and numbers only grow. */
#ifndef BASE_RECENT_LINES_H
#define BASE_RECENT_LINES_H

#include <stdint.h>

enum {
	RECENT_LINES_MAX = 500,
	RECENT_LINE_LEN = 1024,
};

struct recent_line {
	uint64_t id;
	int64_t wall_ms;
	const char *level; /* "error", "warning", "info", "debug" */
	char *job; /* NULL: the server itself */
	char *message;
};

struct recent_lines {
	struct recent_line
		lines[RECENT_LINES_MAX]; /* by id modulo RECENT_LINES_MAX */
	uint64_t last; /* id of the newest; 0: there is none */
};

void recent_lines_release(struct recent_lines *r);

/* Copies its arguments; without memory the line is dropped. */
void recent_lines_add(struct recent_lines *r, int64_t wall_ms,
		      const char *level, const char *job, const char *message);

/* The first line after `id` that is still in the ring; NULL: there is none. */
const struct recent_line *recent_lines_after(const struct recent_lines *r,
					     uint64_t id);

#endif
