/* transfer_none.c - `roar put` and `roar get` where they were not built. */
#include "commands.h"

static int run(const struct args *args)
{
	return cli_fail(
		"this roar was built without object stores, so it has no "
		"'%s': install expat, jansson, nghttp2 and llhttp and "
		"build it again",
		args->command->name);
}

const struct command cmd_put = {
	.name = "put",
	.group = GROUP_FILES,
	.summary = "upload files to an object store and record it",
	.synopsis = "",
	.about = "This roar was built without object stores.",
	.operand = OPERAND_NONE,
	.max_operands = -1,
	.run = run,
};

const struct command cmd_get = {
	.name = "get",
	.group = GROUP_FILES,
	.summary = "download objects and record where they came from",
	.synopsis = "",
	.about = "This roar was built without object stores.",
	.operand = OPERAND_NONE,
	.max_operands = -1,
	.run = run,
};
