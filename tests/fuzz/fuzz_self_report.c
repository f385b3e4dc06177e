/* fuzz_self_report.c - what a program says of its own file operations */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/self_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_item(const struct self_report_item *item)
{
	assert(item->kind >= SELF_REPORT_NAME &&
	       item->kind <= SELF_REPORT_REMOVE);
	assert(item->number >= 0);
	assert(!item->path || strlen(item->path) <= SELF_REPORT_PATH_MAX);
	assert(!item->path2 || item->path2[0] == '/');
	assert(!item->mode == !stamp_exists(&item->stamp));
	if (item->kind == SELF_REPORT_OPEN)
		assert(item->flags && item->path[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* A copy of exact size keeps the end guarded. */
	char *copy = malloc(len ? len : 1);
	struct self_report report;
	struct self_report_item item;

	if (!copy)
		return 0;
	if (len)
		memcpy(copy, data, len);
	report = self_report_of(copy, len);
	while (self_report_next(&report, &item) > 0)
		check_item(&item);
	free(copy);
	return 0;
}
