/* export_openlineage.c - the set as events of OpenLineage 2-0-2, one JSON object a line.
 *
 * Each job is a run with two events: START, and COMPLETE or FAIL.  Datasets are files
 * ("file", absolute path) and objects ("s3://bucket", key); their version is the BLAKE3.
 * Identifiers of runs are made of the job's uid, so a second export is the same run. */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "export/export_json.h"
#include "export/export_set.h"
#include "query/query.h"
#include "store/store.h"

#define SPEC "https://openlineage.io/spec/"
#define PRODUCER "urn:roar"

static void put_facet(struct json *j, const char *name, const char *schema)
{
	json_put_key(j, name);
	json_put_object(j);
	json_member(j, "_producer", PRODUCER);
	json_memberf(j, "_schemaURL", SPEC "facets/%s", schema);
}

/* ---- datasets ---- */

/* "s3://bucket" and "key" of an object; "file" and the path of a file. */
static void add_name(struct json *j, const struct export_entity *e)
{
	const char *slash = NULL;

	if (e->is_object && strstr(e->path, "://"))
		slash = strchr(strstr(e->path, "://") + 3, '/');
	if (slash)
		json_memberf(j, "namespace", "%.*s", (int)(slash - e->path),
			     e->path);
	else
		json_member(j, "namespace", "file");
	json_member(j, "name", slash && slash[1] ? slash + 1 : e->path);
}

static void add_dataset(struct json *j, const struct export_entity *e,
			bool is_output)
{
	char hex[2 * BLAKE3_LEN + 1];

	json_put_object(j);
	add_name(j, e);
	json_put_key(j, "facets");
	json_put_object(j);
	if (e->digests.have & DIGEST_SET_BLAKE3) {
		digest_hex(hex, e->digests.blake3, BLAKE3_LEN);
		put_facet(j, "version",
			  "1-0-1/DatasetVersionDatasetFacet.json");
		json_memberf(j, "datasetVersion", "blake3:%s", hex);
		json_end(j);
	}
	json_end(j);
	if (is_output) {
		json_put_key(j, "outputFacets");
		json_put_object(j);
		put_facet(j, "outputStatistics",
			  "1-0-2/OutputStatisticsOutputDatasetFacet.json");
		json_put_key(j, "size");
		json_put_int(j, e->size);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void add_datasets(const struct export_set *set, struct json *j,
			 const char *key, const uint32_t *list, size_t n)
{
	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < n; i++)
		add_dataset(j, &set->entities[list[i]], key[0] == 'o');
	json_end(j);
}

/* ---- run and job ---- */

static void add_run(struct json *j, const struct store_job *job,
		    const char *run_id, bool is_end)
{
	json_put_key(j, "run");
	json_put_object(j);
	json_member(j, "runId", run_id);
	json_put_key(j, "facets");
	json_put_object(j);
	put_facet(j, "processing_engine",
		  "1-1-1/ProcessingEngineRunFacet.json");
	json_member(j, "version", job->version);
	json_member(j, "name", "roar");
	json_end(j);
	if (is_end && job->exit_code) {
		put_facet(j, "errorMessage", "1-0-1/ErrorMessageRunFacet.json");
		json_memberf(j, "message", "exit status %d", job->exit_code);
		json_member(j, "programmingLanguage", "unknown");
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void add_job(struct json *j, const struct export_set *set,
		    const struct export_job *job)
{
	const struct store_job *s = job->job;

	json_put_key(j, "job");
	json_put_object(j);
	json_memberf(j, "namespace", "roar:%s", set->root);
	json_memberf(j, "name", "%s", s->name[0] ? s->name : s->command);
	json_put_key(j, "facets");
	json_put_object(j);
	put_facet(j, "jobType", "2-0-3/JobTypeJobFacet.json");
	json_member(j, "processingType", "BATCH");
	json_member(j, "integration", "ROAR");
	json_member(j, "jobType", "COMMAND");
	json_end(j);
	put_facet(j, "sourceCode", "1-0-1/SourceCodeJobFacet.json");
	json_member(j, "language", "shell");
	json_member(j, "sourceCode", s->command);
	json_end(j);
	if (s->git_remote[0]) {
		put_facet(j, "sourceCodeLocation",
			  "1-0-1/SourceCodeLocationJobFacet.json");
		json_member(j, "type", "git");
		json_member(j, "url", s->git_remote);
		json_member(j, "repoUrl", s->git_remote);
		json_member(j, "version", s->git_commit);
		json_member(j, "branch", s->git_branch);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static int add_event(const struct export_set *set, const struct export_job *job,
		     bool is_end, struct str *out)
{
	struct json j = json_writer(out, false);
	const struct store_job *s = job->job;
	char run_id[EXPORT_UUID_SIZE];
	int r = export_uuid_at(s->started_ns, s->uid, run_id);

	if (r < 0)
		return r;
	json_put_object(&j);
	json_member(&j, "eventType",
		    !is_end	 ? "START" :
		    s->exit_code ? "FAIL" :
				   "COMPLETE");
	json_time(&j, "eventTime", is_end ? export_end_ns(s) : s->started_ns);
	json_member(&j, "producer", PRODUCER);
	json_member(&j, "schemaURL",
		    SPEC "2-0-2/OpenLineage.json#/$defs/RunEvent");
	add_run(&j, s, run_id, is_end);
	add_job(&j, set, job);
	add_datasets(set, &j, "inputs", job->inputs,
		     is_end ? job->n_inputs : 0);
	add_datasets(set, &j, "outputs", job->outputs,
		     is_end ? job->n_outputs : 0);
	json_end(&j);
	str_addc(out, '\n');
	return str_error(out);
}

int export_openlineage(const struct export_set *set, struct str *out,
		       struct roar_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->n_jobs; i++) {
		r = add_event(set, &set->jobs[i], false, out);
		if (r == 0)
			r = add_event(set, &set->jobs[i], true, out);
	}
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}
