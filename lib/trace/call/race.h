/* race.h - calls of several threads about the same names.
 *
 * A look before the call is worth something only while nobody else changes names.
 *
 *	- While a call that changes names is under way in another thread, opens are
 *	  awaited, and the descriptor tells which file it was.
 *	- A thread that was let go at an open may not have opened yet when another
 *	  comes to change that name: the backend brings it up to date first.
 *	- Two results that arrive together are told in the order of the calls: an
 *	  open that found the new file comes after the rename which put it there.
 *
 * All this needs a backend that sees calls end (observer.catch_up); without it
 * every function here does nothing.  Cost: none while only one thread is there,
 * else a glance at a few numbers. */
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

/* `t` runs on into a call about `path`, and nobody will hear of its end. */
void race_let_go(struct observer *o, struct tracee *t, const struct str *path,
		 bool removes);

/* May another thread be changing names that this path goes through? */
bool race_is_on(const struct observer *o, const struct tracee *t,
		const struct str *path);

/* The call of `t` that has just been looked at changes names, these (may be NULL)
 * or, with `any`, whatever is reached through them. */
void race_change(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct str *path2, bool any);

/* An open has found this file under that name: tells first of the rename or link
 * that must have put it there. */
void race_opened(struct observer *o, const struct str *path,
		 const struct stat *st);

/* The pending call of `t` has returned.  Another thread whose open of the name
 * that was replaced is under way, or NULL: its result must be known first. */
const struct tracee *race_returned(const struct observer *o,
				   const struct tracee *t);

#endif
