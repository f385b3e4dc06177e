/* export_cyclonedx.c - the set as a bill of materials: CycloneDX 1.6.
 *
 *	model that a job wrote	component machine-learning-model
 *	other file		component data; what a job wrote depends on what it read
 *	package			component library, with its package URL
 *	job			task of a workflow, in the formulation
 *
 * All of it was observed; nothing was declared by an author. */
#include "export/export.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "export/export_json.h"
#include "export/export_set.h"
#include "store/store.h"

static const char *const hash_names[DIGEST_ALGO_END] = {
	[DIGEST_BLAKE3] = "BLAKE3",
	[DIGEST_SHA256] = "SHA-256",
	[DIGEST_SHA512] = "SHA-512",
	[DIGEST_MD5] = "MD5",
};

static void add_hashes(const struct digests *d, struct json *j)
{
	char hex[2 * DIGEST_MAX + 1];

	json_put_key(j, "hashes");
	json_put_array(j);
	for (unsigned a = 0; a < DIGEST_ALGO_END; a++) {
		const uint8_t *bytes = hash_names[a] ? digests_get(d, a) : NULL;

		if (!bytes)
			continue;
		digest_hex(hex, bytes, digest_algo_len(a));
		json_put_object(j);
		json_member(j, "alg", hash_names[a]);
		json_member(j, "content", hex);
		json_end(j);
	}
	json_end(j);
}

static void add_property(struct json *j, const char *name, const char *value)
{
	json_put_object(j);
	json_member(j, "name", name);
	json_member(j, "value", value);
	json_end(j);
}

static void add_file(const struct export_entity *e, size_t i, struct json *j)
{
	CLEANUP(str_release) struct str size = STR_INIT;
	bool is_model = e->maker != EXPORT_NONE && export_is_model(e);

	str_addf(&size, "%lld", (long long)e->size);
	json_put_object(j);
	json_member(j, "type", is_model ? "machine-learning-model" : "data");
	json_memberf(j, "bom-ref", "file-%zu", i + 1);
	json_member(j, "name", e->name);
	if (e->digests.have)
		add_hashes(&e->digests, j);
	json_put_key(j, "properties");
	json_put_array(j);
	add_property(j, "roar:path", e->path);
	add_property(j, "roar:size", str_cstr(&size));
	json_end(j);
	json_end(j);
	j->out->failed |= size.failed;
}

static int add_package(void *ctx, const struct export_package *p)
{
	CLEANUP(str_release) struct str purl = STR_INIT;
	struct json *j = ctx;

	export_add_purl(&purl, p);
	if (str_error(&purl) < 0)
		return -ENOMEM;
	json_put_object(j);
	json_member(j, "type", "library");
	json_memberf(j, "bom-ref", "package-%s-%s-%s", p->manager, p->name,
		     p->version);
	json_member(j, "name", p->name);
	json_member(j, "version", p->version);
	json_member(j, "purl", str_cstr(&purl));
	json_end(j);
	return 0;
}

static int add_components(const struct export_set *set, struct json *j)
{
	int r;

	json_put_key(j, "components");
	json_put_array(j);
	for (size_t i = 0; i < set->n_entities; i++)
		add_file(&set->entities[i], i, j);
	r = export_each_package(set, add_package, j);
	json_end(j);
	return r;
}

/* A file depends on what its job read, or on what it is a copy of. */
static void add_dependency(const struct export_set *set, size_t i,
			   struct json *j)
{
	const struct export_entity *e = &set->entities[i];
	const struct export_job *maker = NULL;

	if (e->maker != EXPORT_NONE)
		maker = &set->jobs[e->maker];
	json_put_object(j);
	json_memberf(j, "ref", "file-%zu", i + 1);
	json_put_key(j, "dependsOn");
	json_put_array(j);
	for (size_t k = 0; maker && k < maker->n_inputs; k++) {
		CLEANUP(str_release) struct str ref = STR_INIT;

		if (maker->inputs[k] == i)
			continue;
		str_addf(&ref, "file-%u", maker->inputs[k] + 1);
		json_put_string(j, str_cstr(&ref));
		j->out->failed |= ref.failed;
	}
	if (!maker && e->copy_of != EXPORT_NONE) {
		CLEANUP(str_release) struct str ref = STR_INIT;

		str_addf(&ref, "file-%u", e->copy_of + 1);
		json_put_string(j, str_cstr(&ref));
		j->out->failed |= ref.failed;
	}
	json_end(j);
	json_end(j);
}

static void add_resources(const struct export_set *set, struct json *j,
			  bool is_output, const uint32_t *list, size_t n)
{
	(void)set;
	if (!n)
		return;
	json_put_key(j, is_output ? "outputs" : "inputs");
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(j);
		if (is_output)
			json_member(j, "type", "artifact");
		json_put_key(j, "resource");
		json_put_object(j);
		json_memberf(j, "ref", "file-%u", list[i] + 1);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void add_task(const struct export_set *set, const struct export_job *job,
		     struct json *j)
{
	const struct store_job *s = job->job;

	json_put_object(j);
	json_memberf(j, "bom-ref", "job-%s", s->uid);
	json_member(j, "uid", s->uid);
	json_memberf(j, "name", "%s %s", job->ref, s->name);
	json_put_key(j, "taskTypes");
	json_put_array(j);
	json_put_string(j, s->kind[0] == 'b' ? "build" : "other");
	json_end(j);
	json_put_key(j, "steps");
	json_put_array(j);
	json_put_object(j);
	json_put_key(j, "commands");
	json_put_array(j);
	json_put_object(j);
	json_member(j, "executed", s->command);
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
	add_resources(set, j, false, job->inputs, job->n_inputs);
	add_resources(set, j, true, job->outputs, job->n_outputs);
	json_time(j, "timeStart", s->started_ns);
	json_time(j, "timeEnd", export_end_ns(s));
	json_end(j);
}

static void add_formulation(const struct export_set *set, struct json *j)
{
	if (!set->n_jobs)
		return;
	json_put_key(j, "formulation");
	json_put_array(j);
	json_put_object(j);
	json_put_key(j, "workflows");
	json_put_array(j);
	json_put_object(j);
	json_member(j, "bom-ref", "pipeline");
	json_member(j, "uid", "pipeline");
	json_put_key(j, "taskTypes");
	json_put_array(j);
	json_put_string(j, "other");
	json_end(j);
	json_put_key(j, "tasks");
	json_put_array(j);
	for (size_t i = 0; i < set->n_jobs; i++)
		add_task(set, &set->jobs[i], j);
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
}

/* The same record gives the same document. */
static int add_head(const struct export_set *set, struct json *j)
{
	CLEANUP(str_release) struct str all = STR_INIT;
	const struct store_job *newest = NULL;
	char uuid[EXPORT_UUID_SIZE];
	int r;

	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct store_job *s = set->jobs[i].job;

		str_adds(&all, s->uid);
		if (!newest || s->started_ns > newest->started_ns)
			newest = s;
	}
	r = str_error(&all);
	if (r == 0)
		r = export_uuid(str_cstr(&all), uuid);
	if (r < 0)
		return r;
	json_member(j, "bomFormat", "CycloneDX");
	json_member(j, "specVersion", "1.6");
	json_memberf(j, "serialNumber", "urn:uuid:%s", uuid);
	json_put_key(j, "version");
	json_put_int(j, 1);
	json_put_key(j, "metadata");
	json_put_object(j);
	if (newest)
		json_time(j, "timestamp", export_end_ns(newest));
	json_put_key(j, "tools");
	json_put_object(j);
	json_put_key(j, "components");
	json_put_array(j);
	json_put_object(j);
	json_member(j, "type", "application");
	json_member(j, "name", "roar");
	json_member(j, "version", newest ? newest->version : "");
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
	return 0;
}

int export_cyclonedx(const struct export_set *set, struct str *out,
		     struct roar_error *err)
{
	struct json j = json_writer(out, true);
	int r;

	json_put_object(&j);
	r = add_head(set, &j);
	if (r == 0)
		r = add_components(set, &j);
	json_put_key(&j, "dependencies");
	json_put_array(&j);
	for (size_t i = 0; i < set->n_entities; i++)
		add_dependency(set, i, &j);
	json_end(&j);
	add_formulation(set, &j);
	json_end(&j);
	str_addc(out, '\n');
	if (r == 0)
		r = str_error(out);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}
