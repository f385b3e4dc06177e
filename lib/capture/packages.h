/* packages.h - the installed packages whose files a run used.
 *
 * Each file is looked up in the database that can own it, which its directory decides:
 *
 *	below /usr, /lib, /bin, /sbin, /opt	the system's: dpkg, apk or rpm
 *	below a prefix with conda-meta/		conda
 *	in site-packages or dist-packages	pip, uv and others that write dist-info
 *	in node_modules				npm, by the package.json of the package
 *
 * The first of these that owns the file counts it.  The source of an editable package
 * counts for it.  A database is read once and then kept as an index (owner_index.h), so
 * packages cost one look-up per file, without system calls.  The description of a Python
 * package (dist-info, egg-info, .pth) is read for many reasons and does not count.
 *
 * A database that is missing, damaged or of another format is a note in the document. */
#ifndef ROAR_CAPTURE_PACKAGES_H
#define ROAR_CAPTURE_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct json;
struct packages;

/* Where things are; tests use other places. */
struct capture_system {
	const char *root; /* before the paths of the system's databases; "" */
	const char *cache; /* directory for indexes; NULL: none is kept */
};

int packages_new(const struct capture_system *system, struct packages **ret);
void packages_free(struct packages *p);
DEFINE_CLEANUP(struct packages *, packages_free)

/* The run has read or executed this file: absolute, without symbolic links. */
void packages_add(struct packages *p, const char *path, size_t len);

/* Version of the package that owns the file, and its manager; false: none does. */
bool packages_owner(struct packages *p, const char *path, size_t len,
		    const char **ret_manager, const char **ret_version);

/* Writes the document of kind SITUATION_PACKAGES:
 *
 *	{"packages": [{"manager": "pip|conda|dpkg|rpm|apk|npm", "name": "", "version": "",
 *	   "arch": "", "location": "", "editable": true, "n_files": N}],
 *	 "notes": ["SENTENCE"]}
 *
 * arch, location, editable and notes are there if they say something; location is the
 * directory into which pip, conda or npm has installed it, or the source of an editable
 * package.  Returns false, and writes nothing, if no package was used. */
bool packages_write(struct packages *p, struct json *json);

#endif
