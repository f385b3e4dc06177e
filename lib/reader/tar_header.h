/* tar_header.h - one header of a tar archive.
 *
 * A header is a block of 512 bytes:
 *
 *	0   100  name		156    1  type
 *	100   8  mode		157  100  target of a link
 *	124  12  size		257    6  "ustar", GNU has "ustar  "
 *	148   8  checksum	345  155  prefix of the name (ustar alone)
 *
 * Numbers are octal digits ended by NUL or space, or, with the highest bit of the first
 * byte set, big-endian bytes (base 256).  The checksum is the sum of all bytes with
 * spaces in its own place; some old programs sum signed bytes. */
#ifndef ROAR_READER_TAR_HEADER_H
#define ROAR_READER_TAR_HEADER_H

#include <stddef.h>
#include <stdint.h>

enum {
	TAR_BLOCK = 512,
	TAR_NAME_MAX = 256, /* of prefix, slash and name */
};

struct tar_header {
	char type; /* '0' for all types of regular files */
	uint64_t size; /* bytes of data that follow */
	char name[TAR_NAME_MAX + 1]; /* NUL-terminated */
};

/* 1 with a header; 0 for a block of zeros, which ends an archive; -EBADMSG for anything
 * else, with the reason in `ret_why`. */
int tar_header_read(const uint8_t block[TAR_BLOCK], struct tar_header *ret,
		    const char **ret_why);

#endif
