/* libraries.h - the interpreters and shared libraries that a run executed.
 *
 * A library is a file that was read and that is called *.so or *.so.N; a program is one
 * that was executed.  Their build ids and sonames come from the files themselves, and
 * are kept in the user's cache by stamp, so a known file is not opened.
 *
 * An interpreter is a program of a known name.  Its version comes from the package that
 * owns it, from pyvenv.cfg or from its own files.  It is one of a virtual environment if
 * the run has read the pyvenv.cfg of one that is based on it. */
#ifndef ROAR_CAPTURE_LIBRARIES_H
#define ROAR_CAPTURE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/stamp.h"

struct json;
struct libraries;
struct packages;

/* `cache` is the directory for what is known of files; NULL: none. */
int libraries_new(const char *cache, struct libraries **ret);
void libraries_free(struct libraries *l);
DEFINE_CLEANUP(struct libraries *, libraries_free)

/* The run has read or executed this file, which had this stamp. */
void libraries_add(struct libraries *l, const char *path, size_t len,
		   const struct stamp *stamp, bool executed);

/* Writes the document of kind SITUATION_LIBRARIES:
 *
 *	{"interpreters": [{"kind": "python|node|r|julia|perl|ruby|java", "path": "",
 *	   "version": "3.11.2", "prefix": "/usr", "venv": false}],
 *	 "libraries": [{"path": "", "soname": "", "version": "", "build_id": ""}],
 *	 "n_left_out": N}
 *
 * Members that say nothing are left out, and so is n_left_out when it is 0.  Returns
 * false, and writes nothing, if there is nothing to write. */
bool libraries_write(struct libraries *l, struct packages *packages,
		     struct json *json);

#endif
