/* test_reply_queue.c - replies that wait for the log. */
#include "test.h"

#include "alloc_fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rpc/reply_queue.h"

static struct str left;

static void note(void *data, const struct queued_reply *head,
		 const void *message, const char *sentence, const char *absent)
{
	assert_null(data);
	str_addf(&left, "%llu:%u", (unsigned long long)head->call,
		 head->status);
	if (message)
		str_addf(&left, " [%.*s]", (int)head->len,
			 (const char *)message);
	if (sentence)
		str_addf(&left, " %s", sentence);
	if (absent)
		str_addf(&left, " (%s)", absent);
	str_addc(&left, '\n');
}

static void add(struct reply_queue *h, uint64_t seq, uint64_t call,
		const char *message)
{
	struct queued_reply head = { .seq = seq,
				     .call = call,
				     .len = message ?
						    (uint32_t)strlen(message) :
						    REPLY_NO_MESSAGE };

	assert_int_equal(reply_queue_add(h, &head, message, NULL, NULL), 0);
}

static void add_with_end(struct reply_queue *h, uint64_t seq,
			 struct rpc_shared *end)
{
	struct queued_reply head = { .seq = seq, .len = 0, .end = end };

	assert_int_equal(reply_queue_add(h, &head, "", NULL, NULL), 0);
}

static void what_replies_have_in_common_is_held_once(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };
	char bytes[1000] = "";
	struct rpc_shared *a = rpc_shared_new(bytes, sizeof(bytes));
	struct rpc_shared *b = rpc_shared_new("b", 1);

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		add_with_end(&h, 1, a);
	assert_in_range(reply_queue_bytes(&h), 1000, 1999);
	add_with_end(&h, 2, b);
	add_with_end(&h, 3, a);
	rpc_shared_unref(a);
	rpc_shared_unref(b);
	assert_int_equal(h.shared, 2001);
	reply_queue_drain(&h, 1, note, NULL);
	assert_int_equal(h.shared, 1001);
	reply_queue_drain(&h, 2, note, NULL);
	assert_int_equal(h.shared, 1000);
}

static int begin(void **state)
{
	(void)state;
	str_clear(&left);
	return 0;
}

static void replies_leave_in_order_up_to_a_record(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };

	(void)state;
	add(&h, 1, 10, "a");
	add(&h, 1, 11, "");
	add(&h, 3, 10, "ccc");
	reply_queue_drain(&h, 0, note, NULL);
	assert_string_equal(str_cstr(&left), "");
	reply_queue_drain(&h, 2, note, NULL);
	assert_string_equal(str_cstr(&left), "10:0 [a]\n11:0 []\n");
	assert_int_equal(h.n, 1);
	add(&h, 4, 12, NULL);
	reply_queue_drain(&h, 9, note, NULL);
	assert_string_equal(str_cstr(&left),
			    "10:0 [a]\n11:0 []\n10:0 [ccc]\n12:0\n");
	assert_int_equal(reply_queue_bytes(&h), 0);
}

static void a_failure_keeps_its_sentence_and_names(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };
	struct queued_reply head = { .seq = 1,
				     .call = 5,
				     .status = 10,
				     .len = REPLY_NO_MESSAGE };

	(void)state;
	assert_int_equal(reply_queue_add(&h, &head, NULL, "somebody died",
					 "w-1,w-2"),
			 0);
	assert_int_equal(reply_queue_add(&h, &head, NULL, NULL, "w-3"), 0);
	reply_queue_drain(&h, 1, note, NULL);
	assert_string_equal(str_cstr(&left),
			    "5:10 somebody died (w-1,w-2)\n5:10 (w-3)\n");
}

static void what_has_left_takes_no_memory(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };
	char message[1000];

	(void)state;
	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	for (uint64_t i = 1; i <= 20000; i++) {
		add(&h, i, i, message);
		reply_queue_drain(&h, i - 1, note, NULL);
		str_clear(&left);
	}
	assert_int_equal(h.n, 1);
	assert_true(h.bytes.cap < 16384);
}

static void much_memory_is_given_back(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };
	char message[1000];

	(void)state;
	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	for (int i = 0; i < 2000; i++)
		add(&h, 1, 1, message);
	assert_true(reply_queue_bytes(&h) > REPLY_QUEUE_KEEP);
	reply_queue_drain(&h, 1, note, NULL);
	assert_true(h.bytes.cap <= REPLY_QUEUE_KEEP);
}

static void without_memory_the_reply_is_not_there(void **state)
{
	CLEANUP(reply_queue_release) struct reply_queue h = { 0 };
	struct queued_reply head = { .seq = 1,
				     .call = 5,
				     .len = REPLY_NO_MESSAGE };
	int r;

	(void)state;
	alloc_fail_after(0);
	r = reply_queue_add(&h, &head, NULL, "x", NULL);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(h.n, 0);
	add(&h, 1, 7, "y");
	reply_queue_drain(&h, 1, note, NULL);
	assert_string_equal(str_cstr(&left), "7:0 [y]\n");
}

static int end(void **state)
{
	(void)state;
	str_release(&left);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(replies_leave_in_order_up_to_a_record,
				       begin),
		cmocka_unit_test_setup(a_failure_keeps_its_sentence_and_names,
				       begin),
		cmocka_unit_test_setup(what_has_left_takes_no_memory, begin),
		cmocka_unit_test_setup(much_memory_is_given_back, begin),
		cmocka_unit_test_setup(what_replies_have_in_common_is_held_once,
				       begin),
		cmocka_unit_test_setup(without_memory_the_reply_is_not_there,
				       begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
