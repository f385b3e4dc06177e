/* client_methods.h - the coordinator's methods as a client of frames names them.
 *
 * The numbers are those of the table in client_methods.c: part of the protocol. */
#ifndef COORD_CLIENT_CLIENT_METHODS_H
#define COORD_CLIENT_CLIENT_METHODS_H

#include <stdbool.h>

#include "coord/coord.h"

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
	METHOD_FORGET,
	METHOD_LIST_SHARDS,
	METHOD_GET_TABLE,
	METHOD_ADVANCE_EPOCH,
	METHOD_REPORT_CONSUMED,
	METHOD_GET_CONSUMED,
	METHOD_TAKE_LEASE,
	METHOD_USE_LEASE,
	METHOD_LIST_DATASETS,
	METHOD_END_, /* one more than the last */
};

/* NULL for what is no method with one answer.  A path may be written as a number. */
const struct coord_method *client_method_by_path(const char *path);

/* Must it not be done twice?  When its reply is lost with the connection, nobody knows
 * whether it was done, and the caller is told so instead of asking again. */
bool client_method_is_once(const struct coord_method *method);

/* May it be sent again because its request has a number (field CLIENT_REQUEST_FIELD, a fixed64)
 * by which it is known? */
bool client_method_is_numbered(const struct coord_method *method);
enum { CLIENT_REQUEST_FIELD = 15 };

#endif
