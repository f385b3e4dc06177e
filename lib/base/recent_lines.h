/* recent_lines.h - the last lines of the program about itself, for those who look later.
 *
 * A ring of RECENT_LINES_MAX lines.  A line beyond RECENT_LINE_LEN bytes is cut, so all of it takes
 * half a megabyte at most, whoever makes lines and however many.  Lines are numbered from 1
 * on, and numbers only grow. */
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
	char *job; /* NULL: of the server itself */
	char *message;
};

struct recent_lines {
	struct recent_line
		lines[RECENT_LINES_MAX]; /* by id modulo RECENT_LINES_MAX */
	uint64_t last; /* id of the newest; 0: there is none */
};

void recent_lines_release(struct recent_lines *r);

/* Copies what it is given; a line that there is no memory for is left out. */
void recent_lines_add(struct recent_lines *r, int64_t wall_ms,
		      const char *level, const char *job, const char *message);

/* The first line behind `id`, NULL when there is none; of those that are gone it says
 * nothing. */
const struct recent_line *recent_lines_after(const struct recent_lines *r,
					     uint64_t id);

#endif
