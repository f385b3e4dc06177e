/* tar_scan.h - scans the headers of an archive once.
 *
 * It reads ustar, pax and GNU's long names.  A shard holds only regular files: directories
 * and names that start with a dot are skipped.  It refuses, naming the member: links,
 * devices and fifos, sparse files, names that are absolute or contain "..", and an archive
 * that ends before its end mark. */
#ifndef ROAR_READER_TAR_SCAN_H
#define ROAR_READER_TAR_SCAN_H

#include <stdint.h>

struct roar_error;
struct source;
struct tar_table;

/* Fills an empty table.  Returns 0; or 1 if `most` headers were read and there are more,
 * with the samples that are complete by then.  -EBADMSG: the archive is damaged or has a
 * refused member; -EINVAL: not an archive; -ESTALE, -EIO, -ENOMEM. */
int tar_scan(const struct source *source, uint64_t most,
	     struct tar_table *table, struct roar_error *err);

#endif
