/* list.h - a ring of things that belong together, each in it by a link of its own.
 *
 * Adding and taking out cost the same wherever it is.  The order is that in which they
 * were added, so what happens to all of them happens in the same order every
 * time. */
#ifndef COORD_LIST_H
#define COORD_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

#define LIST_OWNER(link, type, member) \
	((type *)((char *)(link)-offsetof(type, member)))
/* `next` is looked up before the body, so that the body may take `it` out. */
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

static inline void list_add_before(struct list *place, struct list *link)
{
	link->prev = place->prev;
	link->next = place;
	place->prev->next = link;
	place->prev = link;
}

static inline void list_add(struct list *head, struct list *link)
{
	list_add_before(head, link);
}

/* A link that is taken out may be taken out again. */
static inline void list_remove(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

#endif
