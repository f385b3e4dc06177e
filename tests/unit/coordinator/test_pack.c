/* test_pack.c - messages to bytes and back. */
#include "test.h"

#include "alloc_fail.h"

#include <string.h>

#include "coordinator.pb-c.h"
#include "reflection.pb-c.h"
#include "rpc/pack.h"

static struct unpacker u;

static ProtobufCMessage *read_heartbeat(const struct str *bytes)
{
	return unpack(&u, &coordinator__heartbeat_request__descriptor,
		      str_cstr(bytes), bytes->len);
}

static void pack_heartbeat(struct str *out, const char *id, const char *task)
{
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	Coordinator__WorkerStatus status = COORDINATOR__WORKER_STATUS__INIT;

	m.worker_id = (char *)id;
	status.current_task = (char *)task;
	m.status = &status;
	pack_add(out, &m.base);
}

static void a_message_comes_back_as_it_was(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	Coordinator__HeartbeatRequest *m;

	(void)state;
	pack_heartbeat(&bytes, "w-1", "t\xc3\xa4sk");
	m = (Coordinator__HeartbeatRequest *)read_heartbeat(&bytes);
	assert_non_null(m);
	assert_string_equal(m->worker_id, "w-1");
	assert_string_equal(m->status->current_task, "t\xc3\xa4sk");
	unpack_done(&u);
}

static void a_heartbeat_takes_nothing_from_the_heap(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	ProtobufCMessage *m;

	(void)state;
	pack_heartbeat(&bytes, "w-1", "task");
	for (int i = 0; i < 10000; i++) {
		alloc_fail_after(0);
		m = read_heartbeat(&bytes);
		alloc_fail_never();
		assert_non_null(m);
		unpack_done(&u);
	}
}

static void text_that_is_no_utf8_is_refused_at_any_depth(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	pack_heartbeat(&bytes, "w\xff", "task");
	assert_null(read_heartbeat(&bytes));
	str_clear(&bytes);
	pack_heartbeat(&bytes, "w", "t\xc0\x80");
	assert_null(read_heartbeat(&bytes));
	assert_non_null(strstr(unpack_sentence(&u), "UTF-8"));
}

static void the_entries_of_maps_are_looked_at(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	Coordinator__WorkerInfo__MetadataEntry entry =
		COORDINATOR__WORKER_INFO__METADATA_ENTRY__INIT;
	Coordinator__WorkerInfo__MetadataEntry *entries[] = { &entry };

	(void)state;
	entry.key = "k";
	entry.value = "\xed\xa0\x80";
	info.n_metadata = 1;
	info.metadata = entries;
	pack_add(&bytes, &info.base);
	assert_null(unpack(&u, &coordinator__worker_info__descriptor,
			   bytes.data, bytes.len));
}

/* Fields of a later version, or of somebody who wants to fill our memory. */
static void fields_that_are_not_known_are_dropped_at_any_depth(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	Coordinator__WorkerInfo__MetadataEntry entry =
		COORDINATOR__WORKER_INFO__METADATA_ENTRY__INIT;
	Coordinator__WorkerInfo__MetadataEntry *entries[] = { &entry };
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	ProtobufCMessageUnknownField field = {
		.tag = 5000,
		.wire_type = PROTOBUF_C_WIRE_TYPE_VARINT,
		.len = 1,
		.data = (uint8_t *)"\x01",
	};
	Coordinator__WorkerInfo *m;

	(void)state;
	info.worker_id = "w";
	info.n_metadata = 1;
	info.metadata = entries;
	info.base.n_unknown_fields = entry.base.n_unknown_fields = 1;
	info.base.unknown_fields = entry.base.unknown_fields = &field;
	pack_add(&bytes, &info.base);
	m = (Coordinator__WorkerInfo *)unpack(
		&u, &coordinator__worker_info__descriptor, bytes.data,
		bytes.len);
	assert_non_null(m);
	assert_string_equal(m->worker_id, "w");
	assert_int_equal(m->base.n_unknown_fields, 0);
	assert_int_equal(m->metadata[0]->base.n_unknown_fields, 0);
	unpack_done(&u);
}

static void of_alternatives_only_the_chosen_one_is_looked_at(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	Grpc__Reflection__V1__ExtensionRequest extension =
		GRPC__REFLECTION__V1__EXTENSION_REQUEST__INIT;
	Grpc__Reflection__V1__ServerReflectionRequest m =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;

	(void)state;
	m.message_request_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION;
	m.file_containing_extension = &extension;
	pack_add(&bytes, &m.base);
	assert_non_null(unpack(
		&u, &grpc__reflection__v1__server_reflection_request__descriptor,
		bytes.data, bytes.len));
	unpack_done(&u);
}

static void what_is_no_message_is_refused(void **state)
{
	(void)state;
	assert_null(unpack(&u, &coordinator__heartbeat_request__descriptor,
			   "\x0a\xff\xff\xff\xff\x0f", 6));
	assert_null(unpack(&u, &coordinator__heartbeat_request__descriptor,
			   "\xff", 1));
}

/* Two bytes on the wire, some eighty in memory. */
static void many_small_parts_do_not_fill_the_memory(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	assert_int_equal(str_reserve(&bytes, (16 << 20) + 1), 0);
	for (int i = 0; i < 8 << 20; i++)
		str_add(&bytes, "\x1a\x00", 2);
	assert_null(unpack(&u, &coordinator__resource_usage__descriptor,
			   bytes.data, bytes.len));
	assert_true(u.too_large);
	assert_int_equal(u.more.total, 0);
}

static int begin(void **state)
{
	(void)state;
	return unpacker_init(&u);
}

static int end(void **state)
{
	(void)state;
	unpacker_release(&u);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_comes_back_as_it_was),
		cmocka_unit_test(a_heartbeat_takes_nothing_from_the_heap),
		cmocka_unit_test(text_that_is_no_utf8_is_refused_at_any_depth),
		cmocka_unit_test(the_entries_of_maps_are_looked_at),
		cmocka_unit_test(
			fields_that_are_not_known_are_dropped_at_any_depth),
		cmocka_unit_test(
			of_alternatives_only_the_chosen_one_is_looked_at),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(many_small_parts_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
