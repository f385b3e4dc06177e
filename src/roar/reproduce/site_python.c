/* site_python.c - virtual environments with the recorded packages
 *
 * Steps with the same Python and the same packages share one: .venv, .venv-2, ...  uv makes
 * it where there is one, because it also brings the recorded Python; else the venv module of
 * the Python that is here.  Exactly the recorded packages are installed, without those that
 * they name as dependencies: a step used none but these. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "reproduce/enclosure.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "store/store.h"
#include "ui/view.h"

enum { ARGS = 24 };

/* ---- which environments ---- */

/* Does the command name its interpreter by a path into the recorded environment? */
static bool names_environment(const struct recipe_step *step,
			      const struct interpreter *python)
{
	size_t len = strlen(python->prefix);

	for (size_t i = 0; python->in_venv && len > 1 && step->argv[i]; i++)
		if (!strncmp(step->argv[i], python->prefix, len) &&
		    step->argv[i][len] == '/')
			return true;
	return false;
}

static bool needs_environment(const struct recipe_step *step)
{
	const struct interpreter *python = requirements_python(&step->needs);

	if (!python)
		return false;
	for (size_t i = 0; i < step->needs.n; i++)
		if (requirement_is_pip(&step->needs.all[i]))
			return true;
	return names_environment(step, python);
}

static int find_environment(struct site *s, const char *version,
			    const char *packages, size_t *ret)
{
	struct pool *pool = &s->p->view->pool;
	struct site_python *new;

	for (size_t i = 0; i < s->n_pythons; i++)
		if (!strcmp(s->pythons[i].version, version) &&
		    !strcmp(s->pythons[i].packages, packages)) {
			*ret = i + 1;
			return 0;
		}
	new = VEC_PUSH(s->pythons, s->n_pythons, s->cap_pythons);
	if (!new)
		return -ENOMEM;
	*ret = s->n_pythons;
	new->version = version;
	new->packages = pool_strdup(pool, packages);
	new->dir = s->n_pythons == 1 ? site_path(s, ".venv") :
				       pool_printf(pool, "%s/.venv-%zu", s->dir,
						   s->n_pythons);
	return new->dir &&new->packages ? 0 : -ENOMEM;
}

static void add_change(struct site *s, const char *from, const char *to)
{
	if (from[0] != '/' || !from[1] || !to)
		return;
	for (size_t i = 0; i < s->n_changes; i++)
		if (strcmp(s->changes[i].from, from) == 0)
			return;
	s->changes[s->n_changes++] = (struct recipe_change){ from, to };
}

/* The recorded environment, or the interpreters where there was none, is ours now. */
static void add_changes(struct site *s, const struct requirements *needs,
			const char *dir)
{
	const char *program = pool_printf(&s->p->view->pool, "%s/bin/python",
					  dir);

	for (size_t i = 0; i < needs->n_interpreters; i++) {
		const struct interpreter *one = &needs->interpreters[i];

		if (strcmp(one->kind, "python") != 0)
			continue;
		if (one->in_venv)
			add_change(s, one->prefix, dir);
		else
			add_change(s, one->path, program);
	}
}

int site_python_plan(struct site *s)
{
	const struct recipe *recipe = &s->p->recipe;
	int r = 0;

	for (size_t i = 0; i < recipe->n_steps && r == 0; i++) {
		const struct recipe_step *step = &recipe->steps[i];
		const struct interpreter *python = requirements_python(
			&step->needs);
		CLEANUP(str_release) struct str packages = STR_INIT;

		if (!needs_environment(step))
			continue;
		requirements_pip_text(&step->needs, &packages);
		if (str_error(&packages) < 0)
			return -ENOMEM;
		r = find_environment(s, python->version, str_cstr(&packages),
				     &s->python_of[i]);
		if (r == 0)
			add_changes(s, &step->needs,
				    s->pythons[s->python_of[i] - 1].dir);
	}
	return r;
}

/* ---- making one ---- */

/* "python3.11" of version 3.11.4, where it is; else python3, with a note. */
static const char *find_python(struct site *s, const char *version)
{
	const char *dot = strchr(version, '.');
	size_t len = dot ? (size_t)(dot - version) + 1 +
				     strcspn(dot + 1, ".+-_abcr") :
			   0;
	const char *name;

	if (!len)
		return "python3";
	name = pool_printf(&s->p->view->pool, "python%.*s", (int)len, version);
	if (name && site_has_program(name))
		return name;
	site_say("note: Python %s was recorded, which is not installed: the "
		 "virtual environment has the python3 of this machine (uv would "
		 "bring the recorded one)",
		 version);
	return "python3";
}

static int make_environment(struct site *s, const struct site_python *python,
			    bool uv, struct roar_error *err)
{
	char *by_uv[] = { "uv",	      "venv",
			  "--quiet",  (char *)python->dir,
			  "--python", (char *)python->version,
			  NULL };
	char *by_venv[] = { (char *)NULL, "-m", "venv", (char *)python->dir,
			    NULL };

	if (uv && !*python->version)
		by_uv[4] = NULL;
	if (!uv)
		by_venv[0] = (char *)find_python(s, python->version);
	return site_call(s, "the virtual environment cannot be made",
			 uv ? by_uv : by_venv, err);
}

/* git does not list it, so that no snapshot takes it for code. */
static int hide(const struct site_python *python, struct roar_error *err)
{
	CLEANUP(closep)
	int dir = open(python->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno :
			  fd_replace_file(dir, ".gitignore", "*\n", 2, 0644);

	if (r == 0)
		return 0;
	return error_set(err, r, "cannot write in '%.300s': %s", python->dir,
			 strerror(-r));
}

/* The installer for that environment, as the first arguments. */
static size_t begin_install(const char *program, bool uv, char **argv)
{
	static const char *const by_uv[] = { "uv",	"pip",	    "install",
					     "--quiet", "--python", NULL };
	static const char *const by_pip[] = {
		"-m",	   "pip",	 "install",
		"--quiet", "--no-input", "--disable-pip-version-check",
		NULL
	};
	const char *const *words = uv ? by_uv : by_pip;
	size_t n = 0;

	if (!uv)
		argv[n++] = (char *)program;
	while (*words)
		argv[n++] = (char *)*words++;
	if (uv)
		argv[n++] = (char *)program;
	argv[n++] = (char *)"--no-deps";
	return n;
}

/* What pip or uv say of a package that is not there, or not for this Python, is a sentence
 * already; it names the package. */
static int install(struct site *s, const struct site_python *python, bool uv,
		   struct roar_error *err)
{
	struct pool *pool = &s->p->view->pool;
	const char *program = pool_printf(pool, "%s/bin/python", python->dir);
	const char *list = pool_printf(pool, "%s/roar-requirements.txt",
				       python->dir);
	const char *wheels = args_get(s->p->args, "wheels");
	CLEANUP(freep) char *folder = wheels ? realpath(wheels, NULL) : NULL;
	char *argv[ARGS] = { 0 };
	size_t n = 0;
	int r;

	if (!program || !list)
		return -ENOMEM;
	if (wheels && !folder)
		return error_set(err, -errno,
				 "the directory of wheels '%.200s' cannot be "
				 "used: %s",
				 wheels, strerror(errno));
	r = fd_replace_file(AT_FDCWD, list, python->packages,
			    strlen(python->packages), 0644);
	if (r < 0)
		return error_set(err, r, "cannot write '%.300s': %s", list,
				 strerror(-r));
	n = begin_install(program, uv, argv);
	if (folder) {
		argv[n++] = (char *)"--no-index";
		argv[n++] = (char *)"--find-links";
		argv[n++] = folder;
	}
	argv[n++] = (char *)"-r";
	argv[n++] = (char *)list;
	return site_call(s,
			 "the recorded packages cannot be installed (one may "
			 "no longer exist, or not be for this Python)",
			 argv, err);
}

/* A package that was installed from source is installed from where its source is now. */
static int install_one_editable(struct site *s, const struct requirement *q,
				const char *program, struct roar_error *err)
{
	char *argv[ARGS] = { 0 };
	const char *place;
	size_t n;
	int r = recipe_place(&s->p->recipe.roots, &s->p->view->pool,
			     q->location, &place);

	if (r < 0)
		return r;
	if (!place) {
		site_say("note: the package %.100s was installed from a "
			 "directory outside of the project, and is left out",
			 q->name);
		return 0;
	}
	n = begin_install(program, site_has_program("uv"), argv);
	argv[n++] = (char *)"-e";
	argv[n] = (char *)site_path(s, place);
	return argv[n] ? site_call(s, "an editable package cannot be installed",
				   argv, err) :
			 -ENOMEM;
}

static int install_editable(struct site *s, size_t step, struct roar_error *err)
{
	const struct requirements *needs = &s->p->recipe.steps[step].needs;
	const char *program = pool_printf(
		&s->p->view->pool, "%s/bin/python",
		s->pythons[s->python_of[step] - 1].dir);
	int r = program ? 0 : -ENOMEM;

	for (size_t i = 0; i < needs->n && r == 0; i++)
		if (needs->all[i].editable && requirement_is_pip(&needs->all[i]))
			r = install_one_editable(s, &needs->all[i], program,
						 err);
	return r;
}

static void say_left_out(struct site *s)
{
	const struct requirements *needs = &s->p->recipe.needs;
	bool conda = false;

	for (size_t i = 0; i < needs->n; i++) {
		conda |= strcmp(needs->all[i].manager, "conda") == 0;
		if (requirement_is_pip(&needs->all[i]) &&
		    !needs->all[i].editable && !needs->all[i].installable)
			site_say("note: a package of pip is left out, because "
				 "its recorded name or version is not one");
	}
	if (conda)
		site_say("note: packages of conda are listed "
			 "(--list-requirements), and not installed");
}

int site_python_make(struct site *s, struct roar_error *err)
{
	bool uv = site_has_program("uv");
	int r = 0;

	say_left_out(s);
	for (size_t i = 0; i < s->n_pythons && r == 0; i++) {
		site_say("making the virtual environment %s",
			 s->pythons[i].dir);
		r = make_environment(s, &s->pythons[i], uv, err);
		if (r == 0)
			r = hide(&s->pythons[i], err);
		if (r == 0 && *s->pythons[i].packages)
			r = install(s, &s->pythons[i], uv, err);
	}
	return r;
}

int site_python_editable(struct site *s, size_t step, struct roar_error *err)
{
	for (size_t i = 0; i < step; i++)
		if (s->python_of[i] == s->python_of[step])
			return 0;
	return s->python_of[step] ? install_editable(s, step, err) : 0;
}
