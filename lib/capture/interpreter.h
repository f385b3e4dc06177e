/* interpreter.h - the interpreter that a program is, and its version. */
#ifndef ROAR_CAPTURE_INTERPRETER_H
#define ROAR_CAPTURE_INTERPRETER_H

#include <stdbool.h>

struct interpreter {
	const char *kind; /* "python" */
	char path[1024];
	char version[64]; /* "": unknown */
	char prefix[1024];
	bool venv;
};

/* By the name of the program; NULL: it is not one. */
const char *interpreter_kind(const char *path);

/* `package_version` is that of the package that owns the program, or "". */
void interpreter_of_program(struct interpreter *i, const char *path,
			    const char *package_version);

/* Is the virtual environment `venv` based on the program?  Then fills in `i`. */
bool interpreter_of_venv(struct interpreter *i, const char *venv,
			 const char *program);

#endif
