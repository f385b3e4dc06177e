/* list.h - an intrusive doubly linked list.
 *
 * Each element embeds a `struct list` as its link; container_of() leads from the link
 * back to the element.  The head is a link without an element, and the list is a ring
 * through it.  Elements keep the order in which they were added.  Adding and removing
 * take constant time. */
#ifndef ROAR_BASE_LIST_H
#define ROAR_BASE_LIST_H

#include <stdbool.h>

struct list {
	struct list *prev, *next;
};

/* Visits every link.  `after` is read before the body runs, so that the body may
 * remove `it`. */
#define LIST_EACH(it, after, head)                                     \
	for (struct list * (it) = (head)->next, *(after) = (it)->next; \
	     (it) != (head); (it) = (after), (after) = (it)->next)

static inline void list_init(struct list *head)
{
	head->prev = head->next = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* Adds `link` before `place`. */
static inline void list_add_before(struct list *place, struct list *link)
{
	link->prev = place->prev;
	link->next = place;
	place->prev->next = link;
	place->prev = link;
}

/* Adds `link` at the end. */
static inline void list_add(struct list *head, struct list *link)
{
	list_add_before(head, link);
}

/* Removing a link that is already removed does nothing. */
static inline void list_remove(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

#endif
