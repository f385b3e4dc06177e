/* load.h - the programs in the kernel, and the maps through which to use them.
 *
 * Programs are loaded once and serve any number of runs.  A run needs only the
 * descriptors of a few maps (session.h), and that the programs are attached during the
 * run.  They come from one of three places:
 *
 *	- loaded by this process; gone with ebpf_close();
 *	- pinned in the BPF file system by ebpf_pin(), for every later process that
 *	  may read it (root);
 *	- held by a daemon, which hands out descriptors of maps.
 *
 * Pins are in a directory that has the identity of this build in its name, so a process
 * never uses programs of another build.
 *
 * Programs at single events (a process is created, executes, ends) are attached as long
 * as they are loaded; their cost is not noticeable.  Programs at the entry and the exit
 * of all system calls are attached only while there are watchers, because every process
 * of the machine pays for them. */
#ifndef ROAR_TRACE_EBPF_LOAD_H
#define ROAR_TRACE_EBPF_LOAD_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "trace/ebpf/wire.h"

struct ebpf;

/* What a session works with; see wire.h for their content. */
struct ebpf_maps {
	int members;
	int sessions;
	int rings[EBPF_RINGS]; /* -1: does not exist, or not accessible */
};

/* Where system calls are hooked. */
enum ebpf_layer {
	EBPF_TRACEPOINT, /* at the exit of every call of the machine */
	EBPF_TRAMPOLINE, /* at the ends of single calls: other calls cost
			  * nothing */
};

enum ebpf_how {
	EBPF_PINNED, /* pinned programs or -ENOENT */
	EBPF_FRESH, /* load, for any number of runs */
	EBPF_OWN, /* load, for one run of this process: faster */
};

/* Makes programs available.  -EPERM without the privilege, -ENOSYS or -EINVAL on a
 * kernel that cannot do it. */
int ebpf_open(enum ebpf_how how, struct ebpf **ret_ebpf,
	      struct roar_error *err);

/* Loaded programs are detached and removed; pinned ones stay. */
void ebpf_close(struct ebpf *e);
DEFINE_CLEANUP(struct ebpf *, ebpf_close)

const struct ebpf_maps *ebpf_maps(const struct ebpf *e);

/* The programs see system calls from the first ebpf_watch() to the last ebpf_unwatch()
 * of all processes that use them.  The end of a process, or ebpf_close(), counts as its
 * missing calls of ebpf_unwatch().  Each call takes about 0.3 ms.  But within about 15
 * ms after the last hook of the machine was detached, ebpf_watch() waits for the kernel
 * to finish that (10 ms).  -EPERM without the privilege to find the hooks of other
 * processes (CAP_SYS_ADMIN; pinned programs only), -EBUSY when another process was
 * stopped inside ebpf_watch(). */
int ebpf_watch(struct ebpf *e);
void ebpf_unwatch(struct ebpf *e);

/* The hook layer; for programs that this process has loaded. */
enum ebpf_layer ebpf_layer(const struct ebpf *e);

/* Pins loaded programs (EBPF_FRESH) without watchers in the BPF file system, which is
 * mounted if necessary.  -EEXIST when programs of this build are already pinned. */
int ebpf_pin(struct ebpf *e, struct roar_error *err);

/* Removes the pins of all builds.  Programs that a run still uses stay until it ends.
 * Returns the number of builds removed, or a negative errno. */
int ebpf_unpin(struct roar_error *err);

/* For the daemon, which lends rings to users.  After ebpf_retire_ring() a ring is not
 * lent any more.  ebpf_renew_ring() replaces it by a new one, when no program writes to
 * the old one any more (some 20 ms).  For programs that this process has loaded
 * (EBPF_FRESH). */
void ebpf_retire_ring(struct ebpf *e, unsigned i);
int ebpf_renew_ring(struct ebpf *e, unsigned i);

/* Are there pinned programs of this build? */
bool ebpf_is_pinned(void);

/* The kernel's answer to programs at the ends of functions: 0, or the negative errno of
 * the attempt; for programs that this process has loaded. */
int ebpf_trampoline_error(const struct ebpf *e);

#endif
