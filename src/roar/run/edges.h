/* edges.h - which process read and wrote which file, and the ranks of processes. */
#ifndef ROAR_EDGES_H
#define ROAR_EDGES_H

#include <stdint.h>

#include "base/error.h"

struct run;
struct store;

/* Adds what the rows of files do not say to the record, after them and the processes. */
int edges_record(struct run *run, struct store *store, struct roar_error *err);

/* How many edges were not kept. */
int64_t edges_left_out(const struct run *run);

int ranks_record(struct run *run, struct store *store, struct roar_error *err);

#endif
