/* client.h - inside of roar/coord.h: one connection, the calls on it, the place they keep.
 *
 *	client_loop	what there is to do now: times that are due, bytes in, bytes out
 *	link		the connection (net/frames/frames_client.h), and what its frames mean
 *	standby		coordinators that do not lead, and the one that does
 *	session		what a connection is for: hello, registration, heartbeats, watch
 *	call		requests that wait for their reply, on whichever connection
 *	meetings, keys	what the calls are about
 *
 * All fields are guarded by `lock`, the loop and the connection among them; it is never held
 * while anybody waits.  The thread of the client, or the caller of roar_coord_turn(), waits on
 * the loop; any thread may append a request and send it at once, and one that waits for a
 * reply may read (reply_reader.c).
 *
 * The connection is that of net/dial.h.  While it is GREETING the registration is under way.
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
#include "net/frames/frames_client.h"

#define API __attribute__((visibility("default")))

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

struct client_link {
	struct frames_client frames;
	bool going_away; /* no new calls here, ... */
	int64_t leave_ms; /* ... and when it is left */
	size_t n_standbys; /* in a row that knew no better address of ours */
	bool is_hinted; /* a standby named it as the leader's */
	size_t misled; /* 1 + the address where that was of no use; 0: none */
	char failure[512]; /* why the last connection ended or could not be made */
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
	struct loop *loop;
	struct loop_fd wake; /* an eventfd: the loop's wait is to end */
	int nudge; /* an eventfd: `driver` is to look again */
	struct client_call *driver; /* reads in place of the thread, or NULL */
	bool driver_sleeps;
	int64_t due_ms; /* without a thread: when the next turn is */
	bool stopping; /* being freed */
	unsigned n_inside; /* calls of the API under way */

	/* as given */
	struct address_list addresses;
	char *job, *worker_id, *token, *hostname, *tls_name;
	struct tls_client *tls; /* NULL: plain */
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

/* The registration is under way. */
static inline bool client_is_joining(const struct roar_coord *c)
{
	return c->link.frames.dial.state == DIAL_GREETING;
}

/* Frames may be sent. */
static inline bool client_is_connected(const struct roar_coord *c)
{
	return c->link.frames.dial.state >= DIAL_GREETING;
}

static inline bool client_is_up(const struct roar_coord *c)
{
	return c->link.frames.dial.state == DIAL_UP && !c->link.going_away;
}

/* ---- client_loop.c ---- */

int64_t client_now_ms(void);
/* `timeout_ms` from now; negative: INT64_MAX. */
int64_t client_deadline_ms(int64_t timeout_ms);

/* Every function of the API begins and ends with these.  The first returns -ECHILD after
 * a fork, and -ECANCELED while the client is freed; else the lock is held. */
int client_enter(struct roar_coord *c);
void client_leave(struct roar_coord *c);

/* What there is to do now, after loop_wait().  Returns when there will be more, by
 * CLOCK_MONOTONIC. */
int64_t client_turn(struct roar_coord *c, const struct loop_events *events);
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

/* Begins to connect. */
int client_link_open(struct roar_coord *c);
void client_link_close(struct roar_coord *c);
/* Leaves a coordinator that stops, and, of several, one that is silent while a call waits.
 * Returns when to look again. */
int64_t client_link_turn(struct roar_coord *c, int64_t now_ms);
/* Appends a frame; while client_is_connected(). */
void client_link_send(struct roar_coord *c, uint16_t method, uint32_t call,
		      uint32_t number, const void *data, size_t len);
/* Sends what was appended, as far as the socket takes it. */
void client_link_flush(struct roar_coord *c);
/* Reads what has arrived, and sends what that brought about.  Returns how many frames it
 * was.  While client_is_connected(). */
size_t client_link_read(struct roar_coord *c);
/* `driver` has changed: the loop waits for input only where there is none. */
void client_link_wait(struct roar_coord *c);
/* The registration is done: the connection may be used. */
void client_link_is_up(struct roar_coord *c);

/* ---- standby.c ---- */

/* A call was refused with UNAVAILABLE and these bytes.  True: by a standby, and all is done
 * that there is to do about it. */
bool client_standby_said(struct client_call *call, const char *data,
			 size_t len);

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
