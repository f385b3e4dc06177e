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
#include "base/path.h"
#include "base/str.h"
#include "hash/digest/multihash.h"
#include "transfer/transfer_internal.h"

static int make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		int r;

		*p = '\0';
		r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
		*p = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

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

static int copy_file(struct transfer *t, struct transfer_item *item,
		     const char *from, const char *to, const char *part)
{
	CLEANUP(closep)
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(closep) int out = -1;
	struct digests digests = { 0 };
	struct stat st;
	int r = in < 0 ? -errno : fd_stat(in, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r < 0)
		return r;
	out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		   st.st_mode & 0777);
	if (out < 0)
		return -errno;
	r = copy_bytes(t, in, out, &digests);
	memcpy(item->blake3, digests.blake3, BLAKE3_LEN);
	if (r == 0 && !is_expected(item))
		r = -EBADMSG;
	if (r == 0 && rename(part, to) < 0)
		r = -errno;
	if (r < 0)
		return r;
	/* The stamp is that of the file in the project: of put the source. */
	r = fd_stat(to == item->path ? out : in, &st);
	item->stamp = stamp_of(&st);
	item->size_bytes = st.st_size;
	return r;
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

		str_addf(&part, "%s.roar-part", to);
		r = part.failed ? -ENOMEM : make_parents(part.data);
		if (r == 0)
			r = copy_file(t, item, from, to, part.data);
		if (r < 0)
			(void)unlink(str_cstr(&part));
		if (r == -EINTR)
			return error_set(err, r, "interrupted");
		if (r < 0)
			return error_set(err, r, "cannot copy '%s' to '%s': %s",
					 from, to,
					 r == -EBADMSG ?
						 "its content is not the "
						 "expected one" :
						 strerror(-r));
		transfer_finish_item(t, item);
	}
	return 0;
}
