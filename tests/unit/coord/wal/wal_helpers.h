/* wal_helpers.h - a directory for one test, a log in it, and what it replays */
#ifndef ROAR_TEST_WAL_HELPERS_H
#define ROAR_TEST_WAL_HELPERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "coord/wal/wal.h"

DEFINE_CLEANUP(struct wal *, wal_close)

enum { FIRST = 32, HEAD = 24 }; /* the layout, as wal.h has it */

struct scene {
	char dir[64];
	struct str seen; /* payloads, a line feed behind each */
	size_t n_seen;
	struct roar_error err;
};

static inline int scene_make(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	/* In memory if there is a place: hundreds of syncs take a disk seconds. */
	*state = s;
	(void)snprintf(s->dir, sizeof(s->dir), "/dev/shm/test-wal.XXXXXX");
	if (mkdtemp(s->dir))
		return 0;
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/test-wal.XXXXXX");
	return mkdtemp(s->dir) ? 0 : -1;
}

static inline int scene_remove(void **state)
{
	struct scene *s = *state;
	DIR *dir = opendir(s->dir);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)closedir(dir);
	(void)rmdir(s->dir);
	str_release(&s->seen);
	free(s);
	return 0;
}

#define SCENE(f) cmocka_unit_test_setup_teardown(f, scene_make, scene_remove)

static inline int see(void *data, const void *payload, size_t len)
{
	struct scene *s = data;

	str_add(&s->seen, payload, len);
	str_addc(&s->seen, '\n');
	s->n_seen++;
	return 0;
}

static inline int scene_open(struct scene *s, struct wal **ret)
{
	str_clear(&s->seen);
	s->n_seen = 0;
	return wal_open(s->dir, see, s, ret, &s->err);
}

/* Opens, and what it replays is `expected`. */
static inline struct wal *open_seeing(struct scene *s, const char *expected)
{
	struct wal *w = NULL;
	int r = scene_open(s, &w);

	if (r < 0)
		fail_msg("wal_open: %s", s->err.text);
	assert_string_equal(str_cstr(&s->seen), expected);
	return w;
}

static inline uint64_t append(struct wal *w, const char *text)
{
	uint64_t seq = 0;

	assert_int_equal(wal_append(w, text, strlen(text), &seq), 0);
	return seq;
}

/* Hands all in at once and waits until it is on disk. */
static inline void write_together(struct wal *w, size_t n,
				  const char *const texts[])
{
	uint64_t seq = 0;

	for (size_t i = 0; i < n; i++)
		seq = append(w, texts[i]);
	wal_commit(w);
	while (wal_durable(w) < seq) {
		assert_int_equal(wal_acknowledge(w), 0);
		(void)usleep(50);
	}
}

#define WRITE(w, ...)                                                  \
	write_together(w, sizeof((const char *[]){ __VA_ARGS__ }) / 8, \
		       (const char *[]){ __VA_ARGS__ })

static inline int
walk_texts(void *data, int (*each)(void *to, const void *payload, size_t len),
	   void *to)
{
	const char *const *texts = data;
	int e = 0;

	for (; e == 0 && *texts; texts++)
		e = each(to, *texts, strlen(*texts));
	return e;
}

static inline int snapshot(struct scene *s, struct wal *w,
			   const char *const texts[])
{
	int e = wal_snapshot(w, walk_texts, (void *)texts, &s->err);

	if (e == 0)
		e = wal_snapshot_done(w, true, &s->err);
	return e < 0 ? e : 0;
}

#define SNAPSHOT(s, w, ...) \
	assert_int_equal(   \
		snapshot(s, w, (const char *[]){ __VA_ARGS__, NULL }), 0)

static inline const char *in_scene(struct scene *s, const char *name)
{
	static char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return path;
}

#define LOG_1 "log-0000000000000001"

static inline bool is_there(struct scene *s, const char *name)
{
	return access(in_scene(s, name), F_OK) == 0;
}

static inline void load(struct scene *s, const char *name, struct str *out)
{
	CLEANUP(closep) int fd = open(in_scene(s, name), O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	str_clear(out);
	assert_int_equal(str_reserve(out, (size_t)st.st_size + 1), 0);
	out->len = (size_t)read(fd, out->data, (size_t)st.st_size);
	assert_int_equal(out->len, st.st_size);
	out->data[out->len] = '\0';
}

static inline void store(struct scene *s, const char *name, const void *data,
			 size_t len)
{
	CLEANUP(closep)
	int fd = open(in_scene(s, name),
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

#endif
