/* api_history.c - the last minutes in figures, as JSON: a row a second.
 *
 * A row is an array, with its names told once: a page that is opened gets five minutes
 * of them.  Times are milliseconds. */
#include "api/api.h"
#include "base/macros.h"

void api_write_columns(struct json *j)
{
	static const char *const names[] = {
		"time",	       "requests",	"barriers",
		"records",     "heartbeat_p50", "heartbeat_p99",
		"barrier_p50", "barrier_p99",	"skew_p99",
		"sync_p50",    "sync_p99",	"checkpoint_bytes",
	};

	json_put_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_put_string(j, names[i]);
	json_end(j);
}

static void write_ms(struct json *j, double us)
{
	if (us < 0)
		json_put_null(j);
	else
		json_put_double(j, us / 1000);
}

static void write_row(struct json *j, const struct history_row *row)
{
	json_put_array(j);
	json_put_int(j, row->wall_ms);
	json_put_double(j, (double)row->requests / row->seconds);
	json_put_double(j, (double)row->barriers / row->seconds);
	json_put_double(j, (double)row->records / row->seconds);
	write_ms(j, row->heartbeat_p50_us);
	write_ms(j, row->heartbeat_p99_us);
	write_ms(j, row->barrier_p50_us);
	write_ms(j, row->barrier_p99_us);
	write_ms(j, row->skew_p99_us);
	write_ms(j, row->sync_p50_us);
	write_ms(j, row->sync_p99_us);
	json_put_double(j, row->checkpoint_bytes / row->seconds);
	json_end(j);
}

uint64_t api_write_history(struct server *s, struct json *j, uint64_t after)
{
	const struct history_row *row = history_after(&s->history, after);

	json_put_array(j);
	for (; row; row = history_after(&s->history, row->id))
		write_row(j, row);
	json_end(j);
	return s->history.last;
}
