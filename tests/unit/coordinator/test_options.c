/* test_options.c - the command line of roar-coordinator. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "cli/help.h"
#include "options.h"

static struct roar_error err;
static struct options o;

static int parse_argv(int argc, char **argv)
{
	CLEANUP(args_release) struct args args = { 0 };
	int r;

	program_select(&coordinator_program);
	r = args_parse(coordinator_program.single, argc, argv, &args, &err);
	return r < 0 ? r : options_read(&o, &args, &err);
}

/* Arguments after the program's name, up to NULL. */
static int parse(const char *first, ...)
{
	char *argv[32] = { "roar-coordinator" };
	int argc = 1;
	va_list ap;

	va_start(ap, first);
	for (const char *w = first; w; w = va_arg(ap, const char *))
		argv[argc++] = (char *)w;
	va_end(ap);
	err.text[0] = '\0';
	return parse_argv(argc, argv);
}

static void defaults_are_loopback_and_a_second_of_grace(void **state)
{
	(void)state;
	assert_int_equal(parse("--data-dir", "d", NULL), 0);
	assert_int_equal(o.n_listen, 1);
	assert_string_equal(o.listen[0], "127.0.0.1:50051");
	assert_string_equal(o.data_dir, "d");
	assert_int_equal(o.log_level, LOG_INFO);
	assert_false(o.log_json);
	assert_int_equal(o.grace_ms, 1000);
}

static void every_option_is_taken_in_both_forms(void **state)
{
	(void)state;
	assert_int_equal(parse("--data-dir=d", "--listen", ":1",
			       "--listen=unix:/s", "--http", "off",
			       "--tls-cert", "c", "--tls-key=k", "--tokens",
			       "t", "--log-level", "debug", "--log-format=json",
			       "--grace=0", "--max-jobs", "3",
			       "--max-workers=4", "--max-connections", "5",
			       "--max-message", "2048", NULL),
			 0);
	assert_int_equal(o.n_listen, 2);
	assert_string_equal(o.listen[1], "unix:/s");
	assert_string_equal(o.http, "off");
	assert_string_equal(o.tls_cert, "c");
	assert_string_equal(o.tls_key, "k");
	assert_string_equal(o.tokens, "t");
	assert_int_equal(o.log_level, LOG_DEBUG);
	assert_true(o.log_json);
	assert_int_equal(o.grace_ms, 0);
	assert_int_equal(o.max_jobs, 3);
	assert_int_equal(o.max_workers, 4);
	assert_int_equal(o.max_connections, 5);
	assert_int_equal(o.max_message, 2048);
}

static void wrong_usage_is_one_sentence(void **state)
{
	(void)state;
	assert_int_equal(parse(NULL), -EINVAL);
	assert_string_equal(err.text, "--data-dir is missing: the directory "
				      "of the log (or --etcd, to keep the log "
				      "there)");
	assert_int_equal(parse("--data-dir", NULL), -EINVAL);
	assert_string_equal(err.text, "option '--data-dir' needs a value: "
				      "--data-dir DIR");
	assert_int_equal(parse("--data-dir", "", NULL), -EINVAL);
	assert_string_equal(err.text, "option '--data-dir' needs a value: "
				      "--data-dir DIR");
	assert_int_equal(parse("--nonsense", NULL), -EINVAL);
	assert_string_equal(err.text, "unknown option '--nonsense'");
	assert_int_equal(parse("--dat", "d", NULL), -EINVAL);
	assert_int_equal(parse("word", NULL), -EINVAL);
	assert_string_equal(err.text, "unexpected argument 'word': usage is "
				      "'roar-coordinator {--data-dir DIR | "
				      "--etcd URLS | --agent} [OPTION]...'");
	assert_int_equal(parse("--help=yes", NULL), -EINVAL);
	assert_int_equal(parse("--data-dir=d", "--tls-cert=c", NULL), -EINVAL);
	assert_string_equal(err.text,
			    "--tls-cert and --tls-key require each other");
	assert_int_equal(parse("--log-level=loud", NULL), -EINVAL);
	assert_int_equal(parse("--log-format=xml", NULL), -EINVAL);
}

static void the_log_is_in_a_folder_or_in_etcd(void **state)
{
	(void)state;
	assert_int_equal(parse("--etcd=http://a:1", NULL), 0);
	assert_string_equal(o.etcd, "http://a:1");
	assert_string_equal(o.cluster, "default");
	assert_int_equal(o.lease_s, 5);
	assert_int_equal(parse("--etcd=a", "--cluster=c.1", "--lease=2",
			       "--advertise=h:1", NULL),
			 0);
	assert_string_equal(o.cluster, "c.1");
	assert_string_equal(o.advertise, "h:1");
	assert_int_equal(parse("--etcd=a", "--data-dir=d", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "--data-dir or --etcd"));
	assert_int_equal(parse("--etcd=a", "--cluster=a/b", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "'a/b'"));
	assert_int_equal(parse("--etcd=a", "--lease=1", NULL), -EINVAL);
}

static void who_we_are_to_etcd_is_for_etcd(void **state)
{
	(void)state;
	assert_int_equal(parse("--etcd=https://a", "--etcd-ca=c",
			       "--etcd-cert=x", "--etcd-key=k", "--etcd-user=u",
			       "--etcd-password-file=p", NULL),
			 0);
	assert_string_equal(o.etcd_ca, "c");
	assert_string_equal(o.etcd_password_file, "p");
	assert_int_equal(parse("--data-dir=d", "--etcd-user=u", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "require --etcd"));
	assert_int_equal(parse("--etcd=a", "--etcd-cert=x", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "require each other"));
	assert_int_equal(parse("--etcd=a", "--etcd-password-file=p", NULL),
			 -EINVAL);
	assert_non_null(strstr(err.text, "requires --etcd-user"));
	assert_int_equal(parse("--etcd=a", "--etcd-password=p", NULL), -EINVAL);
}

static void addresses_may_stand_for_all(void **state)
{
	(void)state;
	assert_true(options_is_any(":1"));
	assert_true(options_is_any("0.0.0.0:1"));
	assert_true(options_is_any("[::]:1"));
	assert_false(options_is_any("[::1]:1"));
	assert_false(options_is_any("10.0.0.1:1"));
}

static void numbers_outside_their_bounds_are_refused(void **state)
{
	static const char *const bad[] = { "--grace=-1",
					   "--grace=600001",
					   "--grace=",
					   "--grace= 1",
					   "--grace=1s",
					   "--max-jobs=0",
					   "--grace=1e3",
					   "--max-message=1",
					   "--max-jobs=9999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse("--data-dir=d", bad[i], NULL), -EINVAL);
	assert_string_equal(err.text,
			    "option '--max-jobs' takes a number from 1 "
			    "to 1000000, not '9999999999999999999'");
}

static void too_many_addresses_are_refused(void **state)
{
	char *argv[OPTIONS_MAX_LISTEN + 2] = { "roar-coordinator" };

	(void)state;
	for (int i = 1; i <= OPTIONS_MAX_LISTEN + 1; i++)
		argv[i] = "--listen=:0";
	assert_int_equal(parse_argv(OPTIONS_MAX_LISTEN + 2, argv), -EINVAL);
}

static void help_and_version_need_nothing_else(void **state)
{
	const struct term t = { .width = 80 };
	CLEANUP(str_release) struct str help = STR_INIT;
	CLEANUP(args_release) struct args args = { 0 };
	char *argv[] = { "roar-coordinator", "--version", "--nonsense", NULL };

	(void)state;
	program_select(&coordinator_program);
	assert_int_equal(args_parse(coordinator_program.single, 3, argv, &args,
				    &err),
			 0);
	assert_true(args_has(&args, "version"));
	help_command(&help, &t, coordinator_program.single);
	assert_non_null(strstr(str_cstr(&help), "--max-connections N"));
	assert_non_null(strstr(str_cstr(&help), "  -h, --help"));
	/* No line is wider than a terminal. */
	for (const char *at = help.data, *end; (end = strchr(at, '\n'));
	     at = end + 1)
		assert_true(end - at <= 80);
}

static void check_http(const char *expected)
{
	CLEANUP(str_release) struct str address = STR_INIT;

	assert_int_equal(options_http(&o, &address, &err), 0);
	assert_string_equal(str_cstr(&address), expected);
}

static void http_is_a_thousand_ports_above(void **state)
{
	CLEANUP(str_release) struct str address = STR_INIT;

	(void)state;
	assert_int_equal(parse("--data-dir=d", NULL), 0);
	check_http("127.0.0.1:51051");
	assert_int_equal(parse("--data-dir=d", "--listen=[::]:7", NULL), 0);
	check_http("[::]:1007");
	assert_int_equal(parse("--data-dir=d", "--listen=:0", NULL), 0);
	check_http(":0");
	assert_int_equal(parse("--data-dir=d", "--listen=unix:/s", NULL), 0);
	check_http("");
	assert_int_equal(parse("--data-dir=d", "--listen=unix:/s",
			       "--listen=:7", NULL),
			 0);
	check_http(":1007");
	assert_int_equal(parse("--data-dir=d", "--http=off", NULL), 0);
	check_http("");
	assert_int_equal(parse("--data-dir=d", "--http=h:1", NULL), 0);
	check_http("h:1");
	assert_int_equal(parse("--data-dir=d", "--listen=:65000", NULL), 0);
	assert_int_equal(options_http(&o, &address, &err), -EINVAL);
}

static void http_stays_at_home_where_calls_come_by_tls(void **state)
{
	(void)state;
	assert_int_equal(parse("--data-dir=d", "--listen=0.0.0.0:7",
			       "--tls-cert=c", "--tls-key=k", NULL),
			 0);
	check_http("127.0.0.1:1007");
}

static void loopback_and_unix_sockets_are_not_public(void **state)
{
	(void)state;
	assert_false(options_is_public("127.0.0.1:1"));
	assert_false(options_is_public("localhost:1"));
	assert_false(options_is_public("[::1]:1"));
	assert_false(options_is_public("unix:/s"));
	assert_true(options_is_public(":1"));
	assert_true(options_is_public("0.0.0.0:1"));
	assert_true(options_is_public("10.0.0.1:1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_loopback_and_a_second_of_grace),
		cmocka_unit_test(every_option_is_taken_in_both_forms),
		cmocka_unit_test(wrong_usage_is_one_sentence),
		cmocka_unit_test(the_log_is_in_a_folder_or_in_etcd),
		cmocka_unit_test(who_we_are_to_etcd_is_for_etcd),
		cmocka_unit_test(addresses_may_stand_for_all),
		cmocka_unit_test(numbers_outside_their_bounds_are_refused),
		cmocka_unit_test(too_many_addresses_are_refused),
		cmocka_unit_test(help_and_version_need_nothing_else),
		cmocka_unit_test(http_is_a_thousand_ports_above),
		cmocka_unit_test(http_stays_at_home_where_calls_come_by_tls),
		cmocka_unit_test(loopback_and_unix_sockets_are_not_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
