/* site.h - the new directory of a reproduction, and what happens in it.
 *
 *	site.c          makes it, and puts the inputs into it
 *	site_code.c     restores the code, for each step the version it ran with
 *	site_python.c   virtual environments with the recorded packages
 *	site_system.c   packages of the operating system
 *	site_sandbox.c  runs steps without network
 *	site_step.c     runs the steps
 *	site_proof.c    compares what they have made with the record
 *	site_reason.c   why an output may differ
 *
 * Nothing is written outside of the directory, and nothing that was there is changed: it is
 * created, or was empty.  What fails, or is interrupted, leaves it as it is. */
#ifndef ROAR_REPRODUCE_SITE_H
#define ROAR_REPRODUCE_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/map.h"
#include "reproduce/recipe.h"

struct child;
struct reproduce;

/* A virtual environment, shared by the steps that need the same packages. */
struct site_python {
	const char *dir; /* absolute */
	const char *version; /* "" any */
	const char *packages; /* lines of requirements.txt */
};

enum proof_state {
	PROOF_IDENTICAL,
	PROOF_EQUAL, /* within the tolerance */
	PROOF_DIFFERENT,
	PROOF_MISSING, /* the step did not make it */
	PROOF_UNKNOWN, /* the record has no digest to compare with */
	PROOF_STATE_END,
};

struct site_proof {
	size_t step;
	const struct store_file *row;
	const char *place;
	enum proof_state state;
	const char *detail; /* a clause; NULL: none */
};

/* Why an output may differ, the best evidence first. */
struct site_reasons {
	const char *list[24];
	size_t n;
};

/* How steps are kept from the network. */
enum sandbox { SANDBOX_NONE, SANDBOX_BUBBLEWRAP, SANDBOX_NAMESPACES };

struct site {
	struct reproduce *p;
	bool imagined; /* there is no directory: for a script */
	const char *dir; /* absolute, without links */
	int dirfd;
	const char *program; /* roar */
	struct recipe_change *changes; /* recorded directories -> ours */
	size_t n_changes;
	struct map made; /* recorded path of an output -> when, site_code.c */
	struct recipe_code **current; /* per code: the one checked out there */
	size_t n_inputs; /* that are in place */
	struct site_python *pythons;
	size_t n_pythons, cap_pythons;
	size_t *python_of; /* per step: number + 1; 0: none */
	enum sandbox sandbox;
	struct site_proof *proofs;
	size_t n_proofs, cap_proofs;
	size_t n_run; /* steps that have run */
};

#define SITE_INIT ((struct site){ .dirfd = -1 })

/* Creates the directory, which must not exist or be empty.  -EINVAL with a sentence. */
int site_open(struct site *s, struct reproduce *p, const char *dir,
	      struct roar_error *err);
/* A directory that does not exist and is called `dir`: nothing can be made in it. */
int site_imagine(struct site *s, struct reproduce *p, const char *dir);
void site_release(struct site *s);

/* A place as an absolute path, in the pool; NULL without memory. */
const char *site_path(struct site *s, const char *place);

/* Puts the inputs into place that this step is the first to read, and verifies all. */
int site_inputs(struct site *s, size_t step, struct roar_error *err);

/* Prints a line on stderr about what is done now. */
void site_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Runs a program in the directory; a status other than 0 is -EIO, and the sentence
 * "`what`: ..." ends with its last line. */
int site_call(struct site *s, const char *what, char *const *argv,
	      struct roar_error *err);

/* Is there a program of this name in PATH? */
bool site_has_program(const char *name);

/* ---- site_code.c ---- */

/* Finds what the steps make, for site_code_leaves(). */
int site_code_find_made(struct site *s);
/* Fetches all versions of the code. */
int site_code_fetch(struct site *s, struct roar_error *err);
/* Is this file of the code, by its name in it, left to the steps when it is checked out for
 * `step`?  `path` is scratch. */
bool site_code_leaves(struct site *s, const struct recipe_code *code,
		      const char *name, size_t step, struct str *path);
/* Checks out the one of this step, but no file that a step is to make. */
int site_code_switch(struct site *s, size_t step, struct roar_error *err);

/* ---- site_python.c ---- */

/* Finds which environments are needed, then makes them. */
int site_python_plan(struct site *s);
int site_python_make(struct site *s, struct roar_error *err);
/* For the first step of its environment: installs what lies in the project itself, whose
 * code is there by now. */
int site_python_editable(struct site *s, size_t step, struct roar_error *err);

/* ---- site_system.c: --package-sync ---- */

int site_system_sync(struct site *s, struct roar_error *err);

/* ---- site_sandbox.c ---- */

/* Finds out which kind works here.  -EOPNOTSUPP with a sentence: none. */
int site_sandbox_find(struct site *s, struct roar_error *err);
/* Appends the arguments that come before those of the program. */
int site_sandbox_argv(struct site *s, const char *cwd, const char **argv,
		      size_t *n);
/* For child.prepare: leaves the network. */
int site_sandbox_enter(void);

enum { SANDBOX_ARGS = 64 };

/* ---- site_step.c ---- */

int site_step_run(struct site *s, size_t step, struct roar_error *err);
/* The command as it will be run; -EINVAL with a sentence. */
int site_step_argv(struct site *s, size_t step, char ***ret,
		   struct roar_error *err);
/* The variables that are set for it, "NAME=VALUE"; ended by NULL.  *ret_recorded: the record
 * has its variables, so that others known to change results were not set. */
int site_step_variables(struct site *s, size_t step, char ***ret,
			bool *ret_recorded, struct roar_error *err);

/* ---- site_proof.c ---- */

/* Compares the outputs of the step that has just run. */
int site_proof_step(struct site *s, size_t step, struct roar_error *err);
/* The first output that differs; NULL: none. */
const struct site_proof *site_proof_first(const struct site *s);
/* Prints the result.  Returns the exit status. */
int site_proof_print(struct site *s);

/* ---- execution.c ---- */

/* Prints what speaks against a run.  0: nothing; or the exit status. */
int execution_refuse(struct reproduce *p, enum sandbox sandbox);

/* ---- site_reason.c ---- */

int site_reasons_find(struct site *s, const struct site_proof *proof,
		      struct site_reasons *ret);

#endif
