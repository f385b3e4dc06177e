/* recent_lines.c - see recent_lines.h */
#include "base/recent_lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct recent_line *line)
{
	free(line->job);
	free(line->message);
	*line = (struct recent_line){ 0 };
}

void recent_lines_release(struct recent_lines *r)
{
	for (size_t i = 0; i < RECENT_LINES_MAX; i++)
		clear(&r->lines[i]);
	r->last = 0;
}

/* Never within a character of UTF-8. */
static size_t cut(const char *text)
{
	size_t len = strnlen(text, RECENT_LINE_LEN);

	if (len == RECENT_LINE_LEN)
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	return len;
}

void recent_lines_add(struct recent_lines *r, int64_t wall_ms,
		      const char *level, const char *job, const char *message)
{
	char *own_job = job ? strdup(job) : NULL;
	char *own_message = strndup(message, cut(message));
	struct recent_line *line;

	assert(level && message);
	if (!own_message || (job && !own_job)) {
		free(own_job);
		free(own_message);
		return;
	}
	line = &r->lines[++r->last % RECENT_LINES_MAX];
	clear(line);
	*line = (struct recent_line){ .id = r->last,
				      .wall_ms = wall_ms,
				      .level = level,
				      .job = own_job,
				      .message = own_message };
}

const struct recent_line *recent_lines_after(const struct recent_lines *r,
					     uint64_t id)
{
	uint64_t first = r->last > RECENT_LINES_MAX ?
				 r->last - RECENT_LINES_MAX + 1 :
				 1;
	uint64_t next = id < first ? first : id + 1;

	return next <= r->last ? &r->lines[next % RECENT_LINES_MAX] : NULL;
}
