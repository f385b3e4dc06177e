/* options.c - see options.h */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static const struct option_spec table[] = {
	{ .name = "listen",
	  .arg = "ADDRESS",
	  .flags = OPTION_REPEAT,
	  .help = "accept S3 requests at HOST:PORT, [V6]:PORT or unix:PATH; "
		  "port 0 picks a free one (default 127.0.0.1:0)" },
	{ .name = "listen-fd",
	  .arg = "N",
	  .min = 3,
	  .max = INT_MAX,
	  .help = "accept S3 requests at this listening socket" },
	{ .name = "allow-remote",
	  .help = "allow --listen at addresses that other machines can reach, "
		  "and clients of other users; all get the proxy's access "
		  "rights" },
	{ .name = "upstream",
	  .arg = "URL",
	  .help = "the S3 server (default: the endpoint of the AWS "
		  "configuration, else AWS)" },
	{ .name = "region",
	  .arg = "NAME",
	  .help = "region for requests that do not name one" },
	{ .name = "profile",
	  .arg = "NAME",
	  .help = "profile of the AWS configuration to take credentials from" },
	{ .name = "log",
	  .arg = "FILE",
	  .help = "append one line for each operation to this object log" },
	{ .name = "no-hash",
	  .help = "record operations without the digests of contents" },
	{ .name = "digests",
	  .arg = "LIST",
	  .help = "digests to take of contents, separated by commas: blake3, "
		  "sha256 (default blake3)" },
	{ .name = "timeout",
	  .arg = "S",
	  .min = 1,
	  .max = 3600,
	  .help = "give up an upstream that sends and takes nothing for this "
		  "many seconds (default 60)" },
	{ .name = "control",
	  .arg = "SOCKET",
	  .help = "serve several runs: open and end their listeners by "
		  "requests to this Unix socket" },
	{ .name = "ready-fd",
	  .arg = "N",
	  .min = 1,
	  .max = INT_MAX,
	  .help = "write 'ready URL' to this descriptor, and close it" },
	{ .name = "end-fd",
	  .arg = "N",
	  .min = 0,
	  .max = INT_MAX,
	  .help = "end when this descriptor is at its end" },
	{ 0 },
};

static const struct command proxy = {
	.name = "roar-proxy",
	.summary = "record what the processes of a run do to S3 objects",
	.synopsis = "[--upstream URL] [--log FILE] [OPTION]...",
	.about = "Forwards S3 requests, signed with the credentials of the "
		 "environment, and records which objects were read and "
		 "written.  When it is ready, it prints one line with its "
		 "addresses.",
	.options = table,
	.exit_status = "0 when it was asked to stop, 1 when it cannot serve, 2 "
		       "on wrong usage.",
};

const struct program proxy_program = {
	.name = "roar-proxy",
	.version = ROAR_VERSION,
	.single = &proxy,
};

/* Is it an address that other machines can reach? */
static bool is_remote(const char *address)
{
	static const char *const local[] = { "unix:", "127.",
					     "localhost:", "[::1]:" };

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (strncmp(address, local[i], strlen(local[i])) == 0)
			return false;
	return true;
}

static int read_listen(struct options *o, const struct args *args,
		       struct roar_error *err)
{
	for (size_t i = 0; i < args->n_options; i++) {
		const char *address = args->options[i].value;

		if (strcmp(args->options[i].spec->name, "listen") != 0)
			continue;
		if (o->n_listen == OPTIONS_MAX_LISTEN)
			return error_set(err, -EINVAL,
					 "--listen can be given %d times at "
					 "most",
					 OPTIONS_MAX_LISTEN);
		if (is_remote(address) && !o->allow_remote)
			return error_set(err, -EINVAL,
					 "other machines can reach '%.128s': "
					 "use 127.0.0.1, [::1] or unix:PATH, "
					 "or give --allow-remote",
					 address);
		o->listen[o->n_listen++] = address;
	}
	if (o->n_listen == 0 && o->listen_fd < 0)
		o->listen[o->n_listen++] = "127.0.0.1:0";
	return 0;
}

static int read_digests(struct options *o, const char *list,
			struct roar_error *err)
{
	o->digests = DIGEST_SET_BLAKE3;
	for (const char *at = list; at && *at;) {
		size_t len = strcspn(at, ",");

		if (len == 6 && strncmp(at, "sha256", len) == 0)
			o->digests |= 1 << DIGEST_SHA256;
		else if (len != 6 || strncmp(at, "blake3", len) != 0)
			return error_set(err, -EINVAL,
					 "--digests takes blake3 and sha256, "
					 "not '%.*s'",
					 (int)(len < 64 ? len : 64), at);
		at += len + (at[len] == ',');
	}
	return 0;
}

int proxy_options_read(struct options *o, const struct args *args,
		       struct roar_error *err)
{
	int r;

	*o = (struct options){
		.listen_fd = (int)args_number(args, "listen-fd", -1),
		.ready_fd = (int)args_number(args, "ready-fd", -1),
		.end_fd = (int)args_number(args, "end-fd", -1),
		.upstream = args_get(args, "upstream"),
		.region = args_get(args, "region"),
		.profile = args_get(args, "profile"),
		.log = args_get(args, "log"),
		.control = args_get(args, "control"),
		.timeout_ms = 1000 * args_number(args, "timeout", 60),
		.allow_remote = args_has(args, "allow-remote"),
	};
	r = read_listen(o, args, err);
	if (r == 0)
		r = read_digests(o, args_get(args, "digests"), err);
	if (args_has(args, "no-hash"))
		o->digests = 0;
	return r;
}
