/* call.bpf.h - the kinds of system calls that are observed */
#ifndef ROAR_TRACE_EBPF_CALL_BPF_H
#define ROAR_TRACE_EBPF_CALL_BPF_H

#include "kernel.h"

enum call {
	CALL_NONE,
	CALL_OPEN,
	CALL_OPENAT,
	CALL_OPENAT2,
	CALL_CREAT,
	CALL_HANDLE,
	CALL_PIDFD_GETFD,
	CALL_RENAME, /* from here on: calls that name files; first those that
		      * remove names */
	CALL_RENAMEAT,
	CALL_RENAMEAT2,
	CALL_UNLINK,
	CALL_UNLINKAT, /* the last call that removes names */
	CALL_LINK,
	CALL_LINKAT,
	CALL_SYMLINK,
	CALL_SYMLINKAT,
	CALL_TRUNCATE,
	CALL_MKNOD,
	CALL_MKNODAT,
	CALL_MKDIR,
	CALL_MKDIRAT,
	CALL_MOUNT,
	CALL_UMOUNT,
	CALL_MOVE_MOUNT, /* the last call that names files */
	CALL_RECVMSG,
	CALL_RECVMMSG,
	CALL_SOCKETCALL,
	CALL_READ, /* the result is a number of bytes, from the descriptor in
		    * argument 0 */
	CALL_WRITE,
	CALL_SENDFILE, /* out, in */
	CALL_SPLICE, /* in, offset, out */
	CALL_URING_SETUP,
	CALL_FANOTIFY,
	CALL_FOREIGN, /* an unknown call table */
	CALL_REMOVES_FIRST = CALL_RENAME,
	CALL_REMOVES_LAST = CALL_UNLINKAT,
	CALL_NAMES_FIRST = CALL_RENAME,
	CALL_NAMES_LAST = CALL_MOVE_MOUNT,
};

enum { CALLS_MAX = 512 }; /* numbers in a table; a power of two */

#endif
