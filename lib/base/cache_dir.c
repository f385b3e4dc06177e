/* cache_dir.c - see cache_dir.h */
#include "base/cache_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Is the folder that this one is in somebody else's, and we are root?  That is sudo
 * with the home of who typed it: what root made there would be in their way. */
static bool is_in_foreign(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	CLEANUP(freep) char *parent = strndup(dir, (size_t)(slash - dir));
	struct stat st;

	return geteuid() == 0 &&
	       (!parent || stat(*parent ? parent : "/", &st) < 0 || st.st_uid);
}

static int make(const struct str *dir, bool create)
{
	if (str_error(dir) < 0)
		return -ENOMEM;
	if (create && !is_in_foreign(dir->data))
		(void)mkdir(dir->data, 0700);
	return 0;
}

int cache_dir_find(struct str *out, bool create)
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	struct stat st;
	int r;

	if (base && base[0] == '/')
		str_adds(out, base);
	else if (home && home[0] == '/')
		str_addf(out, "%s/.cache", home);
	else
		return -ENOENT;
	r = make(out, create);
	if (r < 0)
		return r;
	str_adds(out, "/roar");
	r = make(out, create);
	if (r < 0)
		return r;
	if (stat(out->data, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() ? 0 : -EPERM;
}
