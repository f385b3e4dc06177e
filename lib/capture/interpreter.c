/* interpreter.c - see interpreter.h */
#include "capture/interpreter.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/path.h"
#include "base/str.h"
#include "capture/package_database.h"

enum { TEXT_MAX = 64 * 1024 };

const char *interpreter_kind(const char *path)
{
	/* A version may follow the name. */
	static const struct {
		const char *name;
		const char *kind;
	} known[] = {
		{ "python", "python" }, { "pypy", "python" },
		{ "nodejs", "node" },	{ "node", "node" },
		{ "Rscript", "r" },	{ "R", "r" },
		{ "julia", "julia" },	{ "perl", "perl" },
		{ "ruby", "ruby" },	{ "java", "java" },
	};
	const char *name = path_basename(path);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].name);

		if (strncmp(name, known[i].name, n) == 0 &&
		    !name[n + strspn(name + n, "0123456789.")])
			return known[i].kind;
	}
	return NULL;
}

/* The directory above the one of the program. */
static void set_prefix(struct interpreter *i)
{
	char *slash;

	(void)snprintf(i->prefix, sizeof(i->prefix), "%s", i->path);
	for (int up = 0; up < 2; up++) {
		slash = strrchr(i->prefix, '/');
		if (slash && (slash != i->prefix || up))
			*slash = '\0';
	}
	if (!i->prefix[0])
		(void)snprintf(i->prefix, sizeof(i->prefix), "/");
}

/* The digits and dots at the start of a text. */
static void set_version(struct interpreter *i, const char *text)
{
	size_t n = strspn(text, "0123456789.");

	if (n && n < sizeof(i->version))
		(void)snprintf(i->version, sizeof(i->version), "%.*s", (int)n,
			       text);
}

/* "3.11" of "python3.11"; "": it has none. */
static const char *name_version(const char *path)
{
	const char *name = path_basename(path);
	const char *digits = name + strcspn(name, "0123456789");

	return strchr(digits, '.') ? digits : "";
}

/* PREFIX/include/python3.12/patchlevel.h: #define PY_VERSION "3.12.1" */
static void read_patchlevel(struct interpreter *i)
{
	static const char mark[] = "#define PY_VERSION";
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str file = STR_INIT;
	const char *at;

	str_addf(&file, "%s/include/python%s/patchlevel.h", i->prefix,
		 name_version(i->path));
	if (str_error(&file) < 0 ||
	    package_file_read(AT_FDCWD, file.data, TEXT_MAX, &text) < 0)
		return;
	at = strstr(str_cstr(&text), mark);
	at = at ? strchr(at, '"') : NULL;
	if (at)
		set_version(i, at + 1);
}

void interpreter_of_program(struct interpreter *i, const char *path,
			    const char *package_version)
{
	const char *colon = strchr(package_version, ':');

	*i = (struct interpreter){ .kind = interpreter_kind(path) };
	(void)snprintf(i->path, sizeof(i->path), "%s", path);
	set_prefix(i);
	/* "1:3.11.2-6+deb12u3": an epoch and a revision are the distribution's. */
	set_version(i, colon ? colon + 1 : package_version);
	if (!i->version[0] && strcmp(i->kind, "python") == 0)
		read_patchlevel(i);
	if (!i->version[0])
		set_version(i, name_version(path));
}

/* "KEY = value" in pyvenv.cfg. */
static bool take_setting(const char *text, const char *key, char *to,
			 size_t size)
{
	size_t n = strlen(key);

	for (; text && *text; text = strchr(text, '\n')) {
		const char *at = text + strspn(text, "\n \t");

		text = *at ? at : text + 1;
		if (strncmp(at, key, n) != 0)
			continue;
		at += n + strspn(at + n, " \t");
		if (*at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t");
		(void)snprintf(to, size, "%.*s", (int)strcspn(at, "\r\n"), at);
		return true;
	}
	return false;
}

/* `home` may be the directory of a link to the program. */
static bool is_home(const char *home, const char *program)
{
	CLEANUP(freep) char *real = NULL;
	char link[1200];

	if (path_is_under(program, home))
		return true;
	(void)snprintf(link, sizeof(link), "%s/%s", home,
		       path_basename(program));
	real = realpath(link, NULL);
	if (!real) {
		(void)snprintf(link, sizeof(link), "%s/python3", home);
		real = realpath(link, NULL);
	}
	return real && strcmp(real, program) == 0;
}

bool interpreter_of_venv(struct interpreter *i, const char *venv,
			 const char *program)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str file = STR_INIT;
	char home[1024] = "";
	char version[64] = "";

	str_addf(&file, "%s/pyvenv.cfg", venv);
	if (str_error(&file) < 0 ||
	    package_file_read(AT_FDCWD, file.data, TEXT_MAX, &text) < 0 ||
	    !take_setting(str_cstr(&text), "home", home, sizeof(home)) ||
	    !is_home(home, program))
		return false;
	*i = (struct interpreter){ .kind = interpreter_kind(program),
				   .venv = true };
	(void)snprintf(i->path, sizeof(i->path), "%s", program);
	(void)snprintf(i->prefix, sizeof(i->prefix), "%s", venv);
	if (take_setting(str_cstr(&text), "version", version, sizeof(version)) ||
	    take_setting(str_cstr(&text), "version_info", version,
			 sizeof(version)))
		set_version(i, version);
	if (!i->version[0])
		set_version(i, name_version(program));
	return true;
}
