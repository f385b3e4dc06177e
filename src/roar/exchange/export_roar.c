/* export_roar.c - the portable record of roar, docs/portable-record.md. */
#include <errno.h>

#include "exchange/exchange.h"

int export_roar(const struct export_request *request, struct roar_error *err)
{
	(void)request;
	return error_set(err, -ENOTSUP,
			 "the portable record cannot be written yet");
}
