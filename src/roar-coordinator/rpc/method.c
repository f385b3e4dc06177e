/* method.c - see method.h */
#include "rpc/method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct method from_coord(const struct coord_method *c)
{
	return (struct method){
		.rpc = { .path = c->path,
			 .number = c->number,
			 .streams_in = c->kind == COORD_BIDI,
			 .streams_out = c->kind != COORD_UNARY },
		.coord = c,
	};
}

/* Ours last, so that those of the state machine are found by number - 1. */
int methods_init(struct methods *m, const struct method *own)
{
	size_t n_own = 0;
	int r = 0;

	while (own[n_own].rpc.path)
		n_own++;
	*m = (struct methods){ .n = coord_n_methods + n_own };
	m->items = calloc(m->n, sizeof(*m->items));
	if (!m->items)
		return -ENOMEM;
	for (size_t i = 0; i < m->n && r == 0; i++) {
		struct method *item = &m->items[i];

		*item = i < coord_n_methods ? from_coord(&coord_methods[i]) :
					      own[i - coord_n_methods];
		item->rpc.data = item;
		if (i >= coord_n_methods)
			item->rpc.number = (uint16_t)(METHOD_OWN + 1 + i -
						      coord_n_methods);
		r = map_set(&m->by_path, item->rpc.path, strlen(item->rpc.path),
			    item);
	}
	if (r < 0)
		methods_release(m);
	return r;
}

void methods_release(struct methods *m)
{
	map_release(&m->by_path);
	free(m->items);
	*m = (struct methods){ 0 };
}

const struct rpc_method *methods_by_path(const struct methods *m,
					 const char *path, size_t len)
{
	const struct method *item = map_get(&m->by_path, path, len);

	return item ? &item->rpc : NULL;
}

const struct rpc_method *methods_by_number(const struct methods *m,
					   uint16_t number)
{
	size_t place = number > METHOD_OWN ?
			       number - METHOD_OWN - 1 + coord_n_methods :
			       (size_t)number - 1;

	if (number == 0 || place >= m->n ||
	    (number <= METHOD_OWN && number > coord_n_methods))
		return NULL;
	return &m->items[place].rpc;
}

const char *method_status_name(unsigned status)
{
	static const char *const names[METHOD_STATUSES] = {
		[COORD_OK] = "OK",
		[COORD_CANCELLED] = "CANCELLED",
		[COORD_UNKNOWN] = "UNKNOWN",
		[COORD_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
		[COORD_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
		[COORD_NOT_FOUND] = "NOT_FOUND",
		[COORD_ALREADY_EXISTS] = "ALREADY_EXISTS",
		[COORD_PERMISSION_DENIED] = "PERMISSION_DENIED",
		[COORD_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
		[COORD_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
		[COORD_ABORTED] = "ABORTED",
		[COORD_OUT_OF_RANGE] = "OUT_OF_RANGE",
		[COORD_UNIMPLEMENTED] = "UNIMPLEMENTED",
		[COORD_INTERNAL] = "INTERNAL",
		[COORD_UNAVAILABLE] = "UNAVAILABLE",
		[COORD_DATA_LOSS] = "DATA_LOSS",
		[COORD_UNAUTHENTICATED] = "UNAUTHENTICATED",
	};

	return status < METHOD_STATUSES ? names[status] : "UNKNOWN";
}
