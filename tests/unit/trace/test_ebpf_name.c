/* test_ebpf_name.c - is a name that was looked up late still certain? */
#include "trace/ebpf/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "trace/tracer.h"

enum { ROOM = 1024 };

union record {
	struct wire_record r;
	char bytes[ROOM];
};

static char top[64]; /* a fresh directory, canonical */
static struct event *last; /* what came out */
static union record waiting; /* behind the record that is translated */
static bool waits;

static int set_up(void **state)
{
	(void)state;
	last = calloc(1, EVENT_SIZE_MAX);
	strcpy(top, "/tmp/roar-test-name-XXXXXX");
	return last && mkdtemp(top) && chdir(top) == 0 &&
			       mkdir("real", 0755) == 0 &&
			       symlink("real", "soft") == 0 ?
		       0 :
		       -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(last);
	(void)unlink("soft");
	(void)rmdir("real");
	return chdir("/") == 0 && rmdir(top) == 0 ? 0 : -1;
}

static void keep(void *ctx, const struct event *ev)
{
	(void)ctx;
	memcpy(last, ev, ev->size);
}

static bool ahead(void *ctx,
		  bool (*look)(void *look_ctx, const struct wire_record *r),
		  void *look_ctx)
{
	(void)ctx;
	return waits && look(look_ctx, &waiting.r);
}

/* Names are absolute; name2 may be NULL. */
static void fill(union record *u, enum wire_kind kind, unsigned sure,
		 const char *name, const char *name2)
{
	char *at = u->bytes + sizeof(u->r);

	memset(u, 0, sizeof(*u));
	u->r.kind = (uint8_t)kind;
	u->r.sure = (uint8_t)sure;
	u->r.name_len = (uint16_t)(strlen(name) + 1);
	memcpy(at, name, u->r.name_len);
	if (name2) {
		u->r.name2_len = (uint16_t)(strlen(name2) + 1);
		memcpy(at + u->r.name_len, name2, u->r.name2_len);
	}
}

static void in_top(char out[ROOM / 4], const char *name)
{
	strcpy(out, top);
	strcat(out, name);
}

/* Translates an UNLINK of `name` below top. */
static void unlinked(unsigned sure, const char *name)
{
	struct tracer_job job = { .sink = keep };
	struct translator t;
	char path[ROOM / 4];
	union record u;

	in_top(path, name);
	fill(&u, WIRE_UNLINK, sure, path, NULL);
	assert_int_equal(translator_init(&t, &job), 0);
	t.ahead = ahead;
	translate(&t, &u.r);
	translator_release(&t);
}

static void check_name(const char *wanted)
{
	char path[ROOM / 4];

	in_top(path, wanted);
	assert_int_equal(last->kind, EVENT_UNLINK);
	assert_string_equal(event_path(last), path);
}

static void check_gap(void)
{
	assert_int_equal(last->kind, EVENT_GAP);
	assert_int_equal(last->aux, EVENT_GAP_PATH);
}

static void a_name_nobody_touched_is_told(void **state)
{
	(void)state;
	waits = false;
	unlinked(0, "/soft/x");
	check_name("/real/x");
}

static void changes_elsewhere_do_not_matter(void **state)
{
	(void)state;
	waits = true;
	fill(&waiting, WIRE_RENAME, 3, "y", "x");
	unlinked(0, "/soft/x");
	check_name("/real/x");
}

static void a_change_on_the_way_is_a_gap(void **state)
{
	(void)state;
	waits = true;
	fill(&waiting, WIRE_RENAME, 3, "y", "soft");
	unlinked(0, "/soft/x");
	check_gap();
	fill(&waiting, WIRE_RENAME, 3, "real", "y");
	unlinked(0, "/soft/x");
	check_gap();
	fill(&waiting, WIRE_SYMLINK, 2, "text", "soft");
	unlinked(0, "/soft/x");
	check_gap();
}

/* The link was removed through itself. */
static void a_call_may_disturb_itself(void **state)
{
	(void)state;
	waits = false;
	unlinked(0, "/soft/../soft");
	check_gap();
}

/* Base is the root, and the name one component. */
static void what_the_kernel_found_is_certain(void **state)
{
	struct tracer_job job = { .sink = keep };
	struct translator t;
	union record u;

	(void)state;
	waits = true;
	fill(&waiting, WIRE_UNLINK, 1, "x", NULL);
	fill(&u, WIRE_UNLINK, WIRE_SURE, "x", NULL);
	assert_int_equal(translator_init(&t, &job), 0);
	t.ahead = ahead;
	translate(&t, &u.r);
	translator_release(&t);
	assert_int_equal(last->kind, EVENT_UNLINK);
	assert_string_equal(event_path(last), "/x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_nobody_touched_is_told),
		cmocka_unit_test(changes_elsewhere_do_not_matter),
		cmocka_unit_test(a_change_on_the_way_is_a_gap),
		cmocka_unit_test(a_call_may_disturb_itself),
		cmocka_unit_test(what_the_kernel_found_is_certain),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
