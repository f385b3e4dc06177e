/* kept_list.h - the content of .roar/objects, with the names it has in the record. */
#ifndef ROAR_KEPT_LIST_H
#define ROAR_KEPT_LIST_H

#include "keep/keep.h"
#include "ui/view.h"

struct kept_object {
	struct keep_item item;
	const char *path; /* first recorded name; NULL: no record mentions it */
	const char *why; /* it is removed, or is damaged; NULL: neither */
};

struct kept_list {
	struct view view; /* open */
	struct kept_object *list; /* the oldest first; the owner frees it */
	size_t n, cap;
	uint64_t max_bytes; /* UINT64_MAX: no limit */
};

/* Reads all of it. */
int kept_list_read(struct kept_list *o, struct roar_error *err);

/* Adds one object, without its age. */
int kept_list_find(struct kept_list *o, const uint8_t blake3[BLAKE3_LEN],
		   struct roar_error *err);

/* Bytes of the objects without a reason. */
uint64_t kept_list_bytes(const struct kept_list *o);

/* Gives a reason to what no record mentions; then to the oldest, until the rest fits. */
void kept_list_choose(struct kept_list *o);

/* Removes the objects with a reason, and what killed writers left; *freed has the bytes of
 * the latter. */
int kept_list_remove(struct kept_list *o, uint64_t *freed,
		     struct roar_error *err);

#endif
