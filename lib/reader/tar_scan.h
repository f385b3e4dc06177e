/* tar_scan.h - goes through an archive once, header after header.
 *
 * Read are ustar, pax and GNU's long names.  A shard holds regular files and nothing
 * else: folders are passed over, and so are names that begin with a dot.  Refused, with the
 * name of the member, are links, devices and fifos, sparse files, names that are absolute
 * or go up by "..", and an archive that ends before its end mark. */
#ifndef ROAR_READER_TAR_SCAN_H
#define ROAR_READER_TAR_SCAN_H

#include <stdint.h>

struct roar_error;
struct source;
struct tar_table;

/* Fills an empty table.  0; 1 when `most` headers were read and there are more, with the
 * samples that are complete by then.  -EBADMSG for an archive that is damaged or holds
 * what is refused, -EINVAL for what is no archive, -ESTALE, -EIO, -ENOMEM. */
int tar_scan(const struct source *source, uint64_t most,
	     struct tar_table *table, struct roar_error *err);

#endif
