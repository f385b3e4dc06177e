/* checkpoint.h - shared by the files of libroar about checkpoints */
#ifndef LIBROAR_CHECKPOINT_H
#define LIBROAR_CHECKPOINT_H

#include <roar/checkpoint.h>
#include <roar/run.h>

#include "base/error.h"

/* Keeps the sentence for roar_checkpoint_error(), and returns r. */
int checkpoint_fail(int r, const struct roar_error *err);

/* The save with the job of the run that observes this process, unless one was given; `uid` is
 * memory for it. */
void checkpoint_with_job(const struct roar_checkpoint_save *save, char uid[9],
			 struct roar_checkpoint_save *ret);

#endif
