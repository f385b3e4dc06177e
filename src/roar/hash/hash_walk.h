/* hash_walk.h - the files below a folder.
 *
 * Every regular file, sorted by the bytes of its path.  Symbolic links are neither
 * followed nor listed, so the walk ends and each file is met once.  What is
 * neither file nor folder (FIFOs, devices, sockets) and folders that cannot be
 * read are listed with their error. */
#ifndef ROAR_HASH_WALK_H
#define ROAR_HASH_WALK_H

#include "hash/hash_names.h"

/* Adds what is below `path`, which is a folder or a link to one.  0 or -ENOMEM. */
int hash_walk(struct hash_names *names, const char *path);

#endif
