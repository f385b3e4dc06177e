/* hints.h - what the user may want to do next, printed below the report.
 *
 * On a terminal, and unless hints.enabled is false:
 *	- outputs that git neither tracks nor ignores, with lines for .gitignore
 *	- later steps that are stale now, because this run changed their inputs
 * Both take milliseconds (git runs, the graph of the session is built), and nothing
 * when the run has no outputs. */
#ifndef ROAR_RUN_HINTS_H
#define ROAR_RUN_HINTS_H

struct run;
struct str;
struct term;

void hints_add(struct str *out, const struct run *run, const struct term *term);

#endif
