/* residency.h - finds the pages of a file that are in the page cache, and drops those that
 * were not.  Private to lib/hash.
 *
 * There are three ways to find out.  The first two work only for the owner of a file, for
 * root and for users that may write it.
 *
 *	cachestat(2)	exact, one call for a range; Linux 6.5, no overlays
 *	mincore(2)	exact, needs a temporary mapping
 *	preadv2(2)	with RWF_NOWAIT: a guess from one page, which the
 *			kernel then starts to read
 *
 * All functions may be called from many threads. */
#ifndef ROAR_HASH_RESIDENCY_H
#define ROAR_HASH_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>

enum residency {
	RESIDENCY_UNKNOWN,
	RESIDENCY_NONE,
	RESIDENCY_PARTLY,
	RESIDENCY_FULL,
};

enum residency_means {
	RESIDENCY_CACHESTAT,
	RESIDENCY_MINCORE,
	RESIDENCY_PROBE,
};

/* The best means that works for this file. */
enum residency_means residency_find_means(int fd);

/* How much of a range is in the cache; `offset` is the start of a page. */
enum residency residency_ask(int fd, enum residency_means means,
			     uint64_t offset, size_t len);

/* The same for each page: `pages[i]` is 0 if the page was certainly not cached before,
 * otherwise 1.  Fails with a negative errno. */
int residency_map(int fd, enum residency_means means, uint64_t offset,
		  size_t len, uint8_t *pages);

/* Waits until the page that a probe has requested is read. */
void residency_end_probe(int fd, uint64_t offset, size_t len);

/* Drops a range, or those of its pages whose `pages[i]` is 0 (the first page contains
 * `offset`).  The end may be that of the file. */
void residency_drop(int fd, uint64_t offset, size_t len);
void residency_drop_pages(int fd, uint64_t offset, size_t len,
			  const uint8_t *pages);

/* The size of a page in bytes. */
size_t residency_page(void);

#endif
