/* export_roar.c - the portable record of roar, docs/portable-record.md. */
#include "exchange/exchange.h"
#include "portable/portable.h"
#include "ui/view.h"

int export_roar(const struct export_request *request, struct roar_error *err)
{
	return portable_write(request->view->store, request->jobs,
			      request->n_jobs, "roar " ROAR_VERSION,
			      request->fd, err);
}
