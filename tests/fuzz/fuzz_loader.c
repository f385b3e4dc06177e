/* fuzz_loader.c - any bytes may stand at the start of an executed file */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/call/loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *head = malloc(len + 1);
	const char *path;

	assert(head);
	if (len)
		memcpy(head, data, len);
	path = loader_of(head, len);
	/* What it returns is a string within the buffer. */
	assert(!path || (path >= head && path + strlen(path) <= head + len));
	free(head);
	return 0;
}
