/* methods.h - the coordinator's methods as a client of frames names them.
 *
 * The numbers are part of the protocol (coord.h): they never change. */
#ifndef COORD_CLIENT_METHODS_H
#define COORD_CLIENT_METHODS_H

#include <stdbool.h>
#include <stdint.h>

enum client_method_number {
	METHOD_REGISTER_WORKER = 1,
	METHOD_HEARTBEAT,
	METHOD_DEREGISTER_WORKER,
	METHOD_REGISTER_DATASET,
	METHOD_GET_DATA_SHARD,
	METHOD_NOTIFY_CHECKPOINT,
	METHOD_GET_LATEST_CHECKPOINT,
	METHOD_WAIT_BARRIER,
	METHOD_STREAM_HEARTBEATS,
	METHOD_MEET,
	METHOD_WATCH,
	METHOD_CONFIGURE,
	METHOD_SEND_COMMAND,
	METHOD_DRAIN,
	METHOD_LEAVE,
	METHOD_KV_SET,
	METHOD_KV_GET,
	METHOD_KV_ADD,
	METHOD_KV_COMPARE_SET,
	METHOD_KV_DELETE,
	METHOD_KV_LIST,
	METHOD_LIST_JOBS,
	METHOD_LIST_WORKERS,
	METHOD_LIST_BARRIERS,
	METHOD_GET_STATUS,
	METHOD_STOP,
	METHOD_END_, /* one more than the last */
};

struct client_method {
	const char *path; /* "/roar.Control/Meet" */
	uint16_t number;
	bool stream; /* more than one message either way */
	/* Must not be done twice: when its reply is lost with the connection, nobody knows
	 * whether it was done, and the caller is told so instead of asking again. */
	bool once;
};

/* NULL for a number or path that is none.  A path may be written as a number. */
const struct client_method *client_method(unsigned number);
const struct client_method *client_method_by_path(const char *path);

#endif
