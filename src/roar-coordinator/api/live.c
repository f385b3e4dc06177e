/* live.c - see live.h */
#include "api/live.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/macros.h"

enum {
	SLICE_PAUSE_MS = 5, /* between two parts of a sweep */
	LINES_MAX = 200, /* of the log, in one event */
};

/* Parts that are told again, whole, when they have changed.  What takes long to look at is
 * looked at once a second. */
static const struct {
	const char *key;
	api_part *write;
	bool is_slow;
} parts[] = {
	{ .key = "coordinator", .write = api_write_server },
	{ .key = "jobs", .write = api_write_jobs },
	{ .key = "barriers", .write = api_write_barriers },
	{ .key = "datasets", .write = api_write_datasets, .is_slow = true },
	{ .key = "steps", .write = api_write_steps, .is_slow = true },
};

enum { N_PARTS = ARRAY_SIZE(parts) };

struct live_client {
	struct http_stream stream;
	struct server *server;
	struct scope *scope;
	struct live_client *next, *prev;
	bool greeted; /* has had its snapshot */
	uint64_t digests[N_PARTS]; /* of what it was told last */
	uint64_t line, row; /* of log and history, likewise */
	int64_t said_ms; /* when */
	int64_t slow_ms; /* when slow parts were looked at */
	/* workers: all up to `seen` were told */
	uint64_t seen;
	bool telling; /* up to `target`, rows from `next_row` on */
	uint64_t target;
	size_t next_row;
};

#define CLIENT(s) container_of(s, struct live_client, stream)

/* ---- events ---- */

static void begin_event(struct str *out, const char *name)
{
	str_addf(out, "event: %s\ndata: ", name);
}

static void end_event(struct str *out)
{
	str_adds(out, "\n\n");
}

/* What there was no memory for is missing in the whole, too. */
static void add_text(struct str *out, const struct str *text)
{
	str_add(out, str_cstr(text), text->len);
	out->failed |= text->failed;
}

/* Adds the parts that the client does not know so; true when there are any. */
static bool add_parts(struct live_client *c, struct json *j, int64_t now_ms)
{
	bool all = !c->greeted || now_ms - c->slow_ms >= LIVE_SAY_MS;
	bool any = false;

	if (all)
		c->slow_ms = now_ms;
	for (size_t i = 0; i < N_PARTS; i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		struct json part = json_writer(&text, false);
		uint64_t digest;

		if (parts[i].is_slow && !all)
			continue;
		parts[i].write(c->server, c->scope, &part);
		digest = map_hash(str_cstr(&text), text.len);
		if (c->greeted && digest == c->digests[i])
			continue;
		c->digests[i] = digest;
		any = true;
		json_put_key(j, parts[i].key);
		json_put_raw(j, str_cstr(&text), text.len);
		j->out->failed |= text.failed;
	}
	return any;
}

static bool has_lines(const struct live_client *c)
{
	return c->line < c->server->lines.recent.last;
}

/* Figures are of the whole server: its administrator's. */
static void add_history(struct live_client *c, struct json *j)
{
	if (!c->scope->admin)
		return;
	if (!c->greeted) {
		json_put_key(j, "columns");
		api_write_columns(j);
	}
	json_put_key(j, "history");
	c->row = api_write_history(c->server, j, c->row);
}

static void add_state(struct live_client *c, struct json *j)
{
	struct server *s = c->server;

	api_add_int(j, "now", api_when_ms(s, 0));
	json_put_key(j, "metrics");
	api_write_metrics(s, c->scope, j);
	add_history(c, j);
	json_put_key(j, "logs");
	c->line = api_write_logs(s, c->scope->job, j, c->line, LINES_MAX);
}

/* Nothing is said twice; after a second something is, so that silence means that nobody
 * is there any more. */
static void tell_state(struct live_client *c)
{
	int64_t now = loop_now_ms(c->server->loop);
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, false);
	bool any;

	json_put_object(&j);
	any = add_parts(c, &j, now);
	if (!any && !has_lines(c) && now - c->said_ms < LIVE_SAY_MS)
		return;
	add_state(c, &j);
	json_end(&j);
	begin_event(&c->stream.out, c->greeted ? "delta" : "snapshot");
	add_text(&c->stream.out, &text);
	end_event(&c->stream.out);
	c->greeted = true;
	c->said_ms = now;
}

/* ---- workers ---- */

static bool may_see(const struct live_client *c, const struct live_row *row)
{
	return !c->scope->job || strcmp(c->scope->job, row->job) == 0;
}

static void add_gone(struct str *gone, const struct live_row *row)
{
	if (gone->len)
		str_addc(gone, ',');
	str_addc(gone, '{');
	str_add(gone, row->name.data, row->name.len);
	str_addc(gone, '}');
}

/* Rows from `next_row` on, as many as a portion holds. */
static void add_rows(struct live_client *c, struct str *rows, struct str *gone)
{
	const struct live_table *t = &c->server->live.table;

	while (c->next_row < t->n_rows && rows->len + gone->len < LIVE_PORTION) {
		const struct live_row *row = t->rows[c->next_row++];

		if (!may_see(c, row))
			continue;
		if (live_row_is_news_of_end(row, c->seen))
			add_gone(gone, row);
		if (!live_row_is_news(row, c->seen))
			continue;
		if (rows->len)
			str_addc(rows, ',');
		live_row_write(row, c->seen, rows);
	}
	if (c->next_row >= t->n_rows) {
		c->telling = false;
		c->seen = c->target;
	}
}

static void tell_workers(struct live_client *c)
{
	CLEANUP(str_release) struct str rows = STR_INIT;
	CLEANUP(str_release) struct str gone = STR_INIT;
	struct str *out = &c->stream.out;

	add_rows(c, &rows, &gone);
	if (!rows.len && !gone.len)
		return;
	begin_event(out, "workers");
	str_adds(out, "{\"workers\":[");
	add_text(out, &rows);
	str_adds(out, "],\"gone\":[");
	add_text(out, &gone);
	str_adds(out, "]}");
	end_event(out);
}

/* A stream that there is no memory for has a hole: the page opens another one. */
static void check_memory(struct live_client *c)
{
	if (str_error(&c->stream.out) < 0)
		c->stream.ended = true;
}

/* The client has all that it was told, and a sweep is over. */
static void tell(struct live_client *c)
{
	tell_state(c);
	c->telling = true;
	c->target = c->server->live.table.version;
	c->next_row = 0;
	tell_workers(c);
	check_memory(c);
	http_stream_wake(&c->stream);
}

static void on_drained(struct http_stream *stream)
{
	struct live_client *c = CLIENT(stream);

	while (c->telling && c->stream.out.len == 0)
		tell_workers(c);
	check_memory(c);
}

/* ---- looking for changes ---- */

static bool is_ready(const struct live_client *c)
{
	return !c->telling && c->stream.sent == c->stream.out.len &&
	       !c->stream.ended;
}

/* How much everybody knows; rows may not change their places while they are told. */
static void forget_known(struct live *l)
{
	uint64_t seen = UINT64_MAX;

	for (const struct live_client *c = l->clients; c; c = c->next) {
		if (c->telling)
			return;
		seen = c->seen < seen ? c->seen : seen;
	}
	live_table_forget(&l->table, seen);
}

static void set_timer(struct server *s, int64_t due_ms)
{
	(void)loop_timer_set(s->loop, &s->live.timer, due_ms);
}

static void tell_all(struct live *l)
{
	for (struct live_client *c = l->clients; c; c = c->next) {
		if (is_ready(c))
			tell(c);
	}
	forget_known(l);
}

static void on_due(struct loop_timer *t)
{
	struct live *l = container_of(t, struct live, timer);
	struct server *s = container_of(l, struct server, live);
	int64_t now = loop_now_ms(s->loop);

	if (!leadership_serves(s)) {
		live_end(s, NULL);
		return;
	}
	if (!l->table.sweeping) {
		l->began_ms = now;
		live_table_begin(&l->table, s);
	}
	if (!live_table_slice(&l->table, s)) {
		set_timer(s, now + SLICE_PAUSE_MS);
		return;
	}
	tell_all(l);
	set_timer(s, l->began_ms + LIVE_PAUSE_MS > now ?
			     l->began_ms + LIVE_PAUSE_MS :
			     now + SLICE_PAUSE_MS);
}

/* ---- clients ---- */

/* When the last is gone, so is all that was kept for them. */
static void on_closed(struct http_stream *stream)
{
	struct live_client *c = CLIENT(stream);
	struct server *s = c->server;
	struct live *l = &s->live;

	*(c->prev ? &c->prev->next : &l->clients) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	access_done(&s->access, c->scope);
	free(c);
	if (--l->n_clients == 0) {
		loop_timer_clear(s->loop, &l->timer);
		live_table_release(&l->table);
	}
}

static struct live_client *client_new(struct server *s, struct scope *scope)
{
	struct live *l = &s->live;
	struct live_client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct live_client){
		.stream = { .drained = on_drained, .closed = on_closed },
		.server = s,
		.scope = scope,
		.next = l->clients,
	};
	if (c->next)
		c->next->prev = c;
	l->clients = c;
	l->n_clients++;
	return c;
}

void live_open(struct server *s, struct scope *scope, struct http_reply *reply)
{
	struct live_client *c = NULL;

	if (s->live.n_clients < LIVE_MAX_CLIENTS && !s->stopping)
		c = client_new(s, scope);
	if (!c) {
		access_done(&s->access, scope);
		api_error(
			reply, 503,
			s->stopping ?
				"the coordinator is stopping: try again" :
				"too many clients watch already: close one of them");
		return;
	}
	reply->type = "text/event-stream";
	reply->stream = &c->stream;
	s->live.timer.due = on_due;
	if (!loop_timer_is_set(&s->live.timer) || !s->live.table.sweeping)
		set_timer(s, loop_now_ms(s->loop));
}

void live_end(struct server *s, bool (*which)(const struct scope *scope))
{
	struct live_client *next;

	for (struct live_client *c = s->live.clients; c; c = next) {
		next = c->next;
		if (!which || which(c->scope))
			http_stream_end(&c->stream);
	}
}
