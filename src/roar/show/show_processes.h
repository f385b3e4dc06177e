/* show_processes.h - the processes of a job: their tree, the files that each read and
 * wrote, and their ranks. */
#ifndef ROAR_SHOW_PROCESSES_H
#define ROAR_SHOW_PROCESSES_H

#include "base/error.h"

struct job_block;
struct json;

/* Reads what the functions below show: the ranks, and with --processes the edges. */
int show_processes_read(struct job_block *b, struct roar_error *err);

/* "Ranks: 4 of 4 (torchrun, group 7)"; nothing without ranks. */
void show_ranks_text(struct job_block *b);
void show_ranks_json(struct job_block *b, struct json *j);

/* --all: a table.  --processes: a tree with files. */
int show_processes_text(struct job_block *b);
void show_processes_json(struct job_block *b, struct json *j);

#endif
