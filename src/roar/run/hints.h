/* hints.h - what the user may want to do next, told below the report.
 *
 * On a terminal, and unless hints.enabled is false:
 *	- outputs that git neither knows nor ignores, with lines for .gitignore
 *	- later steps that are stale now, because this run made something anew
 * Both cost milliseconds (git is asked, the session's graph is made), and nothing
 * when the run has no outputs. */
#ifndef ROAR_RUN_HINTS_H
#define ROAR_RUN_HINTS_H

struct run;
struct str;
struct term;

void hints_add(struct str *out, const struct run *run, const struct term *term);

#endif
