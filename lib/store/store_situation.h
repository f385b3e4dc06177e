/* store_situation.h - what the machine, the environment and the packages of a job were.
 *
 * Each kind is one JSON document, made by lib/capture, which describes the formats.
 * Jobs with equal documents share one row, so a document should hold nothing that
 * differs from run to run, except those of kinds USE and TRACKERS. */
#ifndef ROAR_STORE_STORE_SITUATION_H
#define ROAR_STORE_STORE_SITUATION_H

#include <stdint.h>

#include "base/error.h"

struct pool;
struct store;

/* The numbers are stored: never reuse one. */
enum situation_kind {
	SITUATION_MACHINE = 1, /* CPU, memory, GPUs, OS, container, cloud */
	SITUATION_PACKAGES = 2, /* packages whose files were used */
	SITUATION_LIBRARIES = 3, /* interpreters and shared libraries */
	SITUATION_VARIABLES = 4, /* environment variables, redacted */
	SITUATION_USE = 5, /* CPU, memory, I/O of this job */
	SITUATION_TRACKERS = 6, /* experiment trackers seen */
	SITUATION_END,
};

/* Adds the document of a job, inside a transaction; it replaces an earlier one of the
 * same kind. */
int store_situation_add(struct store *s, int64_t job_id,
			enum situation_kind kind, const char *json,
			struct roar_error *err);

/* *ret_json is NULL when the job has no document of that kind. */
int store_situation(struct store *s, struct pool *pool, int64_t job_id,
		    enum situation_kind kind, const char **ret_json,
		    struct roar_error *err);

#endif
