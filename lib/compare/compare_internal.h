/* compare_internal.h - what the comparers of lib/compare share.
 *
 * A comparer fills the result of its comparison.  It returns 0, or -EBADMSG or -ENOTSUP
 * with a sentence in `why` when the files are not what their names say, or of a kind that
 * is not supported: then their bytes are compared.  Other errors end the comparison. */
#ifndef ROAR_COMPARE_COMPARE_INTERNAL_H
#define ROAR_COMPARE_COMPARE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "ckpt/ckpt_dtype.h"
#include "compare/compare.h"

struct comparison {
	struct compare_file file[2];
	uint64_t size[2];
	const struct compare_options *options;
	struct compare_result *result;
	struct roar_error *why; /* never NULL */
};

int compare_safetensors(struct comparison *c);
int compare_npy(struct comparison *c);
int compare_npz(struct comparison *c);
int compare_json(struct comparison *c);
int compare_table(struct comparison *c);
int compare_png(struct comparison *c);
int compare_torch(struct comparison *c);

/* Reads exactly `len` bytes at `at`.  -EBADMSG: the file is shorter. */
int compare_read_at(int fd, uint64_t at, void *data, size_t len);

bool compare_name_ends(const char *name, const char *ending);

/* ---- compare_tally.c: counts pairs of values ---- */

enum tally_news { TALLY_FIRST = 1 << 0, TALLY_WORST = 1 << 1 };

/* Counts a pair of numbers.  What it returns is for the caller to note: whether the pair
 * is the first that differs, and whether it has the largest difference. */
unsigned tally_floats(struct comparison *c, double a, double b);
/* The same for integers, whose difference is exact. */
unsigned tally_integers(struct comparison *c, double a, double b,
			double difference);

/* Notes the place, and for TALLY_FIRST the values. */
void tally_place(struct comparison *c, unsigned news, const char *place,
		 double a, double b);

/* Counts a pair of texts that differ.  They are cut to fit. */
void tally_texts(struct comparison *c, const char *place, const char *a,
		 const char *b);

/* The files have no common structure: "tensor 'x' is only in the first file". */
void tally_unlike(struct comparison *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Is the value of this key or column a time or, if it is text, a path? */
bool tally_is_volatile(const char *name, bool is_text);
void tally_volatile(struct comparison *c, const char *name);

/* ---- compare_source.c: bytes of a part of a file, inflated if need be ---- */

enum { SOURCE_INPUT = 65536 };

struct compare_source {
	int fd;
	uint64_t at, left; /* what is still to be read of the file */
	bool is_deflated;
	bool is_png; /* continues in the next IDAT chunk */
	bool at_end; /* of the deflated bytes */
	bool is_ready; /* zlib holds memory */
	z_stream z;
	uint8_t *input; /* SOURCE_INPUT bytes, when deflated */
};

enum source_kind { SOURCE_PLAIN, SOURCE_DEFLATE, SOURCE_PNG };

/* `len` bytes of the file at `at`: the bytes themselves, a deflate stream of a zip
 * archive, or the data of the first IDAT chunk. */
int source_open(struct compare_source *s, enum source_kind kind, int fd,
		uint64_t at, uint64_t len);
void source_close(struct compare_source *s);

/* Reads exactly `len` bytes.  -EBADMSG: there are less, or they are not valid. */
int source_read(struct compare_source *s, void *data, size_t len);

/* ---- compare_tensor.c ---- */

struct tensor {
	const char *name; /* "" for the only one of its file */
	enum ckpt_dtype dtype;
	bool is_swapped; /* the elements are big-endian */
	bool is_fortran; /* the first dimension varies fastest */
	unsigned n_parts; /* 2: complex numbers of two elements; else 1 */
	const uint64_t *shape;
	unsigned n_dims;
	uint64_t n_bytes;
};

/* Do both have the same type and shape?  If not, the result says so. */
bool tensor_is_like(struct comparison *c, const struct tensor *a,
		    const struct tensor *b);

/* Compares the elements of two like tensors, read from `a` and `b`. */
int tensor_compare(struct comparison *c, const struct tensor *t_a,
		   const struct tensor *t_b, struct compare_source *a,
		   struct compare_source *b);

/* compare_npy.c: the same for two npy files, read from their begin.  `name` is that of
 * the array. */
int compare_npy_sources(struct comparison *c, const char *name,
			struct compare_source *a, uint64_t len_a,
			struct compare_source *b, uint64_t len_b);

/* ---- compare_zip.c: the files of an archive ---- */

struct zip_member {
	const char *name;
	uint64_t at; /* of its local header */
	uint64_t packed, size;
	unsigned method; /* 0 stored, 8 deflated */
};

struct pool;

/* Lists the files in the order of the archive.  -EBADMSG, -ENOTSUP with a sentence. */
int zip_list(int fd, uint64_t file_bytes, struct pool *pool,
	     struct zip_member **ret, size_t *ret_n, struct roar_error *why);

int zip_open_member(int fd, uint64_t file_bytes, const struct zip_member *m,
		    struct compare_source *ret, struct roar_error *why);

#endif
