/* import_roar.c - the portable record of roar, docs/portable-record.md. */
#include "exchange/exchange.h"
#include "portable/portable.h"
#include "ui/view.h"

int import_roar(const struct import_request *request, struct import_result *ret,
		struct roar_error *err)
{
	const struct portable_input in = {
		.name = request->path,
		.fd = request->fd,
		.head = request->head,
		.head_len = request->head_len,
	};
	struct portable_result result;
	int r = portable_read(request->view->store, &in, &result, err);

	if (r == 0)
		*ret = (struct import_result){ .n_jobs = result.n_jobs,
					       .n_known = result.n_known };
	return r;
}

bool import_is_roar(const char *path, const char *head, size_t len)
{
	(void)path;
	return portable_matches(head, len);
}
