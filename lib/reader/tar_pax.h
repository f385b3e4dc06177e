/* tar_pax.h - extended headers of a tar archive (POSIX "pax").
 *
 * Their data is a sequence of records, each preceded by its own length:
 *
 *	"27 path=folder/longname.jpg\n"
 *
 * Records can hold the name and size of the next member, and mark a sparse file; other
 * records are ignored. */
#ifndef ROAR_READER_TAR_PAX_H
#define ROAR_READER_TAR_PAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tar_pax {
	const char *path; /* points into the data; NULL: not given */
	size_t path_len;
	uint64_t size;
	bool has_size;
	bool is_sparse;
};

/* Adds the values of the records.  0 or -EBADMSG. */
int tar_pax_read(const char *data, size_t len, struct tar_pax *pax);

#endif
