/* fuzz_argv_json.c - the recorded command line, from a database of a stranger */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "run/argv_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What was read can be written, and is then read the same. */
static void check_round_trip(struct pool *pool, char **argv, size_t n)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char **again;
	size_t n_again;

	argv_json_encode(argv, &text);
	assert(argv_json_decode(pool, text.data, &again, &n_again) == 0);
	assert(n_again == n);
	for (size_t i = 0; i < n; i++)
		assert(strcmp(argv[i], again[i]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	char *text = pool_dup(&pool, data, len);
	char **argv;
	size_t n;

	assert(text);
	if (argv_json_decode(&pool, text, &argv, &n) == 0)
		check_round_trip(&pool, argv, n);
	return 0;
}
