/* kept_list.c - see kept_list.h */
#include "project/kept_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static int add_item(void *ctx, const struct keep_item *item)
{
	struct kept_list *o = ctx;
	struct kept_object *object = VEC_PUSH(o->list, o->n, o->cap);

	if (!object)
		return -ENOMEM;
	*object = (struct kept_object){ .item = *item };
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct keep_item *x = &((const struct kept_object *)a)->item;
	const struct keep_item *y = &((const struct kept_object *)b)->item;

	if (x->kept_ns != y->kept_ns)
		return x->kept_ns < y->kept_ns ? -1 : 1;
	return memcmp(x->blake3, y->blake3, BLAKE3_LEN);
}

static int find_path(struct kept_list *o, struct kept_object *object,
		     struct roar_error *err)
{
	struct pool scratch = POOL_INIT;
	char hex[2 * BLAKE3_LEN + 1];
	struct store_artifact *found;
	size_t n = 0;
	int r;

	digest_hex(hex, object->item.blake3, BLAKE3_LEN);
	r = store_artifacts_by_prefix(o->view.store, &scratch, hex, 1, &found,
				      &n, err);
	if (r >= 0 && n) {
		object->path = pool_strdup(&o->view.pool, found->first_path);
		r = object->path ? 0 : -ENOMEM;
	}
	pool_release(&scratch);
	return r;
}

int kept_list_read(struct kept_list *o, struct roar_error *err)
{
	int r = keep_each(o->view.project.dirfd, add_item, o);

	if (r < 0)
		return error_set(err, r, "cannot read '%s/objects': %s",
				 o->view.project.dir, strerror(-r));
	if (o->n)
		qsort(o->list, o->n, sizeof(*o->list), by_age);
	for (size_t i = 0; i < o->n && r >= 0; i++)
		r = find_path(o, &o->list[i], err);
	return r;
}

uint64_t kept_list_bytes(const struct kept_list *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->n; i++)
		sum += o->list[i].why ? 0 : o->list[i].item.size_bytes;
	return sum;
}

int kept_list_find(struct kept_list *o, const uint8_t blake3[BLAKE3_LEN],
		   struct roar_error *err)
{
	struct keep_item item = { 0 };
	int r;

	memcpy(item.blake3, blake3, BLAKE3_LEN);
	(void)keep_has(o->view.project.dirfd, blake3, &item.size_bytes);
	r = add_item(o, &item);
	return r < 0 ? r : find_path(o, &o->list[o->n - 1], err);
}

/* ---- removing ---- */

void kept_list_choose(struct kept_list *o)
{
	uint64_t left;

	for (size_t i = 0; i < o->n; i++)
		if (!o->list[i].path)
			o->list[i].why = "unrecorded";
	left = kept_list_bytes(o);
	for (size_t i = 0; i < o->n && left > o->max_bytes; i++) {
		if (o->list[i].why)
			continue;
		o->list[i].why = "size";
		left -= o->list[i].item.size_bytes;
	}
}

int kept_list_remove(struct kept_list *o, uint64_t *freed,
		     struct roar_error *err)
{
	int dirfd = o->view.project.dirfd;
	int r = keep_sweep(dirfd, freed);

	for (size_t i = 0; i < o->n && r == 0; i++) {
		if (!o->list[i].why)
			continue;
		r = keep_remove(dirfd, o->list[i].item.blake3);
		if (r == -ENOENT)
			r = 0; /* another was faster */
	}
	if (r < 0)
		return error_set(err, r, "cannot remove from '%s/objects': %s",
				 o->view.project.dir, strerror(-r));
	return 0;
}
