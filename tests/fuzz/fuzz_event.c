/* fuzz_event.c - event_check() over arbitrary bytes.
 *
 * Walks the input as the reader of a journal does and uses what the check
 * promises: strings that end where their lengths say, inside the record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

static void use(const struct event *ev, size_t left)
{
	require(ev->size <= left && ev->size % 8 == 0);
	require(strlen(event_path(ev)) == ev->path_len);
	require(strlen(event_path2(ev)) == ev->path2_len);
	require(event_path2(ev) + ev->path2_len < (const char *)ev + ev->size);
	require(strcmp(event_kind_name(ev->kind), "?") != 0);
	require(*event_gap_text((unsigned)ev->aux) != '\0');
	require(*event_gap_name((unsigned)ev->aux) != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* Records are aligned; a copy of exact size keeps the end guarded. */
	uint8_t *copy = malloc(len ? len : 1);
	size_t at = 0;

	if (!copy)
		return 0;
	if (len)
		memcpy(copy, data, len);
	for (;;) {
		int64_t size = event_check(copy + at, len - at);

		if (size <= 0)
			break;
		use((const struct event *)(copy + at), len - at);
		at += (size_t)size;
	}
	free(copy);
	return 0;
}
