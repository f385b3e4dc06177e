/* test_fd.c - whole reads and writes on descriptors, and messages. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "alloc_fail.h"
#include "test.h"

struct folder {
	char path[64];
	int fd;
};

static int make_folder(void **state)
{
	static struct folder f;

	(void)strcpy(f.path, "/tmp/roar-test-fd-XXXXXX");
	if (!mkdtemp(f.path))
		return -1;
	f.fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &f;
	return f.fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;

	(void)unlinkat(f->fd, "a", 0);
	(void)unlinkat(f->fd, "dir", AT_REMOVEDIR);
	(void)close(f->fd);
	/* Fails, and the test with it, when something was left behind. */
	return rmdir(f->path);
}

static void put(const struct folder *f, const char *name, const char *text)
{
	CLEANUP(closep)
	int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static void a_file_comes_back_whole(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str s = STR_INIT;

	put(f, "a", "some text");
	assert_int_equal(fd_read_file(f->fd, "a", 9, &s), 0);
	assert_str(&s, "some text");
	assert_int_equal(fd_read_file(f->fd, "a", 9, &s), 0);
	assert_str(&s, "some textsome text");
}

static void an_empty_file_is_an_empty_string(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str s = STR_INIT;

	put(f, "a", "");
	assert_int_equal(fd_read_file(f->fd, "a", 0, &s), 0);
	assert_str(&s, "");
}

static void a_large_file_is_read_in_parts(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str big = STR_INIT;
	CLEANUP(str_release) struct str s = STR_INIT;

	for (int i = 0; i < 100000; i++)
		str_addf(&big, "%d,", i);
	put(f, "a", str_cstr(&big));
	assert_int_equal(fd_read_file(f->fd, "a", big.len, &s), 0);
	assert_int_equal(s.len, big.len);
	assert_memory_equal(s.data, big.data, big.len + 1);
}

static void a_file_over_the_limit_is_refused(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str s = STR_INIT;

	put(f, "a", "some text");
	str_adds(&s, "before ");
	assert_int_equal(fd_read_file(f->fd, "a", 8, &s), -EFBIG);
	assert_str(&s, "before ");
}

static void reading_failures_are_negative_errnos(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str s = STR_INIT;
	int r;

	assert_int_equal(fd_read_file(f->fd, "none", 10, &s), -ENOENT);
	assert_int_equal(mkdirat(f->fd, "dir", 0700), 0);
	assert_int_equal(fd_read_file(f->fd, "dir", 10, &s), -EISDIR);
	put(f, "a", "x");
	alloc_fail_after(0);
	str_release(&s);
	r = fd_read_file(f->fd, "a", 10, &s);
	alloc_fail_never();
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(fd_read_all(-1, &r, 1), -EBADF);
}

static void a_descriptor_has_the_stamp_of_its_file(void **state)
{
	const struct folder *f = *state;
	struct stat by_fd, by_name;

	put(f, "a", "text");
	CLEANUP(closep) int fd = openat(f->fd, "a", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_stat(fd, &by_fd), 0);
	assert_int_equal(fstatat(f->fd, "a", &by_name, 0), 0);
	assert_memory_equal(&by_fd, &by_name, sizeof(by_fd));
	assert_int_equal(fd_stat(-1, &by_fd), -EBADF);
}

static void replace_creates_with_the_mode(void **state)
{
	const struct folder *f = *state;
	CLEANUP(str_release) struct str s = STR_INIT;
	mode_t mask = umask(0077);
	struct stat st;

	assert_int_equal(fd_replace_file(f->fd, "a", "one", 3, 0644), 0);
	(void)umask(mask);
	assert_int_equal(fstatat(f->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fd_read_file(f->fd, "a", 10, &s), 0);
	assert_str(&s, "one");
}

static void replace_leaves_an_old_reader_its_content(void **state)
{
	const struct folder *f = *state;
	char old[8] = "";
	CLEANUP(closep) int fd = -1;

	put(f, "a", "old");
	fd = openat(f->fd, "a", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_replace_file(f->fd, "a", "new", 3, 0600), 0);
	assert_int_equal(fd_read_all(fd, old, sizeof(old)), 3);
	assert_string_equal(old, "old");
}

static void a_failed_replace_leaves_nothing_behind(void **state)
{
	const struct folder *f = *state;

	assert_int_equal(mkdirat(f->fd, "dir", 0700), 0);
	assert_int_equal(fd_replace_file(f->fd, "dir", "x", 1, 0600), -EISDIR);
	assert_int_equal(fd_replace_file(f->fd, "no/a", "x", 1, 0600), -ENOENT);
	/* remove_folder() finds anything else. */
}

static void a_file_in_a_folder_is_replaced_too(void **state)
{
	const struct folder *f = *state;

	assert_int_equal(mkdirat(f->fd, "dir", 0700), 0);
	assert_int_equal(fd_replace_file(f->fd, "dir/x", "x", 1, 0600), 0);
	assert_int_equal(unlinkat(f->fd, "dir/x", 0), 0);
}

enum { STREAM = 1 << 20 };

static void *write_stream(void *arg)
{
	char *data = calloc(1, STREAM);
	intptr_t r;

	memset(data, 'x', STREAM);
	r = fd_write_all(*(int *)arg, data, STREAM);
	free(data);
	(void)close(*(int *)arg);
	return (void *)r;
}

static void ignore(int sig)
{
	(void)sig;
}

/* A pipe takes 64 KiB at a time and a timer interrupts both sides: every kind
 * of short transfer happens. */
static void pipes_and_signals_make_no_short_transfers(void **state)
{
	struct sigaction sa = { .sa_handler = ignore };
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct itimerval never = { 0 };
	char *data = malloc(STREAM + 1);
	pthread_t thread;
	void *result = NULL;
	int ends[2];

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &sa, NULL), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_stream, &ends[1]),
			 0);
	assert_int_equal(fd_read_all(ends[0], data, STREAM + 1), STREAM);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_null(result);
	(void)close(ends[0]);
	free(data);
}

/* ---- messages ---- */

struct line {
	int a, b;
	int null; /* what is sent */
	int n_open; /* descriptors of the process when the test begins */
};

static int count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int make_line(void **state)
{
	static struct line l;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	l = (struct line){ .a = ends[0], .b = ends[1] };
	l.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	l.n_open = count_open();
	*state = &l;
	return l.null < 0 ? -1 : 0;
}

/* Fails when a descriptor was left open, or closed twice. */
static int remove_line(void **state)
{
	struct line *l = *state;
	int n = count_open();

	(void)close(l->null);
	(void)close(l->a);
	if (l->b >= 0)
		(void)close(l->b);
	return n == l->n_open - (l->b < 0) ? 0 : -1;
}

/* A packet with `n` descriptors, at most MANY. */
static void send_many(const struct line *l, size_t n)
{
	enum { MANY = 8 };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(MANY * sizeof(int))];
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = (struct cmsghdr *)control;

	memset(control, 0, sizeof(control));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n && i < MANY; i++)
		memcpy(control + CMSG_LEN(i * sizeof(int)), &l->null,
		       sizeof(int));
	assert_int_equal(sendmsg(l->a, &m, 0), 1);
}

static void a_descriptor_arrives_with_its_message(void **state)
{
	const struct line *l = *state;
	struct stat sent, received;
	char text[16] = "";
	int fd = -1;

	assert_int_equal(fd_send(l->a, "hello", 5, l->null, 0), 0);
	assert_int_equal(fd_receive(l->b, text, sizeof(text), 0, &fd), 5);
	assert_string_equal(text, "hello");
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(l->null, &sent), 0);
	assert_int_equal(fstat(fd, &received), 0);
	assert_int_equal(sent.st_ino, received.st_ino);
	(void)close(fd);
}

static void a_message_may_come_without_a_descriptor(void **state)
{
	const struct line *l = *state;
	char text[16] = "";
	int fd = 0;

	assert_int_equal(fd_send(l->a, "hello", 5, -1, 0), 0);
	assert_int_equal(fd_receive(l->b, text, 5, 0, &fd), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(fd, -1);
}

static void more_descriptors_than_one_are_refused(void **state)
{
	const struct line *l = *state;
	char text[16];
	int fd = -7;

	for (size_t n = 2; n <= 8; n++) {
		send_many(l, n);
		assert_int_equal(fd_receive(l->b, text, sizeof(text), 0, &fd),
				 -EBADMSG);
		assert_int_equal(fd, -7);
	}
}

static void a_packet_that_does_not_fit_is_refused(void **state)
{
	const struct line *l = *state;
	char text[16];
	int fd = -7;

	assert_int_equal(fd_send(l->a, "hello", 5, l->null, 0), 0);
	assert_int_equal(fd_receive(l->b, text, 4, 0, &fd), -EBADMSG);
	assert_int_equal(fd, -7);
	/* And the next one is not touched by that. */
	assert_int_equal(fd_send(l->a, "hey", 3, -1, 0), 0);
	assert_int_equal(fd_receive(l->b, text, 4, 0, &fd), 3);
}

static void a_peer_that_is_gone_is_zero_bytes_or_epipe(void **state)
{
	struct line *l = *state;
	char text[4];
	int fd = -7;

	(void)close(l->b);
	l->b = -1;
	assert_int_equal(fd_receive(l->a, text, sizeof(text), 0, &fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(fd_send(l->a, "x", 1, l->null, 0), -EPIPE);
}

static void an_empty_packet_brings_no_descriptor(void **state)
{
	const struct line *l = *state;
	char text[4];
	int fd = -7;

	assert_int_equal(fd_send(l->a, "", 0, l->null, 0), 0);
	assert_int_equal(fd_receive(l->b, text, sizeof(text), 0, &fd), 0);
	assert_int_equal(fd, -1);
}

static void message_failures_are_negative_errnos(void **state)
{
	const struct line *l = *state;
	char text[4];
	int fd = -7;

	assert_int_equal(fd_receive(l->b, text, 4, MSG_DONTWAIT, &fd), -EAGAIN);
	assert_int_equal(fd_send(l->a, "x", 1, 999, 0), -EBADF);
	assert_int_equal(fd_send(l->null, "x", 1, -1, 0), -ENOTSOCK);
	assert_int_equal(fd, -7);
}

static void a_stream_that_takes_a_part_is_a_failure(void **state)
{
	char *data = calloc(1, STREAM);
	int ends[2];

	(void)state;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(fd_send(ends[0], data, STREAM, -1, MSG_DONTWAIT),
			 -EMSGSIZE);
	(void)close(ends[0]);
	(void)close(ends[1]);
	free(data);
}

#define test_on_line(fn) \
	cmocka_unit_test_setup_teardown(fn, make_line, remove_line)

#define test_in_folder(fn) \
	cmocka_unit_test_setup_teardown(fn, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_folder(a_file_comes_back_whole),
		test_in_folder(an_empty_file_is_an_empty_string),
		test_in_folder(a_large_file_is_read_in_parts),
		test_in_folder(a_file_over_the_limit_is_refused),
		test_in_folder(reading_failures_are_negative_errnos),
		test_in_folder(a_descriptor_has_the_stamp_of_its_file),
		test_in_folder(replace_creates_with_the_mode),
		test_in_folder(replace_leaves_an_old_reader_its_content),
		test_in_folder(a_failed_replace_leaves_nothing_behind),
		test_in_folder(a_file_in_a_folder_is_replaced_too),
		cmocka_unit_test(pipes_and_signals_make_no_short_transfers),
		test_on_line(a_descriptor_arrives_with_its_message),
		test_on_line(a_message_may_come_without_a_descriptor),
		test_on_line(more_descriptors_than_one_are_refused),
		test_on_line(a_packet_that_does_not_fit_is_refused),
		test_on_line(a_peer_that_is_gone_is_zero_bytes_or_epipe),
		test_on_line(an_empty_packet_brings_no_descriptor),
		test_on_line(message_failures_are_negative_errnos),
		cmocka_unit_test(a_stream_that_takes_a_part_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
