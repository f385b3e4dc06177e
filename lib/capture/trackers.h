/* trackers.h - the experiment trackers that a run wrote to, by the names of the files.
 *
 *	W&B		wandb/run-TIME-ID/, wandb/offline-run-TIME-ID/
 *	MLflow		mlruns/EXPERIMENT/RUN/, mlflow.db
 *	TensorBoard	events.out.tfevents.*
 *	Neptune		.neptune/async/RUN/, .neptune/offline/RUN/
 *	Aim		.aim/meta/chunks/RUN/, .aim/seqs/chunks/RUN/
 *	Trackio		trackio/PROJECT.db
 *
 * The name of a project is read from their local files, or from the variable that names
 * it (WANDB_PROJECT, NEPTUNE_PROJECT, MLFLOW_EXPERIMENT_NAME).  Nothing asks a server. */
#ifndef ROAR_CAPTURE_TRACKERS_H
#define ROAR_CAPTURE_TRACKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct json;
struct trackers;

int trackers_new(struct trackers **ret);
void trackers_free(struct trackers *t);
DEFINE_CLEANUP(struct trackers *, trackers_free)

/* The run has written this file. */
void trackers_add(struct trackers *t, const char *path, size_t len);

/* Writes the document of kind SITUATION_TRACKERS:
 *
 *	{"trackers": [{"name": "wandb|mlflow|tensorboard|neptune|aim|trackio",
 *	   "run_id": "", "project": "", "folder": ""}]}
 *
 * run_id and project are left out when they are not known.  `variable` gives the value of
 * an environment variable of the run, or NULL.  Returns false, and writes nothing, if
 * there was no tracker. */
bool trackers_write(const struct trackers *t,
		    const char *(*variable)(void *ctx, const char *name),
		    void *ctx, struct json *json);

/* The project in the first records of a W&B file (*.wandb), for fuzzing too: "" when it is
 * not there.  Points to `len` bytes in the text. */
const char *trackers_wandb_project(const char *text, size_t size,
				   size_t *ret_len);

#endif
