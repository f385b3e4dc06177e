/* main.c - roar-proxy: forwards S3 requests and records what they do.
 *
 * options.h has its command line, proxy.h how its parts are joined. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "proxy.h"

int main(int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	struct roar_error err = { "out of memory" };
	struct options o;
	int r = program_single(&proxy_program, argc, argv, &args);

	if (r >= 0)
		return r;
	if (proxy_options_read(&o, &args, &err) < 0)
		return cli_usage(args.command, "%s", err.text);
	if (proxy_serve(&o, &err) < 0)
		return cli_fail("%s", err.text);
	return EXIT_SUCCESS;
}
