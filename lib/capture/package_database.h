/* package_database.h - the databases of the package managers that lib/capture can read.
 *
 * Each reader adds all packages of one database, and the files that they own, to a
 * builder.  Databases are foreign data: every reader bounds what it reads, and skips what
 * it does not understand.  They return 0 or a negative errno; what was added until then
 * stays valid. */
#ifndef ROAR_CAPTURE_PACKAGE_DATABASE_H
#define ROAR_CAPTURE_PACKAGE_DATABASE_H

#include <stdbool.h>
#include <stddef.h>

struct owner_builder;
struct owner_index;
struct pool;
struct str;

enum {
	PACKAGE_LIST_MAX = 64 * 1024 * 1024, /* bytes of a list of files */
	PACKAGE_TEXT_MAX = 1024 * 1024, /* bytes of a description */
};

/* /var/lib/dpkg: `dir`/status and `dir`/info/NAME.list. */
int dpkg_database_read(const char *dir, struct owner_builder *b);

/* /lib/apk/db/installed */
int apk_database_read(const char *file, struct owner_builder *b);

/* PREFIX/conda-meta/NAME.json; the files are below `prefix`. */
int conda_database_read(const char *prefix, struct owner_builder *b);

/* A site-packages or dist-packages directory: *.dist-info with its RECORD, *.egg-info,
 * *.egg, *.egg-link. */
int pip_database_read(const char *site, struct owner_builder *b);

/* Asks the program `rpm` which packages own `n` files, and adds all files of these and of
 * the packages that `known` has (may be NULL).  A file without owner belongs to a package
 * without a name.  -ENOENT: there is no such program; -ETIME: it did not answer in time,
 * for example because the database is locked. */
int rpm_database_ask(const struct owner_index *known, const char *const *paths,
		     size_t n, struct owner_builder *b);

/* The name and the version in a package.json, in the pool; "" when it has none.  -EBADMSG
 * when it is not JSON. */
int npm_package_read(const char *file, struct pool *pool, const char **ret_name,
		     const char **ret_version);

/* ---- their formats, also for fuzzing ---- */

void dpkg_list_parse(const char *text, size_t len, struct owner_builder *b,
		     int package);
int apk_installed_parse(const char *text, size_t len, struct owner_builder *b);
int conda_meta_parse(const char *prefix, const char *text, size_t len,
		     struct owner_builder *b);
/* The lines of a RECORD; paths are relative to `site`. */
void pip_record_parse(const char *site, const char *text, size_t len,
		      struct owner_builder *b, int package);
/* One line per file, as rpm_database_ask() requests them. */
void rpm_answer_parse(const char *text, size_t len, struct owner_builder *b);

/* Finds "FIELD: value" in a block of such lines; false when it is not there.  The value
 * does not end with a NUL. */
bool package_field(const char *text, size_t len, const char *field,
		   const char **ret_value, size_t *ret_len);

/* Replaces `out` by the content of a regular file.  -EFBIG: it has more than `max` bytes.
 * A FIFO does not block. */
int package_file_read(int dirfd, const char *path, size_t max, struct str *out);

/* Replaces a file of a cache.  No fsync(): after a crash it may be empty, so its reader
 * checks it.  Failures cost only time. */
void package_cache_save(const char *path, const void *data, size_t len);

#endif
