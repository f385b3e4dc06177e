/* test_damage.c - an arena that somebody writes over while it is in use */
#include "helpers.h"

#include "arena/protocol/arena_layout.h"

enum { SMALL = 200, LARGE = 3000, N_ITEMS = 3 };

static const struct roar_arena_config kinds[] = {
	{ .size_bytes = 1 << 16, .n_units = 8 },
	{ .segment_bytes = 4096, .n_units = 8 },
	{ .size_bytes = 1 << 16, .n_units = 8, .flags = ROAR_ARENA_BROADCAST },
	{ .size_bytes = 1 << 16,
	  .n_units = 8,
	  .flags = ROAR_ARENA_PARTITION,
	  .n_producers = 2 },
};

enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static void damage(struct roar_arena *a, size_t at, uint64_t value)
{
	assert_int_equal(pwrite(roar_arena_fd(a), &value, sizeof(value),
				(off_t)at),
			 sizeof(value));
}

/* A queue in which the next position makes no sense. */
static void damage_queue(struct roar_arena *a)
{
	damage(a, offsetof(struct arena_header, tail), 1000 << 6);
}

static void what_cannot_be_published_stays_the_callers(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_KINDS; i++) {
		struct roar_arena *a = make_joined(kinds[i]);
		struct roar_arena_unit *child = NULL;
		struct roar_arena_unit *u = NULL;
		struct roar_arena_part parts[] = { { .len = 10 },
						   { .len = SMALL } };
		struct roar_arena_stats stats;

		assert_int_equal(reserve(a, SMALL, 0, &child), 0);
		parts[1].in = child;
		assert_int_equal(roar_arena_reserve(a, parts, 2, 5, 0, &u), 0);
		damage_queue(a);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(roar_arena_commit(u, 1), -EBADMSG);
			assert_non_null(strstr(roar_arena_error(), "damaged"));
			assert_int_equal(u->n_buffers, 2);
			assert_ptr_equal(u->buffers[1].data,
					 child->buffers[0].data);
		}
		roar_arena_release(u);
		memset(child->buffers[0].data, 1, SMALL);
		roar_arena_release(child);
		assert_int_equal(roar_arena_stats(a, &stats), 0);
		assert_int_equal(stats.n_used, 0);
		roar_arena_close(a);
	}
}

/* Sends and receives what it can, and keeps the last of it. */
static struct roar_arena_unit *use(struct roar_arena *a)
{
	static char bytes[LARGE];
	struct roar_arena_buffer buffers[] = { { bytes, SMALL },
					       { bytes, LARGE } };
	struct roar_arena_unit *last = NULL;

	for (int i = 0; i < N_ITEMS; i++) {
		struct roar_arena_unit *child = NULL;
		struct roar_arena_unit *u = NULL;
		struct roar_arena_part part = { .len = SMALL };

		(void)roar_arena_send(a, "env", 3, buffers, 2, 7, 0);
		if (reserve(a, SMALL, 0, &child) == 0) {
			part.in = child;
			memset(child->buffers[0].data, i, SMALL);
			if (roar_arena_reserve(a, &part, 1, 0, 0, &u) < 0 ||
			    roar_arena_commit(u, 1) < 0) {
				roar_arena_release(u);
				roar_arena_release(child);
			}
		}
		for (int k = 0; k < 2; k++) {
			u = NULL;
			if (roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u) < 0)
				continue;
			for (size_t n = 0; n < u->n_buffers; n++)
				memset(u->buffers[n].data, 1,
				       u->buffers[n].len);
			roar_arena_release(last);
			last = u;
		}
	}
	return last;
}

static void use_damaged(const struct roar_arena_config *kind, size_t at,
			uint64_t value)
{
	struct roar_arena *a = make_joined(*kind);
	struct roar_arena *b = NULL;
	struct roar_arena_unit *before = use(a);
	struct roar_arena_unit *after;
	struct roar_arena_stats stats;

	damage(a, at, value);
	after = use(a);
	if (roar_arena_attach(roar_arena_fd(a), &b) == 0) {
		if (roar_arena_join(b, BOTH, 1) == 0)
			roar_arena_release(use(b));
		roar_arena_close(b);
	}
	(void)roar_arena_stats(a, &stats);
	roar_arena_release(before);
	roar_arena_close(a);
	roar_arena_release(after);
}

static void no_word_that_is_written_over_does_worse_than_an_error(void **state)
{
	static const uint64_t values[] = { 0, 1, 1ULL << 32 | 7, UINT64_MAX,
					   0x0001000000000005 };
	/* The header, some parties, and all that follows them. */
	const size_t parties = 4096 + 4 * sizeof(struct arena_party);
	const size_t rest = 4096 + ARENA_PARTIES * sizeof(struct arena_party);

	(void)state;
	for (size_t i = 0; i < N_KINDS; i++)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++)
			for (size_t at = 0; at < rest + 4096;
			     at = at == 512	? 4096 :
				  at == parties ? rest :
						  at + 8)
				use_damaged(&kinds[i], at, values[v]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_published_stays_the_callers),
		cmocka_unit_test(
			no_word_that_is_written_over_does_worse_than_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
