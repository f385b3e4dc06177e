/* note_digest.c - the payload of notes about digests; see note.h */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/str.h"
#include "event/line_field.h"
#include "event/note.h"

/* ---- writing ---- */

void note_hex_add(struct str *line, const uint8_t digest[NOTE_DIGEST_LEN])
{
	for (size_t i = 0; i < NOTE_DIGEST_LEN; i++)
		str_addf(line, "%02x", digest[i]);
}

void note_digest_add(struct str *payload, const struct note_digest *d)
{
	const struct stamp *s = &d->stamp;

	str_addf(payload, "%llu\t%llu\t%llu\t%lld\t%lld\t%lld\t",
		 (unsigned long long)s->dev, (unsigned long long)s->ino,
		 (unsigned long long)s->size, (long long)s->mtime_ns,
		 (long long)s->ctime_ns, (long long)d->tick_ns);
	note_hex_add(payload, d->blake3);
	str_addc(payload, '\t');
	line_field_add_name(payload, d->path);
	str_addc(payload, '\n');
}

static int read_stamp(int fd, struct stamp *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = stamp_of(&st);
	return 0;
}

/* The stamp of the file, and a tick of the clock in which a change would show in it.
 * After a write, that is at most some milliseconds later; where a file system has
 * coarser times, the tick stays too early and the run hashes the file itself. */
static int settle(int fd, struct stamp *ret_stamp, int64_t *ret_tick_ns)
{
	enum { TRIES = 30 };
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	struct stamp first;
	int r = read_stamp(fd, &first);

	*ret_tick_ns = clock_now_tick_ns();
	for (int i = 0;
	     r == 0 && i < TRIES && stamp_is_of_tick(&first, *ret_tick_ns);
	     i++) {
		(void)nanosleep(&pause, NULL);
		*ret_tick_ns = clock_now_tick_ns();
	}
	if (r == 0)
		r = read_stamp(fd, ret_stamp);
	if (r == 0 && !stamp_equal(&first, ret_stamp))
		r = -EBUSY;
	return r;
}

/* The name as the tracer sees it: absolute and without symbolic links. */
static int read_name(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	if (n == PATH_MAX - 1)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return *ret == '/' ? 0 : -ENOENT;
}

int note_digest_report(int fd, const uint8_t blake3[NOTE_DIGEST_LEN])
{
	CLEANUP(str_release) struct str run = STR_INIT;
	CLEANUP(str_release) struct str line = STR_INIT;
	struct note_digest d = { 0 };
	char path[PATH_MAX];
	uint32_t number = 0;
	int r = note_find_run(&run);

	if (r == 0)
		r = settle(fd, &d.stamp, &d.tick_ns);
	if (r == 0)
		r = read_name(fd, path);
	if (r < 0)
		return r;
	d.path = path;
	memcpy(d.blake3, blake3, NOTE_DIGEST_LEN);
	note_digest_add(&line, &d);
	r = str_error(&line);
	return r < 0 ? r :
		       note_write(run.data, NOTE_DIGESTS, &number, line.data,
				  line.len);
}

/* ---- reading ---- */

bool note_hex_read(const char *text, uint8_t ret[NOTE_DIGEST_LEN])
{
	if (strlen(text) != 2 * NOTE_DIGEST_LEN)
		return false;
	for (size_t i = 0; i < NOTE_DIGEST_LEN; i++) {
		int byte = hex_byte(text + 2 * i);

		if (byte < 0)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

static bool read_line(char *line, struct note_digest *ret)
{
	int64_t numbers[6];
	char *hex;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char *field = line_field_cut(&line, '\t');

		if (!field || !line_field_number(field, &numbers[i]))
			return false;
	}
	hex = line_field_cut(&line, '\t');
	if (!hex || !note_hex_read(hex, ret->blake3) ||
	    !line_field_unescape(line) || *line != '/')
		return false;
	ret->stamp = (struct stamp){ .dev = (uint64_t)numbers[0],
				     .ino = (uint64_t)numbers[1],
				     .size = (uint64_t)numbers[2],
				     .mtime_ns = numbers[3],
				     .ctime_ns = numbers[4] };
	ret->tick_ns = numbers[5];
	ret->path = line;
	return stamp_exists(&ret->stamp);
}

bool note_digest_next(char **rest, struct note_digest *ret)
{
	char *line;

	while ((line = line_field_cut(rest, '\n')))
		if (read_line(line, ret))
			return true;
	return false;
}
