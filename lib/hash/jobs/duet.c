/* duet.c - see duet.h */
#include "hash/jobs/duet.h"

#include "base/thread.h"
#include "hash/jobs/futex.h"

/* Word by word: a thread on another CPU takes longer to wake than most leaves take
 * to come, so that it first looks a while without sleeping. */
static void await(_Atomic uint32_t *word, uint32_t seen)
{
	enum { LOOKS = 2000 };

	for (int i = 0; i < LOOKS; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) != seen)
			return;
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
	while (atomic_load(word) == seen)
		futex_wait(word, seen, -1);
}

static void *second(void *arg)
{
	struct duet *d = arg;

	for (uint32_t n = 0;; n++) {
		await(&d->given, n);
		if (!d->data)
			return NULL;
		(void)leaf_tree_fill(d->tree, d->index, d->data, d->len);
		futex_bump(&d->taken, 1);
	}
}

void duet_start(struct duet *d, struct leaf_tree *tree, bool with_second)
{
	*d = (struct duet){ .tree = tree, .alone = true };
	if (with_second)
		d->alone = thread_start(&d->thread, NULL, second, d) < 0;
}

void duet_give(struct duet *d, uint64_t index, const void *data, size_t len)
{
	if (d->alone) {
		(void)leaf_tree_fill(d->tree, index, data, len);
		return;
	}
	d->index = index;
	d->data = data;
	d->len = len;
	futex_bump(&d->given, 1);
}

void duet_wait(struct duet *d)
{
	uint32_t given = atomic_load(&d->given);

	if (!d->alone && atomic_load(&d->taken) != given)
		await(&d->taken, given - 1);
}

void duet_end(struct duet *d)
{
	if (d->alone)
		return;
	d->data = NULL;
	futex_bump(&d->given, 1);
	(void)pthread_join(d->thread, NULL);
}
