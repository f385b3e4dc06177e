/* user_cache.c - see user_cache.h */
#include "hash/user_cache.h"

#include "base/cache_dir.h"
#include "base/str.h"
#include "hash/digest/digest_cache.h"

int user_cache_open(struct digest_cache **ret)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	int r = cache_dir_find(&path, true);

	if (r < 0)
		return r;
	str_adds(&path, "/digests");
	r = str_error(&path);
	return r < 0 ? r : digest_cache_open(path.data, 0, ret);
}
