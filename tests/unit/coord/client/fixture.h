/* fixture.h - a client of a coordinator that the test plays, and calls of it in threads. */
#ifndef TESTS_COORD_CLIENT_FIXTURE_H
#define TESTS_COORD_CLIENT_FIXTURE_H

#include <errno.h>
#include <roar/coord.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the four it needs */
#include <cmocka.h>

#include "coord/client/client.h"
#include "fake.h"

struct fixture {
	struct fake fake;
	struct roar_coord *c;
};

static inline struct roar_coord *join(struct fake *f, uint32_t flags)
{
	struct roar_coord_options o = { .address = f->address,
					.worker_id = "w-1",
					.job = "j",
					.token = "secret",
					.flags = flags };
	struct roar_coord *c = NULL;
	int r = roar_coord_join(&o, &c);

	if (r < 0)
		fail_msg("join: %d %s", r, roar_coord_error());
	return c;
}

static inline int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	fake_start(&x->fake);
	x->c = join(&x->fake, 0);
	*state = x;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *x = *state;

	roar_coord_free(x->c);
	fake_stop(&x->fake);
	free(x);
	return 0;
}

/* ---- a call in a thread ---- */

struct work {
	pthread_t thread;
	struct roar_coord *c;
	const char *id;
	uint64_t generation;
	int64_t timeout_ms;
	int result;
	char error[1024], absent[256];
	struct roar_coord_meeting m;
};

static inline void *meet_body(void *arg)
{
	struct work *w = arg;

	w->result = roar_coord_barrier(w->c, w->id, w->generation,
				       w->timeout_ms, &w->m);
	(void)snprintf(w->error, sizeof(w->error), "%s", roar_coord_error());
	(void)snprintf(w->absent, sizeof(w->absent), "%s", roar_coord_absent());
	return NULL;
}

static inline void begin(struct work *w, struct roar_coord *c, const char *id,
			 int64_t timeout_ms)
{
	*w = (struct work){ .c = c, .id = id, .timeout_ms = timeout_ms };
	assert_int_equal(pthread_create(&w->thread, NULL, meet_body, w), 0);
}

static inline int end(struct work *w)
{
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	roar_coord_meeting_release(&w->m);
	return w->result;
}

static inline void *get_body(void *arg)
{
	struct work *w = arg;
	void *value = NULL;
	size_t len = 0;

	w->result = roar_coord_get(w->c, "k", w->timeout_ms, &value, &len,
				   NULL);
	(void)snprintf(w->error, sizeof(w->error), "%s",
		       value ? (char *)value : "");
	free(value);
	return NULL;
}

/* A test with that fixture. */
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
