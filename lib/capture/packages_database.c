/* packages_database.c - opens the databases that packages.c looks into
 *
 * A database is read once, and again when the stamps of its files change. */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/stamp.h"
#include "capture/package_database.h"
#include "capture/packages_internal.h"

static struct database none; /* "there is no database in this directory" */

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

struct database *packages_of_system(struct packages *p)
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

struct database *packages_of_conda(struct packages *p, const char *dir,
				   size_t len)
{
	return database_in(p, &conda_reader, dir, len);
}

struct database *packages_of_site(struct packages *p, const char *dir,
				  size_t len)
{
	return database_in(p, &pip_reader, dir, len);
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

void packages_ask_rpm(struct packages *p)
{
	struct owner_index *fresh = NULL;
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
