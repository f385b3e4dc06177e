/* test_out.c - queues whose replies have blocks in common. */
#include "net/rpc/rpc_output.h"

#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "net/rpc/rpc.h"
#include "test.h"

static struct shelf shelf;

static void add(struct out *o, const char *text, struct rpc_shared *block)
{
	assert_int_equal(out_add(&shelf, o, text, strlen(text), block), 0);
}

/* All of it, in pieces of that size. */
static void expect_text(struct out *o, size_t piece, const char *text)
{
	char all[100] = "";
	size_t len = 0, n;

	assert_int_equal(out_len(o), strlen(text));
	while ((n = out_read(&shelf, o, (uint8_t *)all + len, piece)) > 0)
		len += n;
	assert_string_equal(all, text);
	assert_int_equal(out_len(o), 0);
}

static void own_bytes_and_blocks_leave_in_order(void **state)
{
	struct rpc_shared *block = rpc_shared_new("-block-", 7);
	struct out o = { 0 };

	(void)state;
	for (size_t piece = 1; piece < 40; piece++) {
		add(&o, "one", block);
		add(&o, "", block);
		add(&o, "two", NULL);
		add(&o, "three", block);
		add(&o, "end", NULL);
		expect_text(&o, piece, "one-block--block-twothree-block-end");
	}
	rpc_shared_unref(block);
	assert_int_equal(shelf.shared, 0);
}

static void more_may_come_while_some_has_left(void **state)
{
	struct rpc_shared *block = rpc_shared_new("block", 5);
	struct out o = { 0 };
	uint8_t bytes[6];

	(void)state;
	add(&o, "abc", block);
	assert_int_equal(out_read(&shelf, &o, bytes, 2), 2);
	add(&o, "d", block);
	assert_int_equal(out_read(&shelf, &o, bytes, 4), 4);
	assert_memory_equal(bytes, "cblo", 4);
	add(&o, "e", NULL);
	expect_text(&o, 3, "ckdblocke");
	rpc_shared_unref(block);
}

static void a_block_is_counted_once(void **state)
{
	struct rpc_shared *block = rpc_shared_new("block", 5);
	struct out a = { 0 }, b = { 0 };

	(void)state;
	add(&a, "", block);
	add(&a, "", block);
	add(&b, "x", block);
	rpc_shared_unref(block);
	assert_int_equal(shelf.shared, 5);
	out_release(&shelf, &a);
	assert_int_equal(shelf.shared, 5);
	expect_text(&b, 100, "xblock");
	assert_int_equal(shelf.shared, 0);
}

static void without_memory_nothing_is_added(void **state)
{
	struct rpc_shared *block = rpc_shared_new("block", 5);
	struct out o = { 0 };

	(void)state;
	for (int n = 0; n < 2; n++) {
		alloc_fail_after(n);
		int r = out_add(&shelf, &o, "x", 1, block);

		alloc_fail_never();
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(out_len(&o), 0);
	}
	rpc_shared_unref(block);
	assert_int_equal(shelf.shared, 0);
}

static int forget(void **state)
{
	(void)state;
	shelf_release(&shelf);
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(own_bytes_and_blocks_leave_in_order),
		TEST(more_may_come_while_some_has_left),
		TEST(a_block_is_counted_once),
		TEST(without_memory_nothing_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
