/* dial.c - see dial.h */
#include "net/dial.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "net/client_socket.h"
#include "net/host_lookup.h"
#include "net/tls/tls_client.h"

enum {
	RESOLVE_MS = 10000, /* for a name, where there are other addresses */
	PAUSE_MS = 100, /* the range of the first pause */
	MAX_DOUBLINGS = 10,
};

static const int64_t NEVER_MS = INT64_MAX / 4; /* from now */

/* ---- pauses ---- */

/* xorshift64*: jitter needs no secrets, and libc's generators are the program's. */
int64_t dial_jitter(struct dial *d, int64_t range)
{
	uint64_t x = d->random;

	assert(range >= 0);
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	d->random = x;
	return (int64_t)((x * 0x2545f4914f6cdd1dULL >> 11) %
			 ((uint64_t)range + 1));
}

static void seed(struct dial *d)
{
	if (getrandom(&d->random, sizeof(d->random), GRND_NONBLOCK) < 0)
		d->random = (uint64_t)loop_now_ms(d->loop) ^
			    (uint64_t)getpid() << 32 ^ (uintptr_t)d;
	d->random |= 1; /* 0 would stay 0 */
}

static int64_t pause_ms(struct dial *d)
{
	unsigned n = d->n_pauses < MAX_DOUBLINGS ? d->n_pauses : MAX_DOUBLINGS;
	int64_t range = (int64_t)PAUSE_MS << n;

	d->n_pauses++;
	return dial_jitter(d, range < d->options.pause_max_ms ?
				      range :
				      d->options.pause_max_ms);
}

static void set_timer(struct dial *d, int64_t ms)
{
	/* The timer is never cleared, so that its place in the heap needs no memory. */
	(void)loop_timer_set(d->loop, &d->timer, loop_now_ms(d->loop) + ms);
}

/* ---- the end of a connection ---- */

static void forget_name(struct dial *d)
{
	host_lookup_end(d->lookup);
	d->lookup = NULL;
	d->next = NULL;
}

static void drop_socket(struct dial *d)
{
	if (d->connecting.fd >= 0) {
		loop_remove(d->loop, &d->connecting);
		closep(&d->connecting.fd);
	}
	d->connecting.fd = -1;
	if (d->state >= DIAL_SECURING)
		stream_close(&d->stream);
	d->stream.fd.fd = -1;
}

static void next_address(struct dial *d)
{
	forget_name(d);
	d->n_vain++;
	d->address = (d->address + 1) % d->options.addresses->n;
}

bool dial_round_is_over(const struct dial *d)
{
	return d->n_vain > 0 && d->n_vain % d->options.addresses->n == 0;
}

/* Chooses the address of the next try, and returns how long to wait for it. */
static int64_t plan_next(struct dial *d)
{
	if (d->is_good && !d->options.roams) {
		forget_name(d);
		d->n_vain = 0;
		return pause_ms(d);
	}
	if (!d->is_good && d->next)
		return 0;
	next_address(d);
	return dial_round_is_over(d) ? pause_ms(d) : 0;
}

static void end(struct dial *d)
{
	bool was_up = d->state == DIAL_UP;

	drop_socket(d);
	d->state = DIAL_DOWN;
	d->is_good = false;
	d->user->failed(d, was_up);
}

static void keep_why(struct dial *d, const char *fmt, va_list args)
{
	char text[sizeof(d->why)]; /* an argument may be the old `why` */

	(void)vsnprintf(text, sizeof(text), fmt, args);
	memcpy(d->why, text, sizeof(text));
}

void dial_fail(struct dial *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep_why(d, fmt, args);
	va_end(args);
	d->failed = d->address;
	set_timer(d, plan_next(d));
	end(d);
}

void dial_move(struct dial *d, size_t address, int64_t pause_ms,
	       const char *why)
{
	assert(address < d->options.addresses->n);
	(void)snprintf(d->why, sizeof(d->why), "%s", why);
	forget_name(d);
	d->failed = d->address;
	d->address = address;
	d->n_vain = 0;
	d->n_pauses += pause_ms > 0;
	set_timer(d, pause_ms);
	end(d);
}

const char *dial_why(const struct dial *d)
{
	return d->why;
}

/* ---- a connection that stands ---- */

void dial_up(struct dial *d)
{
	assert(d->state >= DIAL_GREETING);
	d->state = DIAL_UP;
	set_timer(d, NEVER_MS);
}

void dial_good(struct dial *d)
{
	if (d->state != DIAL_UP)
		dial_up(d);
	d->is_good = true;
	d->n_vain = 0;
	d->n_pauses = 0;
}

void dial_greet(struct dial *d)
{
	assert(d->state == DIAL_UP);
	d->state = DIAL_GREETING;
	d->is_good = false;
	set_timer(d, d->options.greet_ms);
}

/* A server that refuses our certificate, or misses it, may say so only after the handshake,
 * and its words may be lost with the connection. */
static const char *why_it_ended(const struct dial *d, ssize_t error)
{
	if (d->stream.tls && !d->is_heard)
		return "the server ended the connection within TLS: does it "
		       "want another certificate of ours?";
	return error ? strerror((int)-error) :
		       "the server ended the connection";
}

static void fail_broken(struct dial *d, ssize_t error)
{
	const char *why = stream_why(&d->stream);

	if (why)
		dial_fail(d, "TLS with it failed: %s", why);
	else
		dial_fail(d, "%s", why_it_ended(d, error));
}

ssize_t dial_read(struct dial *d, void *data, size_t len)
{
	ssize_t n;

	assert(d->state >= DIAL_GREETING);
	n = stream_read(&d->stream, data, len);
	if (n == -EAGAIN)
		return n;
	if (n <= 0) {
		fail_broken(d, n);
		return -EPIPE;
	}
	d->is_heard = true;
	d->heard_ms = loop_now_ms(d->loop);
	return n;
}

/* When the peer has gone, what it said before is still to be read: the loop says that there is
 * something, and dial_read() gets to the end. */
int dial_flush(struct dial *d)
{
	ssize_t n;

	assert(d->state >= DIAL_SECURING);
	n = stream_flush(&d->stream);
	if (n >= 0 || n == -EPIPE || n == -ECONNRESET)
		return 0;
	fail_broken(d, n);
	return -EPIPE;
}

/* ---- from a socket to a stream ---- */

static void begin_greeting(struct dial *d)
{
	d->state = DIAL_GREETING;
	d->user->opened(d);
}

static void shake_hands(struct dial *d)
{
	int r = stream_handshake(&d->stream);

	if (r < 0 && r != -EAGAIN) {
		fail_broken(d, r);
		return;
	}
	if (dial_flush(d) == 0 && r == 0)
		begin_greeting(d);
}

static void on_stream(struct loop_fd *f, uint32_t events)
{
	struct dial *d = container_of(f, struct dial, stream.fd);

	if (d->state == DIAL_SECURING)
		shake_hands(d);
	else if (d->state > DIAL_SECURING &&
		 (!(events & EPOLLOUT) || dial_flush(d) == 0))
		d->user->ready(d);
}

void dial_take(struct dial *d, int fd)
{
	const struct address *a = dial_address(d);
	const char *name = d->options.tls_name ? d->options.tls_name :
			   a->host	       ? a->host :
						 "localhost";
	struct tls_client *tls = a->is_tls ? d->options.tls : NULL;

	d->is_heard = false;
	d->heard_ms = loop_now_ms(d->loop);
	set_timer(d, d->options.greet_ms);
	if (tls && d->n_pauses) /* the files may be others by now */
		(void)tls_client_reload(tls, NULL);
	if (stream_open_client(&d->stream, d->loop, &d->shelf, fd, tls, name,
			       on_stream) < 0) {
		d->stream.fd.fd = -1;
		(void)close(fd);
		dial_fail(d, "out of memory");
		return;
	}
	d->state = DIAL_SECURING;
	if (tls)
		shake_hands(d);
	else
		begin_greeting(d);
}

/* ---- from an address to a socket ---- */

/* Nobody listens: that has a usual cause. */
static void fail_connect(struct dial *d, int error)
{
	const char *program = d->options.program;

	if (error == ECONNREFUSED || error == ENOENT)
		dial_fail(d, "%s; is %s running there?", strerror(error),
			  program ? program : "the server");
	else
		dial_fail(d, "%s", strerror(error));
}

static void on_connected(struct loop_fd *f, uint32_t events)
{
	struct dial *d = container_of(f, struct dial, connecting);
	int r;

	(void)events;
	if (f->fd < 0)
		return;
	r = client_socket_result(f->fd);
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		fail_connect(d, -r);
		return;
	}
	loop_remove(d->loop, f);
	dial_take(d, TAKE_FD(f->fd));
}

static void connect_to(struct dial *d, const struct sockaddr *address,
		       socklen_t len)
{
	int fd = client_socket_open(address, len);

	d->state = DIAL_CONNECTING;
	set_timer(d, d->options.connect_ms);
	if (fd < 0) {
		fail_connect(d, -fd);
		return;
	}
	d->connecting = (struct loop_fd){ .fd = fd, .ready = on_connected };
	if (loop_add(d->loop, &d->connecting, EPOLLOUT) == 0)
		return;
	d->connecting.fd = -1;
	(void)close(fd);
	dial_fail(d, "out of memory");
}

static void connect_unix(struct dial *d, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	connect_to(d, (const struct sockaddr *)&address, sizeof(address));
}

static void connect_next(struct dial *d)
{
	const struct addrinfo *a = d->next;

	d->next = a->ai_next;
	connect_to(d, a->ai_addr, a->ai_addrlen);
}

static void on_found(void *data, const struct addrinfo *all, const char *why)
{
	struct dial *d = data;

	d->next = all;
	if (all)
		connect_next(d);
	else
		dial_fail(d, "cannot find its host '%s': %s",
			  dial_address(d)->host, why);
}

static void try_next(struct dial *d)
{
	const struct address *a = dial_address(d);

	if (a->path) {
		connect_unix(d, a->path);
	} else if (d->next) {
		connect_next(d);
	} else {
		forget_name(d);
		d->state = DIAL_RESOLVING;
		set_timer(d,
			  d->options.addresses->n > 1 ? RESOLVE_MS : NEVER_MS);
		if (host_lookup_begin(d->loop, a->host, a->port, on_found, d,
				      &d->lookup) < 0)
			dial_fail(d, "out of memory");
	}
}

/* ---- life ---- */

static void on_timer(struct loop_timer *t)
{
	struct dial *d = container_of(t, struct dial, timer);

	switch (d->state) {
	case DIAL_DOWN:
		try_next(d);
		break;
	case DIAL_RESOLVING:
		dial_fail(d, "its host '%s' was not found within %d ms",
			  dial_address(d)->host, RESOLVE_MS);
		break;
	case DIAL_CONNECTING:
		dial_fail(d, "no connection within %lld ms",
			  (long long)d->options.connect_ms);
		break;
	default:
		dial_fail(d, "no answer within %lld ms",
			  (long long)d->options.greet_ms);
	}
}

int dial_open(struct dial *d, struct loop *loop,
	      const struct dial_options *options, const struct dial_user *user)
{
	assert(options->addresses->n > 0);
	*d = (struct dial){
		.loop = loop,
		.user = user,
		.options = *options,
		.timer.due = on_timer,
		.connecting.fd = -1,
		.stream.fd.fd = -1,
	};
	seed(d);
	return loop_timer_set(loop, &d->timer, loop_now_ms(loop));
}

void dial_abandon(struct dial *d)
{
	closep(&d->connecting.fd);
	closep(&d->stream.fd.fd);
	d->connecting.fd = d->stream.fd.fd = -1;
}

void dial_close(struct dial *d)
{
	if (!d->loop)
		return;
	drop_socket(d);
	forget_name(d);
	loop_timer_clear(d->loop, &d->timer);
	shelf_release(&d->shelf);
	d->state = DIAL_DOWN;
}
