/* methods.h - the methods of a coordinator: one table for server, client and agent.
 *
 * The number is the method's name on the frames protocol.  It is a promise to clients: it
 * never changes and is never given to another method.  Numbers count from 1 without a gap.
 *
 * The table is separate from the state machine, so that a client can use it alone. */
#ifndef COORD_PROTO_METHODS_H
#define COORD_PROTO_METHODS_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(number, id, handler, service, name, kind, retry, request, reply): METHOD_<id> is the
 * number, and method_<handler>() of the state machine serves it. */
/* clang-format off */
#define COORD_METHODS(X) \
	X(1, REGISTER_WORKER, register_worker, JOBS, "RegisterWorker", UNARY, SAFE, worker_info, worker_config) \
	X(2, HEARTBEAT, heartbeat, JOBS, "Heartbeat", UNARY, SAFE, heartbeat_request, heartbeat_response) \
	X(3, DEREGISTER_WORKER, deregister_worker, JOBS, "DeregisterWorker", UNARY, SAFE, worker_info, worker_config) \
	X(4, REGISTER_DATASET, register_dataset, JOBS, "RegisterDataset", UNARY, SAFE, dataset_info, dataset_ack) \
	X(5, GET_DATA_SHARD, get_data_shard, JOBS, "GetDataShard", UNARY, SAFE, shard_request, shard_assignment) \
	X(6, NOTIFY_CHECKPOINT, notify_checkpoint, JOBS, "NotifyCheckpoint", UNARY, SAFE, checkpoint_info, checkpoint_ack) \
	X(7, GET_LATEST_CHECKPOINT, get_latest_checkpoint, JOBS, "GetLatestCheckpoint", UNARY, SAFE, recovery_request, recovery_response) \
	X(8, WAIT_BARRIER, wait_barrier, JOBS, "WaitBarrier", UNARY, SAFE, barrier_request, barrier_response) \
	X(9, STREAM_HEARTBEATS, heartbeat, JOBS, "StreamHeartbeats", BIDI, SAFE, heartbeat_request, heartbeat_response) \
	X(10, MEET, meet, CONTROL, "Meet", UNARY, SAFE, meet_request, meet_reply) \
	X(11, WATCH, watch, CONTROL, "Watch", SERVER_STREAM, SAFE, watch_request, watch_event) \
	X(12, CONFIGURE, configure, CONTROL, "Configure", UNARY, SAFE, job_settings, job_status) \
	X(13, SEND_COMMAND, send_command, CONTROL, "SendCommand", UNARY, ONCE, command_request, command_reply) \
	X(14, DRAIN, drain, CONTROL, "Drain", UNARY, ONCE, drain_request, drain_reply) \
	X(15, LEAVE, leave, CONTROL, "Leave", UNARY, SAFE, leave_request, leave_reply) \
	X(16, KV_SET, kv_set, CONTROL, "KvSet", UNARY, NUMBERED, kv_set_request, kv_reply) \
	X(17, KV_GET, kv_get, CONTROL, "KvGet", UNARY, SAFE, kv_get_request, kv_reply) \
	X(18, KV_ADD, kv_add, CONTROL, "KvAdd", UNARY, ONCE, kv_add_request, kv_reply) \
	X(19, KV_COMPARE_SET, kv_compare_set, CONTROL, "KvCompareSet", UNARY, ONCE, kv_compare_set_request, kv_reply) \
	X(20, KV_DELETE, kv_delete, CONTROL, "KvDelete", UNARY, NUMBERED, kv_delete_request, kv_reply) \
	X(21, KV_LIST, kv_list, CONTROL, "KvList", UNARY, SAFE, kv_list_request, kv_list_reply) \
	X(22, LIST_JOBS, list_jobs, CONTROL, "ListJobs", UNARY, SAFE, list_jobs_request, list_jobs_reply) \
	X(23, LIST_WORKERS, list_workers, CONTROL, "ListWorkers", UNARY, SAFE, list_workers_request, list_workers_reply) \
	X(24, LIST_BARRIERS, list_barriers, CONTROL, "ListBarriers", UNARY, SAFE, list_barriers_request, list_barriers_reply) \
	X(25, GET_STATUS, get_status, CONTROL, "GetStatus", UNARY, SAFE, status_request, status_reply) \
	X(26, STOP, stop, CONTROL, "Stop", UNARY, ONCE, stop_request, stop_reply) \
	X(27, FORGET, forget, CONTROL, "Forget", UNARY, ONCE, forget_request, forget_reply) \
	X(28, LIST_SHARDS, list_shards, SHARDS, "ListShards", UNARY, SAFE, list_shards_request, list_shards_reply) \
	X(29, GET_TABLE, get_table, SHARDS, "GetTable", UNARY, SAFE, table_request, table_reply) \
	X(30, ADVANCE_EPOCH, advance_epoch, SHARDS, "AdvanceEpoch", UNARY, SAFE, advance_epoch_request, advance_epoch_reply) \
	X(31, REPORT_CONSUMED, report_consumed, SHARDS, "ReportConsumed", UNARY, SAFE, consumed_report, consumed_reply) \
	X(32, GET_CONSUMED, get_consumed, SHARDS, "GetConsumed", UNARY, SAFE, consumed_request, consumed_reply) \
	X(33, TAKE_LEASE, take_lease, SHARDS, "TakeLease", UNARY, SAFE, take_lease_request, take_lease_reply) \
	X(34, USE_LEASE, use_lease, SHARDS, "UseLease", UNARY, SAFE, use_lease_request, use_lease_reply) \
	X(35, LIST_DATASETS, list_datasets, SHARDS, "ListDatasets", UNARY, SAFE, list_datasets_request, list_datasets_reply) \
	X(36, COMMIT_CHECKPOINT, commit_checkpoint, CONTROL, "CommitCheckpoint", UNARY, SAFE, commit_request, commit_reply)
/* clang-format on */

enum coord_kind {
	COORD_UNARY,
	COORD_SERVER_STREAM, /* one request, many replies */
	COORD_BIDI, /* many requests, many replies */
};

/* What a client does with a call whose connection ended before the reply came. */
enum coord_retry {
	COORD_SAFE, /* idempotent, or only a query: sends it again */
	COORD_NUMBERED, /* sends it again; the request number makes it idempotent */
	COORD_ONCE, /* fails: it is unknown whether it was carried out */
};

/* Field of the request number, a fixed64, in messages of COORD_NUMBERED methods. */
enum { COORD_REQUEST_FIELD = 15 };

#define COORD_METHOD_NUMBER(number, id, ...) METHOD_##id = (number),
enum coord_method_number { COORD_METHODS(COORD_METHOD_NUMBER) };
#undef COORD_METHOD_NUMBER

struct coord_method {
	const char *path; /* "/coordinator.Coordinator/Heartbeat" */
	uint16_t number;
	enum coord_kind kind;
	enum coord_retry retry;
	const ProtobufCMessageDescriptor *request;
	const ProtobufCMessageDescriptor *reply;
	bool admin; /* with tokens: requires the administrator's */
};

/* All methods, ordered by number. */
extern const struct coord_method coord_methods[];
extern const size_t coord_n_methods;

/* NULL when there is no such method. */
const struct coord_method *coord_method_by_path(const char *path, size_t len);
const struct coord_method *coord_method_by_number(uint16_t number);
/* A unary method by its path or by its number in decimal; NULL when there is none. */
const struct coord_method *coord_method_unary(const char *path_or_number);

#endif
