/* wire.h - the records from the kernel side to the user side, and the maps they share.
 *
 * Included by both sides.  A record stands for a call that has succeeded, or for a
 * process that was created, executed another program, or ended:
 *
 *	struct wire_record, then four byte strings of the given lengths:
 *	name, base, name2, base2
 *
 * A `base` is a path in the file system as the kernel knows it, given by its components
 * from the leaf up, each with its NUL: "c\0b\0a\0" is /a/b/c and the empty string is
 * the root.  A `name` is what the process passed, with its NUL.  It is relative to the
 * base, which is the process's root, its current directory or the directory descriptor
 * at the time of the call.
 *
 *	kind      base                name             base2, name2
 *	OPEN      the file            -                name2: sums, if any
 *	                                               aux: generation of the
 *	                                               inode
 *	RENAME    where name starts   old name         new name; the file is what
 *	                                               moved, if it was found;
 *	                                               aux: mode of the other file
 *	                                               of an exchange
 *	LINK      where name starts   old name         new name   aux: flags
 *	          or, WIRE_FD, the file itself
 *	SYMLINK   -                   text             new name
 *	UNLINK    where name starts   the name         -
 *	TRUNCATE  where name starts   the name         -
 *	MKNOD     where name starts   the name         -
 *	MKDIR     where name starts   the name         -
 *	MOUNT     the mount point     -                base2: its root, in its file
 *	                                               system; bytes: its magic
 *	                                               number; aux: 1, it was moved
 *	UNMOUNT   where name starts   the mount point  -
 *	FORK      -                   -                -       aux: parent
 *	SCRIPT    where name starts   name as executed -       the EXEC follows; the
 *	                                               file is the script
 *	EXEC      where name starts   as executed, of  base2: the program;
 *	                              a script         name2: command line
 *	EXIT      -                   -                -       aux: wait status
 *	GAP       -                   -                -       aux: enum event_gap
 *	SUMS      -                   -                name2: sums
 *
 * Sums are as many struct wire_sum as fit into the length, without alignment.  They are
 * sent long after the bytes were read or written: see sums.bpf.h. */
#ifndef ROAR_TRACE_EBPF_WIRE_H
#define ROAR_TRACE_EBPF_WIRE_H

#include <linux/types.h>

enum wire_kind {
	WIRE_OPEN = 1,
	WIRE_RENAME,
	WIRE_LINK,
	WIRE_SYMLINK,
	WIRE_UNLINK,
	WIRE_TRUNCATE,
	WIRE_MKNOD,
	WIRE_MKDIR,
	WIRE_FORK,
	WIRE_SCRIPT,
	WIRE_EXEC,
	WIRE_EXIT,
	WIRE_GAP,
	WIRE_SUMS,
	WIRE_MOUNT,
	WIRE_UNMOUNT,
	WIRE_STREAM, /* a standard stream of a program that starts */
	WIRE_KIND_END,
};

/* The low byte has the meaning and the values of enum event_flags. */
enum wire_flags {
	WIRE_READ = 1 << 0,
	WIRE_WRITE = 1 << 1,
	WIRE_CREATE = 1 << 2,
	WIRE_TRUNC = 1 << 3,
	WIRE_INHERITED = 1 << 5,
	WIRE_EXCHANGE = 1 << 6,
	WIRE_DELETED = 1 << 8, /* the file has no name any more, or not yet */
	WIRE_NOWHERE = 1 << 9, /* it is not in a directory tree: memfd, handle */
	WIRE_FOREIGN = 1 << 10, /* base ends in a root that is not ours */
	WIRE_LONG = 1 << 11, /* base was cut */
	WIRE_HANDLE = 1 << 12, /* OPEN: by file handle */
	WIRE_FD = 1 << 13, /* LINK: from a descriptor; EXEC: through one */
	WIRE_PROC = 1 << 14, /* name starts with /proc/; base is the current
			      * directory of the process */
	WIRE_PROC2 = 1 << 15, /* the same for name2 */
};

/* What is known of the bases.  SURE: the kernel side has resolved a name: its base is
 * the directory that contained it, the name one component, with all links followed that
 * the call has followed.  COVERED: a mount covers a directory above one of them, so its
 * path means something else there. */
enum wire_sure {
	WIRE_SURE = 1 << 0,
	WIRE_SURE2 = 1 << 1,
	WIRE_COVERED = 1 << 2,
};

struct wire_record {
	__u32 size; /* whole record */
	__u8 kind; /* enum wire_kind */
	__u8 sure; /* enum wire_sure */
	__u16 flags; /* enum wire_flags */
	__s32 pid; /* thread group, in the tracer's pid namespace */
	__s32 aux;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 ino; /* the file at the end of the call; 0: unknown */
	__u64 bytes; /* its size */
	__s64 mtime_ns;
	__s64 ctime_ns;
	__u32 dev; /* as the kernel packs it: major << 20 | minor */
	__u32 mode; /* file type and permissions */
	__u16 name_len; /* with NUL; 0: none */
	__u16 base_len;
	__u16 name2_len;
	__u16 base2_len;
};

/* Bytes that a thread has read from a regular file and written to it through a
 * descriptor since the last record of them. */
struct wire_sum {
	__u64 ino;
	__u64 bytes_read;
	__u64 bytes_written;
	__u32 dev; /* as in struct wire_record */
	__u32 generation; /* of the inode: a later file with its number has
			   * another */
};

enum {
	WIRE_NAME_MAX = 4096, /* bytes of a name, with NUL: the kernel's limit */
	WIRE_COMMAND_MAX = 4096, /* bytes kept of a command line */
	WIRE_BASE_MAX = 4096, /* bytes of a base; longer: WIRE_LONG */
	WIRE_DATA_MAX = 16384, /* of all strings; a power of two */
};

/* ---- maps ---- */

/* Rings are made with the programs and lent to runs: putting one into a map while
 * programs use it makes the kernel wait for 10 ms. */
enum {
	EBPF_RINGS = 8, /* runs at a time */
	EBPF_RING_BYTES = 2 << 20, /* each */
};

/* One run.  Key: the ring it has borrowed. */
struct ebpf_session {
	__u64 cookie; /* of this run; former members of the ring have another */
	__u64 root_dentry; /* the tracer's root directory; the kernel fills */
	__u64 root_mount; /* it in at the first record of the command */
	__u64 lost; /* records lost because the ring was full */
	__u64 escaped; /* processes that could not be made members */
	__u64 sums_lost; /* records with sums that were lost or withheld */
	__u64 owner_ns; /* pid namespace of the tracer, by inode */
	__s32 owner; /* its pid there */
	__s32 n_live; /* processes of the run that have not ended */
	__u32 generation; /* increased by every change of a name */
	__u32 guarded; /* only actions of processes of the user `uid` are
		        * recorded */
	__u64 hidden; /* records withheld for that */
	__u32 uid;
	__u32 n_rings; /* io_uring instances set up by members */
};

/* A directory: addresses in the kernel. */
struct ebpf_place {
	__u64 dentry;
	__u64 mount;
};

/* Bytes that a thread has read and written through a descriptor (sums.bpf.h). */
struct ebpf_sum {
	__u64 file; /* struct file; 0: the slot is empty */
	__u64 inode; /* struct inode */
	__u32 fd;
	__u32 run; /* the cookie of the run, as much as fits */
	struct wire_sum sum;
};

enum {
	EBPF_SUMS = 16, /* of a member; a power of two */
	EBPF_MORE_SUMS = 64, /* for a member that needs more; as well */
};

struct ebpf_more_sums {
	struct ebpf_sum sums[EBPF_MORE_SUMS];
};

/* State of a task (a thread) in its run. */
struct ebpf_member {
	__u64 cookie;
	__u32 ring;
	__s32 pid; /* its thread group, in the tracer's pid namespace */
	__s32 level; /* of the tracer's pid namespace; -1: not known yet */
	__u32 ended; /* of the first thread: the process has ended */
	__u32 call; /* enum call, and... */
	__u16 compat; /* ...its mode, and what one program passes... */
	__u16 deed; /* ...to the next with them (tracepoint.bpf.c) */
	struct ebpf_place before[2]; /* of a current call that removes names:
				      * their directories; zeros: unknown */
	__u32 has_sums; /* they are or were in use */
	__u32 unused;
	struct ebpf_sum sums[EBPF_SUMS]; /* by descriptor */
};

/* An open that was recorded; only used while the ring is filling up.  It is valid as
 * long as the file is the same, with the same content and names. */
struct ebpf_seen {
	__u64 ino;
	__u64 bytes;
	__s64 mtime_ns;
	__u64 cookie; /* of the run */
	__u32 dev;
	__s32 pid;
	__u32 generation;
	__u32 flags;
};

#endif
