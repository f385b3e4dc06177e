/* agent_internal.h - the parts of an agent.
 *
 *	workers  --call-->  relay.c  --frames-->  lanes.c  -->  uplink.h  -->  coordinator
 *	                       ^         beats.h: delays heartbeats               |
 *	                       +---------------- errands.c: finds the call <------+ */
#ifndef COORDINATOR_AGENT_INTERNAL_H
#define COORDINATOR_AGENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/beats.h"
#include "agent/uplink.h"
#include "base/log_lines.h"
#include "base/map.h"
#include "http/service.h"
#include "net/frames/frames.h"
#include "net/loop.h"
#include "net/rpc/rpc.h"
#include "net/tls/tls_server.h"
#include "options.h"
#include "rpc/method.h"

enum {
	AGENT_MAX_ERRANDS = 0xffff, /* calls in progress */
	AGENT_MAX_UNSENT = 64 << 20, /* bytes not sent to the coordinator yet */
};

/* A worker's connection. */
struct lane {
	uint64_t conn; /* its id, the key of the map */
	uint32_t number; /* 1 to FRAMES_MAX_LANES */
	char *hello; /* "TOKEN\0JOB" as last sent; NULL: never */
	size_t hello_len;
};

/* A call in progress. */
struct errand {
	struct lane *lane;
	uint64_t call; /* id of the worker's call */
	uint32_t number; /* of the call to the coordinator */
	bool begun; /* it was sent to the coordinator */
	char *hello; /* to be sent first; freed when sent */
	size_t hello_len;
	struct errand *next; /* in the free list */
};

struct agent {
	const struct options *options;
	struct log_lines lines;
	struct loop *loop;
	struct rpc_server *rpc;
	struct tls_server *tls;
	struct methods methods;
	struct uplink *uplink;
	uint64_t n_up, n_down; /* how often it connected, and was lost */
	struct http_service *http; /* or NULL */
	struct beats beats;
	struct loop_timer beats_timer;

	struct map lanes; /* by connection */
	struct lane *by_number[FRAMES_MAX_LANES + 1];
	uint32_t speaks; /* the lane last selected; 0: the agent itself */

	struct errand **errands; /* by the low half of their numbers */
	size_t n_errands, errands_cap;
	struct errand *free_errands;

	struct loop_fd signals;
	struct loop_timer stop_timer;
	int64_t stop_by_ms; /* 0: not stopping */
};

/* ---- lanes.c ---- */

/* The lane of a connection, created if needed; NULL: no lane is free. */
struct lane *lane_get(struct agent *a, uint64_t conn);
/* The connection has ended. */
void lane_drop(struct agent *a, uint64_t conn);
/* Sends a frame for that lane, after the delayed heartbeats.  Does nothing without a
 * connection to the coordinator. */
void lane_say(struct agent *a, struct lane *l, const struct frame *f,
	      const void *data);
/* The same for a heartbeat, which may be delayed. */
void lane_beat(struct agent *a, struct lane *l, const struct frame *f,
	       const void *data);
/* Sets token and job of the lane for the following calls. */
void lane_hello(struct agent *a, struct lane *l, const char *hello, size_t len);
void lanes_release(struct agent *a);

/* ---- errands.c ---- */

/* NULL: the maximum is reached, or out of memory. */
struct errand *errand_new(struct agent *a, struct lane *l, uint64_t call);
struct errand *errand_find(struct agent *a, uint32_t number);
void errand_done(struct agent *a, struct errand *e);
void errands_release(struct agent *a);

/* ---- agent_http.c ---- */

/* Serves at --http, if given, and appends the address to `line`. */
int agent_listen_http(struct agent *a, struct str *line,
		      struct roar_error *err);

/* ---- relay.c ---- */

extern const struct rpc_handler relay_handler;
extern const struct uplink_user relay_user;

#endif
