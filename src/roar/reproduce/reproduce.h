/* reproduce.h - making something again, and proving that it is the same.
 *
  *	foreign_record.h a record from a file or a URL
 *	plan.c          the recipe, and what speaks against it
 *	plan_text.c     the plan as text, and the list of requirements
 *	plan_json.c     the same as JSON
 *	site.h          the new directory: code, packages, inputs, steps, proof
 *	execution.c     --run: all of these in order
 *	script.c        --script: the same without roar
 *
 * cmd/reproduce.c tells the story. */
#ifndef ROAR_REPRODUCE_REPRODUCE_H
#define ROAR_REPRODUCE_REPRODUCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "query/target.h"
#include "reproduce/recipe.h"

struct args;
struct view;

/* Exit statuses besides 0 (identical), 1 and 2. */
enum { REPRODUCE_EQUAL = 3, REPRODUCE_DIFFERENT = 4 };

/* One sentence about the plan. */
struct reproduce_note {
	const char *text;
	bool stops; /* --run would fail for this reason */
	bool outside; /* it is that a step writes elsewhere: not with bubblewrap */
};

struct reproduce {
	struct view *view;
	const struct args *args;
	const char *
		word; /* what to reproduce, as the user typed it; NULL: the newest job */
	struct target target;
	const struct store_job *job; /* that made it */
	struct recipe recipe;
	struct reproduce_note *notes;
	size_t n_notes, cap_notes;
	bool foreign; /* the record comes from somebody else */
	bool tolerance; /* --rtol or --atol was given */
	double rtol, atol;
};

void reproduce_release(struct reproduce *p);

/* Another note, in the pool of the view.  0 or -ENOMEM. */
int reproduce_note(struct reproduce *p, bool stops, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Is a directory of git or roar, or an environment that is made here, on the way?  Files of
 * somebody else in it could set variables and replace programs. */
bool reproduce_is_reserved(const char *name);

/* "@2", "@B1 of session 1234abcd". */
const char *reproduce_step_ref(struct reproduce *p,
			       const struct recipe_step *step);

/* ---- plan.c ---- */

/* Resolves the word and makes the recipe.  -EINVAL: wrong usage. */
int plan_make(struct reproduce *p, struct roar_error *err);

/* Before a run: looks for files that its steps would overwrite, and that are filtered in the
 * record. */
int plan_check_hidden(struct reproduce *p, struct roar_error *err);

/* ---- plan_text.c, plan_json.c: append to the output of the view ---- */

void plan_text(struct reproduce *p);
void plan_requirements_text(struct reproduce *p);
void plan_json(struct reproduce *p);

/* ---- execution.c ---- */

/* Does it.  Returns the exit status. */
int execution_run(struct reproduce *p);

/* ---- script.c ---- */

/* Prints the plan as a shell script.  Returns the exit status. */
int script_print(struct reproduce *p);

#endif
