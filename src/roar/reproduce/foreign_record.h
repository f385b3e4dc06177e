/* foreign_record.h - a record from a file or a URL, to reproduce what it has.
 *
 * `roar export` writes such files.  One is read into a project of its own in a temporary
 * directory, so that the user's record has nothing of it, and is removed afterwards. */
#ifndef ROAR_REPRODUCE_FOREIGN_RECORD_H
#define ROAR_REPRODUCE_FOREIGN_RECORD_H

#include <stdbool.h>

#include "base/error.h"

struct store_job;
struct view;

struct foreign_record {
	char dir[32]; /* "" when there is none */
};

/* Is the argument a URL, or a file that begins like a record? */
bool foreign_record_is(const char *word);

/* Reads it, and opens the view on it.  An exit status, after printing the reason of a
 * failure. */
int foreign_record_open(struct foreign_record *f, const char *word,
			struct view *v);
void foreign_record_remove(struct foreign_record *f);

/* The newest job in the record of the view that is no transfer. */
int foreign_record_last_job(struct view *v, struct store_job *ret,
			    struct roar_error *err);

#endif
