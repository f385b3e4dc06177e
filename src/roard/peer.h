/* peer.h - is this process the user's, and nobody else's? */
#ifndef ROAR_ROARD_PEER_H
#define ROAR_ROARD_PEER_H

#include <sys/types.h>

/* Who is at the other end of a connection.  0 or a negative errno. */
int peer_uid(int fd, uid_t *ret_uid);

/* 0 when the process of the pidfd runs with the rights of `uid` alone: all its user
 * ids are that one, and the kernel lets that user debug it (no set-user-id program,
 * no capabilities from a file).  -EPERM when not, -ESRCH when it is gone, -EBADF when
 * `pidfd` is none. */
int peer_owns(uid_t uid, int pidfd);

#endif
