/* probe.h - which tracers can work here, and which one to use.
 *
 * A probe costs a few system calls and no process (about 0.1 ms), so every run does it.
 * A probe cannot know everything: a backend may still be refused when it is started,
 * and then tracer_start() fails before the command has run.  Such a refusal is
 * remembered for later runs in a file of the user's cache directory
 * ($XDG_CACHE_HOME/roar/tracers), together with its scope: this boot, this build of the
 * program, this user with these privileges.  It is valid for an hour and only for
 * `auto`; a tracer that is requested by name is always tried. */
#ifndef ROAR_TRACE_PROBE_H
#define ROAR_TRACE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/tracer.h"

enum probe_state {
	PROBE_READY,
	PROBE_SLOW, /* works, but its start is too slow for `auto` */
	PROBE_REFUSED,
};

struct probe {
	const struct tracer_ops *ops;
	enum probe_state state;
	char why[256]; /* one sentence; "" when there is no reason to give */
	const char *cost; /* the overhead of this backend, as text for users */
};

/* The longest list of candidates. */
enum { PROBE_MAX = 8 };

/* The i-th backend in the order of `auto`; NULL after the last. */
const struct tracer_ops *probe_backend(size_t i);

/* Probes one backend. */
void probe_tracer(const struct tracer_ops *ops, struct probe *ret);

/* The backends to try, best first; returns their number, at least one.
 *
 * "auto": hybrid, else eBPF if its programs are pinned in the kernel or the daemon has
 * them, else ptrace, else the library alone.  Another name: that backend, and with
 * `others` those of "auto" after it.  0 when there is no such backend. */
size_t probe_candidates(const char *name, bool others,
			const struct tracer_ops *ret[PROBE_MAX]);

/* Remembers that the machine refused a backend, with the errno and the message of
 * tracer_start().  Temporary errors are not remembered. */
void probe_remember(const struct tracer_ops *ops, int error, const char *why);

/* Forgets all refusals. */
void probe_forget(void);

#endif
