/* foreign_openlineage.c - run events of OpenLineage.
 *
 * The document is one event, an array of events, or one event a line.  Events of one runId
 * are one run: what any of them names as an input or output counts, the earliest time is
 * the start, and the last of COMPLETE, FAIL and ABORT is the end.  Events without a run
 * (jobs and datasets alone) are skipped.
 *
 *	namespace "file", or "file://HOST"	the name is a path
 *	"s3://BUCKET", "postgres://..."		NAMESPACE/NAME, elsewhere */
#include "foreign/foreign.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"

struct reading {
	struct pool *pool;
	struct foreign_runs *runs;
	struct map by_id; /* runId -> index + 1 */
	struct map seen; /* run, direction and path of a file */
	struct roar_error *err;
};

static void decref(json_t **json)
{
	json_decref(*json);
}

/* ---- times ---- */

/* "2026-11-15T04:43:47.123456Z", also with an offset; 0: not a time. */
static int64_t parse_time(const char *text)
{
	struct tm tm = { 0 };
	double fraction = 0;
	int hours = 0, minutes = 0;
	int64_t seconds;
	int n = 0;

	if (!text ||
	    sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon,
		   &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 6)
		return 0;
	if (tm.tm_year < 1970 || tm.tm_year > 2200 || tm.tm_mon < 1 ||
	    tm.tm_mon > 12)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	text += n;
	if (*text == '.') {
		double scale = 0.1;

		while (*++text >= '0' && *text <= '9') {
			fraction += scale * (*text - '0');
			scale /= 10;
		}
	}
	if (*text == '+' || *text == '-') {
		char sign = *text;

		if (sscanf(text + 1, "%2d:%2d", &hours, &minutes) < 1)
			return 0;
		if (sign == '-') {
			hours = -hours;
			minutes = -minutes;
		}
	}
	seconds = (int64_t)timegm(&tm) - hours * 3600 - minutes * 60;
	return seconds * 1000000000 + (int64_t)(fraction * 1e9);
}

/* ---- the run of an event ---- */

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const json_t *facet(const json_t *of, const char *name)
{
	return json_object_get(json_object_get(of, "facets"), name);
}

static const char *keep(struct reading *r, const char *text)
{
	return text ? pool_strdup(r->pool, text) : NULL;
}

static int describe(struct reading *r, struct foreign_run *run,
		    const json_t *job)
{
	const json_t *code = facet(job, "sourceCode");
	const json_t *place = facet(job, "sourceCodeLocation");
	const char *space = text_at(job, "namespace");
	const char *name = text_at(job, "name");

	if (!run->name)
		run->name = pool_printf(r->pool, "%s/%s", space ? space : "?",
					name ? name : "?");
	if (!run->command && text_at(code, "language") &&
	    !strcmp(text_at(code, "language"), "shell"))
		run->command = keep(r, text_at(code, "sourceCode"));
	if (!run->commit)
		run->commit = keep(r, text_at(place, "version"));
	if (!run->repository)
		run->repository = keep(r, text_at(place, "repoUrl"));
	return run->name ? 0 : -ENOMEM;
}

static int find_run(struct reading *r, const char *id, size_t *ret)
{
	uintptr_t known = (uintptr_t)map_get(&r->by_id, id, strlen(id));
	struct foreign_run *run;

	if (known) {
		*ret = known - 1;
		return 0;
	}
	run = foreign_add_run(r->runs, r->err);
	if (!run)
		return -ENOMEM;
	run->id = keep(r, id);
	if (!run->id)
		return -ENOMEM;
	*ret = r->runs->n - 1;
	return map_set(&r->by_id, run->id, strlen(run->id),
		       (void *)(uintptr_t)r->runs->n);
}

/* ---- datasets ---- */

static const char *path_of(struct reading *r, const json_t *dataset,
			   bool *ret_remote)
{
	const char *space = text_at(dataset, "namespace");
	const char *name = text_at(dataset, "name");

	if (!space || !name || !*name)
		return "";
	if (strncmp(space, "file", 4) == 0 &&
	    (space[4] == '\0' || space[4] == ':')) {
		*ret_remote = false;
		return pool_printf(r->pool, "%s%s", *name == '/' ? "" : "/",
				   name);
	}
	*ret_remote = true;
	return pool_printf(r->pool, "%s%s%s", space, *name == '/' ? "" : "/",
			   name);
}

/* What roar writes as the version of a dataset is its BLAKE3. */
static void set_digest(struct foreign_file *file, const json_t *dataset)
{
	static const char prefix[] = "blake3:";
	const char *version = text_at(facet(dataset, "version"),
				      "datasetVersion");
	uint8_t bytes[DIGEST_MAX];

	if (!version || strncmp(version, prefix, strlen(prefix)) != 0)
		return;
	version += strlen(prefix);
	if (strlen(version) != 2 * BLAKE3_LEN ||
	    digest_parse_hex(version, bytes) < 0)
		return;
	memcpy(file->digests.blake3, bytes, BLAKE3_LEN);
	file->digests.have |= DIGEST_SET_BLAKE3;
}

static int add_dataset(struct reading *r, size_t n, const json_t *dataset,
		       bool is_output)
{
	bool is_remote = false;
	const char *path = path_of(r, dataset, &is_remote);
	struct foreign_file *file;
	char *key;

	if (!path)
		return -ENOMEM;
	if (!*path)
		return 0;
	key = pool_printf(r->pool, "%zu %d %s", n, is_output, path);
	if (!key)
		return -ENOMEM;
	if (map_get(&r->seen, key, strlen(key)))
		return 0;
	if (map_set(&r->seen, key, strlen(key), key) < 0)
		return -ENOMEM;
	file = foreign_add_file(r->runs, &r->runs->list[n], path, is_output,
				r->err);
	if (!file)
		return -ENOMEM;
	file->is_remote = is_remote;
	set_digest(file, dataset);
	return 0;
}

static int add_datasets(struct reading *r, size_t n, const json_t *list,
			bool is_output)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < json_array_size(list); i++)
		e = add_dataset(r, n, json_array_get(list, i), is_output);
	return e;
}

/* ---- events ---- */

static void note_time(struct foreign_run *run, const json_t *event)
{
	int64_t time_ns = parse_time(text_at(event, "eventTime"));
	const char *type = text_at(event, "eventType");
	bool is_failure = type &&
			  (!strcmp(type, "FAIL") || !strcmp(type, "ABORT"));

	if (!time_ns)
		return;
	if (!run->started_ns || time_ns < run->started_ns)
		run->started_ns = time_ns;
	if (time_ns < run->ended_ns ||
	    !(is_failure || (type && !strcmp(type, "COMPLETE"))))
		return;
	run->ended_ns = time_ns;
	run->exit_code = is_failure;
}

static int take_event(struct reading *r, const json_t *event)
{
	const char *id = text_at(json_object_get(event, "run"), "runId");
	size_t n;
	int e;

	if (!json_is_object(event))
		return error_set(r->err, -EINVAL,
				 "an event is not a JSON object");
	if (!id)
		return 0;
	e = find_run(r, id, &n);
	if (e < 0)
		return e;
	note_time(&r->runs->list[n], event);
	e = describe(r, &r->runs->list[n], json_object_get(event, "job"));
	if (e == 0)
		e = add_datasets(r, n, json_object_get(event, "inputs"), false);
	if (e == 0)
		e = add_datasets(r, n, json_object_get(event, "outputs"), true);
	return e;
}

/* One JSON text; *used is where the next begins. */
static int take_text(struct reading *r, const char *text, size_t len,
		     size_t *used)
{
	json_error_t error;
	CLEANUP(decref)
	json_t *root = json_loadb(
		text, len, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
	int e = 0;

	if (!root && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (!root)
		return error_set(r->err, -EINVAL, "it is not JSON: %s",
				 error.text);
	*used = (size_t)error.position;
	if (!json_is_array(root))
		return take_event(r, root);
	for (size_t i = 0; e == 0 && i < json_array_size(root); i++)
		e = take_event(r, json_array_get(root, i));
	return e;
}

static int by_start(const void *a, const void *b)
{
	const struct foreign_run *x = a;
	const struct foreign_run *y = b;

	return (x->started_ns > y->started_ns) -
	       (x->started_ns < y->started_ns);
}

static int take_all(struct reading *r, const char *text, size_t len)
{
	size_t at = 0;
	int e = 0;

	for (;;) {
		size_t used = 0;

		while (at < len && strchr(" \t\r\n", text[at]) && text[at])
			at++;
		if (at == len)
			break;
		e = take_text(r, text + at, len - at, &used);
		if (e < 0 || !used)
			return e;
		at += used;
	}
	if (r->runs->n)
		qsort(r->runs->list, r->runs->n, sizeof(*r->runs->list),
		      by_start);
	return 0;
}

int foreign_read_openlineage(struct pool *pool, const char *text, size_t len,
			     struct foreign_runs *ret, struct roar_error *err)
{
	struct foreign_runs runs = { .program = "openlineage" };
	struct reading r = { .pool = pool, .runs = &runs, .err = err };
	int e = take_all(&r, text, len);

	map_release(&r.by_id);
	map_release(&r.seen);
	if (e == 0) {
		*ret = runs;
		return 0;
	}
	foreign_release(&runs);
	return err->text[0] ? e : error_set(err, e, "out of memory");
}
