/* s3_source.h - objects as sources of samples (reader/sample_source.h).
 *
 * An object is opened by a HEAD, whose ETag says which content is meant.  All reads are GETs of
 * ranges of that content (If-Match): one that was replaced meanwhile is -ESTALE.
 *
 * Ranges are pieces in memory.  Reads in a row take pieces of S3_PIECE, and the next ones are
 * asked for while the first are read: the longer the row, the more, up to S3_AHEAD.  Other
 * reads take what they need, in parallel where that is known before (expect()).  All pieces
 * of a process have S3_CACHE bytes at most, and those of one object S3_OBJECT_CACHE: first go
 * those that were read to their end, then those that were not used for the longest time. */
#ifndef S3_SOURCE_H
#define S3_SOURCE_H

enum {
	S3_PIECE = 4 << 20,
	S3_AHEAD = 8, /* pieces */
	S3_OBJECT_CACHE = 48 << 20,
	S3_CACHE = 128 << 20,
};

/* Registers "s3" and "gs".  May be called again. */
void s3_source_register(void);

#endif
