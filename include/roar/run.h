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
 * program is killed.  Notes of kind "shards" (which samples of which shard a rank has
 * taken), "digests" (roar_run_wrote()) and "checkpoints" (roar_run_checkpoint()) are
 * recorded; notes of other kinds are then removed.
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

/* Reports the BLAKE3 of a file that this process has written, so that the run need not
 * read the file.  `fd` is the open file: call this after the last write to it, and before
 * the file is closed.  A later change of content, name or mode voids the report.
 *
 * The run uses the digest only if its tracer saw everything, this process alone wrote the
 * file under this name, opened for writing only, and the file has not changed since.  In
 * any other case the run hashes the file.  A digest that was used is marked in the record
 * ("digest by writer" in `roar show`); `roar verify` reads the file and finds a wrong one.
 *
 * It may wait for the next tick of the clock of the file system, up to 10 ms.  -ESRCH: no
 * `roar run` observes the process; -EBUSY: the file is still being written to; -EINVAL: not
 * a regular file; otherwise as fstat(2), open(2) and write(2). */
int roar_run_wrote(int fd, const uint8_t blake3[32]);

/* Reports that this process has committed a checkpoint; roar/checkpoint.h does that by
 * itself.  `dir` is its directory "…/step-000000000100", or the URL of one, `parent` the
 * name of the checkpoint that it refers to ("step-…"; NULL: none), and the digest that of
 * its manifest.  The record then has the directory as one artifact, and `roar show DIR`
 * lists the samples that the processes of the run had reported to have taken until now.
 *
 * -ESRCH: no `roar run` observes the process; -EINVAL: no such step; otherwise as
 * realpath(3), open(2) and write(2). */
int roar_run_checkpoint(const char *dir, uint64_t step, uint32_t world_size,
			const char *parent, const uint8_t manifest_blake3[32]);

#ifdef __cplusplus
}
#endif

#endif
