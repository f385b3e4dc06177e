/* fuzz_run_meta.c - the description in a journal that somebody left */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;
	struct run_meta meta;
	struct run_meta copy;

	if (run_meta_decode(&pool, data, len, &meta) < 0)
		return 0;
	run_meta_encode(&meta, &again);
	assert(run_meta_decode(&pool, again.data, again.len, &copy) == 0);
	assert(strcmp(meta.uid, copy.uid) == 0);
	for (size_t i = 0; meta.argv[i]; i++)
		assert(strcmp(meta.argv[i], copy.argv[i]) == 0);
	assert(strcmp(meta.group.id, copy.group.id) == 0);
	assert(meta.group.node == copy.group.node &&
	       meta.group.n_nodes == copy.group.n_nodes);
	assert(meta.tags.n == copy.tags.n);
	for (size_t i = 0; i < meta.tags.n; i++) {
		assert(meta.tags.list[i].action == copy.tags.list[i].action);
		assert(strcmp(meta.tags.list[i].kind, copy.tags.list[i].kind) ==
		       0);
		assert(strcmp(meta.tags.list[i].value,
			      copy.tags.list[i].value) == 0);
	}
	return 0;
}
