/* test_credentials.c - which names and contents stay out of a snapshot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "git/git_credentials.h"

static void expect(const char *const *paths, size_t n, bool expected)
{
	for (size_t i = 0; i < n; i++)
		if (git_names_credentials(paths[i], false) != expected)
			fail_msg("%s: %s", paths[i],
				 expected ? "not recognised" : "taken for one");
}

static void secrets_are_known_by_name(void **state)
{
	static const char *const paths[] = {
		".env",
		"sub/.env",
		".env.local",
		".env.production",
		".envrc",
		"prod.env",
		"credentials.json",
		"client_secret.json",
		"client_secret_12-ab.apps.googleusercontent.com.json",
		"service-account.json",
		"serviceaccount.yml",
		"key.pem",
		"server.key",
		"kaggle.json",
		"secrets.toml",
		".streamlit/secrets.toml",
		"token.txt",
		"hf_token",
		".hf_token",
		"github-token.json",
		"id_rsa",
		"id_ed25519_work",
		".netrc",
		"API_KEY.txt",
		"api-keys.yaml",
		"db_password.ini",
		".pypirc",
		"terraform.tfvars",
		"store.p12",
		"x/.aws/credentials",
		".ssh/config",
		".docker/config.json",
		".config/gcloud/any.db",
		"secrets/prod.yaml",
		".secrets/x",
		"deep/Secrets/a.json",
	};

	(void)state;
	expect(paths, ARRAY_SIZE(paths), true);
}

static void code_and_data_are_not_taken_for_secrets(void **state)
{
	static const char *const paths[] = {
		"train.py",
		"bin/python-job.sh",
		"credentials.py",
		"src/secrets/__init__.py",
		"token.rs",
		"tokenizer.json",
		"special_tokens_map.json",
		"tokens.txt",
		"token_counts.json",
		"answer_key.json",
		"keys.txt",
		"environment.yml",
		"env.sh",
		"exp/.env/cfg",
		".docker/compose.yml",
		"docker/config.json",
		"docs/passwords.md",
		"secretary.csv",
		"monkey.txt",
		"pemmican",
		"data.json",
		"Makefile",
		"kernel.keys.py",
		"",
	};

	(void)state;
	expect(paths, ARRAY_SIZE(paths), false);
}

static void templates_and_public_keys_are_meant_to_be_seen(void **state)
{
	static const char *const paths[] = {
		".env.example",		".env.sample",
		"secrets.example.toml", "credentials.json.template",
		"id_rsa.pub",		"token.schema.json",
	};

	(void)state;
	expect(paths, ARRAY_SIZE(paths), false);
}

static void copies_count_as_their_originals(void **state)
{
	static const char *const secrets[] = { ".env~", ".env.bak",
					       "credentials.json.old",
					       "server.key.bak~" };
	static const char *const code[] = { "credentials.py.bak", "a.py~" };

	(void)state;
	expect(secrets, ARRAY_SIZE(secrets), true);
	expect(code, ARRAY_SIZE(code), false);
}

static void programs_are_code_unless_their_ending_says_otherwise(void **state)
{
	(void)state;
	assert_false(git_names_credentials("bin/get-token", true));
	assert_true(git_names_credentials("bin/get-token", false));
	assert_true(git_names_credentials("token.txt", true));
}

static void names_of_any_length_are_taken(void **state)
{
	char path[5000];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_false(git_names_credentials(path, false));
	memset(path, '-', sizeof(path) - 1);
	memcpy(path + sizeof(path) - 6, "/.env", 5);
	assert_true(git_names_credentials(path, false));
	path[4000] = '/';
	memset(path + 4001, '.', 200);
	path[4201] = '\0';
	assert_false(git_names_credentials(path, false));
}

static void private_keys_are_known_by_content(void **state)
{
	static const char pem[] = "x\n-----BEGIN RSA PRIVATE KEY-----\nabc\n";
	static const char json[] = "{\"private_key\": \"-----BEGIN PRIVATE "
				   "KEY-----\\nMII\"}";
	static const char cert[] = "-----BEGIN CERTIFICATE-----\nabc\n";

	(void)state;
	assert_true(git_holds_credentials("a/deploy", pem, sizeof(pem) - 1));
	assert_true(git_holds_credentials("gcp.json", json, sizeof(json) - 1));
	assert_false(git_holds_credentials("ca", cert, sizeof(cert) - 1));
	assert_false(git_holds_credentials("a/test.py", pem, sizeof(pem) - 1));
	assert_false(git_holds_credentials("a", pem, 20));
	assert_false(git_holds_credentials("a", "", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_known_by_name),
		cmocka_unit_test(code_and_data_are_not_taken_for_secrets),
		cmocka_unit_test(templates_and_public_keys_are_meant_to_be_seen),
		cmocka_unit_test(copies_count_as_their_originals),
		cmocka_unit_test(
			programs_are_code_unless_their_ending_says_otherwise),
		cmocka_unit_test(names_of_any_length_are_taken),
		cmocka_unit_test(private_keys_are_known_by_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
