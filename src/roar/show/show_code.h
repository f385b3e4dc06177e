/* show_code.h - the code that a job ran. */
#ifndef ROAR_SHOW_CODE_H
#define ROAR_SHOW_CODE_H

#include <stddef.h>

#include "base/error.h"

struct json;
struct store_file;
struct store_job;
struct view;

/* The line "Code:" of a job outside of a git repository, about the code files among its
 * files; nothing for other jobs. */
void show_code_text(struct view *v, const struct store_job *job,
		    const struct store_file *files, size_t n);

/* The same under the key "code": null in a repository. */
void show_code_json(struct view *v, struct json *j, const struct store_job *job,
		    const struct store_file *files, size_t n);

/* Prints the uncommitted changes that the job ran with, as `git diff` does.  0, or a
 * negative errno and a message. */
int show_code_diff(struct view *v, const struct store_job *job,
		   struct roar_error *err);

#endif
