/* residency.h - which pages of a file are in the page cache, and dropping those
 * that were not.  Private to lib/hash.
 *
 * There are three ways to ask.  The kernel answers the first two only to the owner
 * of a file, to root and to those who may write it.
 *
 *	cachestat(2)	exact, one call for a range; Linux 6.5, no overlays
 *	mincore(2)	exact, needs a mapping for the moment
 *	preadv2(2)	with RWF_NOWAIT: a guess from one page, which the
 *			kernel then begins to read
 *
 * Questions and drops may come from many threads. */
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

/* How much of a range is in the cache; `offset` is the beginning of a page. */
enum residency residency_ask(int fd, enum residency_means means,
			     uint64_t offset, size_t len);

/* The same to the page: `pages[i]` is 0 for one that was not there before we came, 1
 * for one that was or may have been.  Fails with a negative errno. */
int residency_map(int fd, enum residency_means means, uint64_t offset,
		  size_t len, uint8_t *pages);

/* Waits until the page is read that a probe has asked for. */
void residency_end_probe(int fd, uint64_t offset, size_t len);

/* Drops a range, or those of its pages whose `pages[i]` is 0 (the first of them
 * holds `offset`).  The end may be that of the file. */
void residency_drop(int fd, uint64_t offset, size_t len);
void residency_drop_pages(int fd, uint64_t offset, size_t len,
			  const uint8_t *pages);

/* The size of a page in bytes. */
size_t residency_page(void);

#endif
