/* download_file.c - see download_file.h */
#include "transfer/download_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"
#include "hash/digest/multihash.h"
#include "transfer/fetched_files.h"
#include "transfer/partial_file.h"

enum { RESUME_MIN = 16 << 20 }; /* bytes: smaller ones begin anew */

struct download_file {
	struct list link;
	struct transfer *t;
	struct transfer_item *item;
	struct str part; /* name of the partial file */
	int fd, state_fd;
	char state_name[64]; /* "": it cannot be continued */
	struct leaf_tree tree; /* where the size is known */
	uint8_t *has; /* per leaf: asked for, or there */
	uint64_t next, n_there;
	struct multihash stream; /* where it is not */
	uint64_t n_streamed;
	bool has_ended; /* likewise */
	unsigned n_held;
};

struct list *download_file_link(struct download_file *f)
{
	return &f->link;
}

struct download_file *download_file_of(struct list *link)
{
	return container_of(link, struct download_file, link);
}

struct transfer_item *download_file_item(const struct download_file *f)
{
	return f->item;
}

static bool is_stream(const struct download_file *f)
{
	return f->item->size_bytes < 0;
}

/* ---- the partial file ---- */

static int open_part(struct download_file *f)
{
	f->fd = partial_file_open(f->part.data, 0666);
	return f->fd < 0 ? f->fd : 0;
}

static int clear_part(struct download_file *f)
{
	return ftruncate(f->fd, 0) < 0 ? -errno : 0;
}

/* ---- what an earlier try has left ---- */

static bool is_same(const struct download_file *f,
		    const struct transfer_state *s)
{
	return !strcmp(s->place, f->item->place) &&
	       !strcmp(s->path, f->item->path) && *s->id &&
	       !strcmp(s->id, f->item->etag) &&
	       s->size_bytes == f->item->size_bytes;
}

/* A leaf counts when its bytes still have the value that was noted. */
static void take_leaf(struct download_file *f, uint64_t index,
		      const uint8_t noted[BLAKE3_LEN], void *buffer)
{
	uint8_t value[BLAKE3_LEN];
	size_t len;

	if (index >= f->tree.n_leaves || f->has[index])
		return;
	len = b3_shape_leaf_len(&f->tree.shape, index);
	if (pread(f->fd, buffer, len, (off_t)(index * TRANSFER_LEAF)) !=
		    (ssize_t)len ||
	    b3_leaf(&f->tree.shape, index, buffer, len, value) < 0 ||
	    memcmp(value, noted, BLAKE3_LEN) != 0)
		return;
	memcpy(f->tree.values + index * BLAKE3_LEN, value, BLAKE3_LEN);
	f->has[index] = 1;
	f->n_there++;
	transfer_advance(f->t, len);
}

static void take_leaves(struct download_file *f, const struct transfer_state *s)
{
	CLEANUP(freep) void *buffer = malloc(TRANSFER_LEAF);

	for (size_t i = 0; buffer && i < s->n_leaves; i++)
		take_leaf(f, s->leaves[i].index, s->leaves[i].value, buffer);
}

/* The leaves that count are noted again, so that the file has no others. */
static void write_state(struct download_file *f)
{
	const struct transfer_state s = {
		.place = f->item->place,
		.path = f->item->path,
		.id = f->item->etag,
		.size_bytes = f->item->size_bytes,
		.part_bytes = TRANSFER_LEAF,
	};

	if (transfer_state_write(f->t, f->state_name, &s, &f->state_fd) < 0) {
		f->state_name[0] = '\0';
		return;
	}
	for (uint64_t i = 0; i < f->tree.n_leaves; i++)
		if (f->has[i])
			(void)transfer_state_add_leaf(f->state_fd, i,
						      f->tree.values +
							      i * BLAKE3_LEN);
}

static int open_continued(struct download_file *f)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(transfer_state_release) struct transfer_state s = { 0 };
	int r;

	transfer_state_name("download", f->item->place, f->item->path,
			    f->state_name);
	if (transfer_state_read(f->t, f->state_name, &pool, &s) &&
	    is_same(f, &s)) {
		take_leaves(f, &s);
	} else {
		r = clear_part(f);
		if (r < 0)
			return r;
	}
	write_state(f);
	return 0;
}

/* ---- life ---- */

void download_file_close(struct download_file *f)
{
	if (!f)
		return;
	list_remove(&f->link);
	/* While it is locked: afterwards it may be another transfer's. */
	if (f->fd >= 0 && !f->state_name[0] && f->part.data)
		(void)unlink(f->part.data);
	if (f->fd >= 0)
		(void)close(f->fd);
	if (f->state_fd >= 0)
		(void)close(f->state_fd);
	leaf_tree_release(&f->tree);
	multihash_release(&f->stream);
	str_release(&f->part);
	free(f->has);
	free(f);
}

void download_file_discard(struct download_file *f)
{
	if (f->state_name[0])
		transfer_state_remove(f->t, f->state_name);
	f->state_name[0] = '\0';
}

DEFINE_CLEANUP(struct download_file *, download_file_close)

static int prepare(struct download_file *f)
{
	struct transfer_item *item = f->item;
	int r;

	multihash_init(&f->stream);
	partial_file_name(&f->part, item->path);
	if (f->part.failed)
		return -ENOMEM;
	if (is_stream(f))
		r = multihash_start(&f->stream, DIGEST_SET_BLAKE3, 0);
	else
		r = leaf_tree_init(&f->tree, (uint64_t)item->size_bytes,
				   TRANSFER_LEAF);
	if (r < 0)
		return r;
	f->has = calloc(1, f->tree.n_leaves + 1);
	if (!f->has)
		return -ENOMEM;
	r = open_part(f);
	if (r < 0)
		return r;
	if (item->size_bytes >= RESUME_MIN && item->has_ranges && *item->etag)
		return open_continued(f);
	return clear_part(f);
}

int download_file_open(struct transfer *t, struct transfer_item *item,
		       struct download_file **ret, struct roar_error *err)
{
	CLEANUP(download_file_closep) struct download_file *f = NULL;
	int r;

	f = calloc(1, sizeof(*f));
	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	list_init(&f->link);
	f->t = t;
	f->item = item;
	f->fd = f->state_fd = -1;
	r = prepare(f);
	if (r == -EBUSY)
		return error_set(err, r,
				 "another transfer writes '%s': run the "
				 "command again when it has ended",
				 item->path);
	if (r < 0)
		return error_set(err, r, "cannot write '%s': %s", item->path,
				 strerror(-r));
	*ret = TAKE_PTR(f);
	return 0;
}

/* ---- bytes ---- */

uint64_t download_file_take_leaves(struct download_file *f, uint64_t max,
				   uint64_t *ret_first)
{
	uint64_t n = 0;

	while (f->next < f->tree.n_leaves && f->has[f->next])
		f->next++;
	*ret_first = f->next;
	while (n < max && f->next < f->tree.n_leaves && !f->has[f->next]) {
		f->has[f->next++] = 1;
		n++;
	}
	return n;
}

size_t download_file_leaf_len(const struct download_file *f, uint64_t index)
{
	return b3_shape_leaf_len(&f->tree.shape, index);
}

static int write_at(struct download_file *f, const void *data, size_t len,
		    uint64_t offset, struct roar_error *err)
{
	for (size_t n = 0; n < len;) {
		ssize_t put = pwrite(f->fd, (const char *)data + n, len - n,
				     (off_t)(offset + n));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return error_set(err, -errno, "cannot write '%s': %s",
					 f->item->path, strerror(errno));
		n += (size_t)put;
	}
	return 0;
}

int download_file_store_leaf(struct download_file *f, uint64_t index,
			     const void *data, size_t len,
			     struct roar_error *err)
{
	int r = leaf_tree_fill(&f->tree, index, data, len);

	if (r < 0)
		return error_set(err, r,
				 "'%s' has another size than the server said",
				 f->item->place);
	return write_at(f, data, len, index * TRANSFER_LEAF, err);
}

void download_file_note_leaf(struct download_file *f, uint64_t index)
{
	f->n_there++;
	transfer_advance(f->t, download_file_leaf_len(f, index));
	if (f->state_fd >= 0)
		(void)transfer_state_add_leaf(f->state_fd, index,
					      f->tree.values +
						      index * BLAKE3_LEN);
}

int download_file_append(struct download_file *f, const void *data, size_t len,
			 struct roar_error *err)
{
	int r = write_at(f, data, len, f->n_streamed, err);

	if (r < 0)
		return r;
	multihash_update(&f->stream, data, len);
	f->n_streamed += len;
	transfer_advance(f->t, len);
	return 0;
}

void download_file_end_stream(struct download_file *f)
{
	f->has_ended = is_stream(f);
}

void download_file_hold(struct download_file *f)
{
	f->n_held++;
}

void download_file_release(struct download_file *f)
{
	f->n_held--;
}

bool download_file_is_whole(const struct download_file *f)
{
	return f->n_held == 0 &&
	       (is_stream(f) ? f->has_ended : f->n_there == f->tree.n_leaves);
}

/* ---- the end ---- */

static int take_digest(struct download_file *f)
{
	struct digests d;
	int r;

	if (!is_stream(f)) {
		leaf_tree_root(&f->tree, f->item->blake3);
		return 0;
	}
	r = multihash_final(&f->stream, &d);
	if (r == 0)
		memcpy(f->item->blake3, d.blake3, BLAKE3_LEN);
	return r;
}

int download_file_finish(struct download_file *f, struct roar_error *err)
{
	struct transfer_item *item = f->item;
	char hex[2 * BLAKE3_LEN + 1];
	struct stat st;
	int r = take_digest(f);

	if (r < 0)
		return error_set(err, r, "cannot hash '%s': %s", item->path,
				 strerror(-r));
	digest_hex(hex, item->blake3, BLAKE3_LEN);
	if (item->expected &&
	    strncmp(item->expected, hex, strlen(item->expected)) != 0) {
		download_file_discard(f);
		return error_set(err, -EBADMSG,
				 "the content of '%s' has BLAKE3 %s, not %s as "
				 "expected: it was not kept",
				 item->place, hex, item->expected);
	}
	/* The name changes the time of the inode: the stamp is taken afterwards. */
	r = partial_file_rename(f->part.data, item->path, item->replaces);
	if (r == 0)
		r = fd_stat(f->fd, &st);
	if (r < 0)
		return error_set(err, r, "cannot write '%s': %s", item->path,
				 strerror(-r));
	item->stamp = stamp_of(&st);
	item->size_bytes = st.st_size;
	if (f->state_name[0])
		transfer_state_remove(f->t, f->state_name);
	str_release(&f->part); /* it has no such name any more */
	transfer_finish_item(f->t, item);
	fetched_files_add(f->t, item);
	return 0;
}
