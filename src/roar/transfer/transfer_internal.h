/* transfer_internal.h - what upload and download share. */
#ifndef ROAR_TRANSFER_INTERNAL_H
#define ROAR_TRANSFER_INTERNAL_H

#include "base/list.h"
#include "hash/blake3/leaf_tree.h"
#include "s3/s3_client.h"
#include "transfer/transfer.h"

enum {
	TRANSFER_LEAF = B3_LEAF_DEFAULT, /* bytes that are hashed by themselves */
	TRANSFER_PART = 8 << 20, /* bytes of a part or range, at least */
	TRANSFER_FLYING = 32, /* requests under way, at most */
};

/* Bytes in memory of requests under way: 16 parts. */
#define TRANSFER_FLYING_BYTES (UINT64_C(128) << 20)

/* ---- transfer_state.c ---- */

struct transfer_leaf {
	uint64_t index;
	uint8_t value[BLAKE3_LEN];
};

/* A file below a prefix that was fetched. */
struct transfer_file {
	const char *name, *etag;
	uint8_t blake3[BLAKE3_LEN];
};

/* What an interrupted upload or download has left; strings are in the pool. */
struct transfer_state {
	const char *place, *path;
	const char *id; /* of an upload; the ETag of a download */
	int64_t size_bytes, part_bytes;
	struct stamp stamp; /* of an upload's file */
	char blake3[65]; /* likewise */
	/* Leaves that a download has on disk, with their values. */
	struct transfer_leaf *leaves;
	size_t n_leaves, cap_leaves;
	/* Files that a download of a prefix has fetched. */
	struct transfer_file *files;
	size_t n_files, cap_files;
};

/* The name of the state file, in the project's directory. */
void transfer_state_name(const char *kind, const char *place, const char *path,
			 char ret[64]);
/* 1: it was there and is good, 0: not.  Release it in any case. */
int transfer_state_read(const struct transfer *t, const char *name,
			struct pool *pool, struct transfer_state *ret);
void transfer_state_release(struct transfer_state *s);
/* Replaces it.  Returns a descriptor to add leaves by when `ret_fd` is given. */
int transfer_state_write(const struct transfer *t, const char *name,
			 const struct transfer_state *state, int *ret_fd);
/* Adds a leaf in one write. */
int transfer_state_add_leaf(int fd, uint64_t index,
			    const uint8_t value[BLAKE3_LEN]);
int transfer_state_add_file(int fd, const struct transfer_item *item);
void transfer_state_remove(const struct transfer *t, const char *name);

/* ---- upload_parts.c ---- */

struct upload;
struct upload_file;

/* Begins a file that is too large for one request; it owns `fd`. */
int upload_file_new(struct upload *u, struct transfer_item *item, int fd,
		    struct upload_file **ret);
void upload_file_free(struct upload_file *f);

/* ---- upload.c ---- */

/* A request under way, and the bytes that it sends. */
struct upload_piece {
	struct list link;
	struct upload *upload;
	struct transfer_item *item;
	struct upload_file *file; /* NULL: it is sent in one piece */
	unsigned index; /* of the part */
	uint8_t *data; /* malloc()ed, or NULL */
	size_t len;
	struct s3_call *call;
	void (*end)(struct upload_piece *p, const struct s3_reply *reply);
};

struct upload {
	struct transfer *t;
	size_t next; /* item to begin */
	struct list pieces; /* under way */
	struct list files; /* large ones, begun and not completed */
	unsigned n_flying;
	uint64_t bytes_flying;
	bool done;
	int result; /* 0, or the first failure */
	struct roar_error *err;
};

/* Ends all of it with this failure. */
/* Is the open file still the one that the item's stamp was taken of? */
bool upload_is_unchanged(int fd, const struct transfer_item *item);
void upload_fail(struct upload *u, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A piece without bytes, or NULL when memory ran out: then the upload has failed. */
struct upload_piece *upload_piece_new(
	struct upload *u, struct transfer_item *item,
	void (*end)(struct upload_piece *p, const struct s3_reply *reply));
/* What the operations of s3_client.h want. */
struct s3_operation upload_piece_operation(struct upload_piece *p);
/* After the operation was begun: fails when `r` is negative. */
void upload_piece_began(struct upload_piece *p, int r);
/* A piece that is not sent after all. */
void upload_piece_drop(struct upload_piece *p);
/* Reads `len` bytes of the file into the piece.  The upload has failed when that does not
 * work. */
int upload_piece_read(struct upload_piece *p, int fd, int64_t offset,
		      size_t len);
/* Goes on with whatever there is room for. */
void upload_pump(struct upload *u);

/* upload_parts.c: sends the next part, if there is one; false: there is none now. */
bool upload_file_send_part(struct upload_file *f);
struct upload_file *upload_file_of(struct list *link);

#endif
