/* client_methods.c - see client_methods.h */
#include "coord/client/client_methods.h"

#include <stdlib.h>
#include <string.h>

/* Asking again is harmless for all that say what shall be so (places, settings, values of
 * keys with their number, datasets, checkpoints, arrivals with their generation) and for all
 * that only ask.  A sum, a comparison, a command and the end of the server or a job are no such things:
 * done twice they are something else than done once. */
bool client_method_is_once(const struct coord_method *method)
{
	switch (method->number) {
	case METHOD_SEND_COMMAND:
	case METHOD_DRAIN:
	case METHOD_KV_ADD:
	case METHOD_KV_COMPARE_SET:
	case METHOD_STOP:
	case METHOD_FORGET:
		return true;
	default:
		return false;
	}
}

bool client_method_is_numbered(const struct coord_method *method)
{
	return method->number == METHOD_KV_SET ||
	       method->number == METHOD_KV_DELETE;
}

const struct coord_method *client_method_by_path(const char *path)
{
	const struct coord_method *method;
	char *end;
	unsigned long number = strtoul(path, &end, 10);

	if (*path >= '0' && *path <= '9' && !*end)
		method = number <= UINT16_MAX ?
				 coord_method_by_number((uint16_t)number) :
				 NULL;
	else
		method = coord_method_by_path(path, strlen(path));
	return method && method->kind == COORD_UNARY ? method : NULL;
}
