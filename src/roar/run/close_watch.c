/* close_watch.c - see close_watch.h */
#include "run/close_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"

enum { DIRS_MAX = 4096 }; /* the user has other uses for watches, too */

struct dir {
	int wd; /* the key of by_wd */
	const char *path;
	size_t len;
};

struct close_watch {
	int fd;
	struct map by_path; /* directory -> struct dir */
	struct map by_wd; /* watch descriptor -> struct dir */
	struct pool pool;
	struct str name;
};

int close_watch_new(struct close_watch **ret_watch)
{
	struct close_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0) {
		int r = -errno;

		free(w);
		return r;
	}
	*ret_watch = w;
	return 0;
}

void close_watch_free(struct close_watch *w)
{
	if (!w)
		return;
	closep(&w->fd);
	map_release(&w->by_path);
	map_release(&w->by_wd);
	pool_release(&w->pool);
	str_release(&w->name);
	free(w);
}

static struct dir *add_dir(struct close_watch *w, const char *path, size_t len)
{
	struct dir *d = pool_zalloc(&w->pool, sizeof(*d));
	char *copy = pool_dup(&w->pool, path, len);

	if (!d || !copy)
		return NULL;
	d->path = copy;
	d->len = len;
	/* A failed watch is remembered as well, so it is tried once. */
	d->wd = inotify_add_watch(w->fd, copy, IN_CLOSE_WRITE);
	if (map_set(&w->by_path, copy, len, d) < 0)
		return NULL;
	if (d->wd >= 0)
		(void)map_set(&w->by_wd, &d->wd, sizeof(d->wd), d);
	return d;
}

void close_watch_add(struct close_watch *w, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t dir_len;

	if (!slash || slash == path)
		return;
	dir_len = (size_t)(slash - path);
	if (w->by_path.count >= DIRS_MAX || map_get(&w->by_path, path, dir_len))
		return;
	(void)add_dir(w, path, dir_len);
}

static void tell(struct close_watch *w, const struct inotify_event *ev,
		 void (*closed)(void *, const char *, size_t), void *ctx)
{
	struct dir *d = map_get(&w->by_wd, &ev->wd, sizeof(ev->wd));

	if (!d || !ev->len)
		return;
	str_clear(&w->name);
	str_add(&w->name, d->path, d->len);
	str_addc(&w->name, '/');
	str_adds(&w->name, ev->name);
	if (str_error(&w->name) == 0)
		closed(ctx, w->name.data, w->name.len);
}

void close_watch_read(struct close_watch *w,
		      void (*closed)(void *ctx, const char *path, size_t len),
		      void *ctx)
{
	_Alignas(struct inotify_event) char buf[16384];
	ssize_t n;

	while ((n = read(w->fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event
				*ev = (const struct inotify_event *)p;

			tell(w, ev, closed, ctx);
			p += sizeof(*ev) + ev->len;
		}
	}
}

void close_watch_abandon(struct close_watch *w)
{
	int pair[2];

	if (!w || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	/* Its own queue keeps the second socket alive, and what follows. */
	if (fd_send(pair[0], "", 1, pair[1], 0) == 0 &&
	    fd_send(pair[0], "", 1, w->fd, 0) == 0)
		closep(&w->fd);
	(void)close(pair[1]);
	(void)close(pair[0]);
}
