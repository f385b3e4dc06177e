/* commands.h - every command of roar, one object per file of cmd/. */
#ifndef ROAR_COMMANDS_H
#define ROAR_COMMANDS_H

#include "cli/cli.h"

extern const struct program roar_program;

/* Headings of `roar --help`, in their order. */
#define GROUP_START "Start Here"
#define GROUP_SESSIONS "Sessions"
#define GROUP_INSPECT "Inspect Local Lineage"
#define GROUP_FILES "Files"
#define GROUP_DATA "Data Between Processes"
#define GROUP_SETUP "Setup and Admin"

extern const struct command cmd_arena;
extern const struct command cmd_build;
extern const struct command cmd_checkpoint;
extern const struct command cmd_collection;
extern const struct command cmd_config;
extern const struct command cmd_coordinator;
extern const struct command cmd_dag;
extern const struct command cmd_db;
extern const struct command cmd_diff;
extern const struct command cmd_env;
extern const struct command cmd_export;
extern const struct command cmd_filter;
extern const struct command cmd_get;
extern const struct command cmd_hash;
extern const struct command cmd_import;
extern const struct command cmd_init;
extern const struct command cmd_inputs;
extern const struct command cmd_label;
extern const struct command cmd_keep;
extern const struct command cmd_lineage;
extern const struct command cmd_log;
extern const struct command cmd_objects;
extern const struct command cmd_pop;
extern const struct command cmd_proxy;
extern const struct command cmd_put;
extern const struct command cmd_reproduce;
extern const struct command cmd_rerun;
extern const struct command cmd_record_files;
extern const struct command cmd_reset;
extern const struct command cmd_run;
extern const struct command cmd_session;
extern const struct command cmd_shards;
extern const struct command cmd_show;
extern const struct command cmd_status;
extern const struct command cmd_tag;
extern const struct command cmd_tracer;
extern const struct command cmd_verify;
extern const struct command cmd_why;

#endif
