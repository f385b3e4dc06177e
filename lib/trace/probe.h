/* probe.h - which tracers can work here, and which one to take.
 *
 * A look costs a few system calls and no process (some 0.1 ms), so every run takes
 * it.  It cannot know everything: whether a backend really works shows when it is
 * started, and tracer_start() fails before the command has run.  Such a refusal is
 * remembered for later runs, in a file of the user's cache directory
 * ($XDG_CACHE_HOME/roar/tracers), with what it holds for: this boot, this build of
 * the program, this user with these privileges.  It is believed for an hour and
 * only by `auto`; who names a tracer gets it tried. */
#ifndef ROAR_TRACE_PROBE_H
#define ROAR_TRACE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/tracer.h"

enum probe_state {
	PROBE_READY,
	PROBE_SLOW, /* works, but its start is too dear for `auto` */
	PROBE_REFUSED,
};

struct probe {
	const struct tracer_ops *ops;
	enum probe_state state;
	char why[256]; /* one sentence; "" when there is nothing to say */
	const char *cost; /* what observing costs, for people */
};

/* The longest list of candidates. */
enum { PROBE_MAX = 8 };

/* All backends in the order of `auto`; NULL at their end. */
const struct tracer_ops *probe_backend(size_t i);

/* Looks at one backend. */
void probe_tracer(const struct tracer_ops *ops, struct probe *ret);

/* The backends to try, best first; returns how many, at least one.
 *
 * "auto": hybrid, else eBPF where its programs wait in the kernel or the daemon has
 * them, else ptrace, else the library alone.  Another name: that one, and with
 * `others` those of "auto" after it.  0 when there is no such name. */
size_t probe_candidates(const char *name, bool others,
			const struct tracer_ops *ret[PROBE_MAX]);

/* Remembers that the machine refused a backend, with the errno and the sentence of
 * tracer_start().  What may be otherwise a moment later is not remembered. */
void probe_remember(const struct tracer_ops *ops, int error, const char *why);

/* Forgets all refusals. */
void probe_forget(void);

#endif
