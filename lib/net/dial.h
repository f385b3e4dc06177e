/* dial.h - a connection to one of several addresses, with automatic reconnection.
 *
 *	DOWN -> RESOLVING -> CONNECTING -> SECURING (TLS) -> GREETING -> UP
 *	  ^                                                              |
 *	  `------------------------- dial_fail() ------------------------'
 *
 * Addresses are tried in turn, each name with all addresses that it resolves to.  After a
 * round through all of them without success there is a pause, drawn from a range that
 * doubles each time (exponential back-off with full jitter): ten thousand clients of a
 * restarted server must not reconnect at the same moment.
 *
 * A connection is good when the peer has proved by its first reply that it is the right
 * server.  When a good connection ends, the same address is tried first or, for a user that
 * roams, the next one.
 *
 * The user owns the struct, and sends and reads on its `stream`.  All functions are for the
 * thread of the loop or, if several threads share a loop, for the holder of the lock that
 * protects it. */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"
#include "net/stream.h"

struct dial;
struct host_lookup;
struct tls_client;

enum dial_state {
	DIAL_DOWN, /* until `timer`; then the next address is tried */
	DIAL_RESOLVING,
	DIAL_CONNECTING,
	DIAL_SECURING, /* the TLS handshake; from here on `stream` is open */
	DIAL_GREETING, /* the user talks to the peer */
	DIAL_UP,
};

/* `failed` may close and free the dial: after a function has returned -EPIPE, and after
 * dial_fail() and dial_move(), the dial may no longer exist. */
struct dial_user {
	/* The stream is open: the user may send, and calls dial_up() or dial_good(). */
	void (*opened)(struct dial *d);
	/* Input has arrived. */
	void (*ready)(struct dial *d);
	/* The connection ended, or could not be made; dial_why() returns the reason.
	 * `stream` is closed, and the next attempt is scheduled. */
	void (*failed)(struct dial *d, bool was_up);
};

/* Everything here must live as long as the dial. */
struct dial_options {
	const struct address_list *addresses; /* at least one */
	struct tls_client *tls; /* for addresses with `is_tls`; else NULL */
	const char *tls_name; /* in the server's certificate; NULL: the host */
	/* Named in hints that it may not be running; NULL: "the server". */
	const char *program;
	int64_t connect_ms; /* timeout of connect() */
	int64_t greet_ms; /* timeout from then on until UP */
	int64_t pause_max_ms; /* the largest range of the pause */
	/* When a good connection ends, try the next address at once. */
	bool roams;
};

struct dial {
	struct stream stream; /* SECURING and later; else `fd.fd` is -1 */
	enum dial_state state;
	size_t address; /* index, tried or connected to */
	size_t failed; /* index of the last address that failed */
	int64_t heard_ms; /* when the last bytes arrived, or it was connected */

	/* Private. */
	struct loop *loop;
	const struct dial_user *user;
	struct dial_options options;
	struct shelf shelf;
	struct host_lookup *lookup;
	const struct addrinfo *next; /* of the resolved addresses, untried */
	struct loop_fd connecting; /* fd -1: none */
	struct loop_timer timer; /* DOWN: the next attempt; else the timeout */
	size_t n_vain; /* failed addresses in a row */
	unsigned n_pauses; /* since the last good connection */
	uint64_t random; /* state of the jitter's generator */
	bool is_heard; /* bytes were received on this connection */
	bool is_good;
	char why[256];
};

/* Starts to connect, in the next round of the loop.  -ENOMEM. */
int dial_open(struct dial *d, struct loop *loop,
	      const struct dial_options *options, const struct dial_user *user);
/* Also for a dial that was never opened, if it is zeroed.  No callback is called any
 * more. */
void dial_close(struct dial *d);

/* In a child after fork(): closes the descriptors; afterwards the dial can only be closed.
 * While the child has the socket open, the peer does not notice the end of the parent. */
void dial_abandon(struct dial *d);

/* The address being tried or connected to. */
static inline const struct address *dial_address(const struct dial *d)
{
	return &d->options.addresses->list[d->address];
}

/* The address that failed last. */
static inline const struct address *dial_failed_address(const struct dial *d)
{
	return &d->options.addresses->list[d->failed];
}

/* Why the last connection ended or could not be made: a phrase without the address. */
const char *dial_why(const struct dial *d);
/* In `failed`: have all addresses failed, so that there is a pause? */
bool dial_round_is_over(const struct dial *d);

/* The greeting is over: ends its timeout. */
void dial_up(struct dial *d);
/* The peer is the right server: resets the back-off.  Implies dial_up(). */
void dial_good(struct dial *d);
/* The user must greet the peer again: from UP back to GREETING. */
void dial_greet(struct dial *d);

/* Ends the connection and schedules the next attempt. */
void dial_fail(struct dial *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, but the next attempt is at this address, after a pause. */
void dial_move(struct dial *d, size_t address, int64_t pause_ms,
	       const char *why);
/* Takes over a connected socket, as if the dial had connected it. */
void dial_take(struct dial *d, int fd);
/* A random number from 0 to `range`. */
int64_t dial_jitter(struct dial *d, int64_t range);

/* Reads from the stream: the number of bytes, or -EAGAIN.  At the end of the stream, or
 * after an error of it, the dial fails and -EPIPE is returned. */
ssize_t dial_read(struct dial *d, void *data, size_t len);
/* Sends the queued output.  0, or -EPIPE when the dial failed. */
int dial_flush(struct dial *d);

#endif
