/* commands.c - the table of commands, in the order of the help. */
#include "commands.h"

const struct program roar_program = {
	.name = "roar",
	.version = ROAR_VERSION,
	.summary = "the flight recorder of ML training",
	.usage = "COMMAND [ARG]...\n"
		 "run python train.py",
	.commands =
		(const struct command *const[]){
			&cmd_init,    &cmd_run,	  &cmd_build,  &cmd_status,
			&cmd_session, &cmd_reset, &cmd_pop,    &cmd_log,
			&cmd_show,    &cmd_dag,	  &cmd_inputs, &cmd_hash,
			&cmd_verify,  &cmd_arena, &cmd_shards, &cmd_coordinator,
			&cmd_config,  &cmd_env,	  &cmd_filter, &cmd_tracer,
			&cmd_db,      NULL,
		},
};
