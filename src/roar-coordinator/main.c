/* main.c - roar-coordinator: keeps the members of training jobs together.
 *
 * What it can is in options.h, what it does in serve.h, how its parts are joined in
 * server.h. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "serve.h"

enum { EXIT_USAGE = 2 };

static int help(void)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	options_help(&text);
	(void)fputs(str_cstr(&text), stdout);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct roar_error err = { "out of memory" };
	enum options_action action;
	struct options o;

	if (options_parse(&o, argc, argv, &action, &err) < 0) {
		(void)fprintf(stderr,
			      "roar-coordinator: %s (see 'roar-coordinator "
			      "--help')\n",
			      err.text);
		return EXIT_USAGE;
	}
	if (action == OPTIONS_HELP)
		return help();
	if (action == OPTIONS_VERSION) {
		(void)puts("roar-coordinator " ROAR_VERSION);
		return EXIT_SUCCESS;
	}
	if ((o.agent ? agent_serve : serve)(&o, &err) < 0) {
		(void)fprintf(stderr, "roar-coordinator: %s\n", err.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
