/* export_intoto.c - the set as an attestation: SLSA provenance v1 in an in-toto statement.
 *
 *	the content that was named, or all	subject, by SHA-256
 *	results that no job of the set reads
 *	files from outside, commits		resolvedDependencies
 *	commands				externalParameters
 *
 * With a key the statement is signed in a DSSE envelope; what is signed is
 *
 *	"DSSEv1" SP length SP type SP length SP statement
 *
 * Policies compare SHA-256, so a subject without it is an error.  BLAKE3 is there as well,
 * under its own name.  A laptop proves no more than SLSA level 1: the document claims no
 * level. */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "export/export_json.h"
#include "export/export_set.h"
#include "export/signing_key.h"
#include "store/store.h"

#define PAYLOAD_TYPE "application/vnd.in-toto+json"

static const char *const digest_names[DIGEST_ALGO_END] = {
	[DIGEST_BLAKE3] = "blake3",
	[DIGEST_SHA256] = "sha256",
	[DIGEST_SHA512] = "sha512",
	[DIGEST_MD5] = "md5",
};

static bool is_subject(const struct export_set *set,
		       const struct export_entity *e)
{
	if (e->maker == EXPORT_NONE)
		return false;
	return set->subject ? e->artifact_id == set->subject : !e->n_users;
}

static int add_subjects(const struct export_set *set, struct json *j,
			struct roar_error *err)
{
	size_t n = 0;

	json_put_key(j, "subject");
	json_put_array(j);
	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];

		if (!is_subject(set, e))
			continue;
		if (!(e->digests.have & (1 << DIGEST_SHA256)))
			return error_set(
				err, -ENODATA,
				"the SHA-256 of '%.200s' is not recorded and "
				"the file has changed or is gone: run the step "
				"again with 'roar run --hash sha256'",
				e->name);
		json_put_object(j);
		json_member(j, "name", e->name);
		json_digests(j, "digest", &e->digests, digest_names);
		json_end(j);
		n++;
	}
	json_end(j);
	if (!n)
		return error_set(err, -ENODATA,
				 "these jobs left no output, and an attestation "
				 "needs one: export a session or a file that a "
				 "job wrote");
	return 0;
}

static void add_steps(const struct export_set *set, struct json *j)
{
	json_put_key(j, "externalParameters");
	json_put_object(j);
	json_put_key(j, "steps");
	json_put_array(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct store_job *s = set->jobs[i].job;

		json_put_object(j);
		json_member(j, "name", set->jobs[i].ref);
		json_member(j, "label", s->name);
		json_put_key(j, "argv");
		json_put_raw(j, s->argv, strlen(s->argv));
		json_member(j, "directory", s->cwd);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void add_commit(struct json *j, const struct store_job *s)
{
	json_put_object(j);
	json_memberf(j, "uri", "git+%s@%s", s->git_remote, s->git_commit);
	json_put_key(j, "digest");
	json_put_object(j);
	json_member(j, "gitCommit", s->git_commit);
	json_end(j);
	json_end(j);
}

static void add_dependencies(const struct export_set *set, struct json *j)
{
	const char *last = "";

	json_put_key(j, "resolvedDependencies");
	json_put_array(j);
	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct store_job *s = set->jobs[i].job;

		if (s->git_commit[0] && strcmp(s->git_commit, last) != 0)
			add_commit(j, s);
		last = s->git_commit;
	}
	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];
		CLEANUP(str_release) struct str uri = STR_INIT;

		if (e->maker != EXPORT_NONE || !e->digests.have)
			continue;
		if (!e->is_object)
			str_adds(&uri, "file://");
		export_add_uri(&uri, e->path);
		j->out->failed |= uri.failed;
		json_put_object(j);
		json_member(j, "uri", str_cstr(&uri));
		json_member(j, "name", e->name);
		json_digests(j, "digest", &e->digests, digest_names);
		json_end(j);
	}
	json_end(j);
}

static void add_run(const struct export_set *set, struct json *j)
{
	int64_t begin_ns = INT64_MAX, end_ns = 0;
	const struct store_job *last = set->jobs[set->n_jobs - 1].job;
	bool is_complete = true;

	for (size_t i = 0; i < set->n_jobs; i++) {
		const struct store_job *s = set->jobs[i].job;

		begin_ns = s->started_ns < begin_ns ? s->started_ns : begin_ns;
		end_ns = export_end_ns(s) > end_ns ? export_end_ns(s) : end_ns;
		is_complete &= s->complete;
	}
	json_put_key(j, "runDetails");
	json_put_object(j);
	json_put_key(j, "builder");
	json_put_object(j);
	json_member(j, "id", "urn:roar:recorder:v1");
	json_put_key(j, "version");
	json_put_object(j);
	json_member(j, "roar", last->version);
	json_end(j);
	json_end(j);
	json_put_key(j, "metadata");
	json_put_object(j);
	json_member(j, "invocationId", last->uid);
	json_time(j, "startedOn", begin_ns);
	json_time(j, "finishedOn", end_ns);
	json_put_key(j, "roar_recordIsComplete");
	json_put_bool(j, is_complete);
	json_end(j);
	json_end(j);
}

int export_intoto(const struct export_set *set, struct str *out,
		  struct roar_error *err)
{
	struct json j = json_writer(out, false);
	int r;

	json_put_object(&j);
	json_member(&j, "_type", "https://in-toto.io/Statement/v1");
	r = add_subjects(set, &j, err);
	if (r < 0)
		return r;
	json_member(&j, "predicateType", "https://slsa.dev/provenance/v1");
	json_put_key(&j, "predicate");
	json_put_object(&j);
	json_put_key(&j, "buildDefinition");
	json_put_object(&j);
	json_member(&j, "buildType", "urn:roar:recorded-commands:v1");
	add_steps(set, &j);
	add_dependencies(set, &j);
	json_end(&j);
	add_run(set, &j);
	json_end(&j);
	json_end(&j);
	return str_error(out) < 0 ? error_set(err, -ENOMEM, "out of memory") :
				    0;
}

static int sign(const struct signing_key *key, const struct str *statement,
		struct str *out)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	uint8_t signature[SIGNATURE_LEN];
	int r;

	str_addf(&text, "DSSEv1 %zu %s %zu ", strlen(PAYLOAD_TYPE),
		 PAYLOAD_TYPE, statement->len);
	str_add(&text, statement->data, statement->len);
	if (str_error(&text) < 0)
		return -ENOMEM;
	r = signing_key_sign(key, text.data, text.len, signature);
	if (r < 0)
		return r;
	str_adds(out, "{\"payloadType\":\"" PAYLOAD_TYPE "\",\"payload\":\"");
	base64_add(out, statement->data, statement->len);
	str_adds(out, "\",\"signatures\":[{\"keyid\":\"");
	signing_key_add_fingerprint(key, out);
	str_adds(out, "\",\"sig\":\"");
	base64_add(out, signature, sizeof(signature));
	str_adds(out, "\"}]}\n");
	return str_error(out);
}

int export_dsse(const struct export_set *set, const struct signing_key *key,
		struct str *out, struct roar_error *err)
{
	CLEANUP(str_release) struct str statement = STR_INIT;
	int r = export_intoto(set, &statement, err);

	if (r < 0)
		return r;
	r = sign(key, &statement, out);
	return r < 0 ? error_set(err, r, "cannot sign: %s", strerror(-r)) : 0;
}
