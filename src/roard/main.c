/* main.c - roard: holds the eBPF programs for users who may not load any.
 *
 *	roard			for systemd, which hands over the socket
 *	roard --foreground	makes the socket and serves
 *	roard --daemon		the same in the background
 *	roard --stop		ends the one that serves the socket
 *	roard --pin, --unpin	keeps programs in the kernel without a daemon, or
 *				removes those that are kept
 *
 * What it says to its clients is in trace/ebpf/roard.h, what it does in serve.h. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"
#include "serve.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/roard.h"

enum {
	EXIT_USAGE = 2,
	IDLE_S = 300, /* usual patience */
};

enum mode { ACTIVATED, FOREGROUND, DAEMON, STOP, PIN, UNPIN };

static const char usage_text[] =
	"Usage: roard [--foreground | --daemon | --stop | --pin | --unpin]\n"
	"             [--socket PATH] [--idle SECONDS]\n"
	"\n"
	"Holds the eBPF programs of roar and starts runs for users who may not\n"
	"load programs themselves.  Each user gets the events of his own\n"
	"processes and of nobody else's.  Needs root, or CAP_BPF and\n"
	"CAP_PERFMON.  'roar tracer enable ebpf' sets it up.\n"
	"\n"
	"      --foreground    make the socket and serve\n"
	"      --daemon        the same in the background\n"
	"      --stop          end the daemon that serves the socket\n"
	"      --pin           keep programs in the kernel, for root's runs\n"
	"      --unpin         remove programs that are kept there\n"
	"      --socket PATH   instead of " ROARD_SOCKET "\n"
	"      --idle SECONDS  unload the programs after so long without a run\n"
	"      --version       print the version\n"
	"  -h, --help          show this help\n"
	"\n"
	"Without an option it takes the socket that systemd hands over, and ends\n"
	"after five minutes without a run.\n";

static int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int fail(const char *fmt, ...)
{
	va_list ap;

	(void)fputs("roard: ", stderr);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return EXIT_FAILURE;
}

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
		return fail("%s", err.text);
	return EXIT_SUCCESS;
}

static int unpin(void)
{
	struct roar_error err = { "out of memory" };

	if (ebpf_unpin(&err) < 0)
		return fail("%s", err.text);
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

/* A daemon without programs would only disappoint: say so while somebody reads. */
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
		return fail("%s", err.text);
	if (mode == DAEMON && daemon(0, 0) < 0)
		return fail("cannot go to the background: %s", strerror(errno));
	listen_note_pid(&place);
	options.listener = place.fd;
	options.ends_when_idle = mode == ACTIVATED;
	r = serve(&options, &err);
	return r < 0 ? fail("%s", err.text) : EXIT_SUCCESS;
}

static int stop(const char *path)
{
	struct roar_error err = { "out of memory" };
	int r = listen_stop(path, &err);

	return r < 0 ? fail("%s", err.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

struct options {
	enum mode mode;
	const char *path;
	unsigned idle_s;
};

static int usage(const char *why)
{
	(void)fail("%s (see 'roard --help')", why);
	return EXIT_USAGE;
}

/* -1, or the exit status to end with. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{ "foreground", no_argument, NULL, FOREGROUND },
		{ "daemon", no_argument, NULL, DAEMON },
		{ "stop", no_argument, NULL, STOP },
		{ "pin", no_argument, NULL, PIN },
		{ "unpin", no_argument, NULL, UNPIN },
		{ "socket", required_argument, NULL, 's' },
		{ "idle", required_argument, NULL, 'i' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	char *end = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", table, NULL)) >= 0) {
		switch (c) {
		case FOREGROUND:
		case DAEMON:
		case STOP:
		case PIN:
		case UNPIN:
			if (o->mode != ACTIVATED)
				return usage("one action at a time");
			o->mode = (enum mode)c;
			break;
		case 's':
			o->path = optarg;
			break;
		case 'i':
			o->idle_s = (unsigned)strtoul(optarg, &end, 10);
			if (!*optarg || *end || o->idle_s > 1000000)
				return usage("--idle takes seconds");
			break;
		case 'V':
			(void)puts("roard " ROAR_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			(void)fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		default:
			return usage("unknown option, or a value is missing");
		}
	}
	return optind < argc ? usage("it takes no operands") : -1;
}

int main(int argc, char **argv)
{
	struct options o = { .path = roard_socket_path(), .idle_s = IDLE_S };
	int r = parse(argc, argv, &o);

	if (r >= 0)
		return r;
	if (o.mode == STOP)
		return stop(o.path);
	if (o.mode == PIN)
		return pin();
	if (o.mode == UNPIN)
		return unpin();
	return be_daemon(o.mode, o.path, o.idle_s);
}
