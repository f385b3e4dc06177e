/* conn.c - connections: which workers were last heard of on one, and which calls wait
 * there.  One is only known while it has either. */
#include "coord/core/state.h"

#include <assert.h>
#include <stdlib.h>

#include "base/macros.h"
#include "coord/meetings/meetings.h"

static struct conn *find(const struct coord *c, uint64_t id)
{
	return map_get(&c->conns, &id, sizeof(id));
}

struct conn *conn_ensure(struct coord *c, uint64_t id)
{
	struct conn *conn = id ? find(c, id) : NULL;

	if (conn || !id)
		return conn;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->id = id;
	list_init(&conn->waits);
	list_init(&conn->workers);
	if (map_set(&c->conns, &conn->id, sizeof(conn->id), conn) < 0) {
		free(conn);
		return NULL;
	}
	return conn;
}

bool conn_is_of_others(const struct coord *c, uint64_t id,
		       const struct worker *w)
{
	const struct conn *conn = id ? find(c, id) : NULL;

	return conn && w->conn && w->conn != conn &&
	       !list_empty(&conn->workers);
}

void conn_tidy(struct coord *c, struct conn *conn)
{
	if (!list_empty(&conn->waits) || !list_empty(&conn->workers))
		return;
	(void)map_remove(&c->conns, &conn->id, sizeof(conn->id));
	free(conn);
}

void conn_unbind(struct worker *w)
{
	struct conn *conn = w->conn;

	if (!conn)
		return;
	w->conn = NULL;
	w->conn_id = 0;
	list_remove(&w->in_conn);
	conn_tidy(w->job->c, conn);
}

/* Without memory the worker has no connection: its silence is noticed all the same,
 * only later. */
void conn_bind(struct coord *c, uint64_t id, struct worker *w)
{
	struct conn *conn;

	assert(w->job->c == c);
	conn_unbind(w);
	conn = conn_ensure(c, id);
	if (!conn)
		return;
	w->conn = conn;
	w->conn_id = id;
	list_add(&conn->workers, &w->in_conn);
}

/* A call with which the worker still waits in a meeting. */
static struct wait *other_wait(const struct worker *w)
{
	LIST_EACH(it, after, &w->arrivals) {
		struct arrival *a = container_of(it, struct arrival, in_worker);

		if (a->wait.call)
			return &a->wait;
	}
	return NULL;
}

static void left_behind(struct coord *c, struct worker *w)
{
	struct wait *other = other_wait(w);

	conn_unbind(w);
	if (other && other->conn)
		conn_bind(c, other->conn->id, w);
	else if (!other)
		worker_suspect(w, "its connection ended", worker_eof_ms(w));
}

/* The connection is looked up each time: it goes with the last that it held. */
void coord_gone(struct coord *c, struct coord_now now, uint64_t conn)
{
	struct conn *it;

	coord_set_time(c, now);
	while ((it = find(c, conn)) && !list_empty(&it->waits)) {
		struct wait *w = container_of(it->waits.next, struct wait,
					      in_conn);

		w->kind->withdraw(c, w);
	}
	while ((it = find(c, conn)) && !list_empty(&it->workers))
		left_behind(c, container_of(it->workers.next, struct worker,
					    in_conn));
}
