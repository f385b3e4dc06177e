/* api.h - what the pages of JSON share. */
#ifndef COORDINATOR_API_H
#define COORDINATOR_API_H

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "server.h"

static inline void api_add_time(struct json *j, const char *key,
				int64_t wall_ms)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	clock_format_iso(&text, wall_ms * 1000000);
	json_key(j, key);
	json_string(j, str_cstr(&text));
}

static inline void api_add_int(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_int(j, value);
}

static inline void api_add_string(struct json *j, const char *key,
				  const char *value)
{
	json_key(j, key);
	json_string(j, value ? value : "");
}

static inline const struct coord_method *api_method(const char *path)
{
	return coord_method_by_path(path, strlen(path));
}

#endif
