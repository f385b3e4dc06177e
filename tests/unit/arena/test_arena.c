/* test_arena.c - units from one process to another */
#include "helpers.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "alloc_fail.h"

static const struct roar_arena_config blocks = { .size_bytes = 1 << 20,
						 .n_units = 16 };
static const struct roar_arena_config segments = { .segment_bytes = 65536,
						   .n_units = 4 };

/* ---- one process ---- */

static void round_trip(struct roar_arena_config config)
{
	static const size_t lens[] = { 0, 1, 63, 64, 65, 700, 5000, 60000 };
	struct roar_arena *a = make_joined(config);

	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct roar_arena_unit *u;

		put(a, lens[i], (int)i + 1, i);
		u = get(a);
		assert_int_equal(u->tag, i);
		assert_int_equal(u->sequence, i);
		assert_int_equal(u->n_buffers, 1);
		assert_int_equal(u->buffers[0].len, lens[i]);
		assert_int_equal((uintptr_t)u->buffers[0].data % 64, 0);
		assert_bytes(&u->buffers[0], (int)i + 1);
		roar_arena_release(u);
	}
	roar_arena_close(a);
}

static void what_is_committed_is_received(void **state)
{
	(void)state;
	round_trip(blocks);
	round_trip(segments);
}

static void envelope_and_buffers(struct roar_arena_config config, size_t n,
				 size_t envelope_len)
{
	struct roar_arena *a = make_joined(config);
	struct roar_arena_part *parts = calloc(n + 1, sizeof(*parts));
	struct roar_arena_unit *u = NULL;

	for (size_t i = 0; i < n; i++)
		parts[i].len = i * 7 % 97;
	assert_int_equal(roar_arena_reserve(a, parts, n, envelope_len, 0, &u),
			 0);
	assert_int_equal((uintptr_t)u->envelope % 64, 0);
	memset(u->envelope, 0xee, envelope_len);
	for (size_t i = 0; i < n; i++)
		memset(u->buffers[i].data, (int)(i & 0xff), parts[i].len);
	assert_int_equal(roar_arena_commit(u, 1), 0);
	u = get(a);
	assert_int_equal(u->n_buffers, n);
	assert_int_equal(u->envelope_len, envelope_len);
	assert_bytes(&(struct roar_arena_buffer){ u->envelope, envelope_len },
		     0xee);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(u->buffers[i].len, parts[i].len);
		assert_bytes(&u->buffers[i], (int)(i & 0xff));
	}
	roar_arena_release(u);
	roar_arena_close(a);
	free(parts);
}

static void a_unit_has_an_envelope_and_many_buffers(void **state)
{
	static const size_t n[] = { 0, 1, 8, 9, 39, 200 };
	static const size_t len[] = { 0, 1, 64, 900, 961, 20000 };

	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++) {
			envelope_and_buffers(blocks, n[i], len[j]);
			envelope_and_buffers(segments, n[i], len[j]);
		}
}

static void nothing_is_seen_before_it_is_committed(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_unit *got = NULL;

	(void)state;
	assert_int_equal(reserve(a, 100, 0, &u), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &got),
			 -EAGAIN);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 5 * MS, &got),
			 -ETIMEDOUT);
	assert_int_equal(roar_arena_commit(u, 0), 0);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &got), 0);
	roar_arena_release(got);
	roar_arena_close(a);
}

static void a_unit_that_is_not_committed_gives_its_room_back(void **state)
{
	struct roar_arena *a = make_joined(segments);

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct roar_arena_unit *u = NULL;

		assert_int_equal(reserve(a, 65536, 0, &u), 0);
		assert_int_equal(u->index, 0);
		assert_int_equal(u->generation, i);
		roar_arena_release(u);
	}
	roar_arena_close(a);
}

static void fill(struct roar_arena *a, size_t len, size_t n)
{
	struct roar_arena_unit *u = NULL;

	for (size_t i = 0; i < n; i++)
		put(a, len, (int)i, i);
	assert_int_equal(reserve(a, len, 0, &u), -EAGAIN);
	assert_int_equal(reserve(a, len, 5 * MS, &u), -ETIMEDOUT);
}

static void who_finds_no_room_learns_who_has_it(void **state)
{
	struct roar_arena *a = make_joined(segments);
	struct roar_arena_unit *u = NULL;
	char want[64];

	(void)state;
	for (int i = 0; i < 3; i++)
		put(a, 1, 1, 0);
	assert_int_equal(reserve(a, 1, 0, &u), 0);
	assert_int_equal(reserve(a, 1, 1, &u), -ETIMEDOUT);
	assert_non_null(strstr(roar_arena_error(), "of 4 units 1 are being"));
	roar_arena_release(u);
	u = get(a);
	fill(a, 1, 1);
	(void)snprintf(want, sizeof(want), "1 are held, most by process %d",
		       getpid());
	assert_non_null(strstr(roar_arena_error(), want));
	roar_arena_release(u);
	roar_arena_close(a);
}

static void a_full_arena_says_so(void **state)
{
	struct roar_arena *a = make_joined(segments);
	struct roar_arena *b = make_joined(blocks);

	(void)state;
	fill(a, 65536, 4);
	fill(b, 1 << 18, 4);
	roar_arena_close(a);
	roar_arena_close(b);
}

/* Held is the first of four: the stream goes on with the other places. */
static void a_unit_that_is_kept_stops_nobody(void **state)
{
	struct roar_arena *a = make_joined(segments);
	struct roar_arena *b = make_joined(blocks);
	struct roar_arena_unit *first[2];

	(void)state;
	put(a, 60000, 77, 0);
	put(b, 60000, 77, 0);
	first[0] = get(a);
	first[1] = get(b);
	for (int i = 1; i < 10000; i++) {
		struct roar_arena_unit *u;

		put(a, 64, i & 0xff, (uint64_t)i);
		put(b, 20000, i & 0xff, (uint64_t)i);
		u = get(a);
		assert_int_equal(u->tag, i);
		roar_arena_release(u);
		u = get(b);
		assert_int_equal(u->tag, i);
		roar_arena_release(u);
	}
	assert_bytes(&first[0]->buffers[0], 77);
	assert_bytes(&first[1]->buffers[0], 77);
	roar_arena_release(first[0]);
	roar_arena_release(first[1]);
	roar_arena_close(a);
	roar_arena_close(b);
}

static void units_are_released_in_any_order(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *u[8];

	(void)state;
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 8; i++)
			put(a, 1 << 17, i, (uint64_t)i);
		for (int i = 0; i < 8; i++)
			u[i] = get(a);
		for (int i = 0; i < 8; i++)
			roar_arena_release(u[(i * 5 + round) % 8]);
	}
	/* All of it is free again: one that takes everything fits. */
	put(a, 1 << 20, 1, 0);
	roar_arena_release(get(a));
	roar_arena_close(a);
}

static void what_can_never_fit_is_told_at_once(void **state)
{
	struct roar_arena *a = make_joined(segments);
	struct roar_arena *b = make_joined(blocks);
	struct roar_arena_part parts[2] = { { .len = SIZE_MAX - 10 },
					    { .len = 100 } };
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(reserve(a, 65537, ROAR_ARENA_FOREVER, &u), -EMSGSIZE);
	assert_int_equal(reserve(b, (1 << 20) + 1, ROAR_ARENA_FOREVER, &u),
			 -EMSGSIZE);
	assert_int_equal(roar_arena_reserve(b, parts, 2, 0, 0, &u), -EMSGSIZE);
	assert_int_equal(roar_arena_reserve(b, parts + 1, 1, SIZE_MAX, 0, &u),
			 -EMSGSIZE);
	assert_non_null(strstr(roar_arena_error(), "roar_arena_send"));
	roar_arena_close(a);
	roar_arena_close(b);
}

static void a_retained_unit_needs_one_more_release(void **state)
{
	struct roar_arena *a = make_joined(
		(struct roar_arena_config){ .segment_bytes = 100,
					    .n_units = 1 });
	struct roar_arena_unit *u;
	struct roar_arena_unit *none = NULL;

	(void)state;
	put(a, 50, 3, 0);
	u = get(a);
	roar_arena_retain(u);
	roar_arena_release(u);
	assert_int_equal(reserve(a, 1, 0, &none), -EAGAIN);
	assert_bytes(&u->buffers[0], 3);
	roar_arena_release(u);
	put(a, 1, 1, 0);
	roar_arena_close(a);
}

static void a_held_unit_outlives_the_handle(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *u;

	(void)state;
	put(a, 50000, 3, 0);
	u = get(a);
	roar_arena_close(a);
	assert_bytes(&u->buffers[0], 3);
	roar_arena_release(u);
	roar_arena_release(NULL);
	roar_arena_close(NULL);
}

static void a_reserved_unit_is_given_back_when_its_handle_is_closed(void **state)
{
	struct roar_arena *a = make(segments);
	struct roar_arena *b = attach(roar_arena_fd(a), BOTH, 0);
	struct roar_arena_unit *reserved = NULL;
	struct roar_arena_stats stats;

	(void)state;
	assert_int_equal(reserve(b, 50000, 0, &reserved), 0);
	roar_arena_close(b);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_int_equal(stats.n_used, 0);
	assert_int_equal(roar_arena_join(a, BOTH, 0), 0);
	/* Its memory is there as long as it is not released. */
	memset(reserved->buffers[0].data, 1, 50000);
	assert_int_equal(roar_arena_commit(reserved, 0), -EPERM);
	roar_arena_release(reserved);
	roar_arena_close(a);
}

/* ---- shutdown and roles ---- */

static void after_a_shutdown_the_rest_is_received_and_nothing_sent(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *u = NULL;
	struct roar_arena_unit *reserved = NULL;

	(void)state;
	put(a, 10, 1, 5);
	assert_int_equal(reserve(a, 10, 0, &reserved), 0);
	assert_int_equal(roar_arena_shutdown(a), 0);
	assert_int_equal(reserve(a, 10, 0, &u), -EPIPE);
	assert_int_equal(roar_arena_commit(reserved, 0), -EPIPE);
	roar_arena_release(reserved);
	u = get(a);
	assert_int_equal(u->tag, 5);
	roar_arena_release(u);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u), -EPIPE);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY,
					    ROAR_ARENA_FOREVER, &u),
			 -EPIPE);
	roar_arena_close(a);
}

static void only_parties_take_part(void **state)
{
	struct roar_arena *a = make(blocks);
	struct roar_arena_unit *u = NULL;

	(void)state;
	assert_int_equal(reserve(a, 1, 0, &u), -EPERM);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u), -EPERM);
	assert_int_equal(roar_arena_join(a, 0, 0), -EINVAL);
	assert_int_equal(roar_arena_join(a, 4, 0), -EINVAL);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 1), -EINVAL);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), -EALREADY);
	assert_int_equal(roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u), -EPERM);
	roar_arena_close(a);
}

/* ---- two processes ---- */

enum { MANY = 20000 };

static int produce(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_PRODUCER, 0);
	size_t len = *(size_t *)arg;

	for (uint64_t i = 0; i < MANY; i++) {
		struct roar_arena_unit *u = NULL;

		if (reserve(a, len, ROAR_ARENA_FOREVER, &u) < 0)
			return 1;
		memset(u->buffers[0].data, (int)(i & 0xff), len);
		if (roar_arena_commit(u, i) < 0)
			return 2;
	}
	roar_arena_close(a);
	return 0;
}

static void stream(struct roar_arena_config config, size_t len)
{
	struct roar_arena *a = make(config);
	pid_t pid;

	assert_int_equal(roar_arena_join(a, ROAR_ARENA_CONSUMER, 0), 0);
	pid = start(produce, roar_arena_fd(a), &len);
	for (uint64_t i = 0; i < MANY; i++) {
		struct roar_arena_unit *u = get(a);

		if (u->tag != i || u->buffers[0].len != len ||
		    (len && *(unsigned char *)u->buffers[0].data != (i & 0xff)))
			fail_msg("unit %llu is another", (unsigned long long)i);
		roar_arena_release(u);
	}
	assert_int_equal(finish(pid), 0);
	roar_arena_close(a);
}

static void a_stream_arrives_whole_and_in_order(void **state)
{
	(void)state;
	stream(blocks, 10);
	stream(blocks, 3000);
	stream(segments, 3000);
	stream((struct roar_arena_config){ .segment_bytes = 1, .n_units = 1 },
	       2000);
}

static int wait_then_release(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *u = get(a);

	(void)arg;
	(void)usleep(50000);
	roar_arena_release(u);
	return 0;
}

static void a_producer_sleeps_until_there_is_room(void **state)
{
	struct roar_arena *a = make(
		(struct roar_arena_config){ .segment_bytes = 100,
					    .n_units = 1 });
	struct roar_arena_unit *u = NULL;
	pid_t pid;

	(void)state;
	assert_int_equal(roar_arena_join(a, ROAR_ARENA_PRODUCER, 0), 0);
	put(a, 1, 1, 0);
	pid = start(wait_then_release, roar_arena_fd(a), NULL);
	assert_int_equal(reserve(a, 1, 5000 * MS, &u), 0);
	roar_arena_release(u);
	assert_int_equal(finish(pid), 0);
	roar_arena_close(a);
}

static int wait_for_shutdown(int fd, void *arg)
{
	struct roar_arena *a = attach(fd, ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_unit *u;

	(void)arg;
	return roar_arena_receive(a, ROAR_ARENA_ANY, ROAR_ARENA_FOREVER, &u) ==
			       -EPIPE ?
		       0 :
		       1;
}

static void a_shutdown_wakes_who_waits(void **state)
{
	struct roar_arena *a = make(blocks);
	pid_t pid = start(wait_for_shutdown, roar_arena_fd(a), NULL);

	(void)state;
	(void)usleep(30000);
	assert_int_equal(roar_arena_shutdown(a), 0);
	assert_int_equal(finish(pid), 0);
	assert_int_equal(roar_arena_join(a, BOTH, 0), -EPIPE);
	roar_arena_close(a);
}

static void a_forked_child_is_no_party(void **state)
{
	struct roar_arena *a = make_joined(blocks);
	struct roar_arena_unit *u;
	pid_t pid;

	(void)state;
	put(a, 5000, 9, 0);
	u = get(a);
	pid = fork();
	if (pid == 0) {
		struct roar_arena_unit *none = NULL;
		int bad = *(char *)u->buffers[0].data != 9 ||
			  reserve(a, 1, 0, &none) != -EPERM ||
			  roar_arena_join(a, BOTH, 0) != -EPERM ||
			  roar_arena_shutdown(a) != -EPERM;

		roar_arena_release(u);
		roar_arena_close(a);
		_exit(bad);
	}
	assert_int_equal(finish(pid), 0);
	assert_bytes(&u->buffers[0], 9);
	put(a, 5000, 1, 0);
	assert_bytes(&u->buffers[0], 9);
	roar_arena_release(u);
	roar_arena_close(a);
}

/* ---- memory ---- */

static void huge_pages_are_used_if_there_are_any(void **state)
{
	struct roar_arena_config config = { .size_bytes = 3 << 20,
					    .flags = ROAR_ARENA_HUGE };
	struct roar_arena *a = make_joined(config);
	struct roar_arena *b = attach(roar_arena_fd(a), ROAR_ARENA_CONSUMER, 0);
	struct roar_arena_stats stats;
	struct roar_arena_unit *u;

	(void)state;
	put(a, 3 << 20, 7, 0);
	u = get(b);
	assert_bytes(&u->buffers[0], 7);
	roar_arena_release(u);
	assert_int_equal(roar_arena_stats(a, &stats), 0);
	assert_true(stats.page_bytes == 4096 || stats.page_bytes == 2 << 20);
	print_message("pages of %u bytes\n", stats.page_bytes);
	roar_arena_close(b);
	roar_arena_close(a);
}

static unsigned n_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void the_number_of_descriptors_stays(void **state)
{
	unsigned before = n_descriptors();
	struct roar_arena *a = make_joined(segments);
	unsigned during = n_descriptors();

	(void)state;
	for (int i = 0; i < 100000; i++) {
		put(a, 10, 1, 0);
		roar_arena_release(get(a));
	}
	assert_int_equal(n_descriptors(), during);
	assert_true(during <= before + 1);
	roar_arena_close(a);
	assert_int_equal(n_descriptors(), before);
}

/* Each allocation fails once; what was made before is gone again. */
static void an_allocation_that_fails_is_told(void **state)
{
	struct roar_arena *a = NULL;
	struct roar_arena_unit *u = NULL;
	struct roar_arena_part parts[20] = { { .len = 1 } };
	unsigned before = n_descriptors();
	int r = -ENOMEM;

	(void)state;
	for (int n = 0; r == -ENOMEM; n++) {
		assert_int_equal(n_descriptors(), before);
		alloc_fail_after(n);
		r = roar_arena_create(&blocks, &a);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
	assert_int_equal(roar_arena_join(a, BOTH, 0), 0);
	alloc_fail_after(0);
	r = roar_arena_reserve(a, parts, 20, 0, 0, &u);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(roar_arena_reserve(a, parts, 20, 0, 0, &u), 0);
	assert_int_equal(roar_arena_commit(u, 0), 0);
	/* It is lost, and said so: there is no way back into the queue. */
	alloc_fail_after(0);
	r = roar_arena_receive(a, ROAR_ARENA_ANY, 0, &u);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	fill(a, 1 << 18, 4);
	roar_arena_close(a);
	assert_int_equal(n_descriptors(), before);
}

/* ---- descriptors ---- */

static void what_is_no_arena_is_refused(void **state)
{
	struct roar_arena *a = NULL;
	struct roar_arena *whole = make(blocks);
	int zero = open("/dev/zero", O_RDWR);
	int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char page[4096];

	(void)state;
	assert_int_equal(roar_arena_attach(-1, &a), -EBADF);
	assert_int_equal(roar_arena_attach(9999, &a), -EBADF);
	assert_int_equal(roar_arena_attach(zero, &a), -EINVAL);
	assert_int_equal(roar_arena_attach(empty, &a), -EINVAL);
	/* A true header, but the memory can be cut off under us. */
	assert_int_equal(pread(roar_arena_fd(whole), page, 4096, 0), 4096);
	assert_int_equal(write(plain, page, 4096), 4096);
	assert_int_equal(roar_arena_attach(plain, &a), -EINVAL);
	/* Sealed, but there is less than the header tells of. */
	assert_int_equal(fcntl(plain, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW),
			 0);
	assert_int_equal(roar_arena_attach(plain, &a), -EINVAL);
	assert_int_equal(ftruncate(roar_arena_fd(whole), 4096), -1);
	assert_null(a);
	(void)close(zero);
	(void)close(empty);
	(void)close(plain);
	roar_arena_close(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_committed_is_received),
		cmocka_unit_test(a_unit_has_an_envelope_and_many_buffers),
		cmocka_unit_test(nothing_is_seen_before_it_is_committed),
		cmocka_unit_test(
			a_unit_that_is_not_committed_gives_its_room_back),
		cmocka_unit_test(a_full_arena_says_so),
		cmocka_unit_test(who_finds_no_room_learns_who_has_it),
		cmocka_unit_test(a_unit_that_is_kept_stops_nobody),
		cmocka_unit_test(units_are_released_in_any_order),
		cmocka_unit_test(what_can_never_fit_is_told_at_once),
		cmocka_unit_test(a_retained_unit_needs_one_more_release),
		cmocka_unit_test(a_held_unit_outlives_the_handle),
		cmocka_unit_test(
			a_reserved_unit_is_given_back_when_its_handle_is_closed),
		cmocka_unit_test(
			after_a_shutdown_the_rest_is_received_and_nothing_sent),
		cmocka_unit_test(only_parties_take_part),
		cmocka_unit_test(a_stream_arrives_whole_and_in_order),
		cmocka_unit_test(a_producer_sleeps_until_there_is_room),
		cmocka_unit_test(a_shutdown_wakes_who_waits),
		cmocka_unit_test(a_forked_child_is_no_party),
		cmocka_unit_test(huge_pages_are_used_if_there_are_any),
		cmocka_unit_test(the_number_of_descriptors_stays),
		cmocka_unit_test(an_allocation_that_fails_is_told),
		cmocka_unit_test(what_is_no_arena_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
