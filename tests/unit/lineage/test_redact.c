/* test_redact.c - secrets leave command lines, everything else stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/pool.h"
#include "base/str.h"
#include "lineage/redact.h"

#define R REDACTED
static char *environment[] = {
	"HOME=/home/someone",
	"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
	"SHORT_TOKEN=abc",
	"DB_PASSWORD=correct horse battery",
	"GOOGLE_APPLICATION_CREDENTIALS=/etc/keys/service.json",
	"LICENCE_CODE=QQQQ-WWWW-EEEE",
	NULL,
};
static char *more_names[] = { "LICENCE_CODE" };

static struct redact *make(void)
{
	struct redact *r = NULL;

	assert_int_equal(redact_new(environment, more_names, 1, &r), 0);
	return r;
}

static void check_text(const char *text, const char *expected)
{
	CLEANUP(redact_freep) struct redact *r = make();
	CLEANUP(str_release) struct str out = STR_INIT;

	redact_text(r, text, strlen(text), &out);
	assert_string_equal(str_cstr(&out), expected);
}

/* Words are separated by '|' in both lists. */
static void check_words(const char *words, const char *expected)
{
	CLEANUP(redact_freep) struct redact *r = make();
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(freep) char *copy = strdup(words);
	char *argv[16] = { 0 };
	size_t n = 0;
	char **redacted;

	for (char *rest = copy; rest && n < 15;)
		argv[n++] = strsep(&rest, "|");
	assert_int_equal(redact_words(r, argv, &pool, &redacted), 0);
	for (size_t i = 0; redacted[i]; i++)
		str_addf(&out, "%s%s", i ? "|" : "", redacted[i]);
	assert_string_equal(str_cstr(&out), expected);
}

struct pair {
	const char *given;
	const char *expected;
};

static void values_of_secret_options_are_redacted(void **state)
{
	static const struct pair pairs[] = {
		{ "x|--api-key|abc|y", "x|--api-key|" R "|y" },
		{ "x|--api_key=abc", "x|--api_key=" R },
		{ "x|--token=a b&c", "x|--token=" R },
		{ "x|--token|-abc", "x|--token|" R },
		{ "x|-token|abc", "x|-token|" R },
		{ "x|--hub-token|abc", "x|--hub-token|" R },
		{ "x|--password|p w", "x|--password|" R },
		{ "x|--db.password=pw", "x|--db.password=" R },
		{ "x|--secret|s", "x|--secret|" R },
		{ "x|--client-secret|s", "x|--client-secret|" R },
		{ "x|--secret-access-key|s", "x|--secret-access-key|" R },
		{ "x|--awsSecretKey|s", "x|--awsSecretKey|" R },
		{ "x|--licence-code|s", "x|--licence-code|" R },
		{ "x|wandb.api_key=abc", "x|wandb.api_key=" R },
		{ "x|+log.token=abc", "x|+log.token=" R },
		{ "x|--X-Amz-Signature=abc", "x|--X-Amz-Signature=" R },
		{ "x|--signature=abc", "x|--signature=abc" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_words(pairs[i].given, pairs[i].expected);
}

static void values_of_secret_variables_are_redacted(void **state)
{
	static const struct pair pairs[] = {
		{ "env|API_KEY=abc|x", "env|API_KEY=" R "|x" },
		{ "env|PASSWORD=a b & c|x", "env|PASSWORD=" R "|x" },
		{ "env|AWS_ACCESS_KEY_ID=abc|x",
		  "env|AWS_ACCESS_KEY_ID=" R "|x" },
		{ "env|GITHUB_TOKEN=abc|x", "env|GITHUB_TOKEN=" R "|x" },
		{ "env|GITHUBTOKEN=abc|x", "env|GITHUBTOKEN=" R "|x" },
		{ "env|PGPASSWORD=abc|x", "env|PGPASSWORD=" R "|x" },
		{ "env|MYSQL_PWD=abc|x", "env|MYSQL_PWD=" R "|x" },
		{ "env|OPENAI_API_KEY_PROD=abc", "env|OPENAI_API_KEY_PROD=" R },
		{ "env|DB_PASSWD=x", "env|DB_PASSWD=" R },
		{ "env|MY_CREDENTIALS=x", "env|MY_CREDENTIALS=" R },
		{ "env|DB_CRED=x", "env|DB_CRED=" R },
		{ "env|SSHPASS=x", "env|SSHPASS=" R },
		{ "env|REDISCLI_AUTH=x", "env|REDISCLI_AUTH=" R },
		{ "env|DOCKER_AUTH_CONFIG=x", "env|DOCKER_AUTH_CONFIG=" R },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_words(pairs[i].given, pairs[i].expected);
}

static void names_that_only_sound_alike_stay(void **state)
{
	static const char *const words[] = {
		"x|--tokenizer|bert",
		"x|--keys|a,b",
		"x|--num-tokens|5",
		"x|--max_tokens=512",
		"x|--key-frames|3",
		"x|--key|id",
		"x|--text-key|caption",
		"x|--pad-token|<pad>",
		"x|--eos_token=</s>",
		"x|--token-dropout|0.1",
		"x|--password-file|/run/pw",
		"x|--token-type-ids|0,1",
		"x|--monkey|1",
		"x|--token|--verbose",
		"x|--use-auth-token|true",
		"x|--token|",
		"x|--tokens-per-batch|4096",
		"env|TOKENIZERS_PARALLELISM=false|x",
		"env|MAX_TOKENS=5|x",
		"env|PWD=/home|x",
		"env|SSH_AUTH_SOCK=/run/agent|x",
		"env|PROXY_BYPASS=a,b|x",
		"env|KEYBOARD=de|x",
		"env|PUBLIC_KEY=abc|x",
		"env|KEY_SIZE=2048|x",
		"python|train.py|--lr|0.1|--out|model.pt",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		check_words(words[i], words[i]);
}

static void well_known_tokens_are_redacted_anywhere(void **state)
{
	static const struct pair pairs[] = {
		{ "AKIAIOSFODNN7EXAMPLE", R },
		{ "key AKIAIOSFODNN7EXAMPLE.", "key " R "." },
		{ "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", R },
		{ "ghp_abcdefghijklmnopqrstuvwxyz0123456789", R },
		{ "github_pat_11ABCDEFG0abcdefghij_KLMNOPQRST", R },
		{ "sk-abcdefghijklmnopqrstuvwxyz012345", R },
		{ "sk-proj-abc_def-ghijklmnopqrstuv", R },
		{ "sk-ant-api03-abcdef-ghijkl_mnopqr", R },
		{ "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", R },
		{ "x=xoxb-123456789012-abcdef", "x=" R },
		{ "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln x", R " x" },
		{ "https://hooks.slack.com/services/T000/B000/XXXX",
		  "https://hooks.slack.com/services/" R },
		{ "a -----BEGIN RSA PRIVATE KEY-----\nMII\n"
		  "-----END RSA PRIVATE KEY----- b",
		  "a " R " b" },
		{ "-----BEGIN PRIVATE KEY-----\nMII", R },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_text(pairs[i].given, pairs[i].expected);
}

static void text_that_only_looks_like_a_token_stays(void **state)
{
	static const char *const texts[] = {
		"sk-learn-baseline-experiment-number-7",
		"task-abcdefghijklmnopqrstuvwxyz0123",
		"hf_hub_download",
		"AKIA",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"data/ImageNet2012/Train/Classes/N0144076",
		"-----BEGIN CERTIFICATE-----",
		"eyJust-a-word.txt",
		"https://github.com/user/repo.git",
		"git@github.com:user/repo.git",
		"ssh://git@github.com/user/repo.git",
		"http://localhost:8080/a@b",
		"a bearer of news",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check_text(texts[i], texts[i]);
}

static void credentials_in_urls_are_redacted(void **state)
{
	(void)state;
	check_text("https://me:pw@github.com/a.git",
		   "https://me:" R "@github.com/a.git");
	check_text("postgres://u:p@ss@db:5432/x",
		   "postgres://u:" R "@db:5432/x");
	check_text("https://0123456789abcdefghijkl@host/x",
		   "https://" R "@host/x");
	check_text("curl 'http://h/?token=abc&x=1'",
		   "curl 'http://h/?token=" R "&x=1'");
}

static void headers_and_members_are_redacted(void **state)
{
	(void)state;
	check_text("curl -H 'Authorization: Basic dTpw' http://h",
		   "curl -H 'Authorization: " R "' http://h");
	check_text("authorization: bearer abc", "authorization: " R);
	check_text("say Bearer abcdefgh12 now", "say Bearer " R " now");
	check_text("X-Api-Key: abc", "X-Api-Key: " R);
	check_text("{\"api_key\": \"a\\\"b\", \"x\": 1}",
		   "{\"api_key\": \"" R "\", \"x\": 1}");
	check_text("os.environ[\"API_KEY\"] = 'abc'; go()",
		   "os.environ[\"API_KEY\"] = '" R "'; go()");
}

static void passwords_of_known_programs_are_redacted(void **state)
{
	static const struct pair pairs[] = {
		{ "curl|-u|me:pw|http://h", "curl|-u|me:" R "|http://h" },
		{ "curl|-ume:pw|http://h", "curl|-ume:" R "|http://h" },
		{ "curl|-sSu|me:pw", "curl|-sSu|me:" R },
		{ "curl|-sSfume:p:w", "curl|-sSfume:" R },
		{ "/usr/bin/curl|--user|me:pw", "/usr/bin/curl|--user|me:" R },
		{ "curl|--user=me:pw", "curl|--user=me:" R },
		{ "curl|-U|me:pw", "curl|-U|me:" R },
		{ "curl|--oauth2-bearer|abc", "curl|--oauth2-bearer|" R },
		{ "env|A=b|curl|-u|me:pw", "env|A=b|curl|-u|me:" R },
		{ "sudo|-u|bob|curl|-u|me:pw", "sudo|-u|bob|curl|-u|me:" R },
		{ "http|-a|me:pw|h", "http|-a|me:" R "|h" },
		{ "python3.11|/usr/bin/http|-a|me:pw|h",
		  "python3.11|/usr/bin/http|-a|me:" R "|h" },
		{ "python|-I|-m|httpie|-a|me:pw",
		  "python|-I|-m|httpie|-a|me:" R },
		{ "http|--auth|me:pw|h", "http|--auth|me:" R "|h" },
		{ "fetch|--auth|me:pw|h", "fetch|--auth|me:" R "|h" },
		{ "fetch|--auth=me:pw|h", "fetch|--auth=me:" R "|h" },
		{ "mysql|-u|root|-ppw|db", "mysql|-u|root|-p" R "|db" },
		{ "mysqldump|-ppw", "mysqldump|-p" R },
		{ "docker|exec|-it|db|mysql|-ppw",
		  "docker|exec|-it|db|mysql|-p" R },
		{ "sshpass|-p|pw|ssh|-p|22|h", "sshpass|-p|" R "|ssh|-p|22|h" },
		{ "sshpass|-ppw|ssh|h", "sshpass|-p" R "|ssh|h" },
		{ "sshpass|-p|-pw|ssh|h", "sshpass|-p|" R "|ssh|h" },
		{ "docker|login|-u|me|-p|pw", "docker|login|-u|me|-p|" R },
		{ "redis-cli|-a|pw", "redis-cli|-a|" R },
		{ "ldapsearch|-w|pw|-x", "ldapsearch|-w|" R "|-x" },
		{ "smbclient|-U|me%pw|//h/s", "smbclient|-U|me%" R "|//h/s" },
		{ "lftp|-u|me,pw|h", "lftp|-u|me," R "|h" },
		{ "unzip|-P|pw|a.zip", "unzip|-P|" R "|a.zip" },
		{ "openssl|rsa|-passin|pass:pw", "openssl|rsa|-passin|pass:" R },
		{ "sh|-c|PGPASSWORD=pw psql -p 5432",
		  "sh|-c|PGPASSWORD=" R " psql -p 5432" },
		{ "env|X_TOKEN=abc|cmd|-p|1", "env|X_TOKEN=" R "|cmd|-p|1" },
		{ "sh|-c|cd d && curl -u me:pw h | tar x",
		  "sh|-c|cd d && curl -u me:" R " h | tar x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_words(pairs[i].given, pairs[i].expected);
}

/* Command lines of processes come joined and quoted. */
static void passwords_of_known_programs_are_redacted_in_texts(void **state)
{
	static const struct pair pairs[] = {
		{ "curl -u me:pw -o x h", "curl -u me:" R " -o x h" },
		{ "curl -H 'A: b' -u me:pw", "curl -H 'A: b' -u me:" R },
		{ "curl -u 'me:p w' h", "curl -u 'me:" R "' h" },
		{ "curl -u \"me:p w\" h", "curl -u \"me:" R "\" h" },
		{ "curl -u me:'p w' h", "curl -u me:" R " h" },
		{ "mysql -p'p w' db", "mysql -p" R " db" },
		{ "mysql '-pp w' db", "mysql '-p" R "' db" },
		{ "x; mysql -ppw db; y", "x; mysql -p" R " db; y" },
		{ "x | mysql -ppw", "x | mysql -p" R },
		{ "echo $(mysql -ppw)", "echo $(mysql -p" R ")" },
		{ "x\nmysql -ppw\ny", "x\nmysql -p" R "\ny" },
		{ "sh -c 'mysql -ppw db' -p8", "sh -c 'mysql -p" R " db' -p8" },
		{ "sh -c \"sshpass -p 'p w' ssh h\"",
		  "sh -c \"sshpass -p '" R "' ssh h\"" },
		{ "curl '-u' 'me:p w' h", "curl '-u' 'me:" R "' h" },
		{ "sh -c 'curl '\\''-u'\\'' '\\''me:p w'\\''; x'",
		  "sh -c 'curl '\\''-u'\\'' '\\''me:" R "'\\''; x'" },
		{ "sh -c 'mysql -p'\\''p w'\\'' db'",
		  "sh -c 'mysql -p" R " db'" },
		{ "sh -c $'x\\nmysql -ppw\\ny'",
		  "sh -c $'x\\nmysql -p" R "\\ny'" },
		{ "nice -n 5 curl -u me:pw h", "nice -n 5 curl -u me:" R " h" },
		{ "echo \"don't\"; curl -u me:pw h",
		  "echo \"don't\"; curl -u me:" R " h" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		check_text(pairs[i].given, pairs[i].expected);
}

static void the_same_letters_of_other_programs_stay(void **state)
{
	static const char *const words[] = {
		"docker|run|-u|1000:1000|-p|8080:80|image",
		"docker|run|--name|mongo|-p|27017:27017|mongo",
		"docker|run|-p|127.0.0.1:80:80|http",
		"docker|run|-p3306:3306|--name|mysql|mysql",
		"docker|exec|-u|1000:1000|x|ls",
		"sudo|docker|run|-p|80:80|x",
		"podman|run|--user|1000:1000|x",
		"python|-u|train.py",
		"python|-m|http.server|-p|8080",
		"python|train.py|mysql|-pa",
		"sh|run.sh|curl|-u|a:b",
		"mkdir|-p|dir",
		"mkdir|-p|mysql|-pdir",
		"cp|-a|curl|-u|a:b",
		"ssh|-p|2222|me@host",
		"psql|-p|5432|-U|me",
		"mysql|-u|root|-p|db",
		"mysql|-P3306|-p",
		"curl|-u|me|http://h",
		"curl|-o|u:x|http://h:80",
		"curl|-u|me:|http://h",
		"train|--auth|none",
		"train|--auth|https://h/login",
		"train|--user|a:b",
		"chown|-R|me:us|dir",
		"rsync|-p|a:b|c",
		"openssl|rsa|-passin|env:PW",
		"sh|-c|mkdir -p a; python -u b -p 80:80",
		"sh|-c|curl -u $USER:$PW h; curl -u \"$U:$P\" h",
		"sh|-c|mysql -p$PW; mysql -p\"$PW\"; sshpass -p \"${P}\" x",
		"tar|-cf|a.tar|--user|x:y",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		check_words(words[i], words[i]);
}

static void scripts_keep_what_follows_the_secret(void **state)
{
	(void)state;
	check_words("sh|-c|API_KEY=abc python t.py --lr 1",
		    "sh|-c|API_KEY=" R " python t.py --lr 1");
	check_words("bash|-lc|x --token 'a b' --lr 1",
		    "bash|-lc|x --token '" R "' --lr 1");
	check_words("sh|-c|x --token $HF_TOKEN --lr 1",
		    "sh|-c|x --token $HF_TOKEN --lr 1");
	check_words("sh|-c|TOKEN=${T} x", "sh|-c|TOKEN=${T} x");
}

static void secret_values_of_the_environment_are_redacted(void **state)
{
	(void)state;
	check_words("x|--id=0123456789abcdef0123456789abcdef01234567z",
		    "x|--id=" R "z");
	check_words("x|say correct horse battery", "x|say " R);
	check_words("x|QQQQ-WWWW-EEEE", "x|" R);
	check_words("x|abc|/etc/keys/service.json",
		    "x|abc|/etc/keys/service.json");
}

static void a_star_makes_every_name_secret(void **state)
{
	CLEANUP(redact_freep) struct redact *r = NULL;
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	static char *all[] = { "*" };
	static char *envp[] = { "HOME=/home/someone", NULL };
	char *argv[] = { "python",     "/home/someone/a.py",
			 "--rate=0.5", "--my-name",
			 "value",      "A=b",
			 NULL };
	char **words;

	(void)state;
	assert_int_equal(redact_new(envp, all, 1, &r), 0);
	assert_int_equal(redact_words(r, argv, &pool, &words), 0);
	/* The environment is not all secret for that. */
	assert_string_equal(words[1], "/home/someone/a.py");
	assert_string_equal(words[2], "--rate=" REDACTED);
	assert_string_equal(words[4], REDACTED);
	assert_string_equal(words[5], "A=" REDACTED);
}

static void words_without_secrets_are_shared(void **state)
{
	CLEANUP(redact_freep) struct redact *r = NULL;
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	char *argv[] = { "python", "--token", "abc", NULL };
	static char *envp[] = { NULL };
	char **redacted;

	(void)state;
	assert_int_equal(redact_new(envp, NULL, 0, &r), 0);
	assert_int_equal(redact_words(r, argv, &pool, &redacted), 0);
	assert_ptr_equal(redacted[0], argv[0]);
	assert_ptr_equal(redacted[1], argv[1]);
	assert_string_equal(redacted[2], R);
	assert_null(redacted[3]);
}

/* The thread sanitizer slows each access down tenfold, and would find nothing
 * more in the rest. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
enum { LONG = __has_feature(thread_sanitizer) ? 100000 : 400000 };

/* A long text of what each rule nearly matches. */
static void long_arguments_take_linear_time(void **state)
{
	static const char *const units[] = {
		"a",	    "eyJ-",	  "sk-",	 "://",
		"token: ",  "--token ",	  "-----BEGIN ", "A/b1",
		"token=$A", "\"token\":", "Bearer ",	 "0123456701234567",
		"x@",	    "AKIA",	  "token: --a ", "'",
		"a:b@",	    "://a:b",	  "token: $a ",	 "correct horse batter",
		"curl -u ", "mysql -p",	  "-u '",	 "\"'",
		"\\'",	    "'\\''",	  "$'\\n",	 "sudo ",
		"\"\\\"",   "A=b ",	  "a:",		 "curl -u a:",
	};
	CLEANUP(redact_freep) struct redact *r = make();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		CLEANUP(str_release) struct str out = STR_INIT;
		clock_t start;

		while (text.len < LONG)
			str_adds(&text, units[i]);
		start = clock();
		redact_text(r, text.data, text.len, &out);
		/* Far above what it takes; a quadratic rule needs minutes.  Of
		 * CPU time: others may have the machine. */
		if (clock() - start > 10 * CLOCKS_PER_SEC)
			fail_msg("slow on '%s'", units[i]);
		assert_int_equal(str_error(&out), 0);
	}
}

static struct redact *make_with(char *const *allowed, size_t n_allowed,
				char *const *patterns, size_t n_patterns)
{
	const struct redact_options options = { .envp = environment,
						.allowed = allowed,
						.n_allowed = n_allowed,
						.patterns = patterns,
						.n_patterns = n_patterns };
	struct redact *r = NULL;

	assert_int_equal(redact_new_with(&options, &r), 0);
	return r;
}

static void patterns_of_the_user_are_secret(void **state)
{
	static char *patterns[] = { "corp-[0-9]+", "(", "^x*" };
	CLEANUP(redact_freep)
	struct redact *r = make_with(NULL, 0, patterns, 3);
	CLEANUP(str_release) struct str out = STR_INIT;
	static const char text[] = "a corp-1 corp- corp-22";
	char why[100];

	(void)state;
	redact_text(r, text, strlen(text), &out);
	assert_string_equal(str_cstr(&out), "a " R " corp- " R);
	assert_true(redact_check_pattern(patterns[0], why, sizeof(why)));
	assert_false(redact_check_pattern(patterns[1], why, sizeof(why)));
}

static void allowed_names_are_not_secret(void **state)
{
	static char *allowed[] = { "db-password" };
	CLEANUP(redact_freep) struct redact *r = make_with(allowed, 1, NULL, 0);
	CLEANUP(str_release) struct str out = STR_INIT;
	static const char text[] =
		"DB_PASSWORD=correct --password horse correct horse battery";

	(void)state;
	redact_text(r, text, strlen(text), &out);
	assert_string_equal(str_cstr(&out), "DB_PASSWORD=correct --password " R
					    " correct horse battery");
}

static void check_variable(const char *entry, const char *expected)
{
	CLEANUP(redact_freep) struct redact *r = make();
	CLEANUP(str_release) struct str out = STR_INIT;

	redact_variable(r, entry, strlen(entry), &out);
	assert_string_equal(str_cstr(&out), expected);
}

static void values_of_secret_variables_are_replaced(void **state)
{
	(void)state;
	check_variable("MY_TOKEN=a b \"c\"", "MY_TOKEN=" R);
	check_variable("some_key=abc", "some_key=" R);
	check_variable("tokenizers_parallelism=false",
		       "tokenizers_parallelism=false");
	check_variable("USE_TOKEN=true", "USE_TOKEN=true");
	check_variable("EMPTY_TOKEN=", "EMPTY_TOKEN=");
	check_variable("FLAGS=--x correct horse battery", "FLAGS=--x " R);
	check_variable("no equals sign", "no equals sign");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_secret_options_are_redacted),
		cmocka_unit_test(values_of_secret_variables_are_redacted),
		cmocka_unit_test(names_that_only_sound_alike_stay),
		cmocka_unit_test(well_known_tokens_are_redacted_anywhere),
		cmocka_unit_test(text_that_only_looks_like_a_token_stays),
		cmocka_unit_test(credentials_in_urls_are_redacted),
		cmocka_unit_test(headers_and_members_are_redacted),
		cmocka_unit_test(passwords_of_known_programs_are_redacted),
		cmocka_unit_test(
			passwords_of_known_programs_are_redacted_in_texts),
		cmocka_unit_test(the_same_letters_of_other_programs_stay),
		cmocka_unit_test(scripts_keep_what_follows_the_secret),
		cmocka_unit_test(secret_values_of_the_environment_are_redacted),
		cmocka_unit_test(a_star_makes_every_name_secret),
		cmocka_unit_test(words_without_secrets_are_shared),
		cmocka_unit_test(long_arguments_take_linear_time),
		cmocka_unit_test(patterns_of_the_user_are_secret),
		cmocka_unit_test(allowed_names_are_not_secret),
		cmocka_unit_test(values_of_secret_variables_are_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
