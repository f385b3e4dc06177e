/* agent_internal.h - the parts of an agent.
 *
 *	workers  --call-->  relay.c  --frames-->  lanes.c  -->  uplink.h  -->  coordinator
 *	                       ^         beats.h: heartbeats wait there           |
 *	                       +--------------- errands.c: whose reply is it? <---+ */
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
	AGENT_MAX_ERRANDS = 0xffff, /* calls under way */
	AGENT_MAX_UNSENT = 64 << 20, /* bytes the coordinator does not take */
};

/* A worker's connection. */
struct lane {
	uint64_t conn; /* its id, and the key of the map */
	uint32_t number; /* 1 to FRAMES_MAX_LANES */
	char *hello; /* "TOKEN\0JOB" as it was said last; NULL: never */
	size_t hello_len;
};

/* A call under way. */
struct errand {
	struct lane *lane;
	uint64_t call; /* the worker's, by its id */
	uint32_t number; /* the coordinator's */
	bool begun; /* the coordinator knows it */
	char *hello; /* to be said before; freed when it was */
	size_t hello_len;
	struct errand *next; /* of those that are free */
};

struct agent {
	const struct options *options;
	struct log_lines lines;
	struct loop *loop;
	struct rpc_server *rpc;
	struct tls_server *tls;
	struct methods methods;
	struct uplink *uplink;
	uint64_t n_up, n_down; /* how often it was there, and lost */
	struct http_service *http; /* or NULL */
	struct beats beats;
	struct loop_timer beats_timer;

	struct map lanes; /* by connection */
	struct lane *by_number[FRAMES_MAX_LANES + 1];
	uint32_t speaks; /* for which lane; 0: for itself */

	struct errand **errands; /* by the low half of their numbers */
	size_t n_errands, errands_cap;
	struct errand *free_errands;

	struct loop_fd signals;
	struct loop_timer stop_timer;
	int64_t stop_by_ms; /* 0: it is not to end */
};

/* ---- lanes.c ---- */

/* That of a connection, made if need be; NULL: there is no room. */
struct lane *lane_get(struct agent *a, uint64_t conn);
/* Its connection has ended. */
void lane_drop(struct agent *a, uint64_t conn);
/* Says it for that lane, behind the heartbeats that wait.  Nothing without a coordinator. */
void lane_say(struct agent *a, struct lane *l, const struct frame *f,
	      const void *data);
/* The same for a heartbeat, which may wait for others. */
void lane_beat(struct agent *a, struct lane *l, const struct frame *f,
	       const void *data);
/* What is said next comes with that token and job. */
void lane_hello(struct agent *a, struct lane *l, const char *hello, size_t len);
void lanes_release(struct agent *a);

/* ---- errands.c ---- */

/* NULL: there are as many as may be. */
struct errand *errand_new(struct agent *a, struct lane *l, uint64_t call);
struct errand *errand_find(struct agent *a, uint32_t number);
void errand_done(struct agent *a, struct errand *e);
void errands_release(struct agent *a);

/* ---- agent_http.c ---- */

/* Serves at --http, if that is given, and appends where that is. */
int agent_listen_http(struct agent *a, struct str *line,
		      struct roar_error *err);

/* ---- relay.c ---- */

extern const struct rpc_handler relay_handler;
extern const struct uplink_user relay_user;

#endif
