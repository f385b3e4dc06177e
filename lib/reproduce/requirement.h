/* requirement.h - the packages and interpreters that steps used.
 *
 * They are read from two documents of a job (store_situation.h): PACKAGES and LIBRARIES.
 * The record may come from somebody else, and its names become arguments of installers.
 * So a name or version that an installer could take for an option, a URL or a path is
 * kept for display and marked as not installable. */
#ifndef ROAR_REPRODUCE_REQUIREMENT_H
#define ROAR_REPRODUCE_REQUIREMENT_H

#include <stdbool.h>
#include <stddef.h>

struct pool;
struct str;

enum { REQUIREMENTS_MAX = 100000 }; /* of one job */

struct requirement {
	const char *manager; /* "pip", "dpkg", "conda", "rpm", "apk", "npm" */
	const char *name;
	const char *version; /* "" when unknown */
	const char *arch; /* "" when there is none */
	const char *location; /* directory; "" when unknown */
	bool editable; /* installed from a source directory */
	bool of_system; /* pip: came with the operating system */
	bool installable; /* name and version are plain */
};

struct interpreter {
	const char *kind; /* "python" */
	const char *path;
	const char *version; /* "3.11.4"; "" when unknown or not plain */
	const char *prefix; /* of its installation or environment; "" */
	bool in_venv;
};

struct requirements {
	struct requirement *all; /* sorted by manager, name, version */
	size_t n;
	struct interpreter *interpreters;
	size_t n_interpreters;
};

/* Reads both documents; NULL for one that does not exist.  0, -EBADMSG for a document
 * that is not what it should be, or -ENOMEM. */
int requirements_read(struct pool *pool, const char *packages,
		      const char *libraries, struct requirements *ret);

/* All requirements of `n` lists, each once. */
int requirements_join(struct pool *pool, const struct requirements *lists,
		      size_t n, struct requirements *ret);

/* The first Python interpreter, preferably one whose version is known: a script may have
 * started it (pyenv).  NULL when there is none. */
const struct interpreter *requirements_python(const struct requirements *r);

/* Is it installed by pip into the environment of the job? */
bool requirement_is_pip(const struct requirement *r);
/* By the package manager of the operating system? */
bool requirement_is_system(const struct requirement *r);

/* The lines of requirements.txt: the installable packages of pip.  Two jobs with the same
 * text and Python can share an environment. */
void requirements_pip_text(const struct requirements *r, struct str *out);

#endif
