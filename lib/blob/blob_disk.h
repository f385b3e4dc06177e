/* blob_disk.h - shared by the files of blob_disk.
 *
 *	blob_disk.c		the store, and large files that are written
 *	blob_disk_read.c	large files that are read
 *	blob_disk_files.c	small files, lists, removal
 *	blob_disk_hold.c	locks */
#ifndef ROAR_BLOB_DISK_H
#define ROAR_BLOB_DISK_H

#include "blob/blob_internal.h"

struct blob_disk {
	struct blob_store base;
	int fd; /* of the directory */
};

static inline int blob_disk_fd(const struct blob_store *s)
{
	return ((const struct blob_disk *)s)->fd;
}

/* The sentence for a call on a file that failed with -r, and returns r. */
int blob_disk_fail(const struct blob_store *s, const char *name,
		   const char *action, int r, struct roar_error *err);
/* Makes the directory of a name, if it has one. */
int blob_disk_make_dir(struct blob_store *s, const char *name,
		       struct roar_error *err);

/* Opens a file for reading, without following links.  A descriptor or a negative errno. */
int blob_disk_open_file(const struct blob_store *s, const char *name);
int blob_disk_open_reader(struct blob_store *s, const char *name,
			  enum blob_read_flags flags, struct blob_reader **ret,
			  uint64_t *ret_size_bytes, struct roar_error *err);
int blob_disk_read(struct blob_reader *r, uint64_t offset, void *buf,
		   size_t len, struct roar_error *err);
void blob_disk_close_reader(struct blob_reader *r);

int blob_disk_put(struct blob_store *s, const char *name, const char *temporary,
		  const void *data, size_t len, enum blob_put_flags flags,
		  struct roar_error *err);
int blob_disk_get(struct blob_store *s, const char *name, size_t max,
		  struct str *out, struct roar_error *err);
int blob_disk_make_durable(struct blob_store *s, const char *dir,
			   struct roar_error *err);
int blob_disk_list(struct blob_store *s, const char *prefix,
		   int (*fn)(void *ctx, const struct blob_entry *entry),
		   void *ctx, struct roar_error *err);
int blob_disk_remove(struct blob_store *s, const char *name,
		     struct roar_error *err);

#endif
