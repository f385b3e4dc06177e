/* fuzz_foreign.c - dvc.lock and events of OpenLineage: runs, or a message.
 *
 * The first byte chooses the reader. */
#include <stdint.h>
#include <stdlib.h>

#include "base/pool.h"
#include "foreign/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct roar_error err = { 0 };
	struct pool pool = POOL_INIT;
	int r;

	if (!len)
		return 0;
	if (data[0] == 'd')
		r = foreign_read_dvc(&pool, (const char *)data + 1, len - 1,
				     "/p", &runs, &err);
	else
		r = foreign_read_openlineage(&pool, (const char *)data + 1,
					     len - 1, &runs, &err);
	require(r == 0 || (r < 0 && err.text[0] && !runs.n));
	for (size_t i = 0; i < runs.n; i++) {
		require(runs.list[i].id && runs.list[i].name);
		for (size_t k = 0; k < runs.list[i].n_files; k++)
			require(runs.list[i].files[k].path != NULL);
	}
	foreign_release(&runs);
	pool_release(&pool);
	return 0;
}
