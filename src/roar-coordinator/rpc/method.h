/* method.h - all methods that are served, and what is counted of each.
 *
 * Those of the state machine come from its table; health and reflection are answered
 * by the program itself. */
#ifndef COORDINATOR_METHOD_H
#define COORDINATOR_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/map.h"
#include "coord/coord.h"
#include "net/rpc/rpc.h"

struct call;
struct server;

enum {
	METHOD_STATUSES = 17, /* of gRPC */
	METHOD_OWN =
		0xf000, /* on the fast path: the program's own, from 1 more on */
	METHOD_HEALTH = METHOD_OWN + 1, /* grpc.health.v1.Health/Check */
};

struct method {
	struct rpc_method rpc; /* its data is this */
	const struct coord_method *coord; /* NULL: the program's own */
	/* Of the program's own: what a message does. */
	void (*message)(struct server *s, struct call *c, const void *data,
			size_t len);
	bool is_free; /* also for who has no token */
	uint64_t statuses[METHOD_STATUSES]; /* calls that ended so */
	struct histogram duration; /* from a request to its reply */
};

struct methods {
	struct method *items;
	size_t n;
	struct map by_path;
};

/* builtin_services.c: health and reflection. */
extern const struct method builtin_methods[];

/* `own` ends with a row without a path. */
int methods_init(struct methods *m, const struct method *own);
void methods_release(struct methods *m);

const struct rpc_method *methods_by_path(const struct methods *m,
					 const char *path, size_t len);
const struct rpc_method *methods_by_number(const struct methods *m,
					   uint16_t number);

/* "DEADLINE_EXCEEDED", as gRPC calls it. */
const char *method_status_name(unsigned status);

#endif
