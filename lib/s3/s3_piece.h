/* s3_piece.h - ranges of objects in memory, for s3_source.c.
 *
 * A piece is loading, then ready or failed.  A reader pins it; what is neither pinned nor
 * loading may go at any time.  All pieces have S3_CACHE bytes at most, and those of one object
 * S3_OBJECT_CACHE (s3_source.h).
 *
 * The engine's lock guards everything here and is held by the caller of each function, except
 * for `n_got` and the bytes of a piece: while it is loading they belong to the engine's thread,
 * then nothing changes them. */
#ifndef S3_PIECE_H
#define S3_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "s3/s3_engine.h"
#include "s3/s3_lookup.h"

/* One content of an object, which all its pieces have. */
struct s3_content {
	struct s3_url url; /* its key is `key` */
	char *key;
	char *text; /* the URL */
	struct s3_version version;
	uint64_t size;
	bool is_closed; /* goes when no piece is loading */
	unsigned n_loading; /* pieces */
	struct list pieces;
	uint64_t bytes; /* of them */
};

enum s3_piece_state { S3_PIECE_LOADING, S3_PIECE_READY, S3_PIECE_FAILED };

struct s3_piece {
	struct list link; /* of the content */
	struct list used; /* of all; the first one goes first */
	struct s3_work work;
	struct s3_call *call;
	struct s3_content *content;
	uint64_t offset;
	size_t len;
	size_t n_got;
	enum s3_piece_state state;
	unsigned n_pins;
	bool is_once; /* goes when its end was read */
	int error;
	struct roar_error *why; /* NULL: no memory */
	uint8_t *data;
};

/* Frees the content, its strings and its pieces; what is loading keeps it until it has come.
 * NULL is fine. */
void s3_content_close(struct s3_content *c);

/* Asks for a range.  -EAGAIN: there is no room for it now. */
int s3_piece_new(struct s3_content *c, uint64_t offset, size_t len,
		 bool is_once, struct s3_piece **ret, struct roar_error *err);
void s3_piece_free(struct s3_piece *p);

/* The piece that has this byte, or will have it; NULL: none. */
struct s3_piece *s3_piece_find(const struct s3_content *c, uint64_t at);

/* Ends one use of the piece, which was read up to `read_to`.  What was read to its end goes
 * before what was asked for ahead. */
void s3_piece_unpin(struct s3_piece *p, uint64_t read_to);

/* In a child of fork(): pieces that were loading never come, and this thread alone reads. */
void s3_pieces_begin_child(void);

#endif
