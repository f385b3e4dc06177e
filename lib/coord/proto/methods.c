/* methods.c - the table of all methods.
 *
 * A number is a promise to clients of the fast path: it never changes and is never
 * given to another method.  The table stands apart from the state machine, so that
 * a client can use it alone. */
#include "coord/coord.h"

#include <string.h>

#include "base/macros.h"

#define METHOD(n, service, name, kind_, in, out)                              \
	{                                                                     \
		.path = "/" service "/" name, .number = (n), .kind = (kind_), \
		.request = &in##__descriptor, .reply = &out##__descriptor,    \
	}
#define OF_JOBS(n, name, kind, in, out)                                     \
	METHOD(n, "coordinator.Coordinator", name, kind, coordinator__##in, \
	       coordinator__##out)
#define CONTROL(n, name, kind, in, out) \
	METHOD(n, "roar.Control", name, kind, roar__##in, roar__##out)
#define SHARDS(n, name, in, out) \
	METHOD(n, "roar.Shards", name, COORD_UNARY, roar__##in, roar__##out)

/* clang-format off */
const struct coord_method coord_methods[] = {
	OF_JOBS(1, "RegisterWorker", COORD_UNARY, worker_info, worker_config),
	OF_JOBS(2, "Heartbeat", COORD_UNARY, heartbeat_request, heartbeat_response),
	OF_JOBS(3, "DeregisterWorker", COORD_UNARY, worker_info, worker_config),
	OF_JOBS(4, "RegisterDataset", COORD_UNARY, dataset_info, dataset_ack),
	OF_JOBS(5, "GetDataShard", COORD_UNARY, shard_request, shard_assignment),
	OF_JOBS(6, "NotifyCheckpoint", COORD_UNARY, checkpoint_info, checkpoint_ack),
	OF_JOBS(7, "GetLatestCheckpoint", COORD_UNARY, recovery_request, recovery_response),
	OF_JOBS(8, "WaitBarrier", COORD_UNARY, barrier_request, barrier_response),
	OF_JOBS(9, "StreamHeartbeats", COORD_BIDI, heartbeat_request, heartbeat_response),
	CONTROL(10, "Meet", COORD_UNARY, meet_request, meet_reply),
	CONTROL(11, "Watch", COORD_SERVER_STREAM, watch_request, watch_event),
	CONTROL(12, "Configure", COORD_UNARY, job_settings, job_status),
	CONTROL(13, "SendCommand", COORD_UNARY, command_request, command_reply),
	CONTROL(14, "Drain", COORD_UNARY, drain_request, drain_reply),
	CONTROL(15, "Leave", COORD_UNARY, leave_request, leave_reply),
	CONTROL(16, "KvSet", COORD_UNARY, kv_set_request, kv_reply),
	CONTROL(17, "KvGet", COORD_UNARY, kv_get_request, kv_reply),
	CONTROL(18, "KvAdd", COORD_UNARY, kv_add_request, kv_reply),
	CONTROL(19, "KvCompareSet", COORD_UNARY, kv_compare_set_request, kv_reply),
	CONTROL(20, "KvDelete", COORD_UNARY, kv_delete_request, kv_reply),
	CONTROL(21, "KvList", COORD_UNARY, kv_list_request, kv_list_reply),
	CONTROL(22, "ListJobs", COORD_UNARY, list_jobs_request, list_jobs_reply),
	CONTROL(23, "ListWorkers", COORD_UNARY, list_workers_request, list_workers_reply),
	CONTROL(24, "ListBarriers", COORD_UNARY, list_barriers_request, list_barriers_reply),
	CONTROL(25, "GetStatus", COORD_UNARY, status_request, status_reply),
	{
		.path = "/roar.Control/Stop", .number = COORD_METHOD_STOP,
		.kind = COORD_UNARY, .admin = true,
		.request = &roar__stop_request__descriptor,
		.reply = &roar__stop_reply__descriptor,
	},
	CONTROL(27, "Forget", COORD_UNARY, forget_request, forget_reply),
	SHARDS(28, "ListShards", list_shards_request, list_shards_reply),
	SHARDS(29, "GetTable", table_request, table_reply),
	SHARDS(30, "AdvanceEpoch", advance_epoch_request, advance_epoch_reply),
	SHARDS(31, "ReportConsumed", consumed_report, consumed_reply),
	SHARDS(32, "GetConsumed", consumed_request, consumed_reply),
	SHARDS(33, "TakeLease", take_lease_request, take_lease_reply),
	SHARDS(34, "UseLease", use_lease_request, use_lease_reply),
	SHARDS(35, "ListDatasets", list_datasets_request, list_datasets_reply),
};
/* clang-format on */

const size_t coord_n_methods = ARRAY_SIZE(coord_methods);

const struct coord_method *coord_method_by_number(uint16_t number)
{
	if (number == 0 || number > coord_n_methods)
		return NULL;
	return &coord_methods[number - 1];
}

/* Once a call, among 35: their lengths differ enough for that to be quick. */
const struct coord_method *coord_method_by_path(const char *path, size_t len)
{
	for (size_t i = 0; i < coord_n_methods; i++)
		if (strlen(coord_methods[i].path) == len &&
		    memcmp(coord_methods[i].path, path, len) == 0)
			return &coord_methods[i];
	return NULL;
}
