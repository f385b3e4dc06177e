/* Where keys come from without a network, how they are shared, and when they are fetched
 * again.  tests/s3/test_credentials.py has the sources that are servers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http/http_client.h"
#include "s3/aws_config.h"
#include "s3/credentials.h"
#include "test.h"

/* A request that waits. */
struct waiter {
	struct credentials_wait wait;
	unsigned n_done;
	char key_id[64], secret[64], token[64], sentence[512];
};

struct world {
	struct loop *loop;
	struct http_client *http;
	struct aws_config *config;
	struct credentials *credentials;
	char dir[64];
};

static void note_keys(struct waiter *w, const struct sigv4_credentials *keys)
{
	(void)snprintf(w->key_id, sizeof(w->key_id), "%s", keys->key_id);
	(void)snprintf(w->secret, sizeof(w->secret), "%s", keys->secret);
	(void)snprintf(w->token, sizeof(w->token), "%s",
		       keys->token ? keys->token : "");
}

static void on_done(struct credentials_wait *wait,
		    const struct sigv4_credentials *keys, const char *sentence)
{
	struct waiter *w = (struct waiter *)wait;

	w->n_done++;
	if (keys)
		note_keys(w, keys);
	else
		(void)snprintf(w->sentence, sizeof(w->sentence), "%s",
			       sentence);
}

static void ask(struct world *w, struct waiter *waiter)
{
	const struct sigv4_credentials *keys;

	*waiter = (struct waiter){ .wait = { .done = on_done } };
	keys = credentials_get(w->credentials, &waiter->wait);
	if (!keys)
		return;
	waiter->n_done++;
	note_keys(waiter, keys);
}

static void wait_for(struct world *w, const struct waiter *waiter)
{
	for (int i = 0; i < 1000 && !waiter->n_done; i++)
		(void)loop_round(w->loop, 20);
	assert_int_equal(waiter->n_done, 1);
}

static void get(struct world *w, struct waiter *waiter)
{
	ask(w, waiter);
	wait_for(w, waiter);
}

/* Begins with this configuration. */
static int try_start(struct world *w, const char *profile, const char *config,
		     struct roar_error *err)
{
	assert_int_equal(aws_config_new(profile, &w->config), 0);
	assert_int_equal(aws_config_parse(w->config, "config", config,
					  strlen(config), false, err),
			 0);
	return credentials_new(w->loop, w->http, w->config, &w->credentials,
			       err);
}

static void start(struct world *w, const char *profile, const char *config)
{
	struct roar_error err = { 0 };

	if (try_start(w, profile, config, &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	static const char *const variables[] = {
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI",
	};
	struct world *w = calloc(1, sizeof(*w));

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		(void)unsetenv(variables[i]);
	(void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(http_client_new(w->loop, NULL, NULL,
					 &HTTP_CLIENT_LIMITS, &w->http),
			 0);
	strcpy(w->dir, "/tmp/roar-credentials-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];

	credentials_free(w->credentials);
	aws_config_free(w->config);
	http_client_free(w->http);
	loop_free(w->loop);
	(void)snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	(void)system(command); /* NOLINT(cert-env33-c): a name of our own */
	free(w);
	return 0;
}

/* ---- sources ---- */

static void the_environment_comes_first(void **state)
{
	struct world *w = *state;
	struct waiter a;

	(void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1);
	(void)setenv("AWS_SESSION_TOKEN", "env-token", 1);
	start(w, NULL,
	      "[default]\naws_access_key_id=F\naws_secret_access_key=f\n");
	ask(w, &a);
	assert_int_equal(a.n_done, 1); /* at once */
	assert_string_equal(a.key_id, "ENV");
	assert_string_equal(a.secret, "env-secret");
	assert_string_equal(a.token, "env-token");
}

static void a_named_profile_comes_before_it(void **state)
{
	struct world *w = *state;
	struct waiter a;

	(void)setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "env-secret", 1);
	start(w, "p",
	      "[profile p]\naws_access_key_id=P\naws_secret_access_key=s\n");
	get(w, &a);
	assert_string_equal(a.key_id, "P");
	assert_string_equal(a.token, "");
	assert_non_null(strstr(credentials_source(w->credentials), "'p'"));
}

static void no_source_at_all_is_said(void **state)
{
	struct world *w = *state;
	struct roar_error err = { 0 };

	assert_int_equal(try_start(w, NULL, "", &err), -ENOENT);
	assert_non_null(strstr(err.text, "AWS_ACCESS_KEY_ID"));
}

static void profiles_that_cannot_work_are_refused(void **state)
{
	static const struct {
		const char *config, *said;
	} bad[] = {
		{ "[profile p]\nrole_arn=r\nsource_profile=absent\n",
		  "'absent'" },
		{ "[profile p]\nrole_arn=r\nsource_profile=q\n"
		  "[profile q]\nrole_arn=r\nsource_profile=p\n",
		  "circle" },
		{ "[profile p]\nrole_arn=r\nsource_profile=p\n", "own" },
		{ "[profile p]\nrole_arn=r\ncredential_source=Moon\n", "Moon" },
		{ "[profile p]\nrole_arn=r\nsource_profile=q\nmfa_serial=m\n"
		  "[profile q]\n",
		  "MFA" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct roar_error err = { 0 };

		assert_int_equal(try_start(w, "p", bad[i].config, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, bad[i].said));
		aws_config_free(w->config);
		w->config = NULL;
	}
}

/* ---- programs ---- */

#define KEYS "\"Version\":1,\"AccessKeyId\":\"PROC\",\"SecretAccessKey\":\"s\""

static void a_program_prints_keys(void **state)
{
	struct world *w = *state;
	struct waiter a, b;

	start(w, NULL,
	      "[default]\ncredential_process = printf '{" KEYS
	      ",\"SessionToken\":\"t\"}'\n");
	get(w, &a);
	assert_string_equal(a.key_id, "PROC");
	assert_string_equal(a.token, "t");
	get(w, &b);
	assert_int_equal(credentials_n_fetches(w->credentials), 1);
}

static void a_program_that_fails_is_named_by_its_status(void **state)
{
	static const struct {
		const char *command, *said;
	} bad[] = {
		{ "echo secret-word; exit 3", "status 3" },
		{ "kill -9 $$", "signal 9" },
		{ "echo secret-word", "JSON" },
		{ "printf '{" KEYS "}' | sed s/:1,/:2,/", "JSON" },
		{ "yes", "more than" },
		{ "/nonexistent/program", "status 127" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		struct waiter a;

		str_addf(&text, "[default]\ncredential_process = %s 2>&-\n",
			 bad[i].command);
		start(w, NULL, str_cstr(&text));
		get(w, &a);
		assert_string_equal(a.key_id, "");
		assert_non_null(strstr(a.sentence, bad[i].said));
		assert_null(strstr(a.sentence, "secret-word"));
		credentials_free(w->credentials);
		aws_config_free(w->config);
		w->credentials = NULL;
		w->config = NULL;
	}
}

/* ---- sharing and time ---- */

/* A program that notes each run, and whose keys expire after that many seconds. */
static void start_counted(struct world *w, long seconds)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	time_t end = time(NULL) + seconds;
	char when[32];
	struct tm t;

	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ",
		       gmtime_r(&end, &t));
	str_addf(&text,
		 "[default]\ncredential_process = echo x >>%s/n; "
		 "printf '{" KEYS ",\"Expiration\":\"%s\"}'\n",
		 w->dir, when);
	start(w, NULL, str_cstr(&text));
}

static long count_runs(const struct world *w)
{
	char name[80];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s/n", w->dir);
	return stat(name, &st) < 0 ? 0 : (long)st.st_size / 2;
}

static void requests_share_one_fetch(void **state)
{
	struct world *w = *state;
	struct waiter many[50];

	start_counted(w, 3600);
	for (size_t i = 0; i < 50; i++)
		ask(w, &many[i]);
	credentials_cancel(&many[7].wait);
	for (size_t i = 0; i < 50; i++)
		if (i != 7)
			wait_for(w, &many[i]);
	assert_int_equal(many[7].n_done, 0);
	assert_int_equal(count_runs(w), 1);
	ask(w, &many[0]);
	assert_int_equal(many[0].n_done, 1);
	assert_int_equal(count_runs(w), 1);
}

static void keys_that_have_expired_are_fetched_again(void **state)
{
	struct world *w = *state;
	struct waiter a;

	start_counted(w, 30);
	get(w, &a);
	get(w, &a); /* less than a minute is left: it waits */
	assert_int_equal(count_runs(w), 2);
	assert_string_equal(a.key_id, "PROC");
}

static void keys_a_server_refused_are_fetched_again(void **state)
{
	struct world *w = *state;
	struct waiter a;

	start_counted(w, 36000);
	get(w, &a);
	credentials_expire(w->credentials);
	get(w, &a);
	assert_int_equal(count_runs(w), 2);
}

static void a_failure_answers_for_a_moment(void **state)
{
	struct world *w = *state;
	struct waiter a, b;
	CLEANUP(str_release) struct str text = STR_INIT;

	str_addf(&text,
		 "[default]\ncredential_process = echo x >>%s/n; exit 1\n",
		 w->dir);
	start(w, NULL, str_cstr(&text));
	get(w, &a);
	get(w, &b);
	assert_string_equal(a.sentence, b.sentence);
	assert_int_equal(count_runs(w), 1);
}

static void keys_can_be_given(void **state)
{
	const struct sigv4_credentials keys = { "ID", "secret", NULL };
	struct world *w = *state;
	struct waiter a;

	assert_int_equal(credentials_new_static(&keys, &w->credentials), 0);
	ask(w, &a);
	assert_string_equal(a.key_id, "ID");
	assert_string_equal(a.secret, "secret");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_environment_comes_first),
		TEST(a_named_profile_comes_before_it),
		TEST(no_source_at_all_is_said),
		TEST(profiles_that_cannot_work_are_refused),
		TEST(a_program_prints_keys),
		TEST(a_program_that_fails_is_named_by_its_status),
		TEST(requests_share_one_fetch),
		TEST(keys_that_have_expired_are_fetched_again),
		TEST(keys_a_server_refused_are_fetched_again),
		TEST(a_failure_answers_for_a_moment),
		TEST(keys_can_be_given),
	};

	return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
