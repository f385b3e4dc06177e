/* load.h - the programs in the kernel, and the maps through which to use them.
 *
 * Programs are loaded once and serve any number of runs; a run needs nothing of them
 * but the descriptors of a few maps (session.h), and that they are hooked in while it
 * lasts.  They come from one of three places:
 *
 *	- loaded by this process; gone with ebpf_close();
 *	- pinned in the BPF file system by ebpf_pin(), for every later process that
 *	  may look there (root);
 *	- held by a daemon, which hands out descriptors of maps.
 *
 * Pins lie in a folder that has the identity of this build in its name, so no
 * process ever uses programs of another build.
 *
 * Programs at single events (a process is born, executes, ends) are hooked in as long
 * as they are loaded; nobody notices.  Those at the entry and the exit of all system
 * calls are hooked in while there are watchers, and no longer: everybody pays for
 * them. */
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
	int rings[EBPF_RINGS]; /* -1: not there, or not for us */
};

/* Where system calls are caught. */
enum ebpf_layer {
	EBPF_TRACEPOINT, /* at the exit of every call of the machine */
	EBPF_TRAMPOLINE, /* at the ends of single calls: nobody else pays */
};

enum ebpf_how {
	EBPF_PINNED, /* pinned programs or -ENOENT */
	EBPF_FRESH, /* load, for any number of runs */
	EBPF_OWN, /* load, for one run of this process: sooner */
};

/* Makes programs available.  -EPERM without the privilege, -ENOSYS or -EINVAL on a
 * kernel that cannot do it. */
int ebpf_open(enum ebpf_how how, struct ebpf **ret_ebpf,
	      struct roar_error *err);

/* Loaded programs are detached and go; pinned ones stay. */
void ebpf_close(struct ebpf *e);
DEFINE_CLEANUP(struct ebpf *, ebpf_close)

const struct ebpf_maps *ebpf_maps(const struct ebpf *e);

/* From the first ebpf_watch() to the last ebpf_unwatch() of any process that uses
 * these programs they see system calls; the end of a process, or ebpf_close(), counts
 * for its calls of ebpf_unwatch() that are missing.  Each takes about 0.3 ms; but who
 * watches within some 15 ms after the last hook of the machine was taken off waits for
 * the kernel to be sure that it is (10 ms).  -EPERM
 * without the privilege to find the hooks of others (CAP_SYS_ADMIN; pinned programs
 * only), -EBUSY when somebody was stopped on his way in. */
int ebpf_watch(struct ebpf *e);
void ebpf_unwatch(struct ebpf *e);

/* How calls are caught; of programs this process has loaded. */
enum ebpf_layer ebpf_layer(const struct ebpf *e);

/* Keeps loaded programs (EBPF_FRESH), which nobody watches, in the BPF file system, mounted where it
 * is not.  -EEXIST when some of this build are there already. */
int ebpf_pin(struct ebpf *e, struct roar_error *err);

/* Removes what any build has pinned.  Programs that a run still uses stay until it
 * ends.  The number of builds removed, or a negative errno. */
int ebpf_unpin(struct roar_error *err);

/* For who lends rings to users: after ebpf_retire_ring() a ring is lent to nobody;
 * ebpf_renew_ring() puts one in its place that nobody has seen, when no program writes
 * to the old one any more (some 20 ms).  Of programs this process has loaded
 * (EBPF_FRESH). */
void ebpf_retire_ring(struct ebpf *e, unsigned i);
int ebpf_renew_ring(struct ebpf *e, unsigned i);

/* Are there pinned programs of this build? */
bool ebpf_is_pinned(void);

/* What the kernel said to programs at the ends of functions: 0, or the negative errno
 * of the attempt; of programs this process has loaded. */
int ebpf_trampoline_error(const struct ebpf *e);

#endif
