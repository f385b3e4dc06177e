/* owner.h - the owner of new files.
 *
 * Files that `sudo roar` creates in a directory of the user that called sudo belong to that
 * user, who could otherwise neither read nor change them.  In all other cases files are
 * created as usual. */
#ifndef ROAR_OWNER_H
#define ROAR_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/* Does this process run as root because that user called `sudo`? */
bool owner_typed_sudo(uid_t user);

/* If the directory belongs to such a user, the calling thread creates and opens files as
 * that user.  Returns whether it does; pass that to owner_act_as_self(). */
bool owner_act(int dirfd);
void owner_act_as_self(bool acted);

#endif
