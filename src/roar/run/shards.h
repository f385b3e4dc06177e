/* shards.h - the shards that the processes of a run reported (event/note.h). */
#ifndef ROAR_RUN_SHARDS_H
#define ROAR_RUN_SHARDS_H

struct roar_error;
struct run;
struct store;

/* Adds the notes of kind NOTE_SHARDS to the record of the run. */
int shards_record(struct run *run, struct store *store, struct roar_error *err);

#endif
