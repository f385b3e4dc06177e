/* writer_digests.h - digests that processes of the run report of files they wrote.
 *
 * A program that hashes while it writes, such as the writer of a checkpoint, knows the
 * BLAKE3 of its file.  If it reports the digest in a note (kind "digests",
 * event/note.h), the run need not read the file again.  The report is believed after the
 * command has ended, between classification and hashing, and only if
 *
 *	- the record has no gap so far: the tracer saw everything,
 *	- the note comes from the process that alone wrote the file
 *	  (lineage_wrote_alone()), and that process started no other while it wrote, which
 *	  would have inherited the descriptor,
 *	- the file has one name, and its stamp is still the reported one, which was old
 *	  enough that a later change would show,
 *	- only BLAKE3 is wanted, and roar has no digest of its own.
 *
 * In any other case roar hashes the file.  A digest that was taken is marked in the
 * record (LINEAGE_REPORTED) and never enters the digest cache.
 *
 * What remains is trust: the process may be wrong about its own bytes, or may have passed
 * its descriptor to another process.  `roar verify` reads the file and finds that. */
#ifndef ROAR_RUN_WRITER_DIGESTS_H
#define ROAR_RUN_WRITER_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>

struct lineage_file;
struct run;

/* While the command runs: is it better not to hash this file early, because it is large
 * and the process that wrote it reports digests?  One system call. */
bool writer_digests_are_due(const struct run *run,
			    const struct lineage_file *file,
			    uint64_t size_bytes);

/* After the end: reads the notes and takes the digests that are believed.  A note that
 * cannot be read, or memory that runs out, means that roar hashes the file. */
void writer_digests_take(struct run *run);

#endif
