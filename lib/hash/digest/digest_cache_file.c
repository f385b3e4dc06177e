/* digest_cache_file.c - the file of the digest cache: who may, and is it whole.
 *
 * A new file is complete before it gets its name.  When several processes find
 * none, each makes one and the last name stays; the others work on files without
 * a name, and what they learn is lost, once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "hash/digest/digest_cache_internal.h"

static const char magic[8] = "ROARDGC";

uint64_t cache_sum(const void *data, size_t n_bytes)
{
	const uint8_t *p = data;
	uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < n_bytes; i += 8) {
		__uint128_t product;
		uint64_t word;

		memcpy(&word, p + i, sizeof(word));
		product = (__uint128_t)(sum ^ word) *
			  UINT64_C(0xd6e8feb86659fd93);
		sum = (uint64_t)product ^ (uint64_t)(product >> 64) ^ i;
	}
	return sum;
}

/* The mask of an ACL shows in the bits of the group. */
static int check_owner(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (st->st_uid != geteuid() || st->st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

/* Writing behind the limit is a signal, which nobody expects of a cache. */
static bool is_too_big(uint64_t n_bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && n_bytes > limit.rlim_cur;
}

static bool is_whole(int fd, const struct stat *st, uint64_t *ret_n_pages)
{
	struct cache_header h;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(h.magic, magic, sizeof(magic)) != 0 ||
	    h.version != CACHE_VERSION ||
	    h.sum != cache_sum(&h, offsetof(struct cache_header, sum)))
		return false;
	if (h.n_pages == 0 ||
	    h.n_pages > DIGEST_CACHE_MAX_ENTRIES / CACHE_PAGE_ENTRIES ||
	    (uint64_t)st->st_size != cache_file_bytes(h.n_pages))
		return false;
	*ret_n_pages = h.n_pages;
	return true;
}

/* 1: it is there and whole; 0: a new one is needed; or a negative errno.
 * O_NONBLOCK and O_NOCTTY are for what is no regular file. */
static int open_old(const char *path, struct digest_cache *cache)
{
	CLEANUP(closep)
	int fd = open(path,
		      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	r = check_owner(&st);
	if (r < 0)
		return r;
	if (!is_whole(fd, &st, &cache->n_pages))
		return 0;
	cache->fd = TAKE_FD(fd);
	return 1;
}

static int write_header(int fd, uint64_t n_pages)
{
	struct cache_header h = { .version = CACHE_VERSION,
				  .n_pages = n_pages };
	ssize_t n;

	memcpy(h.magic, magic, sizeof(magic));
	h.sum = cache_sum(&h, offsetof(struct cache_header, sum));
	if (ftruncate(fd, (off_t)cache_file_bytes(n_pages)) < 0)
		return -errno;
	n = pwrite(fd, &h, sizeof(h), 0);
	if (n < 0)
		return -errno;
	return n == sizeof(h) ? 0 : -ENOSPC;
}

static int make_new(const char *path, struct digest_cache *cache)
{
	size_t size = strlen(path) + sizeof(".XXXXXX");
	CLEANUP(freep) char *name = malloc(size);
	CLEANUP(closep) int fd = -1;
	int r;

	if (!name)
		return -ENOMEM;
	(void)snprintf(name, size, "%s.XXXXXX", path);
	fd = mkostemp(name, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return -errno;
	r = write_header(fd, cache->n_pages);
	if (r == 0 && rename(name, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(name);
		return r;
	}
	cache->fd = TAKE_FD(fd);
	return 0;
}

static uint64_t pages_for(uint64_t n_entries)
{
	if (n_entries == 0)
		n_entries = DIGEST_CACHE_ENTRIES;
	if (n_entries > DIGEST_CACHE_MAX_ENTRIES)
		n_entries = DIGEST_CACHE_MAX_ENTRIES;
	return (n_entries + CACHE_PAGE_ENTRIES - 1) / CACHE_PAGE_ENTRIES;
}

int digest_cache_open(const char *path, uint64_t n_entries,
		      struct digest_cache **ret_cache)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	int r;

	cache = malloc(sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->fd = -1;
	cache->n_pages = pages_for(n_entries); /* unless there is an old one */
	r = open_old(path, cache);
	if (r < 0)
		return r;
	if (is_too_big(cache_file_bytes(cache->n_pages)))
		return -EFBIG;
	if (r == 0)
		r = make_new(path, cache);
	if (r < 0)
		return r;
	*ret_cache = TAKE_PTR(cache);
	return 0;
}

void digest_cache_close(struct digest_cache *cache)
{
	if (!cache)
		return;
	closep(&cache->fd);
	free(cache);
}

/* Who opens it between the two steps finds it too short and makes a new one. */
int digest_cache_clear(struct digest_cache *cache)
{
	if (ftruncate(cache->fd, CACHE_PAGE_BYTES) < 0)
		return -errno;
	return write_header(cache->fd, cache->n_pages);
}
