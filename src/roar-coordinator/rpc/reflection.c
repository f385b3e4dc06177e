/* reflection.c - see reflection.h */
#include "rpc/reflection.h"

#include <stdlib.h>
#include <string.h>

#include "coord/coord.h"
#include "rpc/descriptors.h"
#include "rpc/pack.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;
typedef Grpc__Reflection__V1__ServiceResponse Service;

enum {
	MAX_FILES = 32, /* there are five */
	MAX_SERVICES = 32,
	NONE = -1,
};

/* ---- finding ---- */

static int by_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct descriptor_symbol *)row)->name);
}

static int file_of_symbol(const char *symbol)
{
	const struct descriptor_symbol *s = bsearch(symbol, descriptor_symbols,
						    descriptor_n_symbols,
						    sizeof(*s), by_name);

	return s ? s->file : NONE;
}

static int file_of_name(const char *name)
{
	for (size_t i = 0; i < descriptor_n_files; i++) {
		if (strcmp(descriptor_files[i].name, name) == 0)
			return (int)i;
	}
	return NONE;
}

/* A message that could be extended, were this proto2. */
static bool is_type(const char *name)
{
	return file_of_symbol(name) != NONE;
}

/* ---- answering ----
 *
 * A reply is begun by reflection_answer() and handed on by value: each of these adds
 * its own part, which ends with it. */

static void answer_error(Response response, struct str *out,
			 enum coord_status code, const char *sentence)
{
	Grpc__Reflection__V1__ErrorResponse error =
		GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;

	error.error_code = (int32_t)code;
	error.error_message = (char *)sentence;
	response.message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
	response.error_response = &error;
	pack_add(out, &response.base);
}

/* The file before those that it imports, each once. */
static void collect(int file, bool *seen, ProtobufCBinaryData *ret, size_t *n)
{
	const struct descriptor_file *f = &descriptor_files[file];

	if (seen[file] || *n == MAX_FILES)
		return;
	seen[file] = true;
	ret[(*n)++] = (ProtobufCBinaryData){ f->len, (uint8_t *)f->data };
	for (size_t i = 0; i < f->n_imports; i++)
		collect(f->imports[i], seen, ret, n);
}

static void answer_file(Response response, struct str *out, int file)
{
	Grpc__Reflection__V1__FileDescriptorResponse files =
		GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
	ProtobufCBinaryData data[MAX_FILES];
	bool seen[MAX_FILES] = { false };

	if (file == NONE) {
		answer_error(response, out, COORD_NOT_FOUND,
			     "there is no symbol with this name");
		return;
	}
	collect(file, seen, data, &files.n_file_descriptor_proto);
	files.file_descriptor_proto = data;
	response.message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
	response.file_descriptor_response = &files;
	pack_add(out, &response.base);
}

static void answer_numbers(Response response, struct str *out, const char *type)
{
	Grpc__Reflection__V1__ExtensionNumberResponse numbers =
		GRPC__REFLECTION__V1__EXTENSION_NUMBER_RESPONSE__INIT;

	if (!is_type(type)) {
		answer_error(response, out, COORD_NOT_FOUND,
			     "there is no message with this name");
		return;
	}
	numbers.base_type_name = (char *)type;
	response.message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE;
	response.all_extension_numbers_response = &numbers;
	pack_add(out, &response.base);
}

static void answer_services(Response response, struct str *out)
{
	Grpc__Reflection__V1__ListServiceResponse list =
		GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
	Service services[MAX_SERVICES];
	Service *pointers[MAX_SERVICES];

	for (size_t i = 0; i < descriptor_n_services; i++) {
		grpc__reflection__v1__service_response__init(&services[i]);
		services[i].name = (char *)descriptor_services[i];
		pointers[i] = &services[i];
	}
	list.n_service = descriptor_n_services;
	list.service = pointers;
	response.message_response_case =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
	response.list_services_response = &list;
	pack_add(out, &response.base);
}

void reflection_answer(const Request *request, struct str *out)
{
	Response response =
		GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;

	response.valid_host = request->host;
	response.original_request = (Request *)request;
	switch (request->message_request_case) {
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
		answer_file(response, out,
			    file_of_name(request->file_by_filename));
		break;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
		answer_file(response, out,
			    file_of_symbol(request->file_containing_symbol));
		break;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
		answer_error(response, out, COORD_NOT_FOUND,
			     "there are no extensions");
		break;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
		answer_numbers(response, out,
			       request->all_extension_numbers_of_type);
		break;
	case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
		answer_services(response, out);
		break;
	default:
		answer_error(response, out, COORD_INVALID_ARGUMENT,
			     "the request asks for nothing");
	}
}
