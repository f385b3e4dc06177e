/* fuzz_requirement.c - packages and interpreters, from a record of a stranger */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "reproduce/requirement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The document is both; a line for pip is NAME==VERSION and nothing else. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	char *text = pool_dup(&pool, data, len);
	struct requirements r;

	assert(text);
	if (requirements_read(&pool, text, text, &r) < 0)
		return 0;
	requirements_pip_text(&r, &out);
	for (char *line = strtok(out.data, "\n"); line;
	     line = strtok(NULL, "\n")) {
		assert(line[0] != '-' && strstr(line, "=="));
		assert(!strpbrk(line, " /\\@;#'\"$`"));
	}
	return 0;
}
