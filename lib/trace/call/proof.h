/* proof.h - is it certain that the kernel will not refuse a call?
 *
 * An open or unlink that cannot fail needs no second stop.  The proof examines the file
 * and its directory, the file system and the descriptors of the process.  A result is
 * valid for a moment (BELIEF_NS), and only as long as no process of the tree changes
 * permissions.  A process outside the tree that changes them within that moment is a
 * race like the one between the examination and the call.  Without a proof the answer
 * is no, and the result of the call is awaited. */
#ifndef ROAR_TRACE_CALL_PROOF_H
#define ROAR_TRACE_CALL_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/str.h"
#include "trace/call/resolve.h"
#include "trace/call/thread_fd.h"

struct observer;
struct process;
struct tracee;

/* Properties of a file system. */
struct filesystem {
	dev_t dev;
	int64_t until_ns; /* valid until then */
	bool plain; /* only owner, mode and flags of a file decide */
	bool roomy; /* there is space to add names for a while */
};

enum { FILESYSTEMS = 8 }; /* cached at the same time */

struct proof {
	bool override; /* file permissions do not restrict us */
	uid_t euid;
	int64_t changed_ns; /* when a thread last began to change permissions... */
	pid_t changer; /* ...and which one */
	struct str writable; /* directory known to be writable... */
	int64_t writable_until_ns; /* ...until then */
	struct filesystem filesystems[FILESYSTEMS];
	struct thread_fd table; /* of descriptors: /proc/TID/fd */
};

void proof_init(struct proof *r);
void proof_release(struct proof *r);

/* Do our capabilities override file permissions?  Being root is not enough:
 * capabilities can be dropped, and in a container's user namespace they do not cover
 * files whose owner is not mapped there. */
bool proof_overrides(void);

/* Drops all cached results: `t` is about to change permissions or mounts (NULL: a
 * process has already done so). */
void proof_forget(struct observer *o, const struct tracee *t);

/* Is it certain that this existing regular file, examined just now (call_look), will
 * open? */
bool proof_opens(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct stat *st, uint64_t flags);

/* May we read the file of this name? */
bool proof_reads(const struct observer *o, const struct str *path);

/* Is it certain that names can be added to and removed from the directory of this
 * path? */
bool proof_names(struct observer *o, const struct tracee *t,
		 const struct str *path);

/* Updates process->full: the process is near its descriptor limit, so opens may fail.
 * A process that cannot be examined counts as restricted. */
void proof_check_limit(struct observer *o, struct tracee *t);

#endif
