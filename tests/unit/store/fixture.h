/* fixture.h - a store in a directory of its own, and short ways to fill it. */
#ifndef ROAR_TESTS_STORE_FIXTURE_H
#define ROAR_TESTS_STORE_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "lineage/fold.h"
#include "store/store_internal.h"

struct fixture {
	char dir[64];
	char db[96]; /* dir/roar.db */
	struct store *s;
	struct pool pool; /* for whatever the test reads */
	struct roar_error err;
};

int fixture_setup(void **state);
int fixture_setup_empty(void **state); /* the directory only */
int fixture_teardown(void **state);

#define STORE_TEST(f) \
	cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
#define EMPTY_TEST(f)                                           \
	cmocka_unit_test_setup_teardown(f, fixture_setup_empty, \
					fixture_teardown)

/* The call succeeds; if not, its sentence is shown. */
#define ok(f, call)                                             \
	do {                                                    \
		int ok_ = (call);                               \
		if (ok_ < 0)                                    \
			fail_msg("%d: %s", ok_, (f)->err.text); \
	} while (0)

/* The call fails with that errno and a sentence that contains `words`. */
#define fails(f, call, error, words)                                       \
	do {                                                               \
		(f)->err.text[0] = '\0';                                   \
		assert_int_equal((call), -(error));                        \
		if (!strstr((f)->err.text, (words)))                       \
			fail_msg("'%s' lacks '%s'", (f)->err.text, words); \
	} while (0)

void open_store(struct fixture *f, unsigned flags);
void reopen(struct fixture *f, unsigned flags);

/* A job with all strings set, in the active session, which is made when there
 * is none.  `command_id` and `output_id` are the first bytes of the ids. */
struct store_job a_job(struct fixture *f, const char *uid, const char *command,
		       uint8_t command_id, uint8_t output_id);

/* The same, added in a transaction of its own; returns its id. */
int64_t add_job(struct fixture *f, const char *uid, const char *command,
		uint8_t command_id, uint8_t output_id);

/* A regular file whose BLAKE3 is 32 times `content`; 0: not identified. */
struct store_file a_file(int64_t job_id, const char *path, uint8_t role,
			 uint8_t content);
void add_file(struct fixture *f, const struct store_file *file);

int64_t count(struct fixture *f, const char *sql);

/* Runs `body` in a child as a user whom permissions bind; the return value of
 * body is the exit status.  Skips the test where that is impossible. */
void as_ordinary_user(struct fixture *f, int (*body)(struct fixture *f));

/* In a child: leave with a line that says what was wrong. */
#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition)) {                                   \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, \
				__LINE__, #condition, f->err.text);   \
			return 1;                                     \
		}                                                     \
	} while (0)

enum { CHILD_SKIPS = 77 };

#endif
