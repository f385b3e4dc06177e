/* race.h - concurrent calls of several threads about the same names.
 *
 * An examination before the call is only valid while no other thread changes names.
 *
 *	- While another thread is inside a call that changes names, opens are
 *	  awaited, and the descriptor identifies the file.
 *	- A thread that was resumed at an open may not have opened yet when
 *	  another is about to change that name: the backend waits for it first.
 *	- Two results that arrive together are reported in the order of the
 *	  calls: an open that found the new file comes after its rename.
 *
 * All this needs a backend that sees calls return (observer.catch_up); without it every
 * function here does nothing.  With one thread it costs nothing, else a few
 * comparisons. */
#ifndef ROAR_TRACE_CALL_RACE_H
#define ROAR_TRACE_CALL_RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/str.h"

struct observer;
struct tracee;

enum { RACE_SLOTS = 16 };

struct race {
	struct {
		pid_t tid;
		uint64_t hash; /* of the name */
		bool removes; /* unlink, not open */
	} let_go[RACE_SLOTS]; /* the last ones, in a circle */
	unsigned next;
};

/* `t` is resumed into a call about `path`, and its return will not be reported. */
void race_let_go(struct observer *o, struct tracee *t, const struct str *path,
		 bool removes);

/* May another thread be changing names on this path? */
bool race_is_on(const struct observer *o, const struct tracee *t,
		const struct str *path);

/* The call of `t` that was just examined changes names: these (may be NULL) or, with
 * `any`, every name below them. */
void race_change(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct str *path2, bool any);

/* An open has found this file under that name: first reports the rename or link that
 * must have put it there. */
void race_opened(struct observer *o, const struct str *path,
		 const struct stat *st);

/* The pending call of `t` has returned.  Returns another thread that is inside an open
 * of the replaced name, whose result must be known first, or NULL. */
const struct tracee *race_returned(const struct observer *o,
				   const struct tracee *t);

#endif
