/* cache_dir.h - the user's cache directory, $XDG_CACHE_HOME/roar. */
#ifndef ROAR_BASE_CACHE_DIR_H
#define ROAR_BASE_CACHE_DIR_H

#include <stdbool.h>

struct str;

/* Appends its path, and creates it if `create` is set.  -ENOENT: it does not exist, and
 * there is no home directory to create it in; -EPERM: it belongs to another user, as under
 * sudo, and must not be used; -ENOMEM. */
int cache_dir_find(struct str *out, bool create);

#endif
