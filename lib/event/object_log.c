/* object_log.c - see object_log.h; object_op.c has the lines. */
#include "event/object_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "event/line_field.h"

#define HEADING "roar-objects 1"
#define BEGIN "begin\t"
#define END "end\t"

/* ---- writing ---- */

struct object_log {
	int fd;
	int error; /* of the first line that is lost; 0: none */
	bool torn; /* the file may not end in a newline */
	bool ended;
	int64_t n_begun;
	int64_t n_ops;
	struct str line; /* kept for its memory */
};

static int write_line(struct object_log *log)
{
	const struct str *line = &log->line;
	ssize_t n;
	int r = str_error(line);

	if (r == 0 && line->len > OBJECT_LINE_MAX)
		r = -EMSGSIZE;
	if (r == 0) {
		do
			n = write(log->fd, line->data, line->len);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			r = -errno;
		else if ((size_t)n < line->len)
			r = -ENOSPC;
	}
	log->torn = r < 0;
	if (r < 0 && !log->error)
		log->error = r;
	return r;
}

/* An empty line, but for what separates it from a part of another. */
static struct str *start_line(struct object_log *log)
{
	assert(!log->ended);
	str_clear(&log->line);
	if (log->torn)
		str_addc(&log->line, '\n');
	return &log->line;
}

int object_log_open(int dirfd, const char *path, struct object_log **ret_log)
{
	CLEANUP(object_log_closep) struct object_log *log = NULL;
	struct stat st;
	int r;

	log = calloc(1, sizeof(*log));
	if (!log)
		return -ENOMEM;
	log->fd = openat(dirfd, path,
			 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
				 O_NOFOLLOW | O_NONBLOCK,
			 0600);
	if (log->fd < 0)
		return -errno;
	if (fstat(log->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	log->torn = st.st_size > 0;
	str_addf(start_line(log), HEADING "\n");
	r = write_line(log);
	if (r < 0)
		return r;
	*ret_log = TAKE_PTR(log);
	return 0;
}

void object_log_close(struct object_log *log)
{
	if (!log)
		return;
	closep(&log->fd);
	str_release(&log->line);
	free(log);
}

int object_log_begin(struct object_log *log)
{
	str_addf(start_line(log), BEGIN "%lld\n", (long long)++log->n_begun);
	return write_line(log);
}

int object_log_add(struct object_log *log, const struct object_op *op)
{
	object_op_format(op, start_line(log));
	log->n_ops++;
	return write_line(log);
}

int object_log_end(struct object_log *log)
{
	int r = log->error;

	if (r == 0) {
		str_addf(start_line(log), END "%lld\n", (long long)log->n_ops);
		r = write_line(log);
	}
	log->ended = true;
	if (r == 0 && fsync(log->fd) < 0)
		r = -errno;
	return r;
}

/* ---- reading ---- */

struct reading {
	object_op_fn fn;
	void *ctx;
	bool headed;
	int64_t n_ops; /* since the heading, as the next three */
	int64_t n_begun, n_completed;
	bool ended;
	bool cut; /* an earlier writer did not end its log */
	struct object_log_summary sum;
};

static void end_part(struct reading *rd)
{
	if (rd->n_begun > rd->n_completed)
		rd->sum.n_open += rd->n_begun - rd->n_completed;
	rd->cut |= !rd->ended;
	rd->n_ops = 0;
	rd->n_begun = 0;
	rd->n_completed = 0;
	rd->ended = false;
}

static int read_op(struct reading *rd, char *line)
{
	struct object_op op;

	rd->n_ops++;
	if (!object_op_parse(line, &op)) {
		rd->sum.n_bad++;
		return 0;
	}
	rd->n_completed += (op.flags & OBJECT_BEGUN) != 0;
	rd->sum.n_ops++;
	return rd->fn(rd->ctx, &op);
}

static int read_line(struct reading *rd, char *line)
{
	int64_t n;

	if (strcmp(line, HEADING) == 0) {
		if (rd->headed)
			end_part(rd);
		rd->headed = true;
		return 0;
	}
	if (!rd->headed)
		return -EBADMSG;
	if (!*line) /* after a part of a line */
		return 0;
	rd->ended = false;
	if (strncmp(line, BEGIN, strlen(BEGIN)) == 0) {
		if (line_field_number(line + strlen(BEGIN), &n))
			rd->n_begun++;
		else
			rd->sum.n_bad++;
		return 0;
	}
	if (strncmp(line, END, strlen(END)) == 0) {
		rd->ended = line_field_number(line + strlen(END), &n) &&
			    n == rd->n_ops;
		rd->sum.n_bad += !rd->ended;
		return 0;
	}
	return read_op(rd, line);
}

/* The lines that are complete; returns how many bytes they have. */
static int64_t read_lines(struct reading *rd, char *data, size_t len)
{
	size_t done = 0;
	char *end;

	while ((end = memchr(data + done, '\n', len - done))) {
		char *line = data + done;
		int r;

		*end = '\0';
		done = (size_t)(end + 1 - data);
		/* No line has a NUL. */
		if (strlen(line) != (size_t)(end - line)) {
			rd->sum.n_bad++;
			rd->ended = false;
			continue;
		}
		r = read_line(rd, line);
		if (r < 0)
			return r;
	}
	return (int64_t)done;
}

static int read_all(struct reading *rd, int fd, char *buffer)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = fd_read_all(fd, buffer + len,
					2 * OBJECT_LINE_MAX - len);
		int64_t done;

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		len += (size_t)n;
		done = read_lines(rd, buffer, len);
		if (done < 0)
			return (int)done;
		len -= (size_t)done;
		if (len > OBJECT_LINE_MAX)
			return -EBADMSG;
		memmove(buffer, buffer + done, len);
	}
	/* Bytes after the last newline are a line that was cut. */
	if (len) {
		rd->sum.n_bad++;
		rd->ended = false;
	}
	return 0;
}

int object_log_read(int fd, object_op_fn fn, void *ctx,
		    struct object_log_summary *ret)
{
	CLEANUP(freep) char *buffer = malloc(2 * OBJECT_LINE_MAX);
	struct reading rd = { .fn = fn, .ctx = ctx };
	int r;

	if (!buffer)
		return -ENOMEM;
	r = read_all(&rd, fd, buffer);
	if (r < 0)
		return r;
	end_part(&rd);
	rd.sum.ended = !rd.cut;
	*ret = rd.sum;
	return 0;
}
