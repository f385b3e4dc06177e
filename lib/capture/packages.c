/* packages.c - see packages.h */
#include "capture/packages.h"

#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "capture/package_database.h"
#include "capture/packages_internal.h"

int packages_new(const struct capture_system *system, struct packages **ret)
{
	struct packages *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->system = *system;
	*ret = p;
	return 0;
}

void packages_free(struct packages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_databases; i++) {
		owner_index_free(p->databases[i]->index);
		free(p->databases[i]->n_files);
	}
	free(p->asked);
	map_release(&p->places);
	map_release(&p->by_place);
	map_release(&p->npm);
	str_release(&p->scratch);
	pool_release(&p->pool);
	free(p);
}

/* ---- places ---- */

bool packages_is_below(const char *path, size_t len, const char *dir)
{
	size_t n = strlen(dir);

	return len >= n && memcmp(path, dir, n) == 0 &&
	       (len == n || path[n] == '/');
}

static bool is_of_system(const char *dir, size_t len)
{
	static const char *const places[] = { "/usr",  "/lib",	 "/bin",
					      "/sbin", "/lib64", "/lib32",
					      "/etc",  "/opt" };

	if (packages_is_below(dir, len, "/usr/local"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (packages_is_below(dir, len, places[i]))
			return true;
	return false;
}

/* Length of the path up to the end of the component `name`; 0: it has none. */
static size_t up_to(const char *dir, size_t len, const char *name)
{
	size_t n = strlen(name);
	const char *at = dir;
	const char *end = dir + len;

	while ((at = memmem(at, (size_t)(end - at), name, n))) {
		at += n;
		if (at == end || *at == '/')
			return (size_t)(at - dir);
	}
	return 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

static size_t site_of(const char *dir, size_t len)
{
	size_t n = up_to(dir, len, "/site-packages");

	return n ? n : up_to(dir, len, "/dist-packages");
}

/* The environment of conda around a directory: those above one that has a name which
 * conda installs into. */
static struct database *conda_of(struct packages *p, const char *dir,
				 size_t len)
{
	static const char *const parts[] = { "/lib",  "/bin",	  "/share",
					     "/etc",  "/include", "/libexec",
					     "/sbin", "/ssl" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t n = up_to(dir, len, parts[i]);
		struct database *db;

		n = n ? n - strlen(parts[i]) : 0;
		db = n ? packages_of_conda(p, dir, n) : NULL;
		if (db)
			return db;
	}
	return NULL;
}

/* The last package in the path: ".../node_modules/NAME" or "@SCOPE/NAME". */
static size_t npm_dir(const char *dir, size_t len)
{
	static const char part[] = "/node_modules/";
	size_t end = 0;

	for (const char *at = dir; (at = memmem(at, len - (size_t)(at - dir),
						part, sizeof(part) - 1));) {
		const char *slash;

		at += sizeof(part) - 1;
		slash = memchr(at, '/', len - (size_t)(at - dir));
		if (slash && *at == '@')
			slash = memchr(slash + 1, '/',
				       len - (size_t)(slash + 1 - dir));
		end = slash ? (size_t)(slash - dir) : len;
		at--;
	}
	return end;
}

static struct npm_package *npm_of(struct packages *p, const char *dir,
				  size_t len)
{
	size_t n = npm_dir(dir, len);
	struct npm_package *npm = n ? map_get(&p->npm, dir, n) : NULL;
	const char *file;

	if (!n || npm)
		return npm;
	npm = pool_zalloc(&p->pool, sizeof(*npm));
	if (!npm)
		return NULL;
	npm->location = pool_dup(&p->pool, dir, n);
	npm->name = npm->version = "";
	if (!npm->location || map_set(&p->npm, npm->location, n, npm) < 0)
		return NULL;
	file = pool_printf(&p->pool, "%s/package.json", npm->location);
	if (file)
		(void)npm_package_read(file, &p->pool, &npm->name,
				       &npm->version);
	return npm;
}

static void fill_place(struct packages *p, struct place *place)
{
	const char *dir = place->dir;
	size_t len = place->len;
	size_t n = 0;

	place->npm = npm_of(p, dir, len);
	if (is_of_system(dir, len))
		place->databases[n] = packages_of_system(p);
	n += place->databases[n] != NULL;
	if (!n || packages_is_below(dir, len, "/opt"))
		place->databases[n] = conda_of(p, dir, len);
	place->site_len = site_of(dir, len);
	place->is_description = place->site_len &&
				(up_to(dir, len, ".dist-info") ||
				 up_to(dir, len, ".egg-info"));
}

static struct place *place_of(struct packages *p, const char *dir, size_t len)
{
	struct place *place = p->last;

	if (place && place->len == len && memcmp(place->dir, dir, len) == 0)
		return place;
	place = map_get(&p->places, dir, len);
	if (!place) {
		if (p->places.count >= PLACES_MAX)
			return NULL;
		place = pool_zalloc(&p->pool, sizeof(*place));
		if (!place)
			return NULL;
		place->dir = pool_dup(&p->pool, dir, len);
		place->len = (uint32_t)len;
		if (!place->dir ||
		    map_set(&p->places, place->dir, len, place) < 0)
			return NULL;
		fill_place(p, place);
	}
	p->last = place;
	return place;
}

/* ---- files ---- */

/* DIR/__pycache__/NAME.cpython-311.pyc is made of DIR/NAME.py, and no list has it. */
static void map_to_source(struct packages *p, const char **path, size_t *len)
{
	static const char part[] = "/__pycache__/";
	const char *end = *path + *len;
	const char *name, *dot;

	if (*len < 4 || memcmp(end - 4, ".pyc", 4) != 0)
		return;
	name = memmem(*path, *len, part, sizeof(part) - 1);
	if (!name)
		return;
	dot = memchr(name + sizeof(part) - 1, '.',
		     (size_t)(end - name) - sizeof(part) + 1);
	str_clear(&p->scratch);
	str_add(&p->scratch, *path, (size_t)(name - *path) + 1);
	str_add(&p->scratch, name + sizeof(part) - 1,
		(size_t)(dot - name) - sizeof(part) + 1);
	str_adds(&p->scratch, ".py");
	if (p->scratch.failed)
		return;
	*path = p->scratch.data;
	*len = p->scratch.len;
}

/* The number of the owner in *ret_db; -1: none of the databases has it. */
static int find_owner(struct packages *p, struct place *place, const char *path,
		      size_t len, struct database **ret_db)
{
	for (size_t i = 0; i < ARRAY_SIZE(place->databases); i++) {
		struct database *db = place->databases[i];
		int number;

		/* A distribution has its own list of what pip has installed, which is
		 * read if a file is not in the other one. */
		if (!db && place->site_len) {
			db = packages_of_site(p, place->dir, place->site_len);
			place->databases[i] = db;
			place->site_len = 0;
		}
		number = db ? owner_index_find(db->index, path, len) : -1;
		if (number >= 0) {
			*ret_db = db;
			return number;
		}
	}
	return -1;
}

static struct place *place_of_file(struct packages *p, const char *path,
				   size_t len)
{
	const char *slash = len ? memrchr(path, '/', len) : NULL;

	return slash ? place_of(p, path, (size_t)(slash - path)) : NULL;
}

static void ask_later(struct packages *p, const char *path, size_t len)
{
	const char **slot;

	if (p->n_asked == ASKED_MAX)
		return;
	slot = VEC_PUSH(p->asked, p->n_asked, p->cap_asked);
	if (slot)
		*slot = pool_dup(&p->pool, path, len);
	p->n_asked -= slot && !*slot;
}

/* Python reads the description of every package when a program looks for plug-ins or
 * asks for a version, and each .pth file when it starts.  That uses no package. */
static bool is_description(const struct place *place, const char *path,
			   size_t len)
{
	/* The path may be that of a source, in another directory than the file. */
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;
	size_t n = (size_t)(path + len - name);

	if (place->is_description)
		return true;
	return memmem(place->dir, place->len, "-packages", 9) &&
	       (ends_with(name, n, ".pth") || ends_with(name, n, ".egg-info") ||
		ends_with(name, n, ".egg-link") ||
		(n >= 12 && memcmp(name, "__editable__", 12) == 0));
}

void packages_add(struct packages *p, const char *path, size_t len)
{
	struct place *place = place_of_file(p, path, len);
	struct database *db;
	int number;

	if (!place)
		return;
	map_to_source(p, &path, &len);
	number = find_owner(p, place, path, len, &db);
	if (is_description(place, path, len))
		return;
	if (number >= 0)
		db->n_files[number]++;
	else if (place->npm)
		place->npm->n_files++;
	else
		place->n_unowned++;
	if (number < 0 && p->by_rpm && place->databases[0] == p->of_system)
		ask_later(p, path, len);
}

bool packages_owner(struct packages *p, const char *path, size_t len,
		    const char **ret_manager, const char **ret_version)
{
	struct place *place = place_of_file(p, path, len);
	struct database *db;
	int number = place ? find_owner(p, place, path, len, &db) : -1;

	if (number < 0)
		return false;
	*ret_manager = db->manager;
	*ret_version = owner_index_package(db->index, number).version;
	return true;
}
