/* reader_internal.h - what the files of lib/reader share.
 *
 *	reader		opening, the choice of a kind
 *	sample_source	one file: a read returns all bytes or an error
 *	files raw_records jsonl tar	the kinds, which fill struct reader_ops
 *	tar_scan	scans the headers of an archive (tar_header, tar_pax)
 *	tar_table	the samples found there, in memory and as bytes
 *	index_file	these bytes, next to the file or in a cache directory
 *	sample_block	samples in memory, and their buffers
 *	sample_stream	blocks read ahead of the caller
 *	direct_read	large samples without a block */
#ifndef ROAR_READER_INTERNAL_H
#define ROAR_READER_INTERNAL_H

#include "reader/reader.h"
#include "reader/sample_source.h"

/* The position of a sample's bytes. */
struct span {
	uint64_t file; /* index of the file; 0 if there is only one */
	uint64_t offset;
	uint64_t len;
};

/* The operations of a kind. */
struct reader_ops {
	const char *name;

	/* Finds the samples and sets reader.count.  The source is open, except for a
	 * directory. */
	int (*open)(struct reader *r, struct roar_error *err);
	void (*close)(struct reader *r);

	struct span (*span)(const struct reader *r, uint64_t number);

	/* How many parts the sample has, READER_PARTS_MAX at most; NULL: one. */
	size_t (*n_parts)(const struct reader *r, uint64_t number);

	/* Reads `span` of its file. */
	int (*load)(const struct reader *r, const struct span *span, void *to,
		    struct roar_error *err);

	/* Sets the key of a sample; NULL: there are none. */
	void (*key)(const struct reader *r, struct reader_sample *sample);

	/* One part, and where it begins in the span; NULL: the span is the part.  Its
	 * data is not set. */
	uint64_t (*part)(const struct reader *r, uint64_t number, size_t i,
			 struct reader_part *ret);

	/* Checks the bytes that were read, and may shorten the part; NULL: all bytes are
	 * valid. */
	int (*check)(const struct reader *r, uint64_t number,
		     struct reader_part *part, struct roar_error *err);
};

struct reader {
	const struct reader_ops *ops;
	enum reader_kind kind;
	struct reader_options options; /* its pointers are not kept */
	struct source source; /* of all kinds but files */
	char *path;
	char *index_dir; /* may be NULL */
	uint64_t count;
	bool index_was_kept;
	bool is_cut; /* the shard has more samples after those counted */
	void *data; /* the kind's own */
};

extern const struct reader_ops files_ops;
extern const struct reader_ops jsonl_ops;
extern const struct reader_ops raw_ops;
extern const struct reader_ops tar_ops;

/* ops.load of the kinds that consist of one file. */
int reader_load(const struct reader *r, const struct span *span, void *to,
		struct roar_error *err);

size_t reader_n_parts(const struct reader *r, uint64_t number);

/* The i-th part of a sample without its data, and where it begins in the span. */
uint64_t reader_part_of(const struct reader *r, uint64_t number, size_t i,
			struct reader_part *ret);

/* Points the parts of a sample to the bytes of its span, and checks them. */
int reader_describe(const struct reader *r, const uint8_t *data,
		    struct reader_sample *sample, struct reader_part *parts,
		    struct roar_error *err);

/* 0, or -EFBIG when the sample is larger than options.max_sample. */
int reader_check_size(const struct reader *r, uint64_t number, uint64_t len,
		      struct roar_error *err);

#endif
