/* commands.c - the table of commands, in the order of the help. */
#include "commands.h"

#include <string.h>

const char roar_version[] = ROAR_VERSION;

const struct command *const commands[] = {
	&cmd_init,	  &cmd_run,    &cmd_build,  &cmd_status, &cmd_session,
	&cmd_reset,	  &cmd_pop,    &cmd_log,    &cmd_show,	 &cmd_dag,
	&cmd_inputs,	  &cmd_hash,   &cmd_verify, &cmd_arena,	 &cmd_shards,
	&cmd_coordinator, &cmd_config, &cmd_env,    &cmd_filter, &cmd_tracer,
	&cmd_db,	  NULL,
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}
