/* peer.h - does this process belong to the user, and to no other? */
#ifndef ROAR_ROARD_PEER_H
#define ROAR_ROARD_PEER_H

#include <sys/types.h>

/* The user at the other end of a connection.  0 or a negative errno. */
int peer_uid(int fd, uid_t *ret_uid);

/* 0 when the process of the pidfd runs with the privileges of `uid` only: all its user
 * ids are that one, and the kernel lets that user debug it (not a set-user-id program,
 * no capabilities from a file).  -EPERM when not, -ESRCH when it has ended, -EBADF when
 * `pidfd` is not a pidfd. */
int peer_owns(uid_t uid, int pidfd);

#endif
