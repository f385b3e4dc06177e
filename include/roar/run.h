/* roar/run.h - notes from a program to the `roar run` that observes it.
 *
 * `roar run` sees which files a command and its children open.  A process reports other
 * facts in a note: a kind and a payload, such as JSON text or a few bytes.  Outside of a
 * run nothing is written, so a program may always call this.
 *
 *	static const char text[] = "{\"step\": 1000, \"loss\": 0.25}";
 *	int r = roar_run_note("metrics", NULL, text, strlen(text));
 *
 *	if (r < 0 && r != -ESRCH)
 *		warn(r);
 *
 * Notes are kept beside the journal of the run until it is recorded, even if roar or the
 * program is killed.  Today only notes of kind "shards" (which samples of which shard a
 * rank has taken) are recorded; notes of other kinds are then removed.
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
 * -ESRCH: no `roar run` observes the process.  Reads the ancestors of the process from
 * /proc, which takes about 100 us. */
int roar_run_uid(char ret_uid[9]);

/* Writes a note.  `kind` has 1 to 16 characters of a-z, 0-9 and _.  The payload may have up
 * to 64 MiB.
 *
 * If `number` is NULL, each call writes a new note.  Otherwise *number is 0 for a new note
 * and is set to its number; a call with that number replaces the note.  A number is valid
 * for one kind and in the process that got it: set it to 0 after fork().
 *
 * Writing is atomic.  -ESRCH: no `roar run` observes the process; -EINVAL: invalid kind;
 * -EFBIG: the payload is too large; otherwise as open(2) and write(2). */
int roar_run_note(const char *kind, uint32_t *number, const void *payload,
		  size_t len);

#ifdef __cplusplus
}
#endif

#endif
