/* options.c - see options.h */
#include "options.h"

#include <errno.h>

#include "base/macros.h"
#include "trace/ebpf/roard.h"

enum { IDLE_S = 300, IDLE_MAX_S = 1000000 };

static const struct option_spec options[] = {
	{ .name = "foreground", .help = "create the socket and serve" },
	{ .name = "daemon", .help = "the same in the background" },
	{ .name = "stop", .help = "stop the daemon that serves the socket" },
	{ .name = "pin",
	  .help = "keep the programs in the kernel until the next boot, for "
		  "runs of root without a daemon" },
	{ .name = "unpin", .help = "remove the programs that are kept there" },
	{ .name = "socket",
	  .arg = "PATH",
	  .help = "path of the socket (default " ROARD_SOCKET ")" },
	{ .name = "idle",
	  .arg = "SECONDS",
	  .max = IDLE_MAX_S,
	  .help = "unload the programs after this long without a run "
		  "(default 300)" },
	{ 0 },
};

static const struct command roard = {
	.name = "roard",
	.summary = "holds the eBPF programs of roar for ordinary users",
	.synopsis = "[--foreground | --daemon | --stop | --pin | --unpin] "
		    "[OPTION]...",
	.about = "Loads the eBPF programs of roar and starts runs for users "
		 "who are not allowed to load programs themselves.  Each user "
		 "gets the events of their own processes only.  Needs root, or "
		 "CAP_BPF and CAP_PERFMON.  'roar tracer enable ebpf' sets it "
		 "up.\n\n"
		 "Without an action it takes the socket that systemd hands "
		 "over, and exits when it is idle.",
	.options = options,
	.exit_status = "0 when it was asked to stop, 1 when it cannot serve, "
		       "2 on wrong usage.",
};

const struct program roard_program = {
	.name = "roard",
	.version = ROAR_VERSION,
	.single = &roard,
};

int roard_options_read(struct options *o, const struct args *args,
		       struct roar_error *err)
{
	static const struct {
		const char *name;
		enum mode mode;
	} actions[] = {
		{ "foreground", FOREGROUND },
		{ "daemon", DAEMON },
		{ "stop", STOP },
		{ "pin", PIN },
		{ "unpin", UNPIN },
	};
	int n = 0;

	*o = (struct options){
		.path = args_get(args, "socket"),
		.idle_s = (unsigned)args_number(args, "idle", IDLE_S),
	};
	if (!o->path)
		o->path = roard_socket_path();
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (args_has(args, actions[i].name))
			o->mode = actions[i].mode;
		n += args_count(args, actions[i].name);
	}
	if (n > 1)
		return error_set(err, -EINVAL,
				 "only one of --foreground, --daemon, --stop, "
				 "--pin and --unpin can be given");
	return 0;
}
