/* fetched_files.c - see fetched_files.h */
#include "transfer/fetched_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/map.h"
#include "hash/digest/multihash.h"
#include "transfer/transfer_internal.h"

struct fetched_files {
	char name[64]; /* of the state file */
	int fd; /* -1: not written yet */
};

/* ---- files of an earlier try ---- */

static int hash_fd(int fd, uint8_t ret[BLAKE3_LEN])
{
	CLEANUP(multihash_release) struct multihash hash;
	CLEANUP(freep) char *buffer = malloc(TRANSFER_LEAF);
	struct digests digests;
	int r;

	multihash_init(&hash);
	if (!buffer)
		return -ENOMEM;
	r = multihash_start(&hash, DIGEST_SET_BLAKE3, 0);
	while (r == 0) {
		ssize_t n = fd_read_all(fd, buffer, TRANSFER_LEAF);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		multihash_update(&hash, buffer, (size_t)n);
	}
	if (r == 0)
		r = multihash_final(&hash, &digests);
	if (r == 0)
		memcpy(ret, digests.blake3, BLAKE3_LEN);
	return r;
}

/* Is the file what was noted?  Then the item has its stamp and digest. */
static bool is_noted(struct transfer_item *item,
		     const struct transfer_file *noted)
{
	CLEANUP(closep)
	int fd = open(item->path,
		      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint8_t digest[BLAKE3_LEN];
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size != item->size_bytes || strcmp(noted->etag, item->etag) ||
	    hash_fd(fd, digest) < 0 ||
	    memcmp(digest, noted->blake3, BLAKE3_LEN))
		return false;
	item->stamp = stamp_of(&st);
	memcpy(item->blake3, digest, BLAKE3_LEN);
	return true;
}

static int index_files(const struct transfer_state *s, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < s->n_files && r == 0; i++)
		r = map_set(ret, s->files[i].name, strlen(s->files[i].name),
			    &s->files[i]);
	return r;
}

static void take_files(struct transfer *t, const struct map *noted)
{
	for (size_t i = 0; i < t->n; i++) {
		struct transfer_item *item = &t->items[i];
		const struct transfer_file *file = map_get(noted, item->name,
							   strlen(item->name));

		if (!file || !is_noted(item, file))
			continue;
		transfer_advance(t, (uint64_t)item->size_bytes);
		transfer_finish_item(t, item);
	}
}

int fetched_files_take(struct transfer *t, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(transfer_state_release) struct transfer_state s = { 0 };
	CLEANUP(map_release) struct map noted = MAP_INIT;
	const struct transfer_tree *tree = t->trees;

	if (!t->n_trees || !t->client)
		return 0;
	t->fetched = pool_zalloc(&t->pool, sizeof(*t->fetched));
	if (!t->fetched)
		return error_set(err, -ENOMEM, "out of memory");
	t->fetched->fd = -1;
	transfer_state_name("files", tree->place, tree->path, t->fetched->name);
	if (!transfer_state_read(t, t->fetched->name, &pool, &s))
		return 0;
	if (index_files(&s, &noted) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	take_files(t, &noted);
	return 0;
}

/* ---- files of this one ---- */

/* Those that were taken are noted again, so that the file has no others. */
static int begin_notes(struct transfer *t)
{
	const struct transfer_state s = { .place = t->trees[0].place,
					  .path = t->trees[0].path,
					  .id = "-" };
	int r = transfer_state_write(t, t->fetched->name, &s, &t->fetched->fd);

	for (size_t i = 0; i < t->n && r == 0; i++)
		if (t->items[i].is_done)
			r = transfer_state_add_file(t->fetched->fd,
						    &t->items[i]);
	return r;
}

void fetched_files_add(struct transfer *t, const struct transfer_item *item)
{
	if (!t->fetched || !*item->etag)
		return;
	if (t->fetched->fd < 0)
		(void)begin_notes(t);
	else
		(void)transfer_state_add_file(t->fetched->fd, item);
}

void fetched_files_end(struct transfer *t)
{
	if (t->fetched)
		transfer_state_remove(t, t->fetched->name);
}

void fetched_files_close(struct transfer *t)
{
	if (t->fetched)
		closep(&t->fetched->fd);
}
