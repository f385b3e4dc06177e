/* test_standards.c - PROV, OpenLineage, RO-Crate, CycloneDX, in-toto: what stands where. */
#include "sample_set.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "export/export_json.h"
#include "export/signing_key.h"
#include "store/store_situation.h"

static struct export_set made(struct fixture *f, struct query *q)
{
	struct roar_error err = { 0 };
	struct export_set set;

	record_sample(f);
	assert_int_equal(store_begin(f->store, &err), 0);
	assert_int_equal(
		store_situation_add(
			f->store, 1, SITUATION_PACKAGES,
			"{\"packages\":[{\"manager\":\"pip\",\"name\":\"a b\","
			"\"version\":\"1\"},{\"manager\":\"other\"}]}",
			&err),
		0);
	assert_int_equal(store_commit(f->store, &err), 0);
	set = sample_set(f, q);
	(void)export_digests_complete(&set, 1 << DIGEST_SHA256);
	return set;
}

static json_t *parsed(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("%s in:\n%s", error.text, text);
	return root;
}

/* The text at "key.0.key ...", or "?". */
static const char *at(const json_t *root, const char *path)
{
	char word[64];
	int n;

	while (sscanf(path, "%63[^.]%n", word, &n) == 1) {
		root = json_is_array(root) ?
			       json_array_get(root, strtoul(word, NULL, 10)) :
			       json_object_get(root, word);
		path += n + (path[n] == '.');
	}
	return json_is_string(root) ? json_string_value(root) : "?";
}

static void prov_relates_activities_and_entities(void **state)
{
	struct query q;
	struct export_set set = made(*state, &q);
	json_t *root = parsed(exported(*state, &set, export_prov));

	assert_string_equal(at(root, "activity.roar:job-aaaa0001.roar:command"),
			    "python prepare.py");
	assert_string_equal(at(root, "entity.roar:file-1.prov:label"),
			    "raw.csv");
	assert_string_equal(at(root, "used._:u1.prov:entity"), "roar:file-1");
	assert_string_equal(at(root, "wasGeneratedBy._:g1.prov:activity"),
			    "roar:job-aaaa0001");
	assert_string_equal(at(root, "wasInformedBy._:i1.prov:informant"),
			    "roar:job-aaaa0001");
	assert_int_equal(
		json_object_size(json_object_get(root, "wasDerivedFrom")), 1);
	json_decref(root);
	query_release(&q);
}

static void openlineage_has_two_events_for_each_job(void **state)
{
	struct query q;
	struct export_set set = made(*state, &q);
	const char *text = exported(*state, &set, export_openlineage);
	const char *second = strchr(text, '\n') + 1;
	json_t *root;

	root = json_loads(second, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(root);
	assert_string_equal(at(root, "eventType"), "COMPLETE");
	assert_string_equal(at(root, "inputs.0.namespace"), "file");
	assert_int_equal(strlen(at(root, "run.runId")), 36);
	assert_true(at(root, "run.runId")[14] == '7');
	assert_non_null(strstr(text, "\"eventType\":\"START\""));
	json_decref(root);
	query_release(&q);
}

static void crate_describes_actions_and_files(void **state)
{
	struct query q;
	struct export_set set = made(*state, &q);
	const char *text = exported(*state, &set, export_crate);
	json_t *root = parsed(text);

	assert_string_equal(at(root, "@graph.0.@id"), "ro-crate-metadata.json");
	assert_string_equal(at(root, "@graph.1.mentions.0.@id"),
			    "#job-aaaa0001");
	assert_non_null(strstr(text, "\"@type\": \"CreateAction\""));
	assert_non_null(strstr(text, "\"@id\": \"features.bin\""));
	json_decref(root);
	query_release(&q);
}

static void cyclonedx_has_models_data_and_packages(void **state)
{
	struct query q;
	struct export_set set = made(*state, &q);
	const char *text = exported(*state, &set, export_cyclonedx);
	json_t *root = parsed(text);

	assert_string_equal(at(root, "specVersion"), "1.6");
	assert_string_equal(at(root, "components.0.type"), "data");
	assert_non_null(strstr(text, "machine-learning-model"));
	assert_non_null(strstr(text, "\"purl\": \"pkg:pypi/a%20b@1\""));
	assert_string_equal(at(root, "formulation.0.workflows.0.tasks.0.steps.0."
				     "commands.0.executed"),
			    "python prepare.py");
	json_decref(root);
	query_release(&q);
}

static void a_statement_names_results_and_sources(void **state)
{
	struct query q;
	struct export_set set = made(*state, &q);
	json_t *root = parsed(exported(*state, &set, export_intoto));

	assert_string_equal(at(root, "subject.0.name"), "model.pt");
	/* What `printf model | sha256sum` prints. */
	assert_string_equal(at(root, "subject.0.digest.sha256"),
			    "9372c470eeadd5ecd9c3c74c2b3cb633"
			    "f8e2f2fad799250a0f70d652b6b825e4");
	assert_string_equal(at(root, "predicateType"),
			    "https://slsa.dev/provenance/v1");
	json_decref(root);
	query_release(&q);
}

static void a_subject_without_sha256_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct roar_error err = { 0 };
	struct str out = STR_INIT;
	struct export_set set;
	struct query q;

	record_sample(f);
	assert_int_equal(unlink("log.txt"), 0);
	set = sample_set(f, &q);
	(void)export_digests_complete(&set, 1 << DIGEST_SHA256);
	assert_int_equal(export_intoto(&set, &out, &err), -ENODATA);
	assert_non_null(strstr(err.text, "SHA-256 of 'log.txt'"));
	str_release(&out);
	query_release(&q);
}

/* ---- signatures ---- */

/* RFC 8032, 7.1, test 1, as OpenSSL and as ssh-keygen write it. */
static const char pem[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
	"-----END PRIVATE KEY-----\n";
static const uint8_t rfc_public[] = { 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a,
				      0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64,
				      0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda,
				      0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68,
				      0xf7, 0x07, 0x51, 0x1a };
static const uint8_t rfc_signature[] = {
	0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2,
	0xcc, 0x80, 0x6e, 0x82, 0x8a, 0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5,
	0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55, 0x5f,
	0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70,
	0x1c, 0xf9, 0xb4, 0x6b, 0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe,
	0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b
};

static void a_key_signs_as_the_rfc_does(void **state)
{
	uint8_t signature[SIGNATURE_LEN];
	struct roar_error err = { 0 };
	struct signing_key key;

	(void)state;
	assert_int_equal(signing_key_parse(pem, &key, &err), 0);
	assert_memory_equal(key.public, rfc_public, sizeof(rfc_public));
	assert_int_equal(signing_key_sign(&key, "", 0, signature), 0);
	assert_memory_equal(signature, rfc_signature, sizeof(signature));
}

static void what_is_not_a_key_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"-----BEGIN PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n====\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA/////w==",
		"ssh-ed25519 AAAA",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct roar_error err = { 0 };
		struct signing_key key;

		assert_int_equal(signing_key_parse(texts[i], &key, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, "private Ed25519 key"));
	}
}

static void an_envelope_is_signed_over_its_statement(void **state)
{
	struct fixture *f = *state;
	struct roar_error err = { 0 };
	struct str out = STR_INIT;
	struct signing_key key;
	struct export_set set;
	struct query q;
	json_t *root;

	set = made(f, &q);
	assert_int_equal(signing_key_parse(pem, &key, &err), 0);
	assert_int_equal(export_dsse(&set, &key, &out, &err), 0);
	root = parsed(str_cstr(&out));
	assert_string_equal(at(root, "payloadType"),
			    "application/vnd.in-toto+json");
	assert_int_equal(strlen(at(root, "signatures.0.sig")), 88);
	assert_memory_equal(at(root, "signatures.0.keyid"), "SHA256:", 7);
	json_decref(root);
	str_release(&out);
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(prov_relates_activities_and_entities),
		FIXTURE_TEST(openlineage_has_two_events_for_each_job),
		FIXTURE_TEST(crate_describes_actions_and_files),
		FIXTURE_TEST(cyclonedx_has_models_data_and_packages),
		FIXTURE_TEST(a_statement_names_results_and_sources),
		FIXTURE_TEST(a_subject_without_sha256_is_an_error),
		cmocka_unit_test(a_key_signs_as_the_rfc_does),
		cmocka_unit_test(what_is_not_a_key_is_refused),
		FIXTURE_TEST(an_envelope_is_signed_over_its_statement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
