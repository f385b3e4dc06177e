/* fuzz_task_plan.c - any bytes as the body of POST /api/tasks.
 *
 * A plan that is accepted has the name of a job and a count within its bounds.  What the JSON
 * writer makes of these is read as the same plan. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/task_plan.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_round_trip(const struct task_plan *plan)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, false);
	struct task_plan again;

	json_put_object(&j);
	json_put_key(&j, "worker_count");
	json_put_int(&j, plan->worker_count);
	json_put_key(&j, "name");
	json_put_string(&j, plan->name);
	json_end(&j);
	require(!task_plan_read(text.data, text.len, &again));
	require(strcmp(again.name, plan->name) == 0);
	require(again.worker_count == plan->worker_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct task_plan plan;

	if (task_plan_read((const char *)data, len, &plan))
		return 0;
	require(id_is_valid(plan.name, strlen(plan.name)));
	require(plan.worker_count >= 0 && plan.worker_count <= 10000);
	check_round_trip(&plan);
	return 0;
}
