/* test_note.c - what a process tells the run above it, written and read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "event/note.h"

#define UID "0123abcd"

struct scene {
	char dir[64];
	char run[128]; /* DIR/.roar/runs/UID */
	int project; /* DIR/.roar */
};

static int make_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	char path[96];

	strcpy(s->dir, "/tmp/test-note.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	(void)snprintf(path, sizeof(path), "%s/.roar", s->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	s->project = open(path, O_PATH | O_CLOEXEC);
	assert_int_equal(mkdirat(s->project, "runs", 0755), 0);
	(void)snprintf(s->run, sizeof(s->run), "%s/runs/" UID, path);
	*state = s;
	return 0;
}

static int remove_scene(void **state)
{
	struct scene *s = *state;
	char command[96];

	(void)close(s->project);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", s->dir);
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

/* The payloads of a kind, sorted by nothing; `n` counts them. */
struct found {
	struct str text;
	size_t n;
	int32_t pid;
};

static int collect(void *ctx, struct note *note)
{
	struct found *f = ctx;

	str_add(&f->text, note->payload, note->len);
	f->pid = note->pid;
	f->n++;
	return 0;
}

static size_t count_notes(const struct scene *s, const char *kind,
			  const char *text)
{
	struct found f = { .text = STR_INIT };

	assert_int_equal(note_read_all(s->project, UID, kind, collect, &f), 0);
	if (text) {
		assert_string_equal(str_cstr(&f.text), text);
		assert_int_equal(f.pid, getpid());
	}
	str_release(&f.text);
	return f.n;
}

static void put(const struct scene *s, const char *name, const char *content)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "runs/%s", name);
	assert_int_equal(fd_replace_file(s->project, path, content,
					 strlen(content), 0644),
			 0);
}

static void a_note_is_read_back_with_its_pid(void **state)
{
	struct scene *s = *state;
	uint32_t number = 0;

	assert_int_equal(note_write(s->run, "metrics", &number, "{}", 2), 0);
	assert_int_equal(number, 1);
	assert_int_equal(count_notes(s, "metrics", "{}"), 1);
	assert_int_equal(count_notes(s, "metric", NULL), 0);
	assert_int_equal(count_notes(s, "shards", NULL), 0);
	assert_int_equal(note_read_all(s->project, "0123abce", "metrics",
				       collect, NULL),
			 0);
}

static void a_number_replaces_and_none_adds(void **state)
{
	struct scene *s = *state;
	uint32_t first = 0;
	uint32_t second = 0;

	assert_int_equal(note_write(s->run, "a_1", &first, "one", 3), 0);
	assert_int_equal(note_write(s->run, "a_1", &first, "two", 3), 0);
	assert_int_equal(first, 1);
	assert_int_equal(count_notes(s, "a_1", "two"), 1);
	assert_int_equal(note_write(s->run, "a_1", &second, "three", 5), 0);
	assert_int_equal(second, 2);
	assert_int_equal(count_notes(s, "a_1", NULL), 2);
}

static void many_notes_have_numbers_without_gaps(void **state)
{
	struct scene *s = *state;

	for (uint32_t i = 1; i <= 70; i++) {
		uint32_t number = 0;

		assert_int_equal(note_write(s->run, "a", &number, "x", 1), 0);
		assert_int_equal(number, i);
	}
	assert_int_equal(count_notes(s, "a", NULL), 70);
}

static void the_form_on_disk_is_kept(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct str lines = STR_INIT;
	char name[64];
	uint32_t number = 0;

	note_shard_add(&lines, &(struct note_shard){ .rank = -1,
						     .epoch = 2,
						     .n_samples = 3,
						     .dataset = "a b",
						     .path = "/x\t%\xff" });
	assert_int_equal(note_write(s->run, NOTE_SHARDS, &number,
				    str_cstr(&lines), lines.len),
			 0);
	str_release(&lines);
	(void)snprintf(name, sizeof(name), "runs/" UID ".shards-%d",
		       (int)getpid());
	assert_int_equal(fd_read_file(s->project, name, 1000, &text), 0);
	assert_string_equal(str_cstr(&text),
			    "roar-shards 1\n-\t2\t3\ta b\t/x%09%25%FF\n");
}

static void a_kind_is_a_short_word(void **state)
{
	struct scene *s = *state;
	uint32_t number = 0;
	static const char *const bad[] = { "",	"A",   "a-b",
					   ".", "a/b", "abcdefghijklmnopq" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(note_write(s->run, bad[i], &number, "", 0),
				 -EINVAL);
	assert_int_equal(note_write(s->run, "abcdefghijklmnop", &number, "", 0),
			 0);
}

static void a_failed_write_leaves_the_note(void **state)
{
	struct scene *s = *state;
	uint32_t number = 0;

	assert_int_equal(note_write(s->run, "a", &number, "old", 3), 0);
	assert_int_equal(note_write(s->run, "a", &number, "x", SIZE_MAX),
			 -EFBIG);
	assert_int_equal(count_notes(s, "a", "old"), 1);
	assert_int_equal(note_write("/nosuch/" UID, "a", &number, "x", 1),
			 -ENOENT);
}

static void what_is_not_a_note_is_left_out(void **state)
{
	struct scene *s = *state;
	static const char *const names[] = {
		"7.", "7.x", "7.1.new", "7.1.2", "x.1", "99999999999999999999",
		"",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(name, sizeof(name), UID ".shards-%s", names[i]);
		put(s, name, "roar-shards 1\nx");
	}
	put(s, UID ".shards-8", "roar-shards 2\nx");
	put(s, UID ".shards-9", "");
	put(s, UID ".journal", "roar-shards 1\nx");
	assert_int_equal(count_notes(s, "shards", NULL), 0);
	put(s, UID ".shards-10.3", "roar-shards 1\nx");
	assert_int_equal(count_notes(s, "shards", NULL), 1);
	note_remove_all(s->project, UID);
	/* All are gone; the journal is not a note. */
	assert_int_equal(faccessat(s->project, "runs/" UID ".journal", F_OK, 0),
			 0);
	assert_int_equal(faccessat(s->project, "runs/" UID ".shards-7.1.new",
				   F_OK, 0),
			 -1);
	assert_int_equal(count_notes(s, "shards", NULL), 0);
}

static void bad_lines_of_shards_are_skipped(void **state)
{
	char text[] = "x\n0\t1\t2\tset\n0\t1\t2\tset\t\n-1\t0\t0\ta\tb\n"
		      "0\t0\t99999999999999999999\ta\tb\n0\t0\t1\ta\t%0\n"
		      "0\t0\t1\ta\t%00\n"
		      "4\t5\t6\ta%20b\t%25\n0\t0\t1\ta\tno end";
	char *rest = text;
	struct note_shard shard;

	(void)state;
	assert_true(note_shard_next(&rest, &shard));
	assert_int_equal(shard.rank, 4);
	assert_int_equal(shard.epoch, 5);
	assert_int_equal(shard.n_samples, 6);
	assert_string_equal(shard.dataset, "a b");
	assert_string_equal(shard.path, "%");
	assert_false(note_shard_next(&rest, &shard));
}

static void digests_come_back_and_bad_lines_do_not(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct note_digest d = {
		.path = "/a\t%",
		.stamp = { .dev = 1,
			   .ino = 2,
			   .size = 3,
			   .mtime_ns = 4,
			   .ctime_ns = 5 },
		.tick_ns = 6,
	};
	char *rest;

	(void)state;
	memset(d.blake3, 0xab, sizeof(d.blake3));
	str_adds(&text, "x\n1\t2\t3\t4\t5\t6\tab\t/a\n");
	note_digest_add(&text, &d);
	d.path = "relative";
	note_digest_add(&text, &d);
	d.path = "/b";
	d.stamp.ino = 0;
	note_digest_add(&text, &d);
	assert_int_equal(str_error(&text), 0);
	assert_non_null(strstr(text.data, "\n1\t2\t3\t4\t5\t6\tabab"));
	rest = text.data;
	memset(&d, 0, sizeof(d));
	assert_true(note_digest_next(&rest, &d));
	assert_string_equal(d.path, "/a\t%");
	assert_int_equal(d.stamp.dev, 1);
	assert_int_equal(d.stamp.ino, 2);
	assert_int_equal(d.stamp.size, 3);
	assert_int_equal(d.stamp.mtime_ns, 4);
	assert_int_equal(d.stamp.ctime_ns, 5);
	assert_int_equal(d.tick_ns, 6);
	assert_int_equal(d.blake3[31], 0xab);
	assert_false(note_digest_next(&rest, &d));
}

static void a_checkpoint_comes_back_with_its_shards(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	static const char *const bad[] = {
		"",
		"\n",
		"1\t2\t3\t4\t5\n",
		"1\t2\t3\t4\t5\tab\t-\t/a\n",
	};
	struct note_checkpoint c = {
		.dir = "/c/step-000000000007",
		.parent = "",
		.step = 7,
		.world_size = 2,
		.committed_ns = 3,
		.n_shards = 4,
		.n_samples = 5,
		.manifest = { 6 },
	};
	struct note_shard shard;
	char *rest;

	(void)state;
	note_checkpoint_add(&text, &c);
	str_adds(&text, "0\t1\t2\tset\tpath\n");
	assert_int_equal(str_error(&text), 0);
	memset(&c, 0, sizeof(c));
	rest = text.data;
	assert_true(note_checkpoint_read(&rest, &c));
	assert_string_equal(c.dir, "/c/step-000000000007");
	assert_string_equal(c.parent, "");
	assert_int_equal(c.step, 7);
	assert_int_equal(c.world_size, 2);
	assert_int_equal(c.committed_ns, 3);
	assert_int_equal(c.n_shards, 4);
	assert_int_equal(c.n_samples, 5);
	assert_int_equal(c.manifest[0], 6);
	assert_true(note_shard_next(&rest, &shard));
	assert_int_equal(shard.n_samples, 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%s", bad[i]);
		rest = line;
		assert_false(note_checkpoint_read(&rest, &c));
	}
}

/* In a child of a process that is called roar and has a journal open. */
static void a_process_finds_the_run_above_it(void **state)
{
	struct scene *s = *state;
	char journal[160];
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct str run = STR_INIT;

		(void)snprintf(journal, sizeof(journal), "%s.journal", s->run);
		if (prctl(PR_SET_NAME, "roar") < 0 ||
		    open(journal, O_CREAT | O_RDWR, 0644) < 0)
			_exit(2);
		pid = fork();
		if (pid) {
			(void)waitpid(pid, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
		}
		(void)prctl(PR_SET_NAME, "work");
		_exit(note_find_run(&run) < 0 || strcmp(run.data, s->run) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_scene, remove_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_note_is_read_back_with_its_pid),
		T(a_number_replaces_and_none_adds),
		T(many_notes_have_numbers_without_gaps),
		T(the_form_on_disk_is_kept),
		T(a_kind_is_a_short_word),
		T(a_failed_write_leaves_the_note),
		T(what_is_not_a_note_is_left_out),
		T(bad_lines_of_shards_are_skipped),
		T(digests_come_back_and_bad_lines_do_not),
		T(a_checkpoint_comes_back_with_its_shards),
		T(a_process_finds_the_run_above_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
