/* proof.h - is it certain that the kernel will not refuse?
 *
 * An open or unlink that cannot fail needs no second stop.  "Cannot" is proven by
 * looking: at the file and its directory, at the file system under it and at the
 * descriptors of the process.  A look is believed for a moment (BELIEF_NS), and
 * only as long as nobody in the tree changes rights; somebody outside of it who does
 * so within that moment is a race like the one between the look and the call.
 * Where there is no proof, the answer is no, and the call's result is awaited. */
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

/* What a file system is good for. */
struct filesystem {
	dev_t dev;
	int64_t until_ns; /* believed until then */
	bool plain; /* only owner, mode and flags of a file decide */
	bool roomy; /* names can be added for a while */
};

enum { FILESYSTEMS = 8 }; /* remembered at once */

struct proof {
	bool override; /* permissions of files do not bind us */
	uid_t euid;
	int64_t changed_ns; /* when somebody last began to change rights... */
	pid_t changer; /* ...and which thread */
	struct str writable; /* directory known to be writable... */
	int64_t writable_until_ns; /* ...until then */
	struct filesystem filesystems[FILESYSTEMS];
	struct thread_fd table; /* of descriptors: /proc/TID/fd */
};

void proof_init(struct proof *r);
void proof_release(struct proof *r);

/* Are we above the permissions of files?  Being root is not enough: capabilities
 * can be taken from it, and in a container's user namespace they do not reach the
 * files of those who have no place there. */
bool proof_overrides(void);

/* What was learned is void: `t` is about to change rights or mounts (NULL: that
 * has happened). */
void proof_forget(struct observer *o, const struct tracee *t);

/* Will this existing regular file, looked at just now (call_look), surely open? */
bool proof_opens(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct stat *st, uint64_t flags);

/* May we read what is under this name? */
bool proof_reads(const struct observer *o, const struct str *path);

/* Can names surely be added to and removed from the directory of this path? */
bool proof_names(struct observer *o, const struct tracee *t,
		 const struct str *path);

/* Keeps process->full: near the limit of descriptors, so that opens may fail.  Of a
 * process that cannot be looked at nothing is certain: it counts as restricted. */
void proof_check_limit(struct observer *o, struct tracee *t);

#endif
