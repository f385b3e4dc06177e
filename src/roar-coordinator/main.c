/* main.c - roar-coordinator: the server that coordinates the workers of training jobs.
 *
 * options.h has its command line, serve.h what it does, server.h how its parts are
 * joined. */
#include <stdlib.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "serve.h"

int main(int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	struct roar_error err = { "out of memory" };
	struct options o;
	int r = program_single(&coordinator_program, argc, argv, &args);

	if (r >= 0)
		return r;
	if (options_read(&o, &args, &err) < 0)
		return cli_usage(args.command, "%s", err.text);
	if ((o.agent ? agent_serve : serve)(&o, &err) < 0)
		return cli_fail("%s", err.text);
	return EXIT_SUCCESS;
}
