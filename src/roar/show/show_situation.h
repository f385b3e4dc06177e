/* show_situation.h - the part of a job's block about machine, environment and packages. */
#ifndef ROAR_SHOW_SITUATION_H
#define ROAR_SHOW_SITUATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct json;
struct view;

/* Appends a line for each of what is known of the job. */
int show_situation_text(struct view *v, int64_t job_id, struct roar_error *err);

/* Appends the lists that only --all shows. */
int show_situation_lists(struct view *v, int64_t job_id,
			 struct roar_error *err);

/* The members machine, packages, interpreters, libraries, environment, use, trackers. */
int show_situation_json(struct view *v, struct json *j, int64_t job_id,
			struct roar_error *err);

#endif
