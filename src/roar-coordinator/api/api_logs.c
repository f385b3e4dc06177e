/* api_logs.c - the last lines of the program about itself, as JSON. */
#include "api/api.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"

enum { LOGS_DEFAULT = 100 };

/* Who sees one job sees no lines of others, nor those about the server. */
static bool may_see(const char *job, const struct recent_line *line)
{
	return !job || (line->job && strcmp(line->job, job) == 0);
}

/* In the word that dashboards know. */
static const char *level_name(const struct recent_line *line)
{
	return strcmp(line->level, "warning") == 0 ? "warn" : line->level;
}

static void add_id(struct json *j, uint64_t id)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, id);
	api_add_string(j, "id", text);
}

static void write_line(struct json *j, const struct recent_line *line)
{
	json_put_object(j);
	add_id(j, line->id);
	api_add_time(j, "timestamp", line->wall_ms);
	api_add_string(j, "level", level_name(line));
	api_add_string(j, "message", line->message);
	api_add_string(j, "source", line->job ? "job" : "coordinator");
	json_put_key(j, "task_id");
	json_put_string(j, line->job);
	/* A line is a sentence: it names workers, but does not belong to one. */
	json_put_key(j, "worker_id");
	json_put_null(j);
	json_end(j);
}

/* From where on there are `max` lines at most. */
static uint64_t last_lines(const struct recent_lines *recent, const char *job,
			   uint64_t after, unsigned max)
{
	unsigned n = 0;
	const struct recent_line *line = recent_lines_after(recent, after);

	for (; line; line = recent_lines_after(recent, line->id))
		n += may_see(job, line);
	for (line = recent_lines_after(recent, after); line && n > max;
	     line = recent_lines_after(recent, line->id)) {
		n -= may_see(job, line);
		after = line->id;
	}
	return after;
}

uint64_t api_write_logs(struct server *s, const char *job, struct json *j,
			uint64_t after, unsigned max)
{
	const struct recent_lines *recent = &s->lines.recent;
	const struct recent_line *line;

	after = last_lines(recent, job, after, max);
	json_put_array(j);
	for (line = recent_lines_after(recent, after); line;
	     line = recent_lines_after(recent, line->id)) {
		if (may_see(job, line))
			write_line(j, line);
	}
	json_end(j);
	return recent->last;
}

void api_write_messages(struct server *s, const char *job, struct json *j,
			unsigned max)
{
	const struct recent_lines *recent = &s->lines.recent;
	uint64_t after = last_lines(recent, job, 0, max);
	const struct recent_line *line = recent_lines_after(recent, after);

	json_put_array(j);
	for (; line; line = recent_lines_after(recent, line->id)) {
		if (may_see(job, line))
			json_put_string(j, line->message);
	}
	json_end(j);
}

void api_logs(struct server *s, const struct scope *scope,
	      const struct http_request *request, struct http_reply *reply)
{
	const char *limit = http_request_query(request, "limit");
	struct json j = json_writer(&reply->body, false);
	int64_t max = LOGS_DEFAULT;

	if (limit && number_parse(limit, 1, RECENT_LINES_MAX, &max) < 0) {
		api_error(reply, 400, "limit must be 1 to 500");
		return;
	}
	(void)api_write_logs(s, scope->job, &j, 0, (unsigned)max);
	str_addc(&reply->body, '\n');
}
