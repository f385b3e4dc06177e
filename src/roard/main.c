/* main.c - roard: holds the eBPF programs for users who may not load any.
 *
 *	roard			for systemd, which hands over the socket
 *	roard --foreground	makes the socket and serves
 *	roard --daemon		the same in the background
 *	roard --stop		ends the one that serves the socket
 *	roard --pin, --unpin	keeps programs in the kernel without a daemon, or
 *				removes those that are kept
 *
 * trace/ebpf/roard.h has the protocol with its clients, serve.h what it does. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"
#include "options.h"
#include "serve.h"
#include "trace/ebpf/load.h"

/* ---- programs without a daemon ---- */

static int pin(void)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;
	struct roar_error err = { "out of memory" };

	if (ebpf_is_pinned()) {
		(void)puts("roard: the programs are in the kernel already");
		return EXIT_SUCCESS;
	}
	if (ebpf_open(EBPF_FRESH, &e, &err) < 0 || ebpf_pin(e, &err) < 0)
		return cli_fail("%s", err.text);
	return EXIT_SUCCESS;
}

static int unpin(void)
{
	struct roar_error err = { "out of memory" };

	if (ebpf_unpin(&err) < 0)
		return cli_fail("%s", err.text);
	return EXIT_SUCCESS;
}

/* ---- the daemon ---- */

static void block_signals(void)
{
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* Fails before the daemon goes to the background, while stderr is still read. */
static int try_programs(struct roar_error *err)
{
	CLEANUP(ebpf_closep) struct ebpf *e = NULL;

	return ebpf_open(EBPF_FRESH, &e, err);
}

static int be_daemon(enum mode mode, const char *path, unsigned idle_s)
{
	CLEANUP(listen_release) struct listen place = { -1, -1, NULL };
	struct serve_options options = { .idle_s = idle_s };
	struct roar_error err = { "out of memory" };
	int r;

	block_signals();
	r = mode == ACTIVATED ? 0 : try_programs(&err);
	if (r == 0)
		r = mode == ACTIVATED ? listen_take(&place, &err) :
					listen_make(&place, path, &err);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (mode == DAEMON && daemon(0, 0) < 0)
		return cli_fail("cannot go to the background: %s",
				strerror(errno));
	listen_note_pid(&place);
	options.listener = place.fd;
	options.ends_when_idle = mode == ACTIVATED;
	r = serve(&options, &err);
	return r < 0 ? cli_fail("%s", err.text) : EXIT_SUCCESS;
}

static int stop(const char *path)
{
	struct roar_error err = { "out of memory" };
	int r = listen_stop(path, &err);

	return r < 0 ? cli_fail("%s", err.text) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	struct roar_error err = { 0 };
	struct options o;
	int r = program_single(&roard_program, argc, argv, &args);

	if (r >= 0)
		return r;
	if (roard_options_read(&o, &args, &err) < 0)
		return cli_usage(args.command, "%s", err.text);
	if (o.mode == STOP)
		return stop(o.path);
	if (o.mode == PIN)
		return pin();
	if (o.mode == UNPIN)
		return unpin();
	return be_daemon(o.mode, o.path, o.idle_s);
}
