/* fuzz_git_index.c - the reader of git's index over arbitrary bytes.
 *
 * The first byte picks the length of object ids; the rest is the file.  What
 * the reader promises is used: paths that end where they say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "git/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct stat st = { 0 };
	struct git_index_entry entry;
	struct git_index index;
	int r;

	if (len == 0)
		return 0;
	if (git_index_init(&index, data + 1, len - 1, data[0] & 1 ? 32 : 20) < 0)
		return 0;
	while ((r = git_index_next(&index, &entry)) > 0) {
		require(entry.path_len > 0 && entry.path_len <= GIT_PATH_MAX);
		require(strlen(entry.path) == entry.path_len);
		require(entry.oid >= data && entry.oid < data + len);
		(void)git_index_entry_matches(&entry, &st, true);
	}
	if (r == 0)
		(void)git_index_has_extension(&index, "link");
	git_index_release(&index);
	return 0;
}
