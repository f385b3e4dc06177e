/* static_files.h - the dashboard, which the build has put into the program.
 *
 * web/embed.py writes the table.  It is empty where the page was not built. */
#ifndef COORDINATOR_STATIC_FILES_H
#define COORDINATOR_STATIC_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "http/service.h"

struct page_file {
	const char *path; /* "/", "/assets/index-Bx3f.js" */
	const char *type; /* of its content */
	const char *etag; /* by its content, in quotes */
	bool is_final; /* its name is its content's: it never changes */
	const char *data;
	size_t len;
};

extern const struct page_file page_files[];
extern const size_t page_n_files;

/* False: there is no such file. */
bool page_answer(const struct http_request *request, struct http_reply *reply);

#endif
