/* task_plan.c - see task_plan.h */
#include "api/task_plan.h"

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"

enum { MAX_WORKER_COUNT = 10000 }; /* as a job may have */

const char *task_plan_read(const char *body, size_t len, struct task_plan *ret)
{
	CLEANUP(json_decrefp)
	json_t *plan = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *name = json_object_get(plan, "name");
	const json_t *count = json_object_get(plan, "worker_count");
	json_int_t n = json_integer_value(count); /* 0: it is no integer */

	if (!json_is_object(plan))
		return "the body must be a JSON object: name, type, dataset_id, "
		       "worker_count, config";
	if (!json_is_string(name) ||
	    !id_is_valid(json_string_value(name), json_string_length(name)))
		return "name must be 1 to 128 characters of A-Z, a-z, 0-9, '_', "
		       "'.' and '-': it is the name of the job";
	if (count && (!json_is_integer(count) || n < 0 || n > MAX_WORKER_COUNT))
		return "worker_count must be a number from 0 to 10000";
	*ret = (struct task_plan){ .worker_count = (int32_t)n };
	memcpy(ret->name, json_string_value(name), json_string_length(name));
	return NULL;
}
