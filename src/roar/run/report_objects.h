/* report_objects.h - what the report says of objects and of the S3 proxy. */
#ifndef ROAR_RUN_REPORT_OBJECTS_H
#define ROAR_RUN_REPORT_OBJECTS_H

#include <stddef.h>

struct run;
struct str;
struct term;

/* Appends a line for each object of this role, as for files: `max` at most.  Returns how
 * many there are. */
size_t report_objects_add(struct str *out, const struct run *run, unsigned role,
			  const char *label, size_t max,
			  const struct term *term);

/* Appends that the environment of the command was changed, and for what: a line of the
 * block, or a part of the one line. */
void report_objects_add_proxy(struct str *out, const struct run *run,
			      const struct term *term);
void report_objects_add_words(struct str *out, const struct run *run);

/* Appends a line when no request reached the proxy. */
void report_objects_add_advice(struct str *out, const struct run *run);

#endif
