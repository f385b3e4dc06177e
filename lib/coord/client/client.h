/* client.h - implementation of roar/coord.h: one connection, the calls on it, and the
 * worker's place.
 *
 *	client_loop	one turn: due timers, input, output
 *	link		the connection (net/frames/frames_client.h), and the meaning of its frames
 *	standby		redirection from a standby to the leader
 *	session		hello, registration, heartbeats, watch
 *	call		requests that wait for their reply, across connections
 *	meetings, keys	the functions of the API
 *
 * `lock` protects all fields, including the loop and the connection.  It is never held
 * during a wait.  The client's thread, or the caller of roar_coord_turn(), waits on the
 * loop.  Any thread may append a request and send it at once, and a thread that waits for a
 * reply may read from the connection (reply_reader.c).
 *
 * The connection has the states of net/dial.h.  The worker registers in state GREETING.
 *
 * A call is on a list from client_call_begin() until it is done.  When a connection ends,
 * calls that were sent are queued again; calls that are not idempotent (methods.h) fail
 * instead.  When the next connection is UP, all queued calls are sent.
 *
 * fork() takes all locks, so that the child finds consistent data.  In the child the
 * descriptors are closed, and the client can only be freed. */
#ifndef COORD_CLIENT_CLIENT_H
#define COORD_CLIENT_CLIENT_H

#include <errno.h>
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
	CLIENT_CALL_MS = 60000, /* for functions without a timeout argument */
	/* The server may report a passed deadline this late. */
	CLIENT_GRACE_MS = 2000,
	CLIENT_MAX_COMMANDS = 256, /* unread; then the oldest are dropped */
};

/* ---- calls ---- */

enum client_call_state {
	CALL_IDLE, /* not on the list */
	CALL_QUEUED, /* sent when the connection is UP */
	CALL_SENT,
	CALL_DONE, /* no longer on the list; `result` is valid */
};

struct client_call {
	struct roar_coord *c;
	pid_t pid; /* of the process that made the call */
	struct client_call *next, *prev; /* list of calls that are not done */
	const struct coord_method *method;
	enum client_call_state state;
	uint32_t id; /* on this connection */
	uint64_t hello; /* n_hellos when it was sent */
	/* Of a meeting: a retry, the first reply may be lost. */
	bool asks_again;
	int64_t deadline_ms; /* CLOCK_MONOTONIC; INT64_MAX: none */
	/* Not sent earlier: the server asked for a pause. */
	int64_t not_before_ms;
	struct str request; /* packed */

	int result; /* 0 or a negative errno */
	struct str reply; /* the message; of a failure, the error message */
	char *absent; /* comma-separated ids, of a failed meeting; or NULL */
	pthread_cond_t done; /* with the lock: `state` became CALL_DONE */

	/* For the client's own calls and those of roar_coord_begin_meet(): called with the
	 * lock held when the call is done. */
	void (*finish)(struct client_call *call);
	/* For streams: called for each message before the end. */
	void (*message)(struct client_call *call, const void *data, size_t len);
	roar_coord_done user_done; /* of roar_coord_begin_meet() */
	void *user_data;
	struct meet_count *count; /* for meetings: counter of this id */
};

/* ---- the connection ---- */

struct client_link {
	struct frames_client frames;
	bool going_away; /* the server accepts no new calls */
	int64_t leave_ms; /* when the client leaves it then */
	/* Standbys in a row that named no other address of ours. */
	size_t n_standbys;
	bool is_hinted; /* a standby named this address as the leader's */
	/* 1 + the address where such a hint was wrong; 0: none. */
	size_t misled;
	char failure[512]; /* why the last connection ended or could not be made */
};

/* ---- the client ---- */

struct client_command {
	struct client_command *next;
	char text[];
};

/* How often a meeting id was used, as far as this client knows. */
struct meet_count {
	uint64_t next; /* generation; 0: the coordinator decides */
	uint64_t asked; /* generation that a call waits for; 0: not known yet */
	bool busy; /* a call of this client waits in it */
	bool fresh; /* this process has certainly had no reply here yet */
	char id[];
};

struct roar_coord {
	/* Protects all fields below, the loop and the connection.  Taken after the lock of
	 * client_loop.c's list, before no other. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* world, commands, connection */
	pthread_cond_t left; /* n_inside fell to 0 */
	/* In client_loop.c's list, protected by its lock. */
	struct roar_coord *next_client, *prev_client;
	pid_t pid;
	bool forked; /* this is the copy in a forked child */
	bool has_thread;
	pthread_t thread;
	struct loop *loop;
	struct loop_fd wake; /* an eventfd: ends the loop's wait */
	int nudge; /* an eventfd: ends the wait of `driver` */
	/* The call whose thread reads instead of the client's thread, or NULL. */
	struct client_call *driver;
	bool driver_sleeps;
	int64_t due_ms; /* without a thread: time of the next turn */
	bool stopping; /* being freed */
	unsigned n_inside; /* calls of the API in progress */

	/* options, as given */
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
		*ended_last; /* calls whose user_done is due */
	uint32_t last_id;
	uint64_t n_hellos; /* hellos sent, on all connections */
	bool joined; /* has been UP before */
	int dead; /* permanent failure, -errno; 0: none */
	char dead_text[512];

	/* the place */
	uint64_t session;
	uint64_t n_takes; /* lease requests, which are numbered */
	uint64_t fencing_token; /* from the last replies; 0: none */
	struct roar_coord_world world;
	struct str registration; /* the coordinator's last WorkerConfig, packed */
	struct client_call join, beat, watch; /* the client's own calls */
	bool watching; /* changes of the world are wanted at once */
	int64_t beat_due_ms, beat_sent_ms, watch_due_ms;
	uint64_t n_beats; /* that got a reply */
	/* -errno with which the last one was refused; 0: accepted. */
	int refused;
	char refusal[512];
	int64_t silence_ms; /* least time to wait for a heartbeat's reply */
	int state; /* of WorkerStatus */
	int64_t step, epoch;
	char *task;
	struct client_command *commands, **last_command;
	unsigned n_commands;

	struct map counts; /* meeting id -> struct meet_count */
	/* Some were evicted: a missing id may have been used. */
	bool forgot_counts;
};

/* For assertions: is the lock held, by whichever thread? */
static inline bool client_is_locked(struct roar_coord *c)
{
	bool is_locked = pthread_mutex_trylock(&c->lock) == EBUSY;

	if (!is_locked)
		(void)pthread_mutex_unlock(&c->lock);
	return is_locked;
}

/* The worker is registering. */
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

/* Every function of the API starts and ends with these.  client_enter() returns -ECHILD
 * after a fork, and -ECANCELED while the client is being freed; otherwise it takes the
 * lock. */
int client_enter(struct roar_coord *c);
void client_leave(struct roar_coord *c);

/* One turn after loop_wait().  Returns when the next one is due, by CLOCK_MONOTONIC. */
int64_t client_turn(struct roar_coord *c, const struct loop_events *events);
/* Waits for `cond` until `until_ms` at the latest.  Without a thread it does the turns
 * meanwhile. */
void client_wait(struct roar_coord *c, pthread_cond_t *cond, int64_t until_ms);
/* Ends the sleep of the client's thread. */
void client_wake(const struct roar_coord *c);
/* A condition variable that uses CLOCK_MONOTONIC. */
int client_cond_init(pthread_cond_t *cond);

int client_start(struct roar_coord *c); /* its descriptors and thread */
/* Ends all waiting calls and waits until they have left; client_enter() fails from then
 * on. */
void client_stop(struct roar_coord *c);
void client_list_add(struct roar_coord *c);
void client_list_remove(struct roar_coord *c);

/* A permanent failure: ends all waiting calls with this error. */
void client_die(struct roar_coord *c, int error, const char *sentence);

/* ---- reply_reader.c ---- */

/* Waits for input instead of the client's thread, and reads it.  Returns false at once if
 * that is not possible: another call reads, or the connection is not UP. */
bool client_read_reply(struct client_call *call, int64_t until_ms);
/* Ends the wait of the reading call. */
void client_nudge_reader(const struct roar_coord *c);

/* ---- link.c ---- */

/* Starts to connect. */
int client_link_open(struct roar_coord *c);
void client_link_close(struct roar_coord *c);
/* Leaves a coordinator that is stopping.  If there are several, it also leaves one that is
 * silent while a call waits.  Returns when to check again. */
int64_t client_link_turn(struct roar_coord *c, int64_t now_ms);
/* Appends a frame.  Requires client_is_connected(). */
void client_link_send(struct roar_coord *c, uint16_t method, uint32_t call,
		      uint32_t number, const void *data, size_t len);
/* Sends what was appended, as far as the socket takes it. */
void client_link_flush(struct roar_coord *c);
/* Reads and handles the frames that have arrived, and sends the resulting output.  Returns
 * the number of frames.  Requires client_is_connected(). */
size_t client_link_read(struct roar_coord *c);
/* `driver` has changed: the loop waits for input only while there is no driver. */
void client_link_wait(struct roar_coord *c);
/* The registration is done: the connection is UP. */
void client_link_is_up(struct roar_coord *c);

/* ---- standby.c ---- */

/* A call was refused with UNAVAILABLE and these bytes.  Returns true if a standby refused
 * it; the redirection is then under way. */
bool client_standby_said(struct client_call *call, const char *data,
			 size_t len);

/* ---- client_session.c ---- */

void client_session_init(struct roar_coord *c);
/* The session, which proves that a request comes from the holder of the place; 0: none. */
uint64_t client_session(struct roar_coord *c);
void client_session_release(struct roar_coord *c);
/* A connection was made: sends the hello and the registration. */
void client_session_begin(struct roar_coord *c);
/* The token has changed: sends it on the current connection. */
void client_session_renew(struct roar_coord *c);
/* The connection ended. */
void client_session_lost(struct roar_coord *c);
/* An observer received its first reply. */
void client_session_answered(struct roar_coord *c);
/* Sends heartbeats, and the watch if one is wanted.  Returns when it is due again. */
int64_t client_session_turn(struct roar_coord *c, int64_t now_ms);
/* ---- client_call.c ---- */

/* Packs the message into the call.  The caller owns the memory of the call. */
int client_call_init(struct client_call *call, struct roar_coord *c,
		     enum coord_method_number method,
		     const ProtobufCMessage *request, int64_t timeout_ms);
/* The same with bytes that are packed already, for roar_coord_call(). */
int client_call_init_packed(struct client_call *call, struct roar_coord *c,
			    const char *path, const void *request, size_t len,
			    int64_t timeout_ms);
void client_call_release(struct client_call *call);

/* The lock must be held in all of these. */
void client_call_begin(struct client_call *call);
/* Waits until the call is done, until `until_ms` at the latest.  Returns whether it is
 * done. */
bool client_call_wait(struct client_call *call, int64_t until_ms);
/* Cancels the call: its result is no longer wanted. */
void client_call_cancel(struct client_call *call);
void client_call_end(struct client_call *call, int result, const char *text);
/* Queues the call again. */
void client_call_repeat(struct client_call *call);
/* The reply with this number came. */
void client_call_reply(struct roar_coord *c, uint32_t id, bool end,
		       uint32_t status, const char *data, size_t len);
/* Sends queued calls and ends those whose deadline has passed.  Returns the next
 * deadline. */
int64_t client_calls_turn(struct roar_coord *c, int64_t now_ms);
/* Does any call, except for streams, wait for its reply? */
bool client_calls_wait(const struct roar_coord *c);
void client_calls_lost(struct roar_coord *c); /* the connection ended */
void client_calls_end(struct roar_coord *c, int result, const char *text);

/* Begins the call, waits, and unpacks its reply.  Enters and leaves the client; sets the
 * thread's last error on failure.  Free *ret_reply, which may be NULL, with
 * protobuf_c_message_free_unpacked(). */
int client_call_run(struct roar_coord *c, enum coord_method_number method,
		    const ProtobufCMessage *request, int64_t timeout_ms,
		    const ProtobufCMessageDescriptor *type, void *ret_reply);
/* Sets the thread's last error from a failed call, and returns the call's result. */
int client_call_told(const struct client_call *call);

/* ---- client.c ---- */

/* Creates a client that is not started yet: roar_coord_join() starts it and waits. */
int client_make(const struct roar_coord_options *o, struct roar_coord **ret);
/* What roar_coord_leave() does before it frees. */
int client_give_place_up(struct roar_coord *c);

/* ---- client_meetings.c ---- */

/* The arguments of roar_coord_meet(), roar_coord_gather() and roar_coord_vote(). */
struct client_meet {
	const struct roar_coord_meet *meet;
	int kind; /* Roar__MeetKind */
	const void *value;
	size_t len;
	bool in_favour;
	bool aside; /* MeetRequest's */
};

/* Prepares the call, and marks the meeting as busy in `call->count`.  The lock must be
 * held. */
int client_meet_init(struct client_call *call, struct roar_coord *c,
		     const struct client_meet *m);
/* After its end: counts the use, and reads the result into *ret, which may be NULL. */
int client_meet_end(struct client_call *call, struct roar_coord_meeting *ret);
/* The call will be sent again: its first reply may be lost. */
void client_meet_again(struct client_call *call);
/* The session has changed: puts the new one into queued arrivals. */
void client_meet_renew(struct roar_coord *c);
void client_meet_forget(struct roar_coord *c);

#endif
