/* test_ebpf_watch.c - programs that stay, hooks that do not.
 *
 * Needs the privilege to load programs; without it the test is skipped and says
 * why.  Pins are made in a BPF file system of its own, which goes with it. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "ebpf_child.h"
#include "trace/ebpf/bpf.h"
#include "trace/ebpf/load_internal.h"
#include "trace/ebpf/session.h"

static bool has_place; /* for pins */
static enum ebpf_layer layer;

static bool make_place(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700") == 0;
}

static int set_up(void **state)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;
	struct roar_error err = { 0 };

	(void)state;
	has_place = make_place();
	if (ebpf_open(EBPF_FRESH, &e, &err) < 0) {
		printf("skipped: %s\n", err.text);
		exit(77);
	}
	layer = ebpf_layer(e);
	return 0;
}

/* ---- pins ---- */

/* Programs of this test alone, pinned; to be removed by ebpf_unpin(). */
static void pin(void)
{
	CLEANUP(ebpf_closep) struct ebpf *fresh = NULL;

	if (!has_place)
		skip(); /* nobody may make one */
	assert_int_equal(ebpf_open(EBPF_FRESH, &fresh, NULL), 0);
	assert_int_equal(ebpf_pin(fresh, NULL), 0);
	assert_true(ebpf_is_pinned());
}

static struct ebpf *find_pinned(void)
{
	struct ebpf *found = NULL;

	assert_int_equal(ebpf_open(EBPF_PINNED, &found, NULL), 0);
	return found;
}

/* What a run of its own with these programs sees of an open. */
static unsigned count_opens(struct ebpf *e)
{
	struct child c = start(open_it, "/etc/passwd");
	struct session *s = NULL;
	struct seen seen = { 0 };

	assert_int_equal(session_open(ebpf_maps(e), &s), 0);
	assert_int_equal(session_add(s, c.pid), 0);
	go(&c);
	session_drain(s, take, &seen);
	session_close(s);
	return seen.n_open;
}

static void pinned_programs_serve_another_process(void **state)
{
	struct ebpf *found;

	(void)state;
	pin();
	found = find_pinned();
	assert_int_equal(ebpf_watch(found), 0);
	assert_int_equal(count_opens(found), 1);
	assert_int_equal(ebpf_unpin(NULL), 1);
	assert_false(ebpf_is_pinned());
	assert_int_equal(count_opens(found), 1);
	ebpf_close(found);
}

/* ---- hooks ---- */

static bool is_hook(const struct ebpf *e, __u32 program)
{
	__u32 id;

	for (int i = 0; i < EBPF_HOOKS; i++)
		if (bpf_program_id(e->hook_programs[i], &id) == 0 &&
		    id == program)
			return true;
	return false;
}

/* Among all links of the machine. */
static unsigned count_hooks(const struct ebpf *e)
{
	union bpf_attr attr = { 0 };
	__u32 id, program;
	unsigned n = 0;

	for (;;) {
		CLEANUP(closep) int link = -1;

		if (bpf_call(BPF_LINK_GET_NEXT_ID, &attr, sizeof(attr)) < 0)
			return n;
		attr.start_id = attr.next_id;
		link = bpf_link_by_id(attr.next_id);
		n += link >= 0 && bpf_link_ids(link, &id, &program) == 0 &&
		     is_hook(e, program);
	}
}

/* The kernel needs a moment for what a killed process had. */
static unsigned count_hooks_soon(const struct ebpf *e, unsigned wanted)
{
	unsigned n = count_hooks(e);

	for (int i = 0; i < 2000 && n != wanted; i++) {
		(void)usleep(1000);
		n = count_hooks(e);
	}
	return n;
}

static void skip_with_trampolines(void)
{
	if (layer == EBPF_TRAMPOLINE)
		skip(); /* there are no such hooks */
}

static void hooks_are_there_while_somebody_watches(void **state)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;

	(void)state;
	skip_with_trampolines();
	assert_int_equal(ebpf_open(EBPF_FRESH, &e, NULL), 0);
	assert_int_equal(count_hooks(e), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(count_hooks(e), EBPF_HOOKS);
	ebpf_unwatch(e);
	assert_int_equal(count_hooks(e), EBPF_HOOKS);
	ebpf_unwatch(e);
	assert_int_equal(count_hooks(e), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(count_opens(e), 1);
}

static void pins_alone_hook_in_nothing(void **state)
{
	struct ebpf *e;

	(void)state;
	skip_with_trampolines();
	pin();
	e = find_pinned();
	assert_int_equal(count_hooks(e), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(count_hooks(e), EBPF_HOOKS);
	ebpf_close(e);
	e = find_pinned();
	assert_int_equal(count_hooks(e), 0);
	assert_int_equal(ebpf_unpin(NULL), 1);
	ebpf_close(e);
}

/* ---- programs of one run ---- */

static void own_programs_serve_one_run_at_a_time(void **state)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;
	CLEANUP(session_closep) struct session *first = NULL;
	struct session *second = NULL;

	(void)state;
	assert_int_equal(ebpf_open(EBPF_OWN, &e, NULL), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(count_opens(e), 1);
	assert_int_equal(count_opens(e), 1);
	assert_int_equal(session_open(ebpf_maps(e), &first), 0);
	assert_int_equal(session_open(ebpf_maps(e), &second), -EBUSY);
	session_close(TAKE_PTR(first));
}

/* One program hands an open over to another. */
static void an_open_that_nobody_takes_over_is_lost(void **state)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;
	CLEANUP(session_closep) struct session *s = NULL;
	struct child c = start(open_it, "/etc/passwd");
	struct session_state now;
	struct seen seen = { 0 };
	__u32 files = 1;

	(void)state;
	skip_with_trampolines();
	assert_int_equal(ebpf_open(EBPF_OWN, &e, NULL), 0);
	assert_int_equal(bpf_map_delete(e->bodies, &files), 0);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(session_open(ebpf_maps(e), &s), 0);
	assert_int_equal(session_add(s, c.pid), 0);
	go(&c);
	session_drain(s, take, &seen);
	assert_int_equal(seen.n_open, 0);
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(now.lost, 1);
	session_close(TAKE_PTR(s));
}

/* ---- other processes ---- */

/* Another process that watches pinned programs until it is killed. */
struct watcher {
	pid_t pid;
	int go; /* it starts when there is a byte here */
	int ready; /* it watches when there is one here, 0: well */
};

static _Noreturn void watch_until_killed(int from, int to)
{
	struct ebpf *e = NULL;
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
	(void)!read(from, &byte, 1);
	byte = ebpf_open(EBPF_PINNED, &e, NULL) < 0 || ebpf_watch(e) < 0;
	(void)!write(to, &byte, 1);
	for (;;)
		(void)pause();
}

static struct watcher start_watcher(void)
{
	struct watcher w;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	w.pid = fork();
	assert_true(w.pid >= 0);
	if (w.pid == 0)
		watch_until_killed(to[0], from[1]);
	close(to[0]);
	close(from[1]);
	w.go = to[1];
	w.ready = from[0];
	return w;
}

static void let_watch(const struct watcher *w, size_t n)
{
	char byte;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(write(w[i].go, "", 1), 1);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(read(w[i].ready, &byte, 1), 1);
		assert_int_equal(byte, 0);
	}
}

static void kill_watcher(const struct watcher *w)
{
	assert_int_equal(kill(w->pid, SIGKILL), 0);
	assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
	close(w->go);
	close(w->ready);
}

static void hooks_of_a_killed_process_go(void **state)
{
	struct watcher w;
	struct ebpf *e;

	(void)state;
	skip_with_trampolines();
	pin();
	e = find_pinned();
	for (int i = 0; i < 3; i++) {
		w = start_watcher();
		let_watch(&w, 1);
		assert_int_equal(count_hooks(e), EBPF_HOOKS);
		kill_watcher(&w);
		assert_int_equal(count_hooks_soon(e, 0), 0);
	}
	assert_int_equal(ebpf_unpin(NULL), 1);
	ebpf_close(e);
}

static void runs_that_overlap_share_the_hooks(void **state)
{
	struct watcher w;
	struct ebpf *e;

	(void)state;
	skip_with_trampolines();
	pin();
	e = find_pinned();
	w = start_watcher();
	let_watch(&w, 1);
	assert_int_equal(ebpf_watch(e), 0);
	assert_int_equal(count_hooks(e), EBPF_HOOKS);
	assert_int_equal(count_opens(e), 1);
	kill_watcher(&w);
	assert_int_equal(count_hooks(e), EBPF_HOOKS);
	assert_int_equal(count_opens(e), 1);
	ebpf_unwatch(e);
	assert_int_equal(count_hooks(e), 0);
	assert_int_equal(ebpf_unpin(NULL), 1);
	ebpf_close(e);
}

static void runs_that_start_at_once_hook_in_once(void **state)
{
	enum { WATCHERS = 6, ROUNDS = 5 };
	struct watcher w[WATCHERS];
	struct ebpf *e;

	(void)state;
	skip_with_trampolines();
	pin();
	e = find_pinned();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < WATCHERS; i++)
			w[i] = start_watcher();
		let_watch(w, WATCHERS);
		assert_int_equal(count_hooks(e), EBPF_HOOKS);
		for (int i = 0; i < WATCHERS; i++)
			kill_watcher(&w[i]);
		assert_int_equal(count_hooks_soon(e, 0), 0);
	}
	assert_int_equal(ebpf_unpin(NULL), 1);
	ebpf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_programs_serve_another_process),
		cmocka_unit_test(hooks_are_there_while_somebody_watches),
		cmocka_unit_test(own_programs_serve_one_run_at_a_time),
		cmocka_unit_test(an_open_that_nobody_takes_over_is_lost),
		cmocka_unit_test(pins_alone_hook_in_nothing),
		cmocka_unit_test(hooks_of_a_killed_process_go),
		cmocka_unit_test(runs_that_overlap_share_the_hooks),
		cmocka_unit_test(runs_that_start_at_once_hook_in_once),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
