/* export_crate.c - the set as ro-crate-metadata.json: RO-Crate 1.1, Process Run Crate 0.5.
 *
 *	job		CreateAction: instrument, object (read), result (written)
 *	program		SoftwareApplication, one per script or first word of a command
 *	file		File; below the project by its relative path
 *
 * The crate describes files where they are; it does not bring them. */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "export/export_json.h"
#include "export/export_set.h"
#include "query/query.h"
#include "store/store.h"

#define PROCESS_RUN "https://w3id.org/ro/wfrun/process/0.5"

static const char *const digest_names[DIGEST_ALGO_END] = {
	[DIGEST_SHA256] = "sha256",
};

static void add_reference(struct json *j, const char *key, const char *id)
{
	json_put_key(j, key);
	json_put_object(j);
	json_member(j, "@id", id);
	json_end(j);
}

/* Relative to the crate, which stands at the top of the project; else a file: URL. */
static const char *file_id(const struct export_set *set,
			   const struct export_entity *e)
{
	CLEANUP(str_release) struct str id = STR_INIT;

	if (e->name[0] == '/')
		str_adds(&id, "file://");
	if (e->is_object)
		str_adds(&id, e->path);
	else
		export_add_uri(&id, e->name);
	return str_error(&id) < 0 ?
		       NULL :
		       pool_strdup(set->query->pool, str_cstr(&id));
}

/* Content before and after a step at one path has one @id: the last one describes it. */
static int list_files(const struct export_set *set, const char ***ret_ids,
		      struct map *last)
{
	const char **ids = pool_alloc(set->query->pool,
				      (set->n_entities + 1) * sizeof(*ids));
	int r = ids ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < set->n_entities; i++) {
		ids[i] = file_id(set, &set->entities[i]);
		r = ids[i] ? map_set(last, ids[i], strlen(ids[i]),
				     &set->entities[i]) :
			     -ENOMEM;
	}
	*ret_ids = ids;
	return r;
}

static void add_descriptor(struct json *j)
{
	json_put_object(j);
	json_member(j, "@id", "ro-crate-metadata.json");
	json_member(j, "@type", "CreativeWork");
	add_reference(j, "conformsTo", "https://w3id.org/ro/crate/1.1");
	add_reference(j, "about", "./");
	json_end(j);
}

static void add_root(const struct export_set *set, struct json *j,
		     const char *const *ids, const struct map *last)
{
	int64_t end_ns = 0;

	for (size_t i = 0; i < set->n_jobs; i++)
		if (export_end_ns(set->jobs[i].job) > end_ns)
			end_ns = export_end_ns(set->jobs[i].job);
	json_put_object(j);
	json_member(j, "@id", "./");
	json_member(j, "@type", "Dataset");
	json_member(j, "name", "Recorded runs");
	json_member(j, "description",
		    "Commands that roar recorded, with the files that they read "
		    "and wrote");
	json_time(j, "datePublished", end_ns);
	json_member(j, "license",
		    "The license of the project applies: see its files");
	add_reference(j, "conformsTo", PROCESS_RUN);
	json_put_key(j, "hasPart");
	json_put_array(j);
	for (size_t i = 0; i < set->n_entities; i++) {
		if (map_get(last, ids[i], strlen(ids[i])) != &set->entities[i])
			continue;
		json_put_object(j);
		json_member(j, "@id", ids[i]);
		json_end(j);
	}
	json_end(j);
	json_put_key(j, "mentions");
	json_put_array(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		json_put_object(j);
		json_memberf(j, "@id", "#job-%s", set->jobs[i].job->uid);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void add_profile(struct json *j)
{
	json_put_object(j);
	json_member(j, "@id", PROCESS_RUN);
	json_member(j, "@type", "CreativeWork");
	json_member(j, "name", "Process Run Crate");
	json_member(j, "version", "0.5");
	json_end(j);
}

static void add_files(const struct export_set *set, struct json *j,
		      const char *const *ids, const struct map *last)
{
	char hex[2 * DIGEST_MAX + 1];

	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];
		const uint8_t *sha256 = digests_get(&e->digests, DIGEST_SHA256);

		if (map_get(last, ids[i], strlen(ids[i])) != e)
			continue;
		json_put_object(j);
		json_member(j, "@id", ids[i]);
		json_member(j, "@type", "File");
		json_member(j, "name", e->name);
		json_memberf(j, "contentSize", "%lld", (long long)e->size);
		if (sha256) {
			digest_hex(hex, sha256, digest_algo_len(DIGEST_SHA256));
			json_member(j, digest_names[DIGEST_SHA256], hex);
		}
		if (e->digests.have & DIGEST_SET_BLAKE3) {
			digest_hex(hex, e->digests.blake3, BLAKE3_LEN);
			json_memberf(j, "identifier", "blake3:%s", hex);
		}
		json_end(j);
	}
}

/* The script, or the first word of the command. */
static const char *program_of(const struct export_set *set,
			      const struct store_job *job)
{
	CLEANUP(str_release) struct str id = STR_INIT;

	str_adds(&id, "#program-");
	if (job->script[0]) {
		export_add_uri(&id, job->script);
	} else {
		CLEANUP(str_release) struct str word = STR_INIT;

		str_add(&word, job->command, strcspn(job->command, " "));
		export_add_uri(&id, str_cstr(&word));
		id.failed |= word.failed;
	}
	return str_error(&id) < 0 ?
		       NULL :
		       pool_strdup(set->query->pool, str_cstr(&id));
}

static int add_programs(const struct export_set *set, struct json *j)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;

	for (size_t i = 0; i < set->n_jobs; i++) {
		const char *id = program_of(set, set->jobs[i].job);

		if (!id)
			return -ENOMEM;
		if (map_get(&seen, id, strlen(id)))
			continue;
		if (map_set(&seen, id, strlen(id), (void *)id) < 0)
			return -ENOMEM;
		json_put_object(j);
		json_member(j, "@id", id);
		json_member(j, "@type", "SoftwareApplication");
		json_member(j, "name", strchr(id, '-') + 1);
		json_end(j);
	}
	return 0;
}

static void add_list(struct json *j, const char *key, const uint32_t *list,
		     size_t n, const char *const *ids)
{
	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(j);
		json_member(j, "@id", ids[list[i]]);
		json_end(j);
	}
	json_end(j);
}

static int add_action(const struct export_set *set,
		      const struct export_job *job, struct json *j,
		      const char *const *ids)
{
	const struct store_job *s = job->job;
	const char *program = program_of(set, s);

	if (!program)
		return -ENOMEM;
	json_put_object(j);
	json_memberf(j, "@id", "#job-%s", s->uid);
	json_member(j, "@type", "CreateAction");
	json_memberf(j, "name", "%s %s", job->ref, s->name);
	json_member(j, "description", s->command);
	json_time(j, "startTime", s->started_ns);
	json_time(j, "endTime", export_end_ns(s));
	add_reference(j, "instrument", program);
	add_reference(j, "agent", "#recorder");
	add_reference(j, "actionStatus",
		      s->exit_code ? "http://schema.org/FailedActionStatus" :
				     "http://schema.org/CompletedActionStatus");
	if (s->exit_code)
		json_memberf(j, "error", "exit status %d", s->exit_code);
	add_list(j, "object", job->inputs, job->n_inputs, ids);
	add_list(j, "result", job->outputs, job->n_outputs, ids);
	json_end(j);
	return 0;
}

int export_crate(const struct export_set *set, struct str *out,
		 struct roar_error *err)
{
	CLEANUP(map_release) struct map last = MAP_INIT;
	struct json j = json_writer(out, true);
	const char **ids;
	int r = list_files(set, &ids, &last);

	if (r < 0)
		return error_set(err, r, "out of memory");
	json_put_object(&j);
	json_put_key(&j, "@context");
	json_put_array(&j);
	json_put_string(&j, "https://w3id.org/ro/crate/1.1/context");
	json_put_object(&j);
	json_member(&j, "sha256",
		    "https://w3id.org/ro/terms/workflow-run#sha256");
	json_end(&j);
	json_end(&j);
	json_put_key(&j, "@graph");
	json_put_array(&j);
	add_descriptor(&j);
	add_root(set, &j, ids, &last);
	add_profile(&j);
	json_put_object(&j);
	json_member(&j, "@id", "#recorder");
	json_member(&j, "@type", "Person");
	json_member(&j, "name",
		    set->n_jobs ? set->jobs[0].job->user : "unknown");
	json_end(&j);
	r = add_programs(set, &j);
	for (size_t i = 0; r == 0 && i < set->n_jobs; i++)
		r = add_action(set, &set->jobs[i], &j, ids);
	add_files(set, &j, ids, &last);
	json_end(&j);
	json_end(&j);
	str_addc(out, '\n');
	if (r == 0)
		r = str_error(out);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}
