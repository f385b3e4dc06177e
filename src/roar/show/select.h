/* select.h - the ways to name an object on the command line.
 *
 * For `REF` roar determines its kind; --path, --job and --artifact state it.  Commands
 * about one object have these options in their tables and read them here. */
#ifndef ROAR_SELECT_H
#define ROAR_SELECT_H

#include "cli/cli.h"
#include "query/target.h"

struct selection {
	const char *word; /* NULL: none given */
	enum target_want want;
};

/* Reads the operand and the three options.  Returns how many of them were given; if
 * several, *ret has the last one in the order above. */
int select_read(const struct args *args, struct selection *ret);

#endif
