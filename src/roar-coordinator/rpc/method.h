/* method.h - all methods that are served, and their counters.
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
	METHOD_OWN = 0xf000, /* frames numbers of built-in methods are above this */
	METHOD_HEALTH = METHOD_OWN + 1, /* grpc.health.v1.Health/Check */
};

struct method {
	struct rpc_method rpc; /* its `data` is this struct */
	const struct coord_method *coord; /* NULL: built in */
	/* Built-in methods: handles a message. */
	void (*message)(struct server *s, struct call *c, const void *data,
			size_t len);
	bool is_free; /* needs no token */
	uint64_t statuses[METHOD_STATUSES]; /* calls by status */
	struct histogram duration; /* from a request to its reply */
};

struct methods {
	struct method *items;
	size_t n;
	struct map by_path;
};

/* builtin_services.c: health and reflection. */
extern const struct method builtin_methods[];

/* `own` is terminated by a row without a path. */
int methods_init(struct methods *m, const struct method *own);
void methods_release(struct methods *m);

const struct rpc_method *methods_by_path(const struct methods *m,
					 const char *path, size_t len);
const struct rpc_method *methods_by_number(const struct methods *m,
					   uint16_t number);

/* gRPC's name of a status: "DEADLINE_EXCEEDED". */
const char *method_status_name(unsigned status);

#endif
