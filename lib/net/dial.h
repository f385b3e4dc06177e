/* dial.h - a connection to one of several addresses, made again when it is lost.
 *
 *	DOWN -> RESOLVING -> CONNECTING -> SECURING (TLS) -> GREETING -> UP
 *	  ^                                                              |
 *	  `------------------------- dial_fail() ------------------------'
 *
 * Addresses are tried in turn, each name with everything that it resolves to.  After a round
 * through all of them without success there is a pause, drawn from a range that doubles each
 * time ("full jitter"): ten thousand clients of a server that was restarted must not come back
 * in one moment.
 *
 * A connection is good when the peer has shown that it is the right one, by its first answer.
 * One that was good is made again at the same address, or, for a user that roams, at the next
 * one.
 *
 * The user holds the struct, and sends and reads on its `stream`.  Everything happens on the
 * thread of the loop, or, where several threads share a loop, under the lock that guards it. */
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
	DIAL_DOWN, /* until `timer`, then the next address */
	DIAL_RESOLVING,
	DIAL_CONNECTING,
	DIAL_SECURING, /* the TLS handshake; from here on `stream` is open */
	DIAL_GREETING, /* the user talks to the peer */
	DIAL_UP,
};

/* `failed` may close the dial, and free it: after a function that says -EPIPE, and after
 * dial_fail() and dial_move(), the dial may be gone. */
struct dial_user {
	/* The stream is there: the user may send, and calls dial_up() or dial_good(). */
	void (*opened)(struct dial *d);
	/* There is something to read. */
	void (*ready)(struct dial *d);
	/* The connection ended, or could not be made; dial_why() says why.  `stream` is gone, and
	 * the next try is set. */
	void (*failed)(struct dial *d, bool was_up);
};

/* Everything here lives as long as the dial. */
struct dial_options {
	const struct address_list *addresses; /* at least one */
	struct tls_client *tls; /* for those with `is_tls`; else NULL */
	const char *tls_name; /* in the server's certificate; NULL: the host */
	const char *program; /* that may not be running; NULL: "the server" */
	int64_t connect_ms; /* that a connect() may take */
	int64_t greet_ms; /* from then on until it is up */
	int64_t pause_max_ms; /* the largest range of the pause */
	bool roams; /* when a good connection ends, the next address is tried at once */
};

struct dial {
	struct stream stream; /* SECURING and later; else `fd.fd` is -1 */
	enum dial_state state;
	size_t address; /* that is tried or connected to */
	size_t failed; /* the last one that failed */
	int64_t heard_ms; /* when the last bytes came, or it was connected */

	/* Its own. */
	struct loop *loop;
	const struct dial_user *user;
	struct dial_options options;
	struct shelf shelf;
	struct host_lookup *lookup;
	const struct addrinfo
		*next; /* of what the name resolved to; not tried yet */
	struct loop_fd connecting; /* fd -1: none */
	struct loop_timer timer; /* DOWN: the next try; then patience */
	size_t n_vain; /* addresses in a row that were of no use */
	unsigned n_pauses; /* since a connection was good */
	uint64_t random; /* state of the jitter's generator */
	bool is_heard; /* this connection has brought bytes */
	bool is_good;
	char why[256];
};

/* Begins to connect, in the next round of the loop.  -ENOMEM. */
int dial_open(struct dial *d, struct loop *loop,
	      const struct dial_options *options, const struct dial_user *user);
/* Also for a dial that was never opened, if it is zeroed.  Nothing is called any more. */
void dial_close(struct dial *d);

/* In a child after fork(): the descriptors are closed, and the dial can only be closed.  While
 * the child has one of them, the peer does not notice that the parent is gone. */
void dial_abandon(struct dial *d);

/* The address that is tried or connected to. */
static inline const struct address *dial_address(const struct dial *d)
{
	return &d->options.addresses->list[d->address];
}

/* The one that failed last. */
static inline const struct address *dial_failed_address(const struct dial *d)
{
	return &d->options.addresses->list[d->failed];
}

/* Why the last connection ended or could not be made: a phrase without the address. */
const char *dial_why(const struct dial *d);
/* In `failed`: have all addresses been tried in vain, so that there is a pause? */
bool dial_round_is_over(const struct dial *d);

/* The greeting is over: there is no time limit any more. */
void dial_up(struct dial *d);
/* The peer is the right one: pauses are short again.  Implies dial_up(). */
void dial_good(struct dial *d);
/* The user must greet the peer again: from UP back to GREETING. */
void dial_greet(struct dial *d);

/* Ends the connection, and tries the next one soon. */
void dial_fail(struct dial *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, but the next one is to this address, after a pause. */
void dial_move(struct dial *d, size_t address, int64_t pause_ms,
	       const char *why);
/* Takes over a connected socket, as if it had been made here. */
void dial_take(struct dial *d, int fd);
/* A random number from 0 to `range`. */
int64_t dial_jitter(struct dial *d, int64_t range);

/* Reads from the stream: the number of bytes, or -EAGAIN.  At the end of the stream, or when it
 * is broken, the dial fails, and the result is -EPIPE. */
ssize_t dial_read(struct dial *d, void *data, size_t len);
/* Sends what waits in the stream.  0, or -EPIPE when the dial failed. */
int dial_flush(struct dial *d);

#endif
