/* user_cache.h - where the digests of a user's files are remembered.
 *
 * One cache (hash/digest/digest_cache.h) for `roar run` and `roar hash` in all projects:
 * what one of them has read, no other reads again. */
#ifndef ROAR_USER_CACHE_H
#define ROAR_USER_CACHE_H

struct digest_cache;

/* Opens it, and makes it when there is none.  A negative errno when it is not to be
 * had: without a home, on a disk that cannot be written, where it belongs to whoever
 * typed sudo.  Then all content is read. */
int user_cache_open(struct digest_cache **ret);

#endif
