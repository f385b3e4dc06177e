/* shards.h - what processes of a run say they took of which shards.
 *
 * Which files a run read is seen; which rank trained on which samples of them is not.  So
 * a process that deals with shards (roar.shards in Python) says it: it looks for the
 * roar above it, which has the journal of the run open, and puts a note beside that:
 *
 *	.roar/runs/UID.journal
 *	.roar/runs/UID.shards-PID, UID.shards-PID.1, ...
 *
 *	"roar-shards 1\n"
 *	rank TAB epoch TAB samples TAB dataset TAB path "\n"	for each shard
 *
 * Rank is "-" where there is none; in names "%", controls and tabs are %XX.  A note is
 * replaced as a whole whenever there is more to say; one that has become long stays, and so
 * does that of an earlier process with the same pid: the next one has the next
 * number.  It is the word of a process, so what
 * is not understood in it is left out and never an error of the record. */
#ifndef ROAR_RUN_SHARDS_H
#define ROAR_RUN_SHARDS_H

struct roar_error;
struct run;
struct store;

/* Adds what the notes say to the record of the run. */
int shards_record(const struct run *run, struct store *store,
		  struct roar_error *err);

/* Removes the notes of a run, by the uid its journal is named by; `project` is the
 * folder .roar. */
void shards_forget(int project, const char *uid);

#endif
