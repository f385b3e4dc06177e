/* reader.h - the samples of a shard.
 *
 * A shard is a file, or a folder, that holds samples.  A sample is one or more parts
 * of bytes, each with a name, and a key:
 *
 *	kind	a sample is		its key			its parts
 *	files	a file of a folder	path below the folder	one, ""
 *	tar	files of one key	name up to the first	one per file, named
 *		(WebDataset)		dot of its last part	by the rest: "jpg"
 *	jsonl	a line			""			one, ""
 *	raw	so many bytes		""			one, ""
 *
 * Samples have numbers from 0 on, and any of them can be had: reader_read().  Many of
 * them in a known order are a stream, which reads ahead in threads of its own, within a
 * bound of bytes.
 *
 * Files are read by pread(2) and never mapped, so one that becomes shorter is an error
 * (-ESTALE) and no SIGBUS.  What a tar or a JSONL file holds is looked for once; where
 * it was found is kept as an index (index_file.h), and believed while size and time of
 * the file stay the same.
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

struct reader;
struct reader_block;
struct reader_stream;

enum reader_kind {
	READER_AUTO, /* by the name: a folder, *.tar, *.jsonl or *.ndjson, and
		      * raw where record_bytes is given */
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
	READER_INDEX_CACHE, /* in the user's cache folder */
	READER_INDEX_BESIDE, /* beside the file, as NAME.roar-index */
	READER_INDEX_NONE, /* nowhere */
};

struct reader_options {
	enum reader_kind kind;
	uint64_t record_bytes; /* raw: bytes of a record */
	uint64_t header_bytes; /* raw: to be passed over at the beginning */
	uint64_t max_sample; /* bytes; a larger sample is -EFBIG when it is
			      * read; 0: READER_SAMPLE_MAX */
	enum reader_index index;
	const char *index_dir; /* instead of the user's cache folder; may be
				* NULL */
	bool beginning; /* without a kept index, look only for the samples at
			 * the beginning of a tar or JSONL file: see
			 * reader_is_whole() */
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

/* Opens a shard.  -EINVAL for options that make no sense and for what is no such shard,
 * -EBADMSG for one that is damaged or holds what no shard should, -ESTALE for content
 * that is not the one asked for, and what open(2) says. */
int reader_open(const char *path, const struct reader_options *options,
		struct reader **ret_reader, struct roar_error *err);
void reader_close(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_close)

uint64_t reader_count(const struct reader *r);

/* Does it have all samples of the shard?  If not, options.beginning was asked for and
 * there are more: reader_count() is how many it has, and damage behind them was not looked
 * for. */
bool reader_is_whole(const struct reader *r);

/* Opens the file of `r` again with all its samples, which have the same numbers; `r` stays
 * as it is.  As reader_open(). */
int reader_open_whole(const struct reader *r, struct reader **ret_reader,
		      struct roar_error *err);
enum reader_kind reader_kind_of(const struct reader *r);

/* Was the index found rather than made? */
bool reader_index_was_kept(const struct reader *r);

/* "files", "tar", ...; and back: READER_KIND_END when there is none. */
const char *reader_kind_name(enum reader_kind kind);
enum reader_kind reader_kind_parse(const char *name);

/* Reads one sample into a block of its own, which is the caller's to drop.  -ERANGE when
 * there is no such number; -EFBIG, -EILSEQ, -ESTALE, -EIO as said above. */
int reader_read(const struct reader *r, uint64_t number,
		struct reader_block **ret_block,
		const struct reader_sample **ret_sample,
		struct roar_error *err);

/* Reads the only part of a sample to where the caller wants it, which is where nothing
 * has to be copied from.  Returns its length; -ENOSPC when `room` is too little, -ENOTSUP
 * for a sample with several parts. */
int64_t reader_read_into(const struct reader *r, uint64_t number, void *to,
			 size_t room, struct roar_error *err);

/* Key and parts of a sample, without data; `parts` has room for READER_PARTS_MAX.  The
 * length of a line of JSONL is not known before it is read: it is that of all up to the
 * next one. */
void reader_outline(const struct reader *r, uint64_t number,
		    struct reader_sample *ret, struct reader_part *parts);

/* Reads each part of a sample to its own place.  -ENOTSUP for JSONL; else as
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
	uint64_t prefetch; /* bytes that may be read ahead, give or take a
			    * sample; 0: READER_PREFETCH */
	unsigned n_threads; /* that read ahead, from the first sample on that is
			     * not in the page cache: before that, waiting for
			     * them would take longer than reading.  0: none */
	bool always_ahead; /* from the beginning on */
};

/* -ERANGE for a sample that is not there. */
int reader_stream_open(const struct reader_plan *plan,
		       struct reader_stream **ret_stream,
		       struct roar_error *err);
void reader_stream_close(struct reader_stream *s);
DEFINE_CLEANUP(struct reader_stream *, reader_stream_close)

/* The next sample: 1; 0 when there are no more.  It is valid until the next call; its
 * bytes longer, for who holds its block.  An error comes when it is that sample's turn, and
 * ends the stream. */
int reader_stream_next(struct reader_stream *s,
		       const struct reader_sample **ret_sample,
		       struct roar_error *err);

/* Is the next sample one that the caller can better read by itself, to where it wants it
 * (reader_read_parts()): large, in the page cache, and not read ahead?  Then it counts as
 * given. */
bool reader_stream_offer(struct reader_stream *s,
			 const struct reader **ret_reader,
			 uint64_t *ret_number);

/* Can the next sample be had without waiting? */
bool reader_stream_is_ready(const struct reader_stream *s);

/* Block and shard of the sample that came last. */
struct reader_block *reader_stream_block(const struct reader_stream *s);
const struct reader *reader_stream_reader(const struct reader_stream *s);

/* ---- blocks: memory that samples lie in; any thread may drop them ---- */

struct reader_block *reader_block_hold(struct reader_block *b);
void reader_block_drop(struct reader_block *b);
DEFINE_CLEANUP(struct reader_block *, reader_block_drop)

#endif
