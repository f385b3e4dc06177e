/* scene.h - a fresh folder to work in, and commands run inside of the test. */
#ifndef ROAR_TESTS_ROAR_SCENE_H
#define ROAR_TESTS_ROAR_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

/* For cmocka: the current directory is a new one, removed afterwards.  HOME and
 * the git repository around the build are out of reach. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* Runs `roar WORDS` (separated by '|') without main(): parser and command.
 * Returns the exit status; `out` holds what went to stdout, then stderr. */
int scene_run(const char *words, struct str *out);

/* Runs it and compares status and output. */
void scene_expect(const char *words, int status, const char *output);

void scene_write(const char *path, const char *text);
void scene_read(const char *path, struct str *out);
int scene_mode(const char *path);

/* The folder, without symbolic links. */
const char *scene_dir(void);

#endif
