/* test_reflection.c - what the server tells of its services. */
#include "test.h"

#include <string.h>

#include "rpc/descriptors.h"
#include "rpc/reflection.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;

#define CASE(name) \
	GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWER(name) \
	GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

static Response *ask(int which, const char *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	Request request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
	Response *response;

	request.host = "h";
	request.message_request_case = which;
	request.list_services = (char *)text;
	reflection_answer(&request, &out);
	response = grpc__reflection__v1__server_reflection_response__unpack(
		NULL, out.len, (const uint8_t *)str_cstr(&out));
	assert_non_null(response);
	assert_string_equal(response->valid_host, "h");
	assert_int_equal(response->original_request->message_request_case,
			 which);
	return response;
}

static void done(Response *r)
{
	grpc__reflection__v1__server_reflection_response__free_unpacked(r,
									NULL);
}

static void all_services_are_listed(void **state)
{
	Response *r = ask(CASE(LIST_SERVICES), "");

	(void)state;
	assert_int_equal(r->message_response_case,
			 ANSWER(LIST_SERVICES_RESPONSE));
	assert_int_equal(r->list_services_response->n_service, 6);
	assert_string_equal(r->list_services_response->service[0]->name,
			    "coordinator.Coordinator");
	done(r);
}

static void check_file(int which, const char *text, size_t n, const char *first)
{
	Response *r = ask(which, text);
	const ProtobufCBinaryData *f;

	assert_int_equal(r->message_response_case,
			 ANSWER(FILE_DESCRIPTOR_RESPONSE));
	assert_int_equal(r->file_descriptor_response->n_file_descriptor_proto,
			 n);
	/* Field 1 is the name of the file. */
	f = &r->file_descriptor_response->file_descriptor_proto[0];
	assert_int_equal(f->data[0], 0x0a);
	assert_int_equal(f->data[1], strlen(first));
	assert_memory_equal(f->data + 2, first, strlen(first));
	done(r);
}

static void a_file_comes_with_those_it_imports(void **state)
{
	(void)state;
	check_file(CASE(FILE_BY_FILENAME), "coordinator.proto", 1,
		   "coordinator.proto");
	check_file(CASE(FILE_BY_FILENAME), "roar_coordinator.proto", 3,
		   "roar_coordinator.proto");
}

static void every_kind_of_name_leads_to_its_file(void **state)
{
	static const char *const names[] = {
		"coordinator.Coordinator",
		"coordinator.Coordinator.StreamHeartbeats",
		"coordinator.WorkerInfo",
		"coordinator.WorkerInfo.job_id",
		"coordinator.WorkerStatus.State",
		"coordinator.WorkerStatus.TRAINING",
		"coordinator.WorkerInfo.MetadataEntry",
		"coordinator.INCREMENTAL",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_file(CASE(FILE_CONTAINING_SYMBOL), names[i], 1,
			   "coordinator.proto");
	check_file(CASE(FILE_CONTAINING_SYMBOL), "grpc.health.v1.Health", 1,
		   "grpc/health/v1/health.proto");
}

static void check_error(int which, const char *text, int code)
{
	Response *r = ask(which, text);

	assert_int_equal(r->message_response_case, ANSWER(ERROR_RESPONSE));
	assert_int_equal(r->error_response->error_code, code);
	assert_string_not_equal(r->error_response->error_message, "");
	done(r);
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	check_error(CASE(FILE_BY_FILENAME), "record.proto", 5);
	check_error(CASE(FILE_BY_FILENAME), "../secret", 5);
	check_error(CASE(FILE_CONTAINING_SYMBOL), "coordinator.Nobody", 5);
	check_error(CASE(FILE_CONTAINING_SYMBOL), "", 5);
	check_error(CASE(ALL_EXTENSION_NUMBERS_OF_TYPE), "x.Y", 5);
	check_error(CASE(_NOT_SET), NULL, 3);
}

static void there_are_no_extensions(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	Grpc__Reflection__V1__ExtensionRequest extension =
		GRPC__REFLECTION__V1__EXTENSION_REQUEST__INIT;
	Request request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
	Response *r = ask(CASE(ALL_EXTENSION_NUMBERS_OF_TYPE),
			  "coordinator.WorkerInfo");

	(void)state;
	assert_int_equal(r->message_response_case,
			 ANSWER(ALL_EXTENSION_NUMBERS_RESPONSE));
	assert_int_equal(r->all_extension_numbers_response->n_extension_number,
			 0);
	done(r);
	request.message_request_case = CASE(FILE_CONTAINING_EXTENSION);
	request.file_containing_extension = &extension;
	reflection_answer(&request, &out);
	r = grpc__reflection__v1__server_reflection_response__unpack(
		NULL, out.len, (const uint8_t *)str_cstr(&out));
	assert_int_equal(r->error_response->error_code, 5);
	done(r);
}

static void names_are_in_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < descriptor_n_symbols; i++)
		assert_true(strcmp(descriptor_symbols[i - 1].name,
				   descriptor_symbols[i].name) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_services_are_listed),
		cmocka_unit_test(a_file_comes_with_those_it_imports),
		cmocka_unit_test(every_kind_of_name_leads_to_its_file),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(there_are_no_extensions),
		cmocka_unit_test(names_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
