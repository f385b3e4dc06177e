/* static_files.h - files that the build has put into the program: a dashboard.
 *
 * The first file names the others by names that change with their content.  So a browser
 * asks for that one each time, and keeps the others for ever. */
#ifndef HTTP_STATIC_FILES_H
#define HTTP_STATIC_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "http/service.h"

struct static_file {
	const char *path; /* "/", "/assets/index-Bx3f.js" */
	const char *type; /* of its content */
	const char *etag; /* by its content, in quotes */
	bool is_final; /* its name is its content's: it never changes */
	const char *data;
	size_t len;
};

/* Replies with the file of the request's path.  Returns false, and leaves `reply` alone,
 * when there is none. */
bool static_files_answer(const struct static_file *files, size_t n_files,
			 const struct http_request *request,
			 struct http_reply *reply);

#endif
