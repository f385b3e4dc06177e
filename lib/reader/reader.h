/* reader.h - the samples of a shard.
 *
 * A shard is a file, a directory, or an object of a store ("s3://bucket/key": sample_source.h)
 * that holds samples.  A sample has a key and one or more
 * parts, each with a name and bytes:
 *
 *	kind	a sample is		its key			its parts
 *	files	a file of a directory	path below it		one, ""
 *	tar	files of one key	name up to the first	one per file, named
 *		(WebDataset)		dot of its last part	by the rest: "jpg"
 *	jsonl	a line			""			one, ""
 *	raw	a fixed-size record	""			one, ""
 *
 * Samples are numbered from 0, and reader_read() reads any of them.  A stream reads many of
 * them in a given order, ahead of the caller, in threads of its own and bounded memory.
 *
 * Files are read by pread(2) and never mapped, so a file that becomes shorter is an error
 * (-ESTALE), not a SIGBUS.  A tar or JSONL file is scanned once; the positions of its samples
 * are kept as an index (index_file.h), which is valid while size and timestamp of the file
 * stay the same.
 *
 * A reader may be used by several threads, and after fork().  A stream belongs to one
 * thread at a time and to the process that opened it.  Errors come with a sentence
 * (base/error.h); a NULL `err` is fine. */
#ifndef ROAR_READER_READER_H
#define ROAR_READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/stamp.h"

struct reader;
struct reader_block;
struct reader_stream;

enum reader_kind {
	READER_AUTO, /* by the name: a directory, *.tar, *.jsonl or *.ndjson; raw if
		      * record_bytes is given */
	READER_FILES,
	READER_TAR,
	READER_JSONL,
	READER_RAW,
	READER_KIND_END,
};

enum {
	READER_SAMPLE_MAX = 256 << 20, /* bytes of a sample, by default */
	READER_PARTS_MAX = 256, /* parts of a sample */
	READER_PREFETCH = 8 << 20, /* bytes read ahead, by default */
	READER_THREADS_MAX = 16,
	READER_BEGINNING = 64, /* headers of a tar */
	READER_BEGINNING_BYTES = 1 << 20, /* of lines of JSONL */
};

/* Where the index of a tar or JSONL file is kept. */
enum reader_index {
	READER_INDEX_CACHE, /* in the user's cache directory */
	READER_INDEX_BESIDE, /* next to the file, as NAME.roar-index */
	READER_INDEX_NONE, /* nowhere */
};

struct reader_options {
	enum reader_kind kind;
	uint64_t record_bytes; /* raw: bytes of a record */
	uint64_t header_bytes; /* raw: to skip at the beginning */
	uint64_t max_sample; /* bytes; a larger sample is -EFBIG when it is
			      * read; 0: READER_SAMPLE_MAX */
	enum reader_index index;
	const char *index_dir; /* instead of the user's cache directory; may be
				* NULL */
	bool beginning; /* without an index, scan only the beginning of a tar or
			 * JSONL file: see reader_is_whole() */
	const uint8_t
		*blake3; /* of the whole file, BLAKE3_LEN bytes; other content
				* is refused.  NULL: not known */
};

/* One part of a sample. */
struct reader_part {
	const char *name; /* not NUL-terminated */
	size_t name_len;
	const uint8_t *data;
	size_t len;
};

/* A sample in memory.  The bytes of its parts live as long as its block, names and keys as
 * long as the reader. */
struct reader_sample {
	uint64_t number;
	const char *key; /* not NUL-terminated */
	size_t key_len;
	const struct reader_part *parts;
	size_t n_parts;
};

/* Opens a shard.  -EINVAL for invalid options and for a file that is not such a shard,
 * -EBADMSG for a shard that is damaged or holds forbidden members, -ESTALE for content other
 * than options.blake3, and the errors of open(2). */
int reader_open(const char *path, const struct reader_options *options,
		struct reader **ret_reader, struct roar_error *err);
void reader_close(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_close)

uint64_t reader_count(const struct reader *r);

/* Does the reader know all samples of the shard?  If not, options.beginning was set and the
 * shard has more: reader_count() counts those known so far, and damage after them was not
 * detected yet. */
bool reader_is_whole(const struct reader *r);

/* Opens the file of `r` again with all its samples, which have the same numbers; `r` stays
 * as it is.  As reader_open(). */
int reader_open_whole(const struct reader *r, struct reader **ret_reader,
		      struct roar_error *err);
enum reader_kind reader_kind_of(const struct reader *r);

/* Tells one content of a file, or of an object, from another; zeros for a directory. */
struct stamp reader_stamp(const struct reader *r);

/* Did the reader find an index, rather than scan the file? */
bool reader_index_was_kept(const struct reader *r);

/* "files", "tar", ...; and back: READER_KIND_END for an unknown name. */
const char *reader_kind_name(enum reader_kind kind);
enum reader_kind reader_kind_parse(const char *name);

/* Reads one sample into a block of its own, which the caller drops.  -ERANGE for a number
 * out of range; -EFBIG, -EILSEQ, -ESTALE, -EIO as above. */
int reader_read(const struct reader *r, uint64_t number,
		struct reader_block **ret_block,
		const struct reader_sample **ret_sample,
		struct roar_error *err);

/* The sample will be read soon.  It is asked for now where that takes time: of an object. */
void reader_expect(const struct reader *r, uint64_t number);

/* Reads the only part of a sample into the caller's memory, without another copy.  Returns
 * its length; -ENOSPC when `room` is too small, -ENOTSUP for a sample with several parts. */
int64_t reader_read_into(const struct reader *r, uint64_t number, void *to,
			 size_t room, struct roar_error *err);

/* Key and parts of a sample, without data; `parts` has room for READER_PARTS_MAX.  The exact
 * length of a line of JSONL is not known before it is read: it is the distance to the next
 * line. */
void reader_outline(const struct reader *r, uint64_t number,
		    struct reader_sample *ret, struct reader_part *parts);

/* Reads each part of a sample into memory of its own.  -ENOTSUP for JSONL; else as
 * reader_read(). */
int reader_read_parts(const struct reader *r, uint64_t number, void *const to[],
		      struct roar_error *err);

/* ---- streams ---- */

/* Which samples, of one shard or of several.  The readers must outlive the stream; the
 * arrays need not. */
struct reader_plan {
	const struct reader *const *readers;
	size_t n_readers;
	uint64_t n; /* samples */
	const uint64_t *numbers; /* in this order; NULL: from `first` on */
	uint64_t first;
	const uint32_t *which; /* reader of each; NULL: the first one */
	uint64_t prefetch; /* bytes to read ahead, plus or minus a sample; 0:
			    * READER_PREFETCH */
	unsigned n_threads; /* that read ahead.  They start at the first sample
			     * that is not in the page cache: before that,
			     * waiting for them takes longer than reading.
			     * 0: none */
	bool always_ahead; /* start them at once */
};

/* -ERANGE for a sample number out of range. */
int reader_stream_open(const struct reader_plan *plan,
		       struct reader_stream **ret_stream,
		       struct roar_error *err);
void reader_stream_close(struct reader_stream *s);
DEFINE_CLEANUP(struct reader_stream *, reader_stream_close)

/* 1 and the next sample; 0 at the end.  The sample is valid until the next call, its bytes
 * as long as the caller holds its block.  An error is returned when the turn of that sample
 * comes, and ends the stream. */
int reader_stream_next(struct reader_stream *s,
		       const struct reader_sample **ret_sample,
		       struct roar_error *err);

/* Should the caller read the next sample itself, directly into its destination
 * (reader_read_parts())?  True if it is large, in the page cache, and not read ahead; the
 * stream then counts it as delivered. */
bool reader_stream_offer(struct reader_stream *s,
			 const struct reader **ret_reader,
			 uint64_t *ret_number);

/* Is the next sample available without waiting? */
bool reader_stream_is_ready(const struct reader_stream *s);

/* Block and shard of the last sample. */
struct reader_block *reader_stream_block(const struct reader_stream *s);
const struct reader *reader_stream_reader(const struct reader_stream *s);

/* ---- blocks: memory that holds samples; any thread may drop them ---- */

struct reader_block *reader_block_hold(struct reader_block *b);
void reader_block_drop(struct reader_block *b);
DEFINE_CLEANUP(struct reader_block *, reader_block_drop)

#endif
