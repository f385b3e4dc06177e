/* http_hold.c - replies that wait until what they tell is on disk, see http.h
 *
 * The reply is made when the request is done and then kept with its connection, which is
 * suspended.  When it is resumed, libmicrohttpd asks once more for an answer, and
 * gets this one. */
#include "http_internal.h"

#include <errno.h>
#include <stdlib.h>

static void forget(struct guest *g)
{
	if (!g->held)
		return;
	str_release(&g->held->body);
	str_release(&g->held->link);
	free(g->held);
	g->held = NULL;
}

void http_hold_forget(struct http *h, struct guest *g)
{
	struct guest **at = &h->first_held;

	while (*at && *at != g)
		at = &(*at)->next_held;
	if (*at)
		*at = g->next_held;
	forget(g);
}

/* At the end of the list: what is held later waits for later records. */
static void append(struct http *h, struct guest *g)
{
	struct guest **at = &h->first_held;

	while (*at)
		at = &(*at)->next_held;
	*at = g;
	g->next_held = NULL;
}

int http_hold(struct http *h, struct MHD_Connection *connection,
	      struct http_reply *reply)
{
	struct guest *g = http_guest(connection);

	if (!g)
		return -ENOTCONN;
	g->held = malloc(sizeof(*g->held));
	if (!g->held)
		return -ENOMEM;
	*g->held = *reply;
	reply->body = reply->link = (struct str){ 0 };
	g->connection = connection;
	append(h, g);
	MHD_suspend_connection(connection);
	return 0;
}

/* Takes the first of those that wait, and lets it be answered. */
static void wake_first(struct http *h)
{
	struct guest *g = h->first_held;

	h->first_held = g->next_held;
	MHD_resume_connection(g->connection);
	loop_later(h->loop, &h->woken);
}

void http_release(struct http *h, uint64_t seq)
{
	while (h && h->first_held && h->first_held->held->wait_for <= seq)
		wake_first(h);
}

void http_release_failed(struct http *h, const char *body)
{
	while (h && h->first_held) {
		struct http_reply *reply = h->first_held->held;

		reply->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		str_clear(&reply->body);
		str_adds(&reply->body, body);
		wake_first(h);
	}
}

bool http_is_holding(const struct http *h)
{
	return h && h->first_held;
}

void http_hold_take(struct guest *g, struct http_reply *ret)
{
	*ret = *g->held;
	free(g->held);
	g->held = NULL;
}
