/* hash_walk.h - the files below a directory.
 *
 * Every regular file, sorted by the bytes of its path.  Symbolic links are neither followed
 * nor listed, so the walk ends and finds each file once.  FIFOs, devices, sockets, and
 * directories that cannot be read are listed with their error. */
#ifndef ROAR_HASH_WALK_H
#define ROAR_HASH_WALK_H

#include "hash/hash_names.h"

/* Adds the files below `path`, a directory or a link to one.  0 or -ENOMEM. */
int hash_walk(struct hash_names *names, const char *path);

#endif
