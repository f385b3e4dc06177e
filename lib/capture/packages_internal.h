/* packages_internal.h - what the files of packages.h share:
 *
 *	packages.c		which directory belongs to which databases; counting files
 *	packages_database.c	opening a database; asking RPM
 *	packages_document.c	what is written */
#ifndef ROAR_CAPTURE_PACKAGES_INTERNAL_H
#define ROAR_CAPTURE_PACKAGES_INTERNAL_H

#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "capture/owner_index.h"
#include "capture/packages.h"

struct reader;

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
	bool is_description; /* in a .dist-info or .egg-info */
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

/* The database of the system, of a conda prefix, of a site-packages directory: opened at
 * the first call.  NULL: there is none, or it cannot be read. */
struct database *packages_of_system(struct packages *p);
struct database *packages_of_conda(struct packages *p, const char *dir,
				   size_t len);
struct database *packages_of_site(struct packages *p, const char *dir,
				  size_t len);

/* Asks RPM for the files of the system that its index does not have. */
void packages_ask_rpm(struct packages *p);

/* Is the path `dir` or below it? */
bool packages_is_below(const char *path, size_t len, const char *dir);

#endif
