/* client.h - inside of roar/coord.h: one connection, the calls on it, the place they keep.
 *
 *	turn		what there is to do now: times that are due, bytes in, bytes out
 *	link		one connection after the other: addresses, back-off, TLS
 *	standby		coordinators that do not lead, and who does
 *	wire		its frames, to bytes and back
 *	session		what a connection is for: hello, registration, heartbeats, watch
 *	call		requests that wait for their reply, on whichever connection
 *	meet, keys	what the calls are about
 *
 * All fields are guarded by `lock`, which is never held while anybody waits.  The thread
 * of the client, or the caller of roar_coord_turn(), sleeps on `epoll`; any thread may
 * append a request and write it out at once, and one that waits may read (reply_reader.c).
 *
 *	DOWN --due--> CONNECTING --> TLS --> JOINING --> UP
 *	  ^               |            |        |         |
 *	  `-- back-off ---+------------+--------+---------'
 *
 * A call is on a list from client_call_begin() until it is done.  When a connection ends,
 * those that were sent go back to being queued, but for those that must not be done
 * twice (methods.h): these fail.  When the next one is UP, all that are queued are sent.
 *
 * fork() takes all locks, so that the child finds everything in order; there the
 * descriptors are closed and the client is of no use but to be freed. */
#ifndef COORD_CLIENT_CLIENT_H
#define COORD_CLIENT_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <pthread.h>
#include <roar/coord.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "coord/client/client_address.h"
#include "coord/client/last_error.h"
#include "coord/proto/methods.h"

#define API __attribute__((visibility("default")))

struct addrinfo;
struct client_tls;

enum {
	CLIENT_MAX_MESSAGE = 64 << 20, /* bytes of a message, either way */
	CLIENT_CALL_MS = 60000, /* for calls whose functions take no time */
	CLIENT_GRACE_MS = 2000, /* the server's word on a deadline may be so late */
	CLIENT_MAX_COMMANDS = 256, /* kept unread; then the oldest go */
};

/* ---- calls ---- */

enum client_call_state {
	CALL_IDLE, /* not on the list */
	CALL_QUEUED, /* to be sent when the connection is up */
	CALL_SENT,
	CALL_DONE, /* not on the list any more; `result` says how it went */
};

struct client_call {
	struct roar_coord *c;
	pid_t pid; /* whose it is */
	struct client_call *next, *prev; /* among all that are not done */
	const struct coord_method *method;
	enum client_call_state state;
	uint32_t id; /* on this connection */
	uint64_t hello; /* which one it was sent after */
	bool asks_again; /* of a meeting: says that an answer may be lost */
	int64_t deadline_ms; /* CLOCK_MONOTONIC; INT64_MAX: none */
	int64_t not_before_ms; /* sent no earlier: the server wants a pause */
	struct str request; /* packed */

	int result; /* 0 or a negative errno */
	struct str reply; /* the message; of a failure, its sentence */
	char *absent; /* ids by commas, of a meeting that failed; or NULL */
	pthread_cond_t done;

	/* Of the client's own calls, and of those begun by roar_coord_begin_meet(): called
	 * with the lock held, when it is done. */
	void (*finish)(struct client_call *call);
	/* Of streams: each message before the end. */
	void (*message)(struct client_call *call, const void *data, size_t len);
	roar_coord_done user_done; /* of roar_coord_begin_meet() */
	void *user_data;
	struct meet_count *count; /* of meetings: the uses of this id */
};

/* ---- the connection ---- */

enum client_link_state {
	LINK_DOWN, /* until `due_ms`, then the next address */
	LINK_CONNECTING,
	LINK_TLS, /* shaking hands */
	LINK_JOINING, /* the registration is under way */
	LINK_UP,
};

struct client_link {
	enum client_link_state state;
	int fd;
	uint32_t events; /* that `epoll` waits for */
	bool going_away; /* no new calls here */
	int64_t due_ms; /* DOWN: when to try again; up to JOINING: when to give up */
	unsigned n_failed; /* rounds through all addresses, since it was up */
	size_t address; /* that is tried */
	int64_t heard_ms; /* when the last bytes came, or it was connected */
	int64_t asked_ms; /* when it was asked since whether it is there; 0: not */
	size_t n_standbys; /* in a row that knew no better address of ours */
	bool is_hinted; /* a standby named it as the leader's */
	size_t misled; /* 1 + the address where that was of no use; 0: none */
	struct addrinfo *found,
		*next; /* what its name stands for; not tried yet */
	struct client_tls *tls;
	struct str in; /* bytes of frames that are not whole yet */
	struct str out; /* frames */
	struct str wire; /* with TLS: what they became */
	size_t sent; /* of `wire`, or of `out` without TLS */
	char failure[512]; /* why the last connection ended or did not come to be */
};

/* ---- the client ---- */

struct client_command {
	struct client_command *next;
	char text[];
};

/* How often a meeting was held, as far as this client knows. */
struct meet_count {
	uint64_t next; /* generation; 0: the coordinator knows */
	uint64_t asked; /* for whose reply we wait; 0: it will say */
	bool busy; /* somebody of us waits in it */
	bool fresh; /* this process surely has had no answer here yet */
	char id[];
};

struct roar_coord {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* world, commands, connection */
	pthread_cond_t left; /* n_inside fell to 0 */
	struct roar_coord *next_client,
		*prev_client; /* in client_loop.c's list */
	pid_t pid;
	bool forked; /* this is a child's copy */
	bool has_thread;
	pthread_t thread;
	int epoll, wake;
	int nudge; /* an eventfd: `driver` is to look again */
	struct client_call *driver; /* reads in place of the thread, or NULL */
	bool driver_sleeps;
	int64_t due_ms; /* without a thread: when the next turn is */
	bool stopping; /* being freed */
	unsigned n_inside; /* calls of the API under way */

	/* as given */
	struct address_list addresses;
	char *job, *worker_id, *token, *hostname, *tls_ca, *tls_name;
	int32_t port, gpu_count;
	int64_t memory_bytes;
	char **metadata; /* key, value, ..., NULL */
	bool observer;

	struct client_link link;
	struct client_call *first, *last; /* calls that are not done */
	struct client_call *ended_first,
		*ended_last; /* whose user_done is due */
	uint32_t last_id;
	uint64_t n_hellos; /* tokens that were said, on all connections */
	uint64_t random; /* state of the jitter's generator */
	bool joined; /* was up before */
	int dead; /* why nothing will ever work again; -errno */
	char dead_text[512];

	/* the place */
	uint64_t session;
	uint64_t n_takes; /* of leases: each has its number */
	uint64_t fencing_token; /* of the last replies; 0: none */
	struct roar_coord_world world;
	struct str registration; /* the coordinator's last WorkerConfig, packed */
	struct client_call join, beat, watch; /* of our own */
	bool watching; /* somebody wants to hear of changes at once */
	int64_t beat_due_ms, beat_sent_ms, watch_due_ms;
	uint64_t n_beats; /* that were answered */
	int refused; /* the last one was, with this -errno; 0: it was not */
	char refusal[512];
	int64_t silence_ms; /* a heartbeat's answer may always take so long */
	int state; /* of WorkerStatus */
	int64_t step, epoch;
	char *task;
	struct client_command *commands, **last_command;
	unsigned n_commands;

	struct map counts; /* meeting id -> struct meet_count */
	bool forgot_counts; /* some were too many: what is not in there may be old */
};

static inline bool client_is_up(const struct roar_coord *c)
{
	return c->link.state == LINK_UP && !c->link.going_away;
}

/* ---- client_loop.c ---- */

int64_t client_now_ms(void);
/* `timeout_ms` from now; negative: INT64_MAX. */
int64_t client_deadline_ms(int64_t timeout_ms);

/* Every function of the API begins and ends with these.  The first returns -ECHILD after
 * a fork, and -ECANCELED while the client is freed; else the lock is held. */
int client_enter(struct roar_coord *c);
void client_leave(struct roar_coord *c);

/* What there is to do now.  Returns when there will be more, by CLOCK_MONOTONIC. */
int64_t client_turn(struct roar_coord *c);
/* Sleeps until something happens, or until then; without the lock. */
void client_rest(const struct roar_coord *c, int64_t until_ms);
/* Waits for `cond`, at most until then; without a thread, by doing its work. */
void client_wait(struct roar_coord *c, pthread_cond_t *cond, int64_t until_ms);
/* Ends the sleep of the client's thread. */
void client_wake(const struct roar_coord *c);
/* A condition whose times are of CLOCK_MONOTONIC. */
int client_cond_init(pthread_cond_t *cond);

int client_start(struct roar_coord *c); /* its descriptors and thread */
/* All that wait are told, and have left, when this returns; nobody enters any more. */
void client_stop(struct roar_coord *c);
void client_list_add(struct roar_coord *c);
void client_list_remove(struct roar_coord *c);

/* Nothing will ever work again: all that wait are told so. */
void client_die(struct roar_coord *c, int error, const char *sentence);

/* ---- reply_reader.c ---- */

/* Waits for what arrives, in place of the client's thread, and reads it.  Returns false,
 * at once, where that cannot be: another call does it, or the connection is not up. */
bool client_read_reply(struct client_call *call, int64_t until_ms);
/* Ends the sleep of the one who does that. */
void client_nudge_reader(const struct roar_coord *c);

/* ---- link.c ---- */

/* Bytes in and out, and the next step of a connection that is being made.  `now_ms` is
 * the time. */
void client_link_turn(struct roar_coord *c, int64_t now_ms);
/* Of several coordinators, one that is silent while somebody waits is asked whether it is there,
 * and left when it is not.  Returns when to look again. */
int64_t client_link_probe(struct roar_coord *c, int64_t now_ms);
/* Takes over a socket that is connected, as if it had been made here; for tests. */
void client_link_take(struct roar_coord *c, int fd);
/* Reads what has arrived, and writes what that brought about.  Returns how many frames
 * it was. */
size_t client_link_read(struct roar_coord *c);
/* Ends the connection, and tries the next one soon.  The sentence says why. */
void client_link_fail(struct roar_coord *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, but the next one is to this address, after a pause. */
void client_link_move(struct roar_coord *c, size_t address, int64_t pause_ms,
		      const char *why);
/* A number from 0 to `range`, by chance. */
int64_t client_link_jitter(struct roar_coord *c, int64_t range);
/* The registration is done: the connection may be used. */
void client_link_is_up(struct roar_coord *c);
void client_link_release(struct client_link *l);
/* The address that is tried or connected to, as it was named. */
const char *client_link_where(const struct roar_coord *c);

/* ---- standby.c ---- */

/* A call was refused with UNAVAILABLE and these bytes.  True: by a standby, and all is done
 * that there is to do about it. */
bool client_standby_said(struct client_call *call, const char *data,
			 size_t len);

/* ---- wire.c ---- */

/* Appends a frame. */
void client_wire_send(struct roar_coord *c, uint16_t method, uint16_t flags,
		      uint32_t call, uint32_t number, const void *data,
		      size_t len);
/* Writes what was appended, as far as the socket takes it. */
void client_wire_flush(struct roar_coord *c);
/* Who waits for the socket has changed. */
void client_wire_wait(struct roar_coord *c);
/* Waits for these events of the socket. */
void client_wire_want(struct roar_coord *c, uint32_t events);
/* Reads once; what is left makes the descriptor ready again.  Returns false when there
 * was nothing, or the connection is gone.  *ret_more: the buffer was filled to the brim,
 * there may be more. */
bool client_wire_read(struct roar_coord *c, bool *ret_more);
/* The same with a large buffer, for the rest. */
bool client_wire_read_on(struct roar_coord *c, bool *ret_more);
/* Gives on all frames that are whole, and returns how many they were.  The connection may
 * be gone, and another one begun, after any of them. */
size_t client_wire_take(struct roar_coord *c);

/* ---- client_session.c ---- */

void client_session_init(struct roar_coord *c);
/* What proves that a request is of the place's holder; 0: it has none. */
uint64_t client_session(struct roar_coord *c);
void client_session_release(struct roar_coord *c);
/* A connection is there: says who we are. */
void client_session_begin(struct roar_coord *c);
/* The token is another one: says so on the connection that there is. */
void client_session_renew(struct roar_coord *c);
/* It ended. */
void client_session_lost(struct roar_coord *c);
/* An observer's connection has answered. */
void client_session_answered(struct roar_coord *c);
/* Heartbeats, and the watch where somebody wants it.  Returns when it is due again. */
int64_t client_session_turn(struct roar_coord *c, int64_t now_ms);
/* ---- client_call.c ---- */

/* The message is packed into the call, whose memory is the caller's. */
int client_call_init(struct client_call *call, struct roar_coord *c,
		     enum coord_method_number method,
		     const ProtobufCMessage *request, int64_t timeout_ms);
/* The same with bytes that are packed already, for roar_coord_call(). */
int client_call_init_packed(struct client_call *call, struct roar_coord *c,
			    const char *path, const void *request, size_t len,
			    int64_t timeout_ms);
void client_call_release(struct client_call *call);

/* The lock is held in all of these. */
void client_call_begin(struct client_call *call);
/* Waits for the end, at most until then.  Returns whether it is done. */
bool client_call_wait(struct client_call *call, int64_t until_ms);
/* Takes the call back: nobody wants its result any more. */
void client_call_cancel(struct client_call *call);
void client_call_end(struct client_call *call, int result, const char *text);
/* Back to being queued. */
void client_call_repeat(struct client_call *call);
/* The reply with this number came. */
void client_call_reply(struct roar_coord *c, uint32_t id, bool end,
		       uint32_t status, const char *data, size_t len);
/* Sends what waits for a connection; ends what is over its time. Returns when the next
 * one is due. */
int64_t client_calls_turn(struct roar_coord *c, int64_t now_ms);
/* Does any call, streams apart, wait for its answer? */
bool client_calls_wait(const struct roar_coord *c);
void client_calls_lost(struct roar_coord *c); /* the connection ended */
void client_calls_end(struct roar_coord *c, int result, const char *text);

/* Begin and wait, for calls that only unpack a reply.  Enters and leaves the client; a
 * failure is told to the thread.  *ret_reply, which may be NULL, is to be freed with
 * protobuf_c_message_free_unpacked(). */
int client_call_run(struct roar_coord *c, enum coord_method_number method,
		    const ProtobufCMessage *request, int64_t timeout_ms,
		    const ProtobufCMessageDescriptor *type, void *ret_reply);
/* Tells the thread how a call failed, and is its result. */
int client_call_told(const struct client_call *call);

/* ---- client.c ---- */

/* A client that does nothing yet: roar_coord_join() starts it and waits. */
int client_make(const struct roar_coord_options *o, struct roar_coord **ret);
/* What roar_coord_leave() does before it frees. */
int client_give_place_up(struct roar_coord *c);

/* ---- client_meetings.c ---- */

/* What a use of roar_coord_meet() and its like is about. */
struct client_meet {
	const struct roar_coord_meet *meet;
	int kind; /* Roar__MeetKind */
	const void *value;
	size_t len;
	bool in_favour;
	bool aside; /* MeetRequest's */
};

/* Makes the call, and says in `call->count` that this meeting is being waited for.  The
 * lock is held. */
int client_meet_init(struct client_call *call, struct roar_coord *c,
		     const struct client_meet *m);
/* After its end: counts the use, and reads the result into *ret, which may be NULL. */
int client_meet_end(struct client_call *call, struct roar_coord_meeting *ret);
/* The call will be sent once more: its first answer may be lost. */
void client_meet_again(struct client_call *call);
/* The session is another one: arrivals that wait to be sent shall carry it. */
void client_meet_renew(struct roar_coord *c);
void client_meet_forget(struct roar_coord *c);

#endif
