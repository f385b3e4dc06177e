/* dir_hash_manifest.c - see dir_hash_manifest.h
 *
 * A descriptor is read through a window that holds the longest leaf there may be,
 * so a manifest costs no more memory than its tree. */
#include "hash/dir/dir_hash_manifest.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "hash/dir/dir_hash_internal.h"

enum {
	LEAF_MAX = DIR_HASH_PATH_MAX + 1 +
		   DIR_HASH_TAIL_LEN, /* bytes in a manifest */
	WINDOW = 4 * LEAF_MAX,
};

static int write_piece(void *ctx, const void *data, size_t len)
{
	return fd_write_all(*(const int *)ctx, data, len);
}

int dir_hash_manifest_write(struct dir_hash *t, int fd)
{
	return dir_hash_text(t, write_piece, &fd);
}

/* What stands behind the NUL.  Digits in upper case are no manifest of ours. */
static int parse_tail(const char *tail, uint8_t blake3[BLAKE3_LEN])
{
	char hex[2 * BLAKE3_LEN + 1] = "";
	uint8_t bytes[DIGEST_MAX];

	if (memcmp(tail, DIR_HASH_DIGEST, DIR_HASH_DIGEST_LEN) != 0 ||
	    tail[DIR_HASH_TAIL_LEN - 1] != '\n')
		return -EBADMSG;
	memcpy(hex, tail + DIR_HASH_DIGEST_LEN, sizeof(hex) - 1);
	if (strspn(hex, "0123456789abcdef") != sizeof(hex) - 1 ||
	    digest_parse_hex(hex, bytes) < 0)
		return -EBADMSG;
	memcpy(blake3, bytes, BLAKE3_LEN);
	return 0;
}

static int add_leaf(struct dir_hash *t, const char *path, size_t len,
		    const char *tail)
{
	uint8_t blake3[BLAKE3_LEN];
	int r = parse_tail(tail, blake3);

	if (r == 0)
		r = dir_hash_add_digest(t, path, len, blake3);
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	return r < 0 || t->unsorted ? -EBADMSG : 0;
}

/* Takes the leaves that are there completely; returns their bytes. */
static ssize_t parse_leaves(struct dir_hash *t, const char *data, size_t len)
{
	const char *at = data;
	const char *end = data + len;
	const char *nul;

	while (at < end && (nul = memchr(at, '\0', (size_t)(end - at)))) {
		int r;

		if (end - nul - 1 < DIR_HASH_TAIL_LEN)
			break;
		r = add_leaf(t, at, (size_t)(nul - at), nul + 1);
		if (r < 0)
			return r;
		at = nul + 1 + DIR_HASH_TAIL_LEN;
	}
	return at - data;
}

static bool has_head(const char *data, size_t len)
{
	return len >= DIR_HASH_HEAD_LEN &&
	       memcmp(data, DIR_HASH_HEAD, DIR_HASH_HEAD_LEN) == 0;
}

int dir_hash_manifest_parse(const void *data, size_t len, struct dir_hash **ret)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	ssize_t n;
	int r;

	if (!has_head(data, len))
		return -EBADMSG;
	r = dir_hash_new(&t);
	if (r < 0)
		return r;
	len -= DIR_HASH_HEAD_LEN;
	n = parse_leaves(t, (const char *)data + DIR_HASH_HEAD_LEN, len);
	if (n < 0)
		return (int)n;
	if ((size_t)n < len)
		return -EBADMSG;
	*ret = TAKE_PTR(t);
	return 0;
}

/* Fills the window again and again, and keeps the start of a leaf whose end is
 * not there yet for the next time.  A leaf too long for the window leaves no room
 * to read into, which looks like an end in the middle of it. */
static int read_leaves(struct dir_hash *t, int fd, char *window)
{
	size_t kept = 0;

	for (;;) {
		ssize_t got = fd_read_all(fd, window + kept, WINDOW - kept);
		ssize_t used;

		if (got < 0)
			return (int)got;
		if (got == 0)
			return kept ? -EBADMSG : 0;
		kept += (size_t)got;
		used = parse_leaves(t, window, kept);
		if (used < 0)
			return (int)used;
		kept -= (size_t)used;
		memmove(window, window + used, kept);
	}
}

int dir_hash_manifest_read(int fd, struct dir_hash **ret)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	CLEANUP(freep) char *window = malloc(WINDOW);
	ssize_t n;
	int r;

	if (!window)
		return -ENOMEM;
	n = fd_read_all(fd, window, DIR_HASH_HEAD_LEN);
	if (n < 0)
		return (int)n;
	if (!has_head(window, (size_t)n))
		return -EBADMSG;
	r = dir_hash_new(&t);
	if (r == 0)
		r = read_leaves(t, fd, window);
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}
