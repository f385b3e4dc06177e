/* tar_pax.h - extended headers of a tar archive (POSIX "pax").
 *
 * Their data is a row of records, each with its own length in front:
 *
 *	"27 path=folder/longname.jpg\n"
 *
 * What the next member is called and how long it is may stand there; all else is of no
 * use here, but for the marks of a sparse file. */
#ifndef ROAR_READER_TAR_PAX_H
#define ROAR_READER_TAR_PAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tar_pax {
	const char *path; /* in the data; NULL: not told */
	size_t path_len;
	uint64_t size;
	bool has_size;
	bool is_sparse;
};

/* Adds what the records say.  0 or -EBADMSG. */
int tar_pax_read(const char *data, size_t len, struct tar_pax *pax);

#endif
