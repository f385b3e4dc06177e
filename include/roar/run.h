/* roar/run.h - what a program tells the `roar run` that observes it.
 *
 * `roar run` sees which files a command and its children open.  What it cannot see, a
 * process can tell it in a note: a kind and a payload, text such as JSON or a few
 * bytes.  Outside of a run nothing is written, so a program may always call this.
 *
 *	static const char text[] = "{\"step\": 1000, \"loss\": 0.25}";
 *	int r = roar_run_note("metrics", NULL, text, strlen(text));
 *
 *	if (r < 0 && r != -ESRCH)
 *		warn(r);
 *
 * Notes lie beside the journal of the run until it is recorded, also when roar or the
 * program is killed.  Today the record takes over notes of kind "shards" (which samples
 * of which shard a rank has taken); notes of other kinds are removed with them.
 *
 * For C and C++; link with -lroar.  Any thread may call these functions, also after
 * fork().  Errors are negative errno values. */
#ifndef ROAR_RUN_H
#define ROAR_RUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The UID of the job that `roar run` records for this process, 8 hex digits and a NUL.
 * -ESRCH when no `roar run` observes it.  Looks at the ancestors of the process in
 * /proc; some 100 us. */
int roar_run_uid(char ret_uid[9]);

/* Tells the run something.  `kind` has 1 to 16 of a-z, 0-9 and _.  The payload may have
 * up to 64 MiB.
 *
 * With `number` NULL each call is a note of its own.  Else *number is 0 for a new note,
 * and receives its number; a call with that number replaces the note.  A number belongs
 * to the process that got it and to the kind: set it to 0 after fork().
 *
 * The note is there as a whole or not at all.  -ESRCH when no `roar run` observes the
 * process, -EINVAL for a kind that is not valid, -EFBIG; else as open(2) and
 * write(2). */
int roar_run_note(const char *kind, uint32_t *number, const void *payload,
		  size_t len);

#ifdef __cplusplus
}
#endif

#endif
