/* task_plan.h - the body of POST /api/tasks.
 *
 *	{"name": "big", "type": "training", "dataset_id": "pile", "worker_count": 8, "config": {}}
 *
 * It is one JSON object (RFC 8259, UTF-8) without a key twice and without a NUL in a string.
 * Only name and worker_count are read here; the rest is for the workers. */
#ifndef COORDINATOR_TASK_PLAN_H
#define COORDINATOR_TASK_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct task_plan {
	char name[ID_MAX + 1];
	int32_t worker_count; /* 0: not given */
};

/* Returns NULL, or a sentence that says what is wrong with the body. */
const char *task_plan_read(const char *body, size_t len, struct task_plan *ret);

#endif
