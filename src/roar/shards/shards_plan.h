/* shards_plan.h - `roar shards plan`: deals a table twice and prints the certificates. */
#ifndef ROAR_SHARDS_PLAN_H
#define ROAR_SHARDS_PLAN_H

struct args;

/* Returns an exit status. */
int shards_plan(const struct args *args);

#endif
