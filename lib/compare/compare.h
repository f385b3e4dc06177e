/* compare.h - do two files hold the same values?
 *
 * Equal bytes are identical.  Otherwise the values decide, for the types that hold
 * results of training:
 *
 *	safetensors	tensor by tensor, all types of elements
 *	npy, npz	stored and deflated
 *	json, jsonl	metrics; the order of keys is irrelevant
 *	csv, tsv	metrics; field by field
 *	png		by pixels: 8 bits for each channel, not interlaced
 *	torch		.pt, .pth: by the user's Python, weights only
 *
 * All others, and files that are not valid, are compared as bytes; the note says why.
 *
 * Two floating-point numbers are equal when |a - b| <= atol + rtol * max(|a|, |b|), two
 * integers when |a - b| <= atol.  NaN equals NaN.  The result is the same with the files
 * exchanged.  Values of a JSON key or CSV column that is named as a time or a path do not
 * decide; the result counts and names those that differ.
 *
 * Files are read in pieces, so memory is bounded (64 MiB of JSON, which a larger file is
 * not read as).  Nothing in them is trusted.  No function here has a state. */
#ifndef ROAR_COMPARE_COMPARE_H
#define ROAR_COMPARE_COMPARE_H

#include <stdint.h>

#include "base/error.h"

struct json;
struct str;

enum compare_verdict {
	COMPARE_IDENTICAL, /* the same bytes */
	COMPARE_EQUAL, /* other bytes, values equal within the tolerance */
	COMPARE_DIFFERENT,
	COMPARE_UNLIKE, /* other tensors, shapes or types: not comparable */
};

/* Tolerances for results of another run: those of numpy.allclose(). */
#define COMPARE_RTOL 1e-5
#define COMPARE_ATOL 1e-8

struct compare_options {
	double rtol, atol; /* 0: values must be the same */
	const char *python; /* program for torch files, searched in PATH;
			     * NULL: compare them as bytes */
};

struct compare_file {
	int fd; /* of a regular file, borrowed; its position is not used */
	const char *name; /* its ending tells the type; for messages */
};

enum { COMPARE_PLACE_SIZE = 256, COMPARE_VALUE_SIZE = 64 };

struct compare_result {
	enum compare_verdict verdict;
	const char *format; /* "safetensors", ..., "bytes" */
	uint64_t n_values; /* numbers and texts compared; 0: bytes */
	uint64_t n_different; /* beyond the tolerance */
	uint64_t n_volatile; /* times and paths that differ */
	double max_abs, max_rel; /* largest differences of numbers; infinite
				  * when one is NaN or infinite */
	char worst[COMPARE_PLACE_SIZE]; /* the place of max_abs; "" */
	char first[COMPARE_PLACE_SIZE]; /* the first place that differs beyond
					 * the tolerance, or why the files are
					 * unlike; "" */
	char first_a[COMPARE_VALUE_SIZE]; /* the values there; "" */
	char first_b[COMPARE_VALUE_SIZE];
	char note[COMPARE_PLACE_SIZE]; /* "", or what a reader should know */
};

/* Fails with -EINVAL for what is not a regular file, with the error of a read, or with
 * -ENOMEM. */
int compare_files(const struct compare_file *a, const struct compare_file *b,
		  const struct compare_options *options,
		  struct compare_result *ret, struct roar_error *err);

/* Opens both files and compares them. */
int compare_paths(const char *a, const char *b,
		  const struct compare_options *options,
		  struct compare_result *ret, struct roar_error *err);

/* "identical", "equal", "different", "not comparable". */
const char *compare_verdict_word(enum compare_verdict verdict);

/* Appends a phrase for people, with all that the result has. */
void compare_describe(const struct compare_result *result, struct str *out);

/* Writes the result as an object. */
void compare_put_json(const struct compare_result *result, struct json *j);

#endif
