/* static_files.c - see static_files.h */
#include "http/static_files.h"

#include <string.h>

/* Nothing from other sites, and no script but the files': a worker whose name is a
 * piece of HTML stays a name. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; "
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
	"form-action 'none'; frame-ancestors 'none'";

bool static_files_answer(const struct static_file *files, size_t n_files,
			 const struct http_request *request,
			 struct http_reply *reply)
{
	const struct static_file *file = files;

	while (file < files + n_files && strcmp(file->path, request->path) != 0)
		file++;
	if (file == files + n_files)
		return false;
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
