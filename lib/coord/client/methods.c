/* methods.c - see methods.h */
#include "coord/client/methods.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS "/coordinator.Coordinator/"
#define CONTROL "/roar.Control/"

#define METHOD(n, p, ...) [n] = { .path = p, .number = (n), __VA_ARGS__ }

/* Asking again is harmless for all that say what shall be so (places, settings, values of
 * keys, datasets, checkpoints, arrivals with their generation) and for all that only
 * ask.  A sum, a comparison, a command and the end of the server are no such things:
 * done twice they are something else than done once. */
static const struct client_method methods[METHOD_END_] = {
	METHOD(METHOD_REGISTER_WORKER, WORKERS "RegisterWorker"),
	METHOD(METHOD_HEARTBEAT, WORKERS "Heartbeat"),
	METHOD(METHOD_DEREGISTER_WORKER, WORKERS "DeregisterWorker"),
	METHOD(METHOD_REGISTER_DATASET, WORKERS "RegisterDataset"),
	METHOD(METHOD_GET_DATA_SHARD, WORKERS "GetDataShard"),
	METHOD(METHOD_NOTIFY_CHECKPOINT, WORKERS "NotifyCheckpoint"),
	METHOD(METHOD_GET_LATEST_CHECKPOINT, WORKERS "GetLatestCheckpoint"),
	METHOD(METHOD_WAIT_BARRIER, WORKERS "WaitBarrier"),
	METHOD(METHOD_STREAM_HEARTBEATS, WORKERS "StreamHeartbeats",
	       .stream = true),
	METHOD(METHOD_MEET, CONTROL "Meet"),
	METHOD(METHOD_WATCH, CONTROL "Watch", .stream = true),
	METHOD(METHOD_CONFIGURE, CONTROL "Configure"),
	METHOD(METHOD_SEND_COMMAND, CONTROL "SendCommand", .once = true),
	METHOD(METHOD_DRAIN, CONTROL "Drain", .once = true),
	METHOD(METHOD_LEAVE, CONTROL "Leave"),
	METHOD(METHOD_KV_SET, CONTROL "KvSet"),
	METHOD(METHOD_KV_GET, CONTROL "KvGet"),
	METHOD(METHOD_KV_ADD, CONTROL "KvAdd", .once = true),
	METHOD(METHOD_KV_COMPARE_SET, CONTROL "KvCompareSet", .once = true),
	METHOD(METHOD_KV_DELETE, CONTROL "KvDelete"),
	METHOD(METHOD_KV_LIST, CONTROL "KvList"),
	METHOD(METHOD_LIST_JOBS, CONTROL "ListJobs"),
	METHOD(METHOD_LIST_WORKERS, CONTROL "ListWorkers"),
	METHOD(METHOD_LIST_BARRIERS, CONTROL "ListBarriers"),
	METHOD(METHOD_GET_STATUS, CONTROL "GetStatus"),
	METHOD(METHOD_STOP, CONTROL "Stop", .once = true),
};

const struct client_method *client_method(unsigned number)
{
	return number && number < METHOD_END_ ? &methods[number] : NULL;
}

const struct client_method *client_method_by_path(const char *path)
{
	char *end;
	unsigned long number = strtoul(path, &end, 10);

	if (*path >= '0' && *path <= '9' && !*end)
		return number < METHOD_END_ ? client_method((unsigned)number) :
					      NULL;
	for (unsigned i = 1; i < METHOD_END_; i++)
		if (strcmp(methods[i].path, path) == 0)
			return &methods[i];
	return NULL;
}
