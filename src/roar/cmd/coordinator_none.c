/* coordinator_none.c - `roar coordinator` where it was not built. */
#include "commands.h"

static int run(const struct args *args)
{
	(void)args;
	return cli_fail("this roar was built without the coordinator: install "
			"protobuf-c, nghttp2 and llhttp and build it again");
}

const struct command cmd_coordinator = {
	.name = "coordinator",
	.group = GROUP_DATA,
	.summary = "query and control a running coordinator",
	.synopsis = "",
	.about = "This roar was built without the coordinator.",
	.operand = OPERAND_NONE,
	.max_operands = -1,
	.run = run,
};
