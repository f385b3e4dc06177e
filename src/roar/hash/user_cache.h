/* user_cache.h - the digest cache of the user.
 *
 * One cache (hash/digest/digest_cache.h) for `roar run` and `roar hash` in all projects, so
 * that an unchanged file is read once. */
#ifndef ROAR_USER_CACHE_H
#define ROAR_USER_CACHE_H

struct digest_cache;

/* Opens the cache, and creates it if needed.  A negative errno if that is not possible:
 * there is no home directory, it is not writable, or it belongs to the user that called
 * sudo.  Then all content is read. */
int user_cache_open(struct digest_cache **ret);

#endif
