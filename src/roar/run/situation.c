/* situation.c - see situation.h */
#include "run/situation.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/str.h"
#include "capture/process_environment.h"
#include "run/run.h"
#include "store/store_situation.h"

/* False: there is nothing to record. */
static bool write_variables(const struct run *run, struct json *json)
{
	if (!process_environments_count(run->process_environments))
		return false;
	process_environments_write(run->process_environments, json);
	return true;
}

static const struct {
	enum situation_kind kind;
	bool (*write)(const struct run *run, struct json *json);
} documents[] = {
	{ SITUATION_VARIABLES, write_variables },
};

int situation_record(struct run *run, struct store *store,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct json json = json_writer(&text, false);
		int r;

		str_clear(&text);
		if (!documents[i].write(run, &json))
			continue;
		if (str_error(&text) < 0)
			continue;
		r = store_situation_add(store, run->job.id, documents[i].kind,
					str_cstr(&text), err);
		if (r < 0)
			return r;
	}
	return 0;
}
