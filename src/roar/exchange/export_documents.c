/* export_documents.c - the formats of lib/export. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/map.h"
#include "exchange/exchange.h"
#include "export/export.h"
#include "export/export_set.h"
#include "export/signing_key.h"
#include "query/target.h"
#include "ui/view.h"

struct export_document {
	int (*make)(const struct export_set *set, struct str *out,
		    struct roar_error *err);
	int (*make_signed)(const struct export_set *set,
			   const struct signing_key *key, struct str *out,
			   struct roar_error *err);
	digest_set digests; /* that it needs; missing ones are computed */
	bool is_current; /* one execution of each step: the latest of them */
};

const struct export_document export_as_crate = {
	.make = export_crate,
};
const struct export_document export_as_cyclonedx = {
	.make = export_cyclonedx,
	.digests = 1 << DIGEST_SHA256,
	.is_current = true,
};
const struct export_document export_as_dot = {
	.make = export_dot,
	.is_current = true,
};
const struct export_document export_as_dvc = {
	.make = export_dvc_yaml,
	.is_current = true,
};
const struct export_document export_as_dvc_lock = {
	.make = export_dvc_lock,
	.digests = 1 << DIGEST_MD5,
	.is_current = true,
};
const struct export_document export_as_html = {
	.make = export_html,
	.is_current = true,
};
const struct export_document export_as_intoto = {
	.make = export_intoto,
	.make_signed = export_dsse,
	.digests = 1 << DIGEST_SHA256,
	.is_current = true,
};
const struct export_document export_as_makefile = {
	.make = export_makefile,
	.is_current = true,
};
const struct export_document export_as_mermaid = {
	.make = export_mermaid,
	.is_current = true,
};
const struct export_document export_as_openlineage = {
	.make = export_openlineage,
};
const struct export_document export_as_prov = {
	.make = export_prov,
};
const struct export_document export_as_svg = {
	.make = export_svg,
	.is_current = true,
};

/* ---- the latest executions ---- */

static const char *key_of(struct view *v, const struct store_job *job)
{
	return pool_printf(&v->pool, "%lld %s %lld", (long long)job->session_id,
			   job->kind, (long long)job->step);
}

/* Ids ascend, and a later execution of a step has a larger one. */
static int keep_latest(struct view *v, const int64_t *ids, size_t n,
		       int64_t **ret, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	int64_t *kept = pool_alloc(&v->pool, (n + 1) * sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	*ret_n = 0;
	for (size_t i = n; i-- > 0;) {
		const struct store_job *job;
		const char *key;
		int r = query_job(&v->query, ids[i], &job, err);

		if (r < 0)
			return r;
		key = job ? key_of(v, job) : NULL;
		if (!key)
			return -ENOMEM;
		if (map_get(&seen, key, strlen(key)))
			continue;
		if (map_set(&seen, key, strlen(key), (void *)job) < 0)
			return -ENOMEM;
		kept[(*ret_n)++] = ids[i];
	}
	*ret = kept;
	return 0;
}

/* ---- the document ---- */

static int make(const struct export_request *request, struct export_set *set,
		struct str *out, struct roar_error *err)
{
	const struct export_document *document = request->document;
	struct signing_key key;
	int r;

	if (!set->n_jobs)
		return error_set(err, -ENODATA,
				 "there are no jobs to export: 'roar run' "
				 "records one");
	if (document->digests &&
	    export_digests_complete(set, document->digests) < 0)
		return -ENOMEM;
	if (!request->key)
		return document->make(set, out, err);
	if (!document->make_signed)
		return error_set(err, -EINVAL,
				 "this format cannot be signed: --key goes "
				 "with --format in-toto");
	r = signing_key_read(request->key, &key, err);
	if (r == 0)
		r = document->make_signed(set, &key, out, err);
	signing_key_release(&key);
	return r;
}

int export_documents(const struct export_request *request,
		     struct roar_error *err)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct view *v = request->view;
	int64_t *ids = (int64_t *)request->jobs;
	size_t n = request->n_jobs;
	struct export_set set;
	int r = 0;

	if (request->document->is_current)
		r = keep_latest(v, request->jobs, n, &ids, &n, err);
	if (r == 0)
		r = export_set_load(&v->query, v->project.root, ids, n, &set,
				    err);
	if (r == 0) {
		if (request->target->kind == TARGET_ARTIFACT)
			set.subject = request->target->artifact.id;
		r = make(request, &set, &out, err);
	}
	if (r == 0)
		r = fd_write_all(request->fd, out.data, out.len);
	if (r < 0 && !err->text[0])
		return error_set(err, r, "cannot write the export: %s",
				 strerror(-r));
	return r;
}
