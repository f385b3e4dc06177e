/* log_lines.c - see log_lines.h */
#include "base/log_lines.h"

#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/quote.h"

static const char *const level_names[] = {
	[LOG_EMERG] = "error", [LOG_ALERT] = "error",	  [LOG_CRIT] = "error",
	[LOG_ERR] = "error",   [LOG_WARNING] = "warning", [LOG_NOTICE] = "info",
	[LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

void log_lines_release(struct log_lines *n)
{
	str_release(&n->line);
	recent_lines_release(&n->recent);
}

/* ---- how a line looks ---- */

static void add_text(struct log_lines *n, int level, const char *job,
		     const char *message)
{
	clock_format_iso(&n->line, clock_now_ns());
	str_addf(&n->line, " %s ", level_names[level]);
	if (job) {
		str_adds(&n->line, "job=");
		quote_printable(&n->line, job, strlen(job));
		str_addc(&n->line, ' ');
	}
	quote_printable(&n->line, message, strlen(message));
	str_addc(&n->line, '\n');
}

static void add_json(struct log_lines *n, int level, const char *job,
		     const char *message)
{
	CLEANUP(str_release) struct str time = STR_INIT;
	struct json j = json_writer(&n->line, false);

	clock_format_iso(&time, clock_now_ns());
	json_put_object(&j);
	json_put_key(&j, "time");
	json_put_string(&j, str_cstr(&time));
	json_put_key(&j, "level");
	json_put_string(&j, level_names[level]);
	if (job) {
		json_put_key(&j, "job");
		json_put_string(&j, job);
	}
	json_put_key(&j, "message");
	json_put_string(&j, message);
	json_end(&j);
	str_addc(&n->line, '\n');
}

static void add_line(struct log_lines *n, int level, const char *job,
		     const char *message)
{
	if (n->json)
		add_json(n, level, job, message);
	else
		add_text(n, level, job, message);
}

/* ---- whether it is written ---- */

static bool is_within_limit(struct log_lines *n, int level)
{
	int64_t second = clock_mono_ns() / 1000000000;

	if (second != n->second) {
		n->second = second;
		n->n_in_second = 0;
	}
	return n->n_in_second++ < LOG_LINES_PER_S || level <= LOG_ERR;
}

/* A pipe that takes a line says so; a file always does. */
static bool would_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 0;
}

static void add_left_out(struct log_lines *n)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	str_addf(&text, "%llu lines were dropped",
		 (unsigned long long)n->left_out);
	add_line(n, LOG_WARNING, NULL, str_cstr(&text));
	n->left_out = 0;
}

static void write_line(struct log_lines *n, int level, const char *job,
		       const char *message)
{
	if (!is_within_limit(n, level) || would_wait(n->fd)) {
		n->left_out++;
		n->left_out_total++;
		return;
	}
	str_clear(&n->line);
	if (n->left_out)
		add_left_out(n);
	add_line(n, level, job, message);
	if (str_error(&n->line) == 0)
		(void)!write(n->fd, n->line.data, n->line.len);
}

void log_lines_add(struct log_lines *n, int level, const char *job,
		   const char *fmt, ...)
{
	CLEANUP(str_release) struct str message = STR_INIT;
	va_list ap;

	if (level > n->level || level > LOG_DEBUG)
		return;
	level = level < 0 ? LOG_ERR : level;
	va_start(ap, fmt);
	str_addv(&message, fmt, ap);
	va_end(ap);
	recent_lines_add(&n->recent, clock_now_ns() / 1000000,
			 level_names[level], job, str_cstr(&message));
	write_line(n, level, job, str_cstr(&message));
}
