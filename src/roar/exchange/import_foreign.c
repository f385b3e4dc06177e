/* import_foreign.c - dvc.lock and events of OpenLineage; see foreign/foreign.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "commands.h"
#include "exchange/exchange.h"
#include "foreign/foreign.h"
#include "lineage/redact.h"
#include "ui/view.h"

extern char **environ;

enum { CHUNK = 64 * 1024 };

/* The head, which was read already, and the rest. */
static int read_all(const struct import_request *request, struct str *text,
		    struct roar_error *err)
{
	ssize_t n = 1;

	str_add(text, request->head, request->head_len);
	while (n > 0 && text->len <= FOREIGN_TEXT_MAX) {
		if (str_reserve(text, CHUNK) < 0)
			return error_set(err, -ENOMEM, "out of memory");
		n = read(request->fd, text->data + text->len, CHUNK);
		if (n > 0)
			text->len += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	if (n < 0)
		return error_set(err, -errno, "cannot read '%s': %s",
				 request->path, strerror(errno));
	if (text->len > FOREIGN_TEXT_MAX)
		return error_set(err, -EFBIG,
				 "'%s' has more than %d bytes: import it in "
				 "parts",
				 request->path, FOREIGN_TEXT_MAX);
	return 0;
}

static int record(const struct import_request *request,
		  const struct foreign_runs *runs, struct import_result *ret,
		  struct roar_error *err)
{
	CLEANUP(redact_freep) struct redact *redact = NULL;
	const struct config *config = &request->view->project.config;
	int r = redact_new(environ, config->redact_names,
			   config->n_redact_names, &redact);

	if (r < 0)
		return error_set(err, r, "out of memory");
	return foreign_record(request->view->store, runs, redact,
			      roar_program.version, &ret->n_jobs, &ret->n_known,
			      err);
}

/* A sentence about the document gets the name of the file. */
static int finish(const struct import_request *request, int r,
		  struct foreign_runs *runs, struct import_result *ret,
		  const struct roar_error *why, struct roar_error *err)
{
	if (r < 0)
		return error_set(err, r, "cannot import '%s': %s",
				 request->path, why->text);
	r = record(request, runs, ret, err);
	foreign_release(runs);
	return r;
}

int import_dvc(const struct import_request *request, struct import_result *ret,
	       struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str dir = STR_INIT;
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct roar_error why = { 0 };
	struct view *v = request->view;
	int r = read_all(request, &text, err);

	if (r < 0)
		return r;
	path_normalize(&path, v->project.cwd, request->path);
	path_dirname(&dir, str_cstr(&path));
	if (str_error(&dir) < 0 || str_error(&path) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	r = foreign_read_dvc(&v->pool, text.data, text.len,
			     pool_strdup(&v->pool, dir.data), &runs, &why);
	return finish(request, r, &runs, ret, &why, err);
}

int import_openlineage(const struct import_request *request,
		       struct import_result *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct roar_error why = { 0 };
	int r = read_all(request, &text, err);

	if (r < 0)
		return r;
	r = foreign_read_openlineage(&request->view->pool, str_cstr(&text),
				     text.len, &runs, &why);
	return finish(request, r, &runs, ret, &why, err);
}

bool import_is_dvc(const char *path, const char *head, size_t len)
{
	(void)head;
	(void)len;
	return strcmp(path_basename(path), "dvc.lock") == 0;
}

/* Of all events, the schema and the run are required. */
bool import_is_openlineage(const char *path, const char *head, size_t len)
{
	(void)path;
	return memmem(head, len, "\"runId\"", 7) != NULL;
}
