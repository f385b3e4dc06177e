/* script.h - events as text, facts as text.
 *
 * One event per line; '#' starts a comment.  Words in any order after the verb:
 *
 *	open r|w|c|t|T|i|P... PATH	read, write, create, trunc, tmpfile,
 *					inherited, passed
 *	exec PATH [COMMAND]		truncate PATH	close PATH
 *	rename OLD NEW [x]		x: exchange
 *	link OLD|- NEW			symlink TEXT NEW	unlink PATH
 *	fork [root]	exit	gap DETAIL
 *	found PATH			by fold_add_found()
 *	after PATH			the stamp at the end; without: it is gone
 *
 *	ino= size= mtime= ctime= dev=	the stamp (mtime in seconds)
 *	type=reg|dir|sym|fifo|sock|dev|none; reg when there is an ino
 *	pid= aux= at=			at: when, in seconds
 *
 * A word with spaces is written in "...".
 * Facts come one file per line,
 * "PATH seen... [< origin] [own] [prior] = roles...". */
#ifndef ROAR_TESTS_LINEAGE_SCRIPT_H
#define ROAR_TESTS_LINEAGE_SCRIPT_H

#include "base/str.h"
#include "lineage/fold.h"

/* Plays a script and appends news, facts, processes or gaps. */
void script_news(const char *script, struct str *out);
void script_facts(const char *script, struct str *out);
void script_processes(const char *script, struct str *out);
void script_gaps(const char *script, struct str *out);

/* The edges of each file, by event: "PID [passed-]read|read-own|wrote|made PATH", with
 * "PID'" for a process that has the pid of an earlier one. */
void script_edges(const char *script, struct str *out);

/* Plays a script by one of these and asserts that it gives `expected`. */
void script_check(void (*play)(const char *script, struct str *out),
		  const char *script, const char *expected);

/* Plays a script into a fold. */
void script_play(struct fold *fold, const char *script);

/* One event, for loops; `before` may be NULL. */
int script_event(struct fold *fold, int kind, unsigned flags, const char *path,
		 const char *path2, const struct stamp *before,
		 struct fold_change *ret_change);

/* The same, where only `n_allocations` succeed. */
int script_event_failing(struct fold *fold, int kind, unsigned flags,
			 const char *path, const char *path2,
			 const struct stamp *before, int n_allocations);

#endif
