/* fuzz_dir_hash_manifest.c - a manifest from anywhere.
 *
 * What is taken for a manifest is written again as the same bytes, has their
 * BLAKE3 as its root, and is also read from a descriptor; what is refused there
 * is refused here. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "hash/dir/dir_hash_manifest.h"
#include "hash/file/file_hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_root(struct dir_hash *t, const uint8_t *data, size_t size)
{
	uint8_t root[BLAKE3_LEN];
	struct digests d;

	require(dir_hash_root(t, root) == 0);
	require(digest_buffer(data, size, 0, &d) == 0);
	require(memcmp(root, d.blake3, BLAKE3_LEN) == 0);
}

static void check_written(struct dir_hash *t, const uint8_t *data, size_t size)
{
	CLEANUP(closep) int fd = memfd_create("written", MFD_CLOEXEC);
	CLEANUP(freep) char *text = malloc(size + 1);

	if (!text)
		return;
	require(dir_hash_manifest_write(t, fd) == 0);
	require(lseek(fd, 0, SEEK_SET) == 0);
	require(fd_read_all(fd, text, size + 1) == (ssize_t)size);
	require(memcmp(text, data, size) == 0);
}

static int read_back(const uint8_t *data, size_t size)
{
	CLEANUP(closep) int fd = memfd_create("read", MFD_CLOEXEC);
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;

	require(fd_write_all(fd, data, size) == 0);
	require(lseek(fd, 0, SEEK_SET) == 0);
	return dir_hash_manifest_read(fd, &t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	int r = dir_hash_manifest_parse(data, size, &t);

	require(read_back(data, size) == r);
	if (r < 0)
		return 0;
	check_root(t, data, size);
	check_written(t, data, size);
	return 0;
}
