/* signals.c - see signals.h */
#include "net/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"

int signals_watch(struct loop *loop, struct loop_fd *f,
		  void (*ready)(struct loop_fd *f, uint32_t events),
		  struct roar_error *err)
{
	sigset_t set;
	int r;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	*f = (struct loop_fd){
		.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
		.ready = ready,
	};
	r = f->fd < 0 ? -errno : loop_add(loop, f, EPOLLIN);
	return r < 0 ? error_set(err, r, "cannot wait for signals: %s",
				 strerror(-r)) :
		       0;
}

void signals_unwatch(struct loop *loop, struct loop_fd *f)
{
	if (f->fd < 0)
		return;
	loop_remove(loop, f);
	closep(&f->fd);
	f->fd = -1;
}

int signals_read(const struct loop_fd *f)
{
	struct signalfd_siginfo info;

	return read(f->fd, &info, sizeof(info)) == sizeof(info) ?
		       (int)info.ssi_signo :
		       0;
}
