/* packages_document.c - the packages that were used, as a document */
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "capture/packages_internal.h"

struct used {
	const char *manager;
	struct owner_package package;
	uint32_t n_files;
};

struct used_list {
	struct used *list;
	size_t n, cap;
};

static void release_list(struct used_list *l)
{
	free(l->list);
}

/* Files below the source of an editable package. */
static uint32_t count_below(const struct packages *p, const char *dir)
{
	const struct place *place;
	uint32_t n = 0;
	size_t pos = 0;

	while ((place = map_next(&p->places, &pos)))
		if (place->n_unowned &&
		    packages_is_below(place->dir, place->len, dir))
			n += place->n_unowned;
	return n;
}

static void collect_database(const struct packages *p,
			     const struct database *db, struct used_list *l)
{
	for (size_t i = 0; i < owner_index_count(db->index); i++) {
		struct owner_package package = owner_index_package(db->index,
								   (int)i);
		uint32_t n = db->n_files[i];
		struct used *u;

		if (package.editable)
			n += count_below(p, package.location);
		u = n && *package.name ? VEC_PUSH(l->list, l->n, l->cap) : NULL;
		if (!u)
			continue;
		if (!package.editable)
			package.location = db->place;
		*u = (struct used){ db->manager, package, n };
	}
}

static void collect_npm(const struct packages *p, struct used_list *l)
{
	const struct npm_package *npm;
	size_t pos = 0;

	while ((npm = map_next(&p->npm, &pos))) {
		struct used *u = NULL;

		if (npm->n_files && *npm->name)
			u = VEC_PUSH(l->list, l->n, l->cap);
		if (u)
			*u = (struct used){
				"npm",
				{ npm->name, npm->version, "", npm->location,
				  false },
				npm->n_files,
			};
	}
}

static int compare_used(const void *a, const void *b)
{
	const struct used *x = a;
	const struct used *y = b;
	int order = strcmp(x->manager, y->manager);

	if (!order)
		order = strcmp(x->package.name, y->package.name);
	if (!order)
		order = strcmp(x->package.version, y->package.version);
	return order ? order : strcmp(x->package.location, y->package.location);
}

static void put_known(struct json *json, const char *key, const char *text)
{
	if (!*text)
		return;
	json_put_key(json, key);
	json_put_string(json, text);
}

static void write_used(struct json *json, const struct used *u)
{
	const struct owner_package *package = &u->package;

	json_put_object(json);
	put_known(json, "manager", u->manager);
	put_known(json, "name", package->name);
	json_put_key(json, "version");
	json_put_string(json, package->version);
	put_known(json, "arch", package->arch);
	put_known(json, "location", package->location);
	if (package->editable) {
		json_put_key(json, "editable");
		json_put_bool(json, true);
	}
	json_put_key(json, "n_files");
	json_put_int(json, u->n_files);
	json_end(json);
}

bool packages_write(struct packages *p, struct json *json)
{
	CLEANUP(release_list) struct used_list l = { 0 };

	packages_ask_rpm(p);
	for (size_t i = 0; i < p->n_databases; i++)
		collect_database(p, p->databases[i], &l);
	collect_npm(p, &l);
	if (!l.n && !p->n_notes)
		return false;
	if (l.n)
		qsort(l.list, l.n, sizeof(*l.list), compare_used);
	json_put_object(json);
	json_put_key(json, "packages");
	json_put_array(json);
	for (size_t i = 0; i < l.n; i++)
		write_used(json, &l.list[i]);
	json_end(json);
	if (p->n_notes) {
		json_put_key(json, "notes");
		json_put_array(json);
		for (size_t i = 0; i < p->n_notes; i++)
			json_put_string(json, p->notes[i]);
		json_end(json);
	}
	json_end(json);
	return true;
}
