/* owner_index.h - which installed package owns a file.
 *
 * An index holds one package database: the list of its packages, and a hash table from
 * paths to them.  It is made once by reading the database and saved in the user's cache,
 * with the stamps of the database as key; after that it is mapped, so a look-up costs as
 * much as the hash of a path.
 *
 *	offset  size  field
 *	     0     8  magic "roarown1"
 *	     8    80  key        two stamps, of what the database consists of
 *	    88     4  n_slots    a power of two
 *	    92     4  n_packages
 *	    96     4  n_bytes    of the strings
 *	   100     4  has_dirs   1: some of the paths own all that is below them
 *	   104     8  per slot: upper half of the hash, number of the package + 1 (0: empty)
 *	     -    20  per package: offsets of name, version, arch, location; 1: editable
 *	     -     -  strings with NULs; the file ends with the first eight bytes again
 *
 * Integers have the byte order of the machine.  "/usr/lib", "/usr/bin" and "/usr/sbin"
 * equal "/lib", "/bin" and "/sbin", because a database may list either.  64 bits of hash
 * are not proof against a forger, who could as well change the database.  An index is
 * read-only; builders belong to one thread. */
#ifndef ROAR_CAPTURE_OWNER_INDEX_H
#define ROAR_CAPTURE_OWNER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/stamp.h"

struct owner_builder;
struct owner_index;

/* Strings are "" when there is nothing to say. */
struct owner_package {
	const char *name;
	const char *version;
	const char *arch;
	const char *location; /* of an editable package: its directory */
	bool editable;
};

struct owner_key {
	struct stamp stamps[2];
};

/* ---- building ---- */

int owner_builder_new(struct owner_builder **ret);
void owner_builder_free(struct owner_builder *b);
DEFINE_CLEANUP(struct owner_builder *, owner_builder_free)

/* Adds a package; its number, or a negative errno. */
int owner_builder_package(struct owner_builder *b,
			  const struct owner_package *package);
/* The package owns this file, or all that is below this directory. */
void owner_builder_path(struct owner_builder *b, const char *path, size_t len,
			int package);
void owner_builder_dir(struct owner_builder *b, const char *path, size_t len,
		       int package);

/* Adds the paths of another builder, whose packages have the numbers of this one. */
void owner_builder_merge(struct owner_builder *b,
			 const struct owner_builder *from);

/* Makes the index.  -ENOMEM, also if an earlier call had no memory. */
int owner_builder_end(struct owner_builder *b, const struct owner_key *key,
		      struct owner_index **ret);

/* ---- looking up ---- */

/* Saves it under this path; failures cost only time. */
void owner_index_save(const struct owner_index *index, const char *path);

/* Maps what was saved.  -ESTALE: it has another key; -EBADMSG: it is not valid; else as
 * open(2). */
int owner_index_open(const char *path, const struct owner_key *key,
		     struct owner_index **ret);
void owner_index_free(struct owner_index *index);
DEFINE_CLEANUP(struct owner_index *, owner_index_free)

/* The number of the package that owns the file; -1: none. */
int owner_index_find(const struct owner_index *index, const char *path,
		     size_t len);
size_t owner_index_count(const struct owner_index *index);
/* Valid as long as the index. */
struct owner_package owner_index_package(const struct owner_index *index,
					 int number);
bool owner_index_is_editable(const struct owner_index *index, int number);

#endif
