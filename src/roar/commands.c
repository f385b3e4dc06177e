/* commands.c - the table of commands, in the order of the help. */
#include "commands.h"

#define STAYS_LOCAL "records stay in the project's .roar directory"

/* Commands of roar-cli, the program that this one follows. */
static const struct absent_command absent[] = {
	{ "agent", NULL, false },
	{ "auth", STAYS_LOCAL, true },
	{ "export-registration-package", STAYS_LOCAL, true },
	{ "k8s", "use 'roar run' inside of the container", false },
	{ "login", STAYS_LOCAL, true },
	{ "logout", STAYS_LOCAL, true },
	{ "osmo", "use 'roar run' inside of the container", false },
	{ "projects", STAYS_LOCAL, true },
	{ "register", STAYS_LOCAL, true },
	{ "scope", STAYS_LOCAL, true },
	{ "telemetry", "this program sends none", false },
	{ "tui", "use 'roar status', 'roar dag' and 'roar show'", false },
	{ "whoami", STAYS_LOCAL, true },
	{ "workflow", STAYS_LOCAL, true },
	{ 0 },
};

const struct program roar_program = {
	.name = "roar",
	.version = ROAR_VERSION,
	.summary = "the flight recorder of ML training",
	.usage = "COMMAND [ARG]...\n"
		 "run python train.py",
	.commands =
		(const struct command *const[]){
			&cmd_init,	  &cmd_run,	     &cmd_build,
			&cmd_rerun,	  &cmd_status,	     &cmd_session,
			&cmd_reset,	  &cmd_pop,	     &cmd_log,
			&cmd_show,	  &cmd_dag,	     &cmd_inputs,
			&cmd_lineage,	  &cmd_diff,	     &cmd_why,
			&cmd_collection,  &cmd_label,	     &cmd_export,
			&cmd_import,	  &cmd_tag,	     &cmd_reproduce,
			&cmd_hash,	  &cmd_verify,	     &cmd_put,
			&cmd_get,	  &cmd_keep,	     &cmd_objects,
			&cmd_checkpoint,  &cmd_arena,	     &cmd_shards,
			&cmd_coordinator, &cmd_config,	     &cmd_env,
			&cmd_filter,	  &cmd_tracer,	     &cmd_proxy,
			&cmd_db,	  &cmd_record_files, NULL,
		},
	.absent = absent,
};
