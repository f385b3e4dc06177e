/* packages.c - see packages.h */
#include "capture/packages.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/stamp.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

enum {
	DATABASES_MAX = 64, /* more site-packages directories are ignored */
	PLACES_MAX = 1 << 18, /* directories remembered */
	NOTES_MAX = 8,
	ASKED_MAX = 4000, /* files, of rpm */
};

/* One package database. */
struct database {
	const char *manager;
	const char *place; /* the directory it is about; "" for the system's */
	struct owner_index *index; /* NULL: not readable */
	uint32_t *n_files; /* used files, per package */
};

struct npm_package {
	const char *name, *version, *location;
	uint32_t n_files;
};

/* What a directory belongs to. */
struct place {
	struct database *databases[3]; /* asked in this order */
	size_t site_len; /* of its site-packages, not opened yet; 0: none */
	struct npm_package *npm;
	const char *dir;
	uint32_t len;
	uint32_t n_unowned; /* files that nothing owns, for editable packages */
};

struct packages {
	struct capture_system system;
	struct pool pool;
	struct map places; /* directory -> struct place */
	struct map by_place; /* directory -> struct database, or `none` */
	struct map npm; /* directory -> struct npm_package */
	struct database *databases[DATABASES_MAX];
	size_t n_databases;
	struct database *of_system; /* NULL: not looked for, or there is none */
	bool system_known;
	const struct reader *rpm;
	bool by_rpm; /* `of_system` is RPM's: unknown files are asked for */
	const char **asked; /* files that its index does not have */
	size_t n_asked, cap_asked;
	struct place *last; /* of the last file */
	const char *notes[NOTES_MAX];
	size_t n_notes;
	struct str scratch;
};

static struct database none; /* "there is no database in this directory" */

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

/* ---- databases ---- */

/* How a database is read, and which two files change with it. */
struct reader {
	const char *manager;
	const char *witness[2]; /* below its place; the first must exist */
	const char *source; /* what `read` is given, below its place */
	int (*read)(const char *source, struct owner_builder *b);
};

static const struct reader system_readers[] = {
	{ "dpkg",
	  { "/var/lib/dpkg/status", "/var/lib/dpkg/info" },
	  "/var/lib/dpkg",
	  dpkg_database_read },
	{ "apk",
	  { "/lib/apk/db/installed", NULL },
	  "/lib/apk/db/installed",
	  apk_database_read },
};

/* Its packages are read when it is known of which files. */
static int read_nothing(const char *source, struct owner_builder *b)
{
	(void)source;
	(void)b;
	return 0;
}

static const struct reader rpm_readers[] = {
	{ "rpm",
	  { "/var/lib/rpm/rpmdb.sqlite", NULL },
	  "/var/lib/rpm",
	  read_nothing },
	{ "rpm",
	  { "/usr/lib/sysimage/rpm/rpmdb.sqlite", NULL },
	  "/usr/lib/sysimage/rpm",
	  read_nothing },
	{ "rpm",
	  { "/var/lib/rpm/Packages", NULL },
	  "/var/lib/rpm",
	  read_nothing },
};

static const struct reader conda_reader = { "conda",
					    { "/conda-meta", NULL },
					    "",
					    conda_database_read };
static const struct reader pip_reader = { "pip",
					  { "", NULL },
					  "",
					  pip_database_read };

static void add_note(struct packages *p, const struct reader *reader,
		     const char *place, int error)
{
	const char *note = pool_printf(
		&p->pool, "the %s database '%s%s' cannot be read: %s",
		reader->manager, place, reader->source, strerror(-error));

	if (note && p->n_notes < NOTES_MAX)
		p->notes[p->n_notes++] = note;
}

/* -ENOENT: there is no such database. */
static int take_key(const struct reader *reader, const char *place,
		    struct owner_key *ret)
{
	*ret = (struct owner_key){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(reader->witness); i++) {
		char path[4096];
		struct stat st;

		if (!reader->witness[i])
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s%s", place,
				     reader->witness[i]) >= sizeof(path))
			return -ENAMETOOLONG;
		if (stat(path, &st) < 0)
			return -errno;
		ret->stamps[i] = stamp_of(&st);
	}
	return 0;
}

/* A cached index must not be older than a change that its key does not show. */
static bool is_settled(const struct owner_key *key)
{
	int64_t now = clock_now_ns();

	return !stamp_is_racy(&key->stamps[0], now) &&
	       (!stamp_exists(&key->stamps[1]) ||
		!stamp_is_racy(&key->stamps[1], now));
}

static int read_database(const struct reader *reader, const char *place,
			 const struct owner_key *key, struct owner_index **ret)
{
	CLEANUP(owner_builder_freep) struct owner_builder *b = NULL;
	CLEANUP(str_release) struct str source = STR_INIT;
	int r = owner_builder_new(&b);

	str_addf(&source, "%s%s", place, reader->source);
	if (r == 0)
		r = str_error(&source);
	if (r == 0)
		r = reader->read(source.data, b);
	return r < 0 ? r : owner_builder_end(b, key, ret);
}

static void cache_name(const struct packages *p, const struct reader *reader,
		       const char *place, struct str *out)
{
	uint64_t hash = 14695981039346656037ull;

	for (const char *c = place; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	str_addf(out, "%s/packages-%s-%016llx", p->system.cache,
		 reader->manager, (unsigned long long)hash);
}

static int open_index(const struct packages *p, const struct reader *reader,
		      const char *place, struct owner_index **ret)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct owner_key key;
	int r = take_key(reader, place, &key);

	if (r < 0)
		return r;
	if (p->system.cache)
		cache_name(p, reader, place, &name);
	if (name.len && str_error(&name) == 0 &&
	    owner_index_open(name.data, &key, ret) == 0)
		return 0;
	r = read_database(reader, place, &key, ret);
	if (r == 0 && name.len && str_error(&name) == 0 && is_settled(&key))
		owner_index_save(*ret, name.data);
	return r;
}

/* NULL: there is none, or it cannot be read. */
static struct database *open_database(struct packages *p,
				      const struct reader *reader,
				      const char *place)
{
	struct database *db;
	int r;

	if (p->n_databases == DATABASES_MAX)
		return NULL;
	db = pool_zalloc(&p->pool, sizeof(*db));
	if (!db)
		return NULL;
	r = open_index(p, reader, place, &db->index);
	if (r == -ENOENT || r == -ENOTDIR)
		return NULL;
	if (r < 0) {
		add_note(p, reader, place, r);
		return NULL;
	}
	db->manager = reader->manager;
	db->place = place;
	db->n_files = calloc(owner_index_count(db->index) + 1,
			     sizeof(*db->n_files));
	if (!db->n_files) {
		owner_index_free(db->index);
		return NULL;
	}
	p->databases[p->n_databases++] = db;
	return db;
}

static struct database *system_database(struct packages *p)
{
	for (size_t i = 0; !p->system_known && !p->of_system &&
			   i < ARRAY_SIZE(system_readers);
	     i++)
		p->of_system = open_database(p, &system_readers[i],
					     p->system.root);
	for (size_t i = 0;
	     !p->system_known && !p->of_system && i < ARRAY_SIZE(rpm_readers);
	     i++) {
		p->of_system = open_database(p, &rpm_readers[i],
					     p->system.root);
		p->by_rpm = p->of_system != NULL;
		p->rpm = &rpm_readers[i];
	}
	if (p->of_system)
		p->of_system->place = "";
	p->system_known = true;
	return p->of_system;
}

/* The database of a directory, which is looked for once. */
static struct database *database_in(struct packages *p,
				    const struct reader *reader,
				    const char *dir, size_t len)
{
	struct database *db = map_get(&p->by_place, dir, len);
	const char *place;

	if (db)
		return db == &none ? NULL : db;
	place = pool_dup(&p->pool, dir, len);
	if (!place)
		return NULL;
	db = open_database(p, reader, place);
	(void)map_set(&p->by_place, place, len, db ? db : &none);
	return db;
}

/* ---- places ---- */

static bool is_below(const char *path, size_t len, const char *dir)
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

	if (is_below(dir, len, "/usr/local"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_below(dir, len, places[i]))
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
		db = n ? database_in(p, &conda_reader, dir, n) : NULL;
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
		place->databases[n] = system_database(p);
	n += place->databases[n] != NULL;
	if (!n || is_below(dir, len, "/opt"))
		place->databases[n] = conda_of(p, dir, len);
	place->site_len = site_of(dir, len);
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
			db = database_in(p, &pip_reader, place->dir,
					 place->site_len);
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

void packages_add(struct packages *p, const char *path, size_t len)
{
	struct place *place = place_of_file(p, path, len);
	struct database *db;
	int number;

	if (!place)
		return;
	map_to_source(p, &path, &len);
	number = find_owner(p, place, path, len, &db);
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

/* ---- RPM ---- */

/* The new index has what was known and what was asked for; its packages are those of the
 * old one and more, so the counts are taken along by name. */
static void replace_index(struct packages *p, struct owner_index *fresh)
{
	struct database *db = p->of_system;
	uint32_t *n_files = calloc(owner_index_count(fresh) + 1,
				   sizeof(*n_files));

	if (!n_files) {
		owner_index_free(fresh);
		return;
	}
	for (size_t i = 0; i < owner_index_count(db->index); i++) {
		const char *name = owner_index_package(db->index, (int)i).name;

		for (size_t k = 0;
		     db->n_files[i] && k < owner_index_count(fresh); k++)
			if (strcmp(owner_index_package(fresh, (int)k).name,
				   name) == 0) {
				n_files[k] += db->n_files[i];
				break;
			}
	}
	for (size_t i = 0; i < p->n_asked; i++) {
		int number = owner_index_find(fresh, p->asked[i],
					      strlen(p->asked[i]));

		if (number >= 0)
			n_files[number]++;
	}
	owner_index_free(db->index);
	free(db->n_files);
	db->index = fresh;
	db->n_files = n_files;
}

static int ask_rpm(struct packages *p, struct owner_index **ret)
{
	CLEANUP(owner_builder_freep) struct owner_builder *b = NULL;
	CLEANUP(str_release) struct str name = STR_INIT;
	struct owner_key key;
	int r = take_key(p->rpm, p->system.root, &key);

	if (r == 0)
		r = owner_builder_new(&b);
	if (r == 0)
		r = rpm_database_ask(p->of_system->index, p->asked, p->n_asked,
				     b);
	if (r == 0)
		r = owner_builder_end(b, &key, ret);
	if (r < 0 || !p->system.cache || !is_settled(&key))
		return r;
	cache_name(p, p->rpm, p->system.root, &name);
	if (str_error(&name) == 0)
		owner_index_save(*ret, name.data);
	return 0;
}

static void finish_rpm(struct packages *p)
{
	struct owner_index *fresh;
	int r;

	if (!p->n_asked)
		return;
	r = ask_rpm(p, &fresh);
	if (r == 0)
		replace_index(p, fresh);
	else
		add_note(p, p->rpm, p->system.root, r);
	p->n_asked = 0;
}

/* ---- the document ---- */

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
		if (place->n_unowned && is_below(place->dir, place->len, dir))
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

	finish_rpm(p);
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
