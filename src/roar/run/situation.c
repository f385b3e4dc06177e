/* situation.c - see situation.h */
#include "run/situation.h"

#include <stdbool.h>
#include <string.h>

#include "base/cache_dir.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/str.h"
#include "capture/libraries.h"
#include "capture/packages.h"
#include "capture/process_environment.h"
#include "run/run.h"
#include "store/store_situation.h"

struct situation {
	struct str documents[SITUATION_END];
};

/* What the documents are made of. */
struct collection {
	struct run *run;
	struct packages *packages;
	struct libraries *libraries;
};

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

static const struct {
	enum situation_kind kind;
	bool (*write)(const struct collection *c, struct json *json);
} documents[] = {
	{ SITUATION_PACKAGES, write_packages },
	{ SITUATION_LIBRARIES, write_libraries },
	{ SITUATION_VARIABLES, write_variables },
};

/* The files that were read or executed. */
static void add_files(struct collection *c)
{
	for (size_t i = 0; i < c->run->n_files; i++) {
		const struct run_file *e = &c->run->files[i];
		const struct lineage_file *f = e->file;

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

void situation_collect(struct run *run)
{
	CLEANUP(libraries_freep) struct libraries *libraries = NULL;
	CLEANUP(packages_freep) struct packages *packages = NULL;
	CLEANUP(str_release) struct str cache = STR_INIT;
	struct situation *s = calloc(1, sizeof(*s));
	struct capture_system system = { .root = "" };
	struct collection c = { .run = run };

	if (!s)
		return;
	run->situation = s;
	if (cache_dir_find(&cache, true) == 0)
		system.cache = cache.data;
	if (packages_new(&system, &packages) < 0 ||
	    libraries_new(system.cache, &libraries) < 0)
		return;
	c.packages = packages;
	c.libraries = libraries;
	add_files(&c);
	write_documents(&c, s);
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
