/* static_files.c - see static_files.h
 *
 * The first file names the others by names that change with their content.  So a browser
 * asks for that one each time, and keeps the others for ever. */
#include "api/static_files.h"

#include <string.h>

#include "server.h"

/* Nothing from elsewhere, and no script but the file's own: a name of a worker that is
 * made to be one stays a name. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; "
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
	"form-action 'none'; frame-ancestors 'none'";

static const struct page_file *find(const char *path)
{
	for (size_t i = 0; i < page_n_files; i++)
		if (strcmp(page_files[i].path, path) == 0)
			return &page_files[i];
	return NULL;
}

bool page_answer(const struct http_request *request, struct http_reply *reply)
{
	const struct page_file *file = find(request->path);

	if (!file && strcmp(request->path, "/") == 0)
		api_error(reply, 404,
			  "this program was built without the dashboard's page, "
			  "which needs npm; /api/dashboard has its figures");
	if (!file)
		return strcmp(request->path, "/") == 0;
	reply->type = file->type;
	reply->etag = file->etag;
	reply->policy = policy;
	reply->cache = file->is_final ? "public, max-age=31536000, immutable" :
					"no-cache";
	if (request->if_none_match &&
	    strcmp(request->if_none_match, file->etag) == 0) {
		reply->status = 304;
		return true;
	}
	reply->fixed = file->data;
	reply->fixed_len = file->len;
	return true;
}
