/* test_send.c - copying in, and messages larger than the arena */
#include "helpers.h"

static unsigned char *pattern(size_t len, unsigned seed)
{
	unsigned char *p = malloc(len + 1);

	assert_non_null(p);
	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)(i * 31 + i / 251 + seed);
	return p;
}

static void assert_pattern(const struct roar_arena_buffer *b, size_t len,
			   unsigned seed)
{
	unsigned char *want = pattern(len, seed);

	assert_int_equal(b->len, len);
	assert_int_equal((uintptr_t)b->data % ROAR_ARENA_ALIGN, 0);
	assert_int_equal(memcmp(b->data, want, len), 0);
	free(want);
}

enum { MOST = 40 };

struct message {
	size_t n;
	size_t lens[MOST];
	size_t envelope_len;
};

static int send_message(struct roar_arena *a, const struct message *m,
			uint64_t tag, long long timeout_ns)
{
	struct roar_arena_buffer buffers[MOST] = { { 0 } };
	unsigned char *envelope = pattern(m->envelope_len, 99);
	int r;

	for (size_t i = 0; i < m->n; i++)
		buffers[i] = (struct roar_arena_buffer){
			pattern(m->lens[i], (unsigned)i), m->lens[i]
		};
	r = roar_arena_send(a, envelope, m->envelope_len, buffers, m->n, tag,
			    timeout_ns);
	for (size_t i = 0; i < m->n; i++)
		free(buffers[i].data);
	free(envelope);
	return r;
}

static void check_message(const struct roar_arena_unit *u,
			  const struct message *m)
{
	struct roar_arena_buffer envelope = { u->envelope, u->envelope_len };

	assert_pattern(&envelope, m->envelope_len, 99);
	assert_int_equal(u->n_buffers, m->n);
	for (size_t i = 0; i < m->n; i++)
		assert_pattern(&u->buffers[i], m->lens[i], (unsigned)i);
}

struct job {
	struct message *messages;
	size_t n;
};

static int send_all(int fd, void *arg)
{
	struct job *job = arg;
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, 0);

	for (size_t i = 0; i < job->n; i++)
		if (send_message(a, &job->messages[i], i, ROAR_ARENA_FOREVER))
			return 1;
	roar_arena_close(a);
	return 0;
}

static void exchange(struct roar_arena_config config, struct message *messages,
		     size_t n)
{
	struct roar_arena *a = make(config);
	struct job job = { messages, n };
	struct roar_arena_stats stats;
	pid_t pid;

	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	pid = start(send_all, roar_arena_fd(a), &job);
	for (size_t i = 0; i < n; i++) {
		struct roar_arena_unit *u = get(a);

		assert_int_equal(u->tag, i);
		assert_int_equal(u->sequence, i);
		check_message(u, &messages[i]);
		roar_arena_release(u);
	}
	assert_int_equal(finish(pid), 0);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	roar_arena_close(a);
}

static struct message messages[] = {
	{ .n = 1, .lens = { 100 } },
	{ .n = 0, .envelope_len = 5 },
	{ .n = 1, .lens = { 1000000 }, .envelope_len = 17 },
	{ .n = 3, .lens = { 1, 300000, 0 } },
	{ .n = 0, .envelope_len = 300000 },
	{ .n = 1, .lens = { 65536 } },
	{ .n = 1, .lens = { 65537 } },
	{ .n = 40, .lens = { [0] = 77777, [20] = 200000, [39] = 1 } },
	{ .n = 1, .lens = { 3 } },
};

enum { N_MESSAGES = sizeof(messages) / sizeof(*messages) };

static void what_is_larger_than_the_arena_arrives(void **state)
{
	(void)state;
	exchange((struct roar_arena_config){ .size_bytes = 1 << 16,
					     .n_units = 4 },
		 messages, N_MESSAGES);
	exchange((struct roar_arena_config){ .segment_bytes = 4096,
					     .n_units = 2 },
		 messages, N_MESSAGES);
	exchange((struct roar_arena_config){ .size_bytes = 1, .n_units = 1 },
		 messages, N_MESSAGES);
	exchange((struct roar_arena_config){ .size_bytes = 1 << 16,
					     .inline_bytes = 64,
					     .n_units = 3,
					     .flags = ROAR_ARENA_BROADCAST },
		 messages, N_MESSAGES);
}

static void a_message_in_pieces_is_in_private_memory(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16 };
	struct roar_arena *a = make(config);
	struct job job = { &messages[2], 1 };
	struct roar_arena_stats stats;
	struct roar_arena_unit *u;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	pid = start(send_all, roar_arena_fd(a), &job);
	u = get(a);
	assert_int_equal(u->index, UINT32_MAX);
	roar_arena_retain(u);
	roar_arena_release(u);
	assert_int_equal(finish(pid), 0);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.in_pieces, 1);
	assert_int_equal(stats.n_used, 0);
	roar_arena_close(a);
	check_message(u, &messages[2]);
	roar_arena_release(u);
}

/* Nobody receives: the third piece has no room. */
static void a_message_that_was_given_up_is_forgotten(void **state)
{
	struct roar_arena_config config = { .segment_bytes = 4096,
					    .n_units = 2 };
	struct roar_arena *a = make_joined(config);
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(send_message(a, &messages[3], 1, 0), -EMSGSIZE);
	assert_int_equal(send_message(a, &messages[3], 1, 20 * MS), -ETIMEDOUT);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u), -EAGAIN);
	assert_int_equal(send_message(a, &messages[0], 7, 0), 0);
	u = get(a);
	assert_int_equal(u->tag, 7);
	check_message(u, &messages[0]);
	roar_arena_release(u);
	roar_arena_close(a);
}

/* ---- several consumers ---- */

static int receive_some(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *u = NULL;
	int n = 0;

	(void)arg;
	while (roar_arena_receive(a, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER, &u) ==
	       0) {
		check_message(u, &messages[u->tag % N_MESSAGES]);
		roar_arena_release(u);
		n++;
	}
	roar_arena_close(a);
	return n;
}

static void the_pieces_of_a_message_go_to_one_consumer(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1 << 16,
					    .n_units = 6 };
	struct roar_arena *a = make(config);
	pid_t pids[3];
	int n = 0;

	(void)state;
	for (int i = 0; i < 3; i++)
		pids[i] = start(receive_some, roar_arena_fd(a), NULL);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	for (uint64_t i = 0; i < 60; i++)
		assert_int_equal(send_message(a, &messages[i % N_MESSAGES], i,
					      5000 * MS),
				 0);
	assert_int_equal(roar_arena_shutdown(a), 0);
	for (int i = 0; i < 3; i++)
		n += finish(pids[i]);
	assert_int_equal(n, 60);
	roar_arena_close(a);
}

/* Lets the sender wait for `*arg` more times. */
static int ask(void *arg)
{
	return --*(int *)arg < 0 ? -EINTR : 0;
}

static void a_sender_that_waits_is_asked_whether_to_go_on(void **state)
{
	static char bytes[1 << 20];
	static const struct {
		size_t len;
		long long timeout_ns;
		int times;
		int result;
	} cases[] = {
		{ sizeof(bytes), ROAR_ARENA_FOREVER, 2, -EINTR },
		{ sizeof(bytes), 20000 * MS, 0, -EINTR },
		{ sizeof(bytes), 20 * MS, 1000, -ETIMEDOUT },
		{ sizeof(bytes), 0, 1000, -EMSGSIZE },
		{ 1 << 16, ROAR_ARENA_FOREVER, 2, -EINTR },
		{ 1 << 16, 0, 1000, -EAGAIN },
	};
	struct roar_arena_config config = { .size_bytes = 1 << 16 };
	struct roar_arena *a = make_joined(config);

	(void)state;
	put(a, 1 << 14, 1, 0); /* so that not even the smaller one fits */
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct roar_arena_buffer buffer = { bytes, cases[i].len };
		int times = cases[i].times;
		int r = roar_arena_send_asking(a, NULL, 0, &buffer, 1, 0,
					       cases[i].timeout_ns, ask,
					       &times);

		assert_int_equal(r, cases[i].result);
	}
	roar_arena_close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_larger_than_the_arena_arrives),
		cmocka_unit_test(a_message_in_pieces_is_in_private_memory),
		cmocka_unit_test(a_message_that_was_given_up_is_forgotten),
		cmocka_unit_test(the_pieces_of_a_message_go_to_one_consumer),
		cmocka_unit_test(a_sender_that_waits_is_asked_whether_to_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
