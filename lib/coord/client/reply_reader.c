/* reply_reader.c - who waits for a reply reads it.
 *
 * If the client's thread read it, two threads would have to be woken for one reply, and
 * of a thousand workers on a machine each would be let go that much later.  So the first
 * call that waits takes the socket over: the thread sleeps on, for all but what
 * arrives there, and has it again when that call is done.
 *
 * The thread still makes its turns when something is due, and reads then, too.  Where it
 * or anybody else ends the driver's call, or the connection, the driver is nudged. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "coord/client/client.h"

void client_nudge_reader(const struct roar_coord *c)
{
	uint64_t one = 1;

	/* Full means that it was nudged already. */
	if (write(c->nudge, &one, sizeof(one)) < 0)
		return;
}

/* Without the lock. */
static void rest(int fd, int nudge, int64_t until_ms)
{
	struct pollfd in[] = { { .fd = fd, .events = POLLIN },
			       { .fd = nudge, .events = POLLIN } };
	int64_t left = until_ms - client_now_ms();
	int ms = until_ms == INT64_MAX ? -1 :
		 left > INT_MAX	       ? INT_MAX :
		 left < 0	       ? 0 :
					 (int)left;
	uint64_t count;

	if (poll(in, 2, ms) > 0 && in[1].revents &&
	    read(nudge, &count, sizeof(count)) < 0)
		return;
}

/* Sleeps, and reads what came.  The thread is woken where that may have set a time for
 * it: by anything but the reply alone. */
static void turn(struct client_call *call, int64_t until_ms)
{
	struct roar_coord *c = call->c;
	int fd = c->link.frames.dial.stream.fd.fd;
	size_t n = 0;

	c->driver_sleeps = true;
	(void)pthread_mutex_unlock(&c->lock);
	rest(fd, c->nudge, until_ms);
	(void)pthread_mutex_lock(&c->lock);
	c->driver_sleeps = false;
	if (client_is_up(c))
		n = client_link_read(c);
	if (!client_is_up(c) || n > 1 || (n && call->state != CALL_DONE))
		client_wake(c);
}

bool client_read_reply(struct client_call *call, int64_t until_ms)
{
	struct roar_coord *c = call->c;

	if (!c->has_thread || c->driver || !client_is_up(c))
		return false;
	c->driver = call;
	client_link_wait(c);
	do
		turn(call, until_ms);
	while (call->state != CALL_DONE && client_is_up(c) &&
	       client_now_ms() < until_ms);
	c->driver = NULL;
	client_link_wait(c);
	return true;
}
