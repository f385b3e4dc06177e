/* methods.c - see methods.h */
#include "coord/proto/methods.h"

#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "coordinator.pb-c.h"
#include "roar_coordinator.pb-c.h"
#include "roar_shards.pb-c.h"

/* The services: path, and prefix of the messages. */
#define PATH_JOBS "/coordinator.Coordinator/"
#define PATH_CONTROL "/roar.Control/"
#define PATH_SHARDS "/roar.Shards/"
#define MESSAGE_JOBS(name) &coordinator__##name##__descriptor
#define MESSAGE_CONTROL(name) &roar__##name##__descriptor
#define MESSAGE_SHARDS(name) &roar__##name##__descriptor

#define METHOD(number_, id, handler, service, name, kind_, retry_, in, out) \
	{ .path = PATH_##service name,                                      \
	  .number = (number_),                                              \
	  .kind = COORD_##kind_,                                            \
	  .retry = COORD_##retry_,                                          \
	  .request = MESSAGE_##service(in),                                 \
	  .reply = MESSAGE_##service(out),                                  \
	  .admin = (number_) == METHOD_STOP },

const struct coord_method coord_methods[] = { COORD_METHODS(METHOD) };
const size_t coord_n_methods = ARRAY_SIZE(coord_methods);

const struct coord_method *coord_method_by_number(uint16_t number)
{
	if (number == 0 || number > coord_n_methods)
		return NULL;
	return &coord_methods[number - 1];
}

/* Runs once per gRPC call.  Most of the 36 paths differ in length, so few are compared. */
const struct coord_method *coord_method_by_path(const char *path, size_t len)
{
	for (size_t i = 0; i < coord_n_methods; i++)
		if (strlen(coord_methods[i].path) == len &&
		    memcmp(coord_methods[i].path, path, len) == 0)
			return &coord_methods[i];
	return NULL;
}

const struct coord_method *coord_method_unary(const char *path_or_number)
{
	const struct coord_method *method;
	int64_t number;

	if (number_parse(path_or_number, 0, UINT16_MAX, &number) == 0)
		method = coord_method_by_number((uint16_t)number);
	else
		method = coord_method_by_path(path_or_number,
					      strlen(path_or_number));
	return method && method->kind == COORD_UNARY ? method : NULL;
}
