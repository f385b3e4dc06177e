/* owner.h - in whose name files are made.
 *
 * What `sudo roar` makes in a folder of whoever typed it is theirs, or they could
 * neither read nor change it afterwards.  Anywhere else, and for everybody else,
 * files are made as usual. */
#ifndef ROAR_OWNER_H
#define ROAR_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Are we root because that user typed `sudo`? */
bool owner_typed_sudo(uid_t user);

/* When the folder belongs to such a user: the calling thread makes and opens files as
 * that user.  Returns whether it does, which owner_act_as_self() wants to know. */
bool owner_act(int dirfd);
void owner_act_as_self(bool acted);

#endif
