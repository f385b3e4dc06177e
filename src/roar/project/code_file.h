/* code_file.h - which files are code, where no git repository says so.
 *
 * A script or module has a usual ending (.py, .sh, .c, ...) or name (Makefile).  It is not
 * read for that, so what has no ending is code only as the script of a command line. */
#ifndef ROAR_CODE_FILE_H
#define ROAR_CODE_FILE_H

#include <stdbool.h>

/* `script` is the absolute path of the command's script; NULL: there is none. */
bool code_file_is(const char *path, const char *script);

#endif
