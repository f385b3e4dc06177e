/* export_prov.c - the set as PROV-JSON of W3C.
 *
 *	job		activity, with the user's agent
 *	file		entity
 *	read, written	used, wasGeneratedBy
 *	job after job	wasInformedBy
 *	copy		wasDerivedFrom */
#include "export/export.h"

#include <errno.h>

#include "base/str.h"
#include "export/export_json.h"
#include "export/export_set.h"
#include "store/store.h"

static const char *const digest_names[DIGEST_ALGO_END] = {
	[DIGEST_BLAKE3] = "roar:blake3",
	[DIGEST_SHA256] = "roar:sha256",
	[DIGEST_SHA512] = "roar:sha512",
	[DIGEST_MD5] = "roar:md5",
};

static void add_value(struct json *j, const char *key, const char *type,
		      const char *text)
{
	if (!text || !*text)
		return;
	json_put_key(j, key);
	json_put_object(j);
	json_member(j, "$", text);
	json_member(j, "type", type);
	json_end(j);
}

static void add_entities(const struct export_set *set, struct json *j)
{
	char hex[2 * DIGEST_MAX + 1];

	json_put_key(j, "entity");
	json_put_object(j);
	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];
		CLEANUP(str_release) struct str key = STR_INIT;

		str_addf(&key, "roar:file-%zu", i + 1);
		json_put_key(j, str_cstr(&key));
		json_put_object(j);
		json_member(j, "prov:label", e->name);
		json_member(j, "prov:location", e->path);
		for (unsigned a = 0; a < DIGEST_ALGO_END; a++) {
			const uint8_t *bytes = digests_get(&e->digests, a);

			if (!bytes || !digest_names[a])
				continue;
			digest_hex(hex, bytes, digest_algo_len(a));
			json_member(j, digest_names[a], hex);
		}
		json_put_key(j, "roar:size");
		json_put_int(j, e->size);
		json_end(j);
		j->out->failed |= key.failed;
	}
	json_end(j);
}

static void add_activities(const struct export_set *set, struct json *j)
{
	json_put_key(j, "activity");
	json_put_object(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct store_job *job = set->jobs[i].job;
		CLEANUP(str_release) struct str key = STR_INIT;

		str_addf(&key, "roar:job-%s", job->uid);
		json_put_key(j, str_cstr(&key));
		json_put_object(j);
		json_time(j, "prov:startTime", job->started_ns);
		json_time(j, "prov:endTime", export_end_ns(job));
		json_memberf(j, "prov:label", "%s %s", set->jobs[i].ref,
			     job->name);
		json_member(j, "roar:command", job->command);
		json_member(j, "roar:directory", job->cwd);
		json_member(j, "roar:host", job->host);
		json_member(j, "roar:commit", job->git_commit);
		json_member(j, "roar:repository", job->git_remote);
		json_member(j, "roar:snapshot", job->git_snapshot);
		json_put_key(j, "roar:exitCode");
		json_put_int(j, job->exit_code);
		json_member(j, "roar:record",
			    job->complete ? "complete" : "incomplete");
		json_end(j);
		j->out->failed |= key.failed;
	}
	json_end(j);
}

/* One relation: an object whose members have names of their own. */
static void add_relation(struct json *j, const char *prefix, size_t *n,
			 const char *from_key, const char *from,
			 const char *to_key, const char *to)
{
	CLEANUP(str_release) struct str key = STR_INIT;

	str_addf(&key, "_:%s%zu", prefix, ++*n);
	json_put_key(j, str_cstr(&key));
	json_put_object(j);
	json_member(j, from_key, from);
	json_member(j, to_key, to);
	json_end(j);
	j->out->failed |= key.failed;
}

static void add_uses(const struct export_set *set, struct json *j,
		     bool is_output)
{
	size_t n = 0;

	json_put_key(j, is_output ? "wasGeneratedBy" : "used");
	json_put_object(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct export_job *job = &set->jobs[i];
		const uint32_t *list = is_output ? job->outputs : job->inputs;
		size_t n_list = is_output ? job->n_outputs : job->n_inputs;

		for (size_t k = 0; k < n_list; k++) {
			CLEANUP(str_release) struct str activity = STR_INIT;
			CLEANUP(str_release) struct str entity = STR_INIT;

			str_addf(&activity, "roar:job-%s", job->job->uid);
			str_addf(&entity, "roar:file-%u", list[k] + 1);
			add_relation(j, is_output ? "g" : "u", &n,
				     "prov:activity", str_cstr(&activity),
				     "prov:entity", str_cstr(&entity));
		}
	}
	json_end(j);
}

static void add_order(const struct export_set *set, struct json *j)
{
	size_t n = 0;

	json_put_key(j, "wasInformedBy");
	json_put_object(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct export_job *job = &set->jobs[i];

		for (size_t k = 0; k < job->n_deps; k++) {
			CLEANUP(str_release) struct str informed = STR_INIT;
			CLEANUP(str_release) struct str informant = STR_INIT;

			str_addf(&informed, "roar:job-%s", job->job->uid);
			str_addf(&informant, "roar:job-%s",
				 set->jobs[job->deps[k]].job->uid);
			add_relation(j, "i", &n, "prov:informed",
				     str_cstr(&informed), "prov:informant",
				     str_cstr(&informant));
		}
	}
	json_end(j);
}

static void add_copies(const struct export_set *set, struct json *j)
{
	size_t n = 0;

	json_put_key(j, "wasDerivedFrom");
	json_put_object(j);
	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];
		CLEANUP(str_release) struct str copy = STR_INIT;
		CLEANUP(str_release) struct str source = STR_INIT;

		if (e->copy_of == EXPORT_NONE)
			continue;
		str_addf(&copy, "roar:file-%zu", i + 1);
		str_addf(&source, "roar:file-%u", e->copy_of + 1);
		add_relation(j, "d", &n, "prov:generatedEntity",
			     str_cstr(&copy), "prov:usedEntity",
			     str_cstr(&source));
	}
	json_end(j);
}

static void add_users(const struct export_set *set, struct json *j)
{
	size_t n = 0;

	json_put_key(j, "agent");
	json_put_object(j);
	json_put_key(j, "roar:program");
	json_put_object(j);
	add_value(j, "prov:type", "prov:QUALIFIED_NAME", "prov:SoftwareAgent");
	json_member(j, "prov:label", "roar");
	json_end(j);
	json_end(j);
	json_put_key(j, "wasAssociatedWith");
	json_put_object(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		CLEANUP(str_release) struct str activity = STR_INIT;

		str_addf(&activity, "roar:job-%s", set->jobs[i].job->uid);
		add_relation(j, "a", &n, "prov:activity", str_cstr(&activity),
			     "prov:agent", "roar:program");
	}
	json_end(j);
}

int export_prov(const struct export_set *set, struct str *out,
		struct roar_error *err)
{
	struct json j = json_writer(out, true);

	json_put_object(&j);
	json_put_key(&j, "prefix");
	json_put_object(&j);
	json_member(&j, "roar", "urn:roar:");
	json_end(&j);
	add_entities(set, &j);
	add_activities(set, &j);
	add_users(set, &j);
	add_uses(set, &j, false);
	add_uses(set, &j, true);
	add_order(set, &j);
	add_copies(set, &j);
	json_end(&j);
	str_addc(out, '\n');
	return str_error(out) < 0 ? error_set(err, -ENOMEM, "out of memory") :
				    0;
}
