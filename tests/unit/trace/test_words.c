/* test_words.c - command lines, read from the memory of a process: our own */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/hybrid/hybrid_internal.h"

enum { PAGE = 4096 };

/* One page of memory, with none behind it. */
struct fixture {
	struct hybrid h;
	struct process process;
	struct tracee t;
	char *page;
};

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->page = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->t.tid = getpid();
	f->t.process = &f->process;
	return f->page == MAP_FAILED ||
	       mprotect(f->page + PAGE, PAGE, PROT_NONE) < 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	(void)munmap(f->page, (size_t)2 * PAGE);
	str_release(&f->t.exec_command);
	free(f);
	return 0;
}

/* Lays out path, array and words as a shell does: one behind the other. */
static char *lay_out(char *at, const char *path, const char *word)
{
	char *words[3] = { at };
	char *array = at + (strlen(path) / 8 + 1) * 8;

	words[1] = memcpy(array + sizeof(words), word, strlen(word) + 1);
	memcpy(at, path, strlen(path) + 1);
	memcpy(array, words, sizeof(words));
	return array;
}

static const char *read_words(struct fixture *f, const void *array,
			      const void *start, const char *data, size_t len)
{
	struct words_seen seen = {
		.start = (uintptr_t)start,
		.len = len,
		.data = data,
	};

	words_read(&f->h, &f->t, (uintptr_t)array, sizeof(char *), &seen);
	return str_cstr(&f->t.exec_command);
}

static void words_are_read_where_nothing_was_seen(void **state)
{
	struct fixture *f = *state;
	char *array = lay_out(f->page, "/bin/true", "a b");

	assert_string_equal(read_words(f, array, NULL, NULL, 0),
			    "/bin/true 'a b'");
}

/* The memory itself is out of reach: what was seen is enough. */
static void what_was_seen_is_not_read_again(void **state)
{
	struct fixture *f = *state;
	char *array = lay_out(f->page, "/bin/true", "once");
	char copy[256];

	memcpy(copy, f->page, sizeof(copy));
	assert_int_equal(mprotect(f->page, PAGE, PROT_NONE), 0);
	assert_string_equal(read_words(f, array, f->page, copy, sizeof(copy)),
			    "/bin/true once");
}

/* Wherever what was seen ends: in the path, in a pointer, in a word. */
static void what_was_seen_may_end_anywhere(void **state)
{
	struct fixture *f = *state;
	char *start = f->page + PAGE - 64;
	char *array = lay_out(start, "/bin/true", "to the end of the page");
	char copy[64];

	memcpy(copy, start, sizeof(copy));
	for (size_t len = 0; len <= sizeof(copy); len++)
		assert_string_equal(read_words(f, array, start, copy, len),
				    "/bin/true 'to the end of the page'");
}

static void a_word_that_is_not_there_ends_the_line(void **state)
{
	struct fixture *f = *state;
	char *array = lay_out(f->page, "/bin/true", "gone");
	char *gone = f->page + PAGE;

	memcpy(array + sizeof(char *), &gone, sizeof(gone));
	assert_string_equal(read_words(f, array, NULL, NULL, 0), "/bin/true");
	assert_string_equal(read_words(f, gone, NULL, NULL, 0), "");
}

/* As much as memory.h promises to be there behind a path. */
static void a_path_brings_what_stands_behind_it(void **state)
{
	struct fixture *f = *state;
	char *start = f->page + PAGE - 40;
	struct memory memory = { 0 };
	char buf[MEMORY_PATH_MAX];

	assert_int_equal(memory_first_piece((uintptr_t)f->page), 256);
	assert_int_equal(memory_first_piece((uintptr_t)start), 40);
	memset(start, 'x', 40);
	start[5] = '\0';
	assert_int_equal(
		memory_read_path(&memory, getpid(), (uintptr_t)start, buf), 5);
	assert_memory_equal(buf, start, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			words_are_read_where_nothing_was_seen, make, end),
		cmocka_unit_test_setup_teardown(what_was_seen_is_not_read_again,
						make, end),
		cmocka_unit_test_setup_teardown(what_was_seen_may_end_anywhere,
						make, end),
		cmocka_unit_test_setup_teardown(
			a_word_that_is_not_there_ends_the_line, make, end),
		cmocka_unit_test_setup_teardown(
			a_path_brings_what_stands_behind_it, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
