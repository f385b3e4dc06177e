/* note.h - what a process of a run reports to the run.
 *
 * A tracer sees which files were opened.  Only the program knows which rank trained on
 * which samples of them, so it writes a note.  It finds the run by searching for an
 * ancestor called "roar" that has the journal of a run open, and puts the note next to
 * that journal:
 *
 *	.roar/runs/UID.journal
 *	.roar/runs/UID.KIND-PID		its first note of that kind
 *	.roar/runs/UID.KIND-PID.N	the others, N from 1
 *
 *	"roar-KIND 1\n" payload
 *
 * A process replaces a note as a whole when it has more to report.  A note that it does
 * not replace stays, also when a later process has the same pid: that one takes the
 * next free number.  `roar run` reads the notes when the command has ended, or recovery
 * does when roar was killed, and then removes them.
 *
 * A note is untrusted: the reader skips what it does not understand, and an invalid
 * note never makes a record fail.
 *
 * Nothing here keeps state, so any thread may call it, also after fork(). */
#ifndef ROAR_EVENT_NOTE_H
#define ROAR_EVENT_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"

struct str;

enum {
	NOTE_UID_LEN = 8,
	NOTE_KIND_MAX = 16, /* letters of a kind: a-z, 0-9, _ */
	NOTE_MAX = 64 * 1024 * 1024, /* bytes; a longer note is skipped */
	NOTE_DIGEST_LEN = 32, /* of BLAKE3 */
};

/* ---- in a process of a run ---- */

/* Appends the common prefix of the paths of all notes of the run that observes this
 * process, ".../.roar/runs/UID".  -ESRCH when none does, or when an ancestor belongs to
 * another user.  Reads /proc for each ancestor up to roar: some 100 us. */
int note_find_run(struct str *ret_run);

/* Writes a note of this process.  *number is that of the note to replace, from 1, or
 * 0 for a new one, whose number is then in *number.  -EINVAL for a kind that is not
 * valid; else as open(2), write(2) and rename(2), and no note has changed. */
int note_write(const char *run, const char *kind, uint32_t *number,
	       const void *payload, size_t len);

/* ---- in roar ---- */

struct note {
	int32_t pid; /* of the process that wrote it */
	char *payload; /* NUL-terminated; the callback may change it */
	size_t len;
};

typedef int (*note_fn)(void *ctx, struct note *note);

/* Calls `fn` for each note of the kind until it returns anything but 0, which is then
 * returned.  `project` is the directory .roar; only the first NOTE_UID_LEN bytes of
 * `uid` count. */
int note_read_all(int project, const char *uid, const char *kind, note_fn fn,
		  void *ctx);

/* Removes the notes of a run, of every kind, also half-written ones. */
void note_remove_all(int project, const char *uid);

/* The payload of a note of that kind; NULL when the text is not such a note. */
char *note_payload(struct str *text, const char *kind);

/* ---- kind "shards": note_shard.c ----
 *
 * A line for each shard, of which a process took samples:
 *
 *	rank TAB epoch TAB samples TAB dataset TAB path "\n"
 *
 * Rank is "-" where there is none.  In names, "%" and bytes that are not printable
 * ASCII are %XX. */
#define NOTE_SHARDS "shards"

struct note_shard {
	int64_t rank; /* -1: none */
	int64_t epoch;
	int64_t n_samples;
	const char *dataset;
	const char *path;
};

void note_shard_add(struct str *payload, const struct note_shard *shard);

/* Reads the next valid line, and moves *rest after it.  The names point into the
 * payload, which changes.  False at the end. */
bool note_shard_next(char **rest, struct note_shard *ret);

/* ---- kind "digests": note_digest.c ----
 *
 * A line for each file whose BLAKE3 the process that wrote it knows:
 *
 *	dev TAB ino TAB size TAB mtime_ns TAB ctime_ns TAB tick_ns TAB blake3 TAB path "\n"
 *
 * The stamp is that of the file when the process had written it; tick_ns is a later
 * time of the clock from which file systems take their timestamps.  BLAKE3 is 64 hex
 * digits, the path is escaped as in "shards".  run/writer_digests.h says when a run
 * believes such a line. */
#define NOTE_DIGESTS "digests"

struct note_digest {
	const char *path; /* absolute, without symbolic links */
	struct stamp stamp;
	int64_t tick_ns;
	uint8_t blake3[NOTE_DIGEST_LEN];
};

/* Writes a note about the open file.  Call it after the last write to the file and
 * before the file is closed.  -EBUSY: the file is still changing; -EINVAL: not a regular
 * file; otherwise as note_find_run() and note_write().  It may wait for the next tick of
 * the clock, up to 10 ms. */
int note_digest_report(int fd, const uint8_t blake3[NOTE_DIGEST_LEN]);

void note_digest_add(struct str *payload, const struct note_digest *d);

/* As note_shard_next(). */
bool note_digest_next(char **rest, struct note_digest *ret);

/* ---- kind "checkpoints": note_checkpoint.c ----
 *
 * A note of the process that committed a checkpoint:
 *
 *	step TAB world size TAB committed_ns TAB shards TAB samples TAB blake3 TAB parent TAB
 *	directory "\n"
 *
 * and then lines as of kind "shards": what all processes of the run had reported until
 * then, added up by rank, epoch and shard.  Shards and samples in the first line are the
 * totals, also if there are more than 65,536 shards, of which the first have lines.  BLAKE3
 * is that of the manifest; parent is the name of another checkpoint beside it, or "-". */
#define NOTE_CHECKPOINTS "checkpoints"

struct note_checkpoint {
	const char *dir; /* absolute path without symbolic links, or URL in
			  * object storage */
	const char *parent; /* "": none */
	int64_t step, world_size;
	int64_t committed_ns, n_shards, n_samples; /* set when it is written */
	uint8_t manifest[NOTE_DIGEST_LEN];
};

/* Writes the note of a checkpoint that is committed, with what the processes of the run
 * have reported about shards.  `dir` may be any path of the directory.  Errors as
 * realpath(3), note_find_run() and note_write(). */
int note_checkpoint_report(const struct note_checkpoint *checkpoint);

void note_checkpoint_add(struct str *payload, const struct note_checkpoint *c);

/* Reads the first line; *rest is then that of the shards.  False: it is not valid. */
bool note_checkpoint_read(char **rest, struct note_checkpoint *ret);

/* A digest in a line: 64 hex digits. */
void note_hex_add(struct str *line, const uint8_t digest[NOTE_DIGEST_LEN]);
bool note_hex_read(const char *text, uint8_t ret[NOTE_DIGEST_LEN]);

#endif
