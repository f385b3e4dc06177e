/* situation.c - see situation.h */
#include "run/situation.h"

#include <stdbool.h>
#include <string.h>

#include "base/cache_dir.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/str.h"
#include "capture/children_io.h"
#include "capture/gpu_memory.h"
#include "capture/libraries.h"
#include "capture/machine.h"
#include "capture/packages.h"
#include "capture/process_environment.h"
#include "capture/trackers.h"
#include "run/run.h"
#include "store/store_situation.h"

struct situation {
	struct str documents[SITUATION_END];
};

/* What the documents are made of. */
struct collection {
	struct run *run;
	struct capture_system system;
	struct packages *packages;
	struct libraries *libraries;
	struct trackers *trackers;
};

static bool write_machine(const struct collection *c, struct json *json)
{
	/* It may be recorded after a restart, or on another machine. */
	if (c->run->recovered)
		return false;
	machine_write(&c->system, NULL, json);
	return true;
}

static bool write_packages(const struct collection *c, struct json *json)
{
	return packages_write(c->packages, json);
}

static bool write_libraries(const struct collection *c, struct json *json)
{
	return libraries_write(c->libraries, c->packages, json);
}

static bool write_variables(const struct collection *c, struct json *json)
{
	const struct process_environments *set = c->run->process_environments;

	if (!process_environments_count(set))
		return false;
	process_environments_write(set, json);
	return true;
}

/* A variable of the command itself. */
static const char *variable_of(void *ctx, const char *name)
{
	const struct run *run = ctx;
	size_t n;
	const struct lineage_process *p = fold_processes(run->fold, &n);

	return n ? process_environments_get(run->process_environments, p[0].pid,
					    name) :
		   NULL;
}

static bool write_trackers(const struct collection *c, struct json *json)
{
	return trackers_write(c->trackers, variable_of, c->run, json);
}

static void put(struct json *json, const char *key, int64_t value)
{
	json_put_key(json, key);
	if (value < 0)
		json_put_null(json);
	else
		json_put_int(json, value);
}

static int64_t time_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

static void write_gpu(const struct gpu_peak *peak, size_t index,
		      struct json *json)
{
	json_put_object(json);
	put(json, "index", (int64_t)index);
	put(json, "peak_memory_bytes", peak->bytes ? (int64_t)peak->bytes : -1);
	json_end(json);
}

/* Ends the watch; null when it has seen no process of the run. */
static void write_gpus(struct run *run, struct json *json)
{
	struct gpu_peaks peaks = { 0 };
	bool any = false;

	gpu_memory_end(run->gpu_memory, &peaks);
	run->gpu_memory = NULL;
	json_put_key(json, "gpus");
	for (size_t i = 0; i < ARRAY_SIZE(peaks.list); i++) {
		if (!peaks.list[i].used)
			continue;
		if (!any)
			json_put_array(json);
		any = true;
		write_gpu(&peaks.list[i], i, json);
	}
	if (any)
		json_end(json);
	else
		json_put_null(json);
}

static bool write_use(const struct collection *c, struct json *json)
{
	enum { BLOCK = 512 }; /* of ru_inblock */
	const struct rusage *u = &c->run->result.usage;
	struct children_io io;
	bool known = children_io_find(&io);

	/* A block of Python has no process of its own to measure. */
	if (c->run->recovered || !u->ru_maxrss)
		return false;
	json_put_object(json);
	put(json, "cpu_user_ns", time_ns(u->ru_utime));
	put(json, "cpu_system_ns", time_ns(u->ru_stime));
	put(json, "peak_memory_bytes", (int64_t)u->ru_maxrss * 1024);
	put(json, "bytes_read", known ? (int64_t)io.bytes_read : -1);
	put(json, "bytes_written", known ? (int64_t)io.bytes_written : -1);
	put(json, "storage_bytes_read", (int64_t)u->ru_inblock * BLOCK);
	put(json, "storage_bytes_written", (int64_t)u->ru_oublock * BLOCK);
	put(json, "major_faults", (int64_t)u->ru_majflt);
	write_gpus(c->run, json);
	json_end(json);
	return true;
}

static const struct {
	enum situation_kind kind;
	bool (*write)(const struct collection *c, struct json *json);
} documents[] = {
	{ SITUATION_MACHINE, write_machine },
	{ SITUATION_PACKAGES, write_packages },
	{ SITUATION_LIBRARIES, write_libraries },
	{ SITUATION_VARIABLES, write_variables },
	{ SITUATION_USE, write_use },
	{ SITUATION_TRACKERS, write_trackers },
};

static bool is_written(const struct run_file *e)
{
	return e->roles & (LINEAGE_OUTPUT | LINEAGE_TEMPORARY);
}

/* Packages and libraries are files that were read or executed. */
static void add_files(struct collection *c)
{
	for (size_t i = 0; i < c->run->n_files; i++) {
		const struct run_file *e = &c->run->files[i];
		const struct lineage_file *f = e->file;

		if (is_written(e))
			trackers_add(c->trackers, f->path, f->path_len);
		if (!(e->roles & LINEAGE_INPUT) ||
		    f->ftype != EVENT_FTYPE_REGULAR)
			continue;
		packages_add(c->packages, f->path, f->path_len);
		libraries_add(c->libraries, f->path, f->path_len, &f->first,
			      f->seen & LINEAGE_EXECUTED);
	}
}

static void write_documents(const struct collection *c, struct situation *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct str *text = &s->documents[documents[i].kind];
		struct json json = json_writer(text, false);

		if (!documents[i].write(c, &json) || str_error(text) < 0)
			str_clear(text);
	}
}

static void collect(struct run *run)
{
	CLEANUP(libraries_freep) struct libraries *libraries = NULL;
	CLEANUP(trackers_freep) struct trackers *trackers = NULL;
	CLEANUP(packages_freep) struct packages *packages = NULL;
	CLEANUP(str_release) struct str cache = STR_INIT;
	struct situation *s = calloc(1, sizeof(*s));
	struct collection c = { .run = run, .system = { .root = "" } };

	if (!s)
		return;
	run->situation = s;
	if (cache_dir_find(&cache, true) == 0)
		c.system.cache = cache.data;
	if (packages_new(&c.system, &packages) < 0 ||
	    libraries_new(c.system.cache, &libraries) < 0 ||
	    trackers_new(&trackers) < 0)
		return;
	c.packages = packages;
	c.libraries = libraries;
	c.trackers = trackers;
	add_files(&c);
	write_documents(&c, s);
}

void situation_collect(struct run *run)
{
	int64_t start = clock_mono_ns();

	collect(run);
	run->situation_ns = clock_mono_ns() - start;
}

void situation_free(struct situation *situation)
{
	if (!situation)
		return;
	for (size_t i = 0; i < SITUATION_END; i++)
		str_release(&situation->documents[i]);
	free(situation);
}

int situation_record(struct run *run, struct store *store,
		     struct roar_error *err)
{
	for (int kind = 1; run->situation && kind < SITUATION_END; kind++) {
		const struct str *text = &run->situation->documents[kind];
		int r = 0;

		if (text->len)
			r = store_situation_add(store, run->job.id,
						(enum situation_kind)kind,
						text->data, err);
		if (r < 0)
			return r;
	}
	return 0;
}
