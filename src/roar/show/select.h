/* select.h - the ways of naming one thing on the command line.
 *
 * `REF` lets roar find out what is meant; --path, --job and --artifact say it.
 * Commands that look at one thing have these options in their tables and read
 * them here. */
#ifndef ROAR_SELECT_H
#define ROAR_SELECT_H

#include "cli/cli.h"
#include "query/target.h"

struct selection {
	const char *word; /* NULL: nothing was named */
	enum target_want want;
};

/* Reads the operand and the three options.  Returns how many of them were given;
 * of several, the last in the order above is in *ret. */
int select_read(const struct args *args, struct selection *ret);

#endif
