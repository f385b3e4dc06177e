/* server.h - the state of the server, shared by all its files.
 *
 *	wires (net/rpc/rpc.h)  --message-->  call.c  --request-->  state (coord/coord.h)
 *	                                                        |record     |reply
 *	                                                        v           v
 *	                       journal.c: the log (record_log.h)     host.c
 *	                                              |durable              |
 *	                                              +----> reply_queue.h -+
 *	                                                        |
 *	wires  <-----------------------------------------------+
 *
 * A reply waits in `reply_queue` until all records before it are durable; without such records
 * it is sent at once.  With the log in etcd, leadership.h decides whether requests are answered
 * at all.  Everything runs on the thread of the loop; only the log on disk has its own. */
#ifndef COORDINATOR_SERVER_H
#define COORDINATOR_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/history.h"
#include "api/live.h"
#include "base/error.h"
#include "base/log_lines.h"
#include "base/rate.h"
#include "base/record_log.h"
#include "coord/coord.h"
#include "http/service.h"
#include "log/leadership.h"
#include "net/loop.h"
#include "net/rpc/rpc.h"
#include "net/tls/tls_server.h"
#include "options.h"
#include "rpc/access.h"
#include "rpc/method.h"
#include "rpc/pack.h"
#include "rpc/reply_queue.h"

struct etcd;

/* A call in progress. */
struct call {
	struct call *next,
		*prev; /* all calls in progress; `next`: the free list */
	struct rpc_call *rpc;
	struct method *method;
	struct scope *scope; /* NULL: a method that needs no token */
	int64_t started_ns; /* when its last request arrived; 0: never */
	uint64_t id;
	bool asked; /* the state machine knows it */
	bool answered; /* its last reply is in the reply queue */
	bool watches_health;
	bool knows_service; /* watches_health: the service exists */
};

/* A request of the program itself to the state machine, for HTTP.  The reply has arrived when
 * coord_request() returns. */
struct look {
	uint64_t id;
	void (*reply)(struct look *l, const ProtobufCMessage *message);
	void *data;
	enum coord_status status;
	char sentence[256]; /* for a status other than OK */
};

struct server {
	const struct options *options;
	struct log_lines lines;
	struct access access;
	struct loop *loop;
	struct rpc_server *rpc;
	uint16_t port; /* of the first TCP address */
	struct tls_server *tls;
	struct http_service *http;
	struct coord *coord;
	struct leadership *leadership; /* NULL: without etcd */
	struct methods methods;
	struct unpacker unpacker;

	/* calls */
	struct call *calls; /* in progress */
	struct call *free_calls;
	struct call *current; /* its request is being processed */
	struct look *look;
	uint64_t n_looks;
	unsigned n_free_streams; /* streams that need no token */
	struct str out; /* a packed reply; the memory is reused */
	const ProtobufCMessage *common; /* part that the next replies share */
	size_t common_len; /* of it, packed */
	struct rpc_shared *end; /* the packed `common`, made when first needed */
	struct str absent;

	/* the log */
	struct record_log *log; /* NULL: a standby has none */
	struct reply_queue reply_queue;
	struct str record;
	uint64_t appended; /* number of the last record appended */
	uint64_t n_replayed; /* records read at startup */
	int64_t load_began_ns;
	struct loop_later round_end;
	struct loop_timer tick;
	int failure; /* -errno of a fatal failure; 0: none */
	struct roar_error why; /* the same as a sentence */
	bool disk_full; /* there was no room for the last record */

	/* the end */
	bool stop_asked; /* by a call */
	int64_t stop_grace_ms;
	bool stopping;
	bool forced; /* the grace period is over */
	bool resigned; /* leadership was given up */
	int64_t stop_by_ms;
	struct loop_timer stop_timer;
	struct loop_fd signals;

	/* counters */
	int64_t started_ms; /* by the wall clock */
	int64_t started_mono_ms;
	uint64_t n_requests;
	struct rate requests;
	struct histogram barrier_wait, barrier_skew;
	struct histogram log_sync;
	uint64_t n_snapshots_failed;
	struct histogram snapshot;
	int64_t snapshot_began_ns;
	uint64_t checkpoint_bytes; /* reported by workers */
	struct history history;
	struct loop_timer history_timer;

	/* event streams */
	struct live live;
};

static inline struct coord_now server_now(const struct server *s)
{
	return (struct coord_now){ .mono_ms = loop_now_ms(s->loop),
				   .wall_ms = loop_wall_ms(s->loop) };
}

/* serve.c: the whole. */
/* Stops the program with this error. */
void server_fail(struct server *s, int error, const char *sentence);
/* Replaces the state by an empty one; queued replies are dropped. */
void server_renew_state(struct server *s);
/* The address that standbys send clients to while this one leads. */
void server_own_address(const struct server *s, struct str *ret);

/* call.c: the wires' side. */
extern const struct rpc_handler call_handler;
/* Ends the calls for which `which` returns true; NULL: all. */
void call_end_all(struct server *s, bool (*which)(const struct call *c),
		  unsigned status, const char *sentence);
/* Drops all calls of the state machine without a reply. */
void call_forget_all(struct server *s);
/* Sends the status and frees the call. */
void call_end(struct server *s, struct call *c, unsigned status,
	      const char *sentence, const char *absent);
/* Sends one message of a reply; `end`, which may be NULL, holds its last bytes. */
void call_send(struct server *s, struct call *c, const void *data, size_t len,
	       struct rpc_shared *end);

/* host.c: the state machine's side. */
extern const struct coord_host server_host;
/* Sends the replies whose records are durable. */
void host_send_replies(struct server *s);
/* Fails all replies that wait: the log has failed. */
void host_fail_replies(struct server *s);
/* Asks the state machine and waits for its reply. */
void host_look(struct server *s, const struct scope *scope,
	       const struct coord_method *method,
	       const ProtobufCMessage *request, struct look *l);

/* journal.c: the log. */
int journal_open_disk(struct server *s, struct roar_error *err);
/* Starts to read; leadership_loaded() or leadership_log_failed() is called at the end. */
int journal_open_etcd(struct server *s, struct etcd *etcd, int64_t token,
		      bool is_full);
void journal_close(struct server *s);
int journal_append(struct server *s, const Roar__Record__Record *record);
void journal_round(struct server *s); /* at the end of a round */
/* Every second: checks whether a full disk has room again. */
void journal_look_for_room(struct server *s);
uint64_t
journal_durable(const struct server *s); /* number of the last durable record */
bool journal_is_durable(const struct server *s); /* are all records durable? */
void journal_count(struct server *s, struct record_log_counts *ret);

/* builtin_services.c: health and reflection (builtin_methods of method.h). */
void builtin_report_health(struct server *s);

/* stop.c: signals and the end. */
int stop_watch(struct server *s, struct roar_error *err);
void stop_begin(struct server *s, int64_t grace_ms);
void stop_failed(struct server *s); /* without grace: the log has failed */

/* sampler.c: the history, one row per second. */
void sampler_begin(struct server *s);
void sampler_end(struct server *s);

/* api: HTTP. */
http_service_fn routes_answer;
typedef void route_fn(struct server *s, const struct scope *scope,
		      const struct http_request *request,
		      struct http_reply *reply);
route_fn api_health, api_status, api_workers, api_logs, api_checkpoints,
	api_dashboard, api_task, api_task_new;
void api_error(struct http_reply *reply, unsigned status, const char *sentence);
void metrics_write(struct server *s, struct str *out);

#endif
