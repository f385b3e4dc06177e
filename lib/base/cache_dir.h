/* cache_dir.h - the folder for what can be made again: $XDG_CACHE_HOME/roar. */
#ifndef ROAR_BASE_CACHE_DIR_H
#define ROAR_BASE_CACHE_DIR_H

#include <stdbool.h>

struct str;

/* Appends its path; with `create` it is made.  -ENOENT when there is none, nor a home
 * of our own to make it in; -EPERM when it is another user's, as it may be under sudo: nothing of
 * ours is put there; -ENOMEM. */
int cache_dir_find(struct str *out, bool create);

#endif
