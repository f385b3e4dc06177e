/* transfer.h - files on their way to an object store, or from one.
 *
 *	sources.c           `roar put`: which files, and to which keys
 *	targets.c           `roar get`: which objects, and to which files
 *	upload.c            sends files, large ones in parts
 *	upload_parts.c      one large file: its upload is created, filled, completed
 *	download.c          fetches objects, large ones in ranges
 *	download_file.c     one file that is being fetched: leaves, partial file, name
 *	fetched_files.c     the files of a prefix that an interrupted download has fetched
 *	local_copy.c        file:// both ways
 *	partial_file.c      a file that has not got its name yet
 *	transfer_state.c    what an interrupted transfer leaves for the next one
 *	transfer_record.c   the step in the record
 *	transfer_tag.c      the tag in the git repository
 *	transfer_report.c   begin and end: progress, failures, what was done
 *
 * cmd/put.c and cmd/get.c tell the story.  Everything happens on the loop of an S3 driver, but
 * for large pieces of downloads (side_thread.h); many requests are under way at a time.
 *
 * The content of every file is hashed as it is sent or received, from the same bytes.  An
 * object carries its BLAKE3 as metadata (S3_BLAKE3_FIELD), which `roar get` checks. */
#ifndef ROAR_TRANSFER_H
#define ROAR_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/stamp.h"
#include "cli/progress.h"
#include "hash/digest/digest.h"

struct args;
struct fetched_files;
struct git_facts;
struct git_state;
struct project;
struct s3_client;
struct s3_driver;
struct str;

enum {
	TRANSFER_MAX_ITEMS = 1 << 22,
	TRANSFER_CONNECTIONS = 32,
};

/* One file and one object. */
struct transfer_item {
	const char *path; /* the local file, absolute */
	const char *
		name; /* below the directory or prefix it belongs to; NULL: none */
	const char *place; /* "s3://bucket/key", a URL, or an absolute path */
	const char *bucket, *key; /* of an object; else NULL */
	const char *url; /* of https; where redirects led to */
	int64_t size_bytes; /* -1: not known yet */
	bool has_ranges; /* the server sends parts */
	bool was_there; /* the file existed before the download */
	bool replaces; /* the destination may exist */
	const char *
		expected; /* BLAKE3 in hex that the content must have; NULL: any */
	/* Known when it is done: */
	bool is_done;
	uint8_t blake3[BLAKE3_LEN];
	struct stamp stamp; /* of the file */
	const char *etag, *version; /* of the object; "" */
	unsigned n_parts; /* of an upload; 0: in one piece */
	unsigned n_requests;
};

/* A directory that is transferred as a whole: a composite (hash/dir/dir_hash.h) of the items
 * whose name is below it. */
struct transfer_tree {
	const char *path; /* of the directory, absolute */
	const char *place; /* "s3://bucket/prefix/" */
	size_t first, end; /* its items */
	uint8_t blake3[BLAKE3_LEN];
};

struct transfer {
	struct pool pool;
	struct project *project;
	struct s3_driver *driver;
	struct s3_client *
		client; /* of the object store, or for plain URLs; NULL: file:// */
	const char *endpoint; /* its URL; "" */
	struct transfer_item *items;
	size_t n, cap;
	struct transfer_tree *trees;
	size_t n_trees, cap_trees;
	struct progress progress;
	struct hasher_progress done; /* what the bar shows */
	int64_t start_ns;
	struct fetched_files *fetched; /* below a prefix; NULL: not noted */
	struct git_state *git; /* the look at git that goes on meanwhile */
};

void transfer_release(struct transfer *t);

/* Another item, whose texts are copied.  NULL without memory, or when there are too many. */
struct transfer_item *transfer_add(struct transfer *t, const char *path,
				   const char *place);

/* Set by SIGINT and SIGTERM once transfer_catch_signals() was called. */
extern volatile int transfer_stop;
void transfer_catch_signals(void);

/* Shows how far it is. */
void transfer_tick(void *data);
/* `len` bytes more have been transferred. */
void transfer_advance(struct transfer *t, uint64_t len);
void transfer_finish_item(struct transfer *t, struct transfer_item *item);

/* The driver, and the client for this scheme ("s3", "gs", "https"). */
int transfer_connect(struct transfer *t, const char *scheme,
		     struct roar_error *err);

/* sources.c: fills in the items.  The last operand is the destination. */
int sources_list(struct transfer *t, char *const *operands, int n,
		 const char *destination, struct roar_error *err);

/* targets.c */
struct target_options {
	const char *hash; /* that the content must have; NULL: any */
	bool force; /* existing files are replaced */
};
int targets_list(struct transfer *t, const char *url, const char *destination,
		 const struct target_options *options, struct roar_error *err);

/* upload.c, download.c, local_copy.c: all items, or the first failure.  -EINTR: interrupted. */
int upload_run(struct transfer *t, struct roar_error *err);
int download_run(struct transfer *t, struct roar_error *err);
int local_copy_run(struct transfer *t, bool is_put, struct roar_error *err);

/* transfer_record.c: adds the step; *ret_step is its number.  Computes the trees. */
struct transfer_step {
	const char *kind; /* "put" or "get" */
	const char *message; /* "": none */
	char *const *argv; /* of the command, "roar" first */
	const struct git_facts *git;
};
int transfer_record(struct transfer *t, const struct transfer_step *step,
		    int64_t *ret_step, struct roar_error *err);

/* transfer_tag.c: tags the commit, or the snapshot of what was not committed, as
 * roar/COMMIT.  Appends the name; returns 1 when the tag is new, 0 when it was there. */
int transfer_tag(const struct git_facts *git, struct str *ret_name,
		 struct roar_error *err);

#endif
