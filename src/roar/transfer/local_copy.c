/* local_copy.c - file:// both ways
 *
 * A file is copied under a temporary name, hashed on the way, and renamed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/digest/multihash.h"
#include "transfer/partial_file.h"
#include "transfer/transfer_internal.h"

static int copy_bytes(struct transfer *t, int from, int to, struct digests *ret)
{
	CLEANUP(multihash_release) struct multihash hash;
	CLEANUP(freep) char *buffer = malloc(TRANSFER_LEAF);
	int r;

	multihash_init(&hash);
	if (!buffer)
		return -ENOMEM;
	r = multihash_start(&hash, DIGEST_SET_BLAKE3, 0);
	while (r == 0) {
		ssize_t n = fd_read_all(from, buffer, TRANSFER_LEAF);

		if (n <= 0)
			return n < 0 ? (int)n : multihash_final(&hash, ret);
		multihash_update(&hash, buffer, (size_t)n);
		r = transfer_stop ? -EINTR :
				    fd_write_all(to, buffer, (size_t)n);
		transfer_advance(t, (uint64_t)n);
		transfer_tick(t);
	}
	return r;
}

/* Is the content the one that was asked for? */
static bool is_expected(const struct transfer_item *item)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, item->blake3, BLAKE3_LEN);
	return !item->expected ||
	       !strncmp(hex, item->expected, strlen(item->expected));
}

static bool is_unchanged(int fd, const struct stamp *before)
{
	struct stamp now;
	struct stat st;

	if (fd_stat(fd, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_equal(&now, before);
}

/* What is at `in` becomes the file `to`. */
static int copy_content(struct transfer *t, struct transfer_item *item, int in,
			int out, const char *part, const char *to)
{
	struct digests digests = { 0 };
	int r = ftruncate(out, 0) < 0 ? -errno :
					copy_bytes(t, in, out, &digests);

	memcpy(item->blake3, digests.blake3, BLAKE3_LEN);
	if (r == 0 && !is_unchanged(in, &item->stamp))
		r = -EAGAIN;
	if (r == 0 && !is_expected(item))
		r = -EBADMSG;
	return r < 0 ? r : partial_file_rename(part, to, item->replaces);
}

/* The stamp is that of the file in the project: of put the source. */
static int copy_file(struct transfer *t, struct transfer_item *item,
		     const char *from, const char *to, const char *part)
{
	CLEANUP(closep)
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(closep) int out = -1;
	struct stat st;
	int r = in < 0 ? -errno : fd_stat(in, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r < 0)
		return r;
	item->stamp = stamp_of(&st);
	out = partial_file_open(part, st.st_mode & 0777);
	if (out < 0)
		return out;
	r = copy_content(t, item, in, out, part, to);
	if (r < 0) {
		(void)unlink(part);
		return r;
	}
	r = fd_stat(to == item->path ? out : in, &st);
	item->stamp = stamp_of(&st);
	item->size_bytes = st.st_size;
	return r;
}

static const char *reason(int error)
{
	switch (error) {
	case -EBADMSG:
		return "its content is not the expected one";
	case -EAGAIN:
		return "it changed while it was read; try again when nothing "
		       "writes to it";
	case -EBUSY:
		return "another transfer writes to it";
	case -EINVAL:
		return "it is not a regular file";
	default:
		return strerror(-error);
	}
}

int local_copy_run(struct transfer *t, bool is_put, struct roar_error *err)
{
	t->progress.verb = "copying";
	for (size_t i = 0; i < t->n; i++) {
		CLEANUP(str_release) struct str part = STR_INIT;
		struct transfer_item *item = &t->items[i];
		const char *from = is_put ? item->path : item->place;
		const char *to = is_put ? item->place : item->path;
		int r;

		partial_file_name(&part, to);
		r = part.failed ? -ENOMEM :
				  copy_file(t, item, from, to, part.data);
		if (r == -EINTR)
			return error_set(err, r, "interrupted");
		if (r < 0)
			return error_set(err, r, "cannot copy '%s' to '%s': %s",
					 from, to, reason(r));
		transfer_finish_item(t, item);
	}
	return 0;
}
