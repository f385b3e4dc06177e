/* program.c - see program.h */
#include "run/program.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"

/* 0, or why this file cannot be executed. */
static int check(const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(file, X_OK) < 0 ? errno : 0;
}

/* The file itself exists: what is missing is the program that its first line, or its
 * header, names. */
static bool lacks_interpreter(const char *file, int error)
{
	return error == ENOENT && strchr(file, '/') && access(file, F_OK) == 0;
}

int program_failed(const char *file, int error)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	const char *why = strerror(error);

	quote_printable_cut(&name, file, 200);
	if (lacks_interpreter(file, error))
		why = "its interpreter does not exist";
	else if (error == ENOENT)
		why = "command not found";
	else if (error == EACCES)
		why = "it is not executable (use chmod +x)";
	else if (error == EISDIR)
		why = "it is a directory";
	else if (error == E2BIG)
		why = "its arguments and environment are too long";
	(void)cli_fail("'%s': %s", str_cstr(&name), why);
	return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND :
						     EXIT_NOT_EXECUTABLE;
}

/* Tries DIR/NAME; an empty DIR is the current one. */
static int try_dir(const char *dir, size_t len, const char *name,
		   struct str *out)
{
	str_clear(out);
	if (len) {
		str_add(out, dir, len);
		str_addc(out, '/');
	}
	str_adds(out, name);
	return str_error(out) < 0 ? ENOMEM : check(out->data);
}

int program_find(const char *name, const char *path, struct str *out)
{
	int first = ENOENT;

	if (strchr(name, '/')) {
		int error = check(name);

		str_adds(out, name);
		return error ? program_failed(name, error) : 0;
	}
	if (!path)
		path = "/usr/local/bin:/bin:/usr/bin";
	while (*name) {
		size_t len = strcspn(path, ":");
		int error = try_dir(path, len, name, out);

		if (!error)
			return 0;
		/* A directory of that name is passed over, as shells do. */
		if (error == EACCES)
			first = EACCES;
		path += len;
		if (!*path++)
			break;
	}
	return program_failed(name, first);
}
