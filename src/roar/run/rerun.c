/* rerun.c - see rerun.h */
#include "run/rerun.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "argv_json.h"
#include "base/pool.h"
#include "lineage/redact.h"
#include "project.h"
#include "store/store.h"
#include "target.h"
#include "upstream.h"

int rerun_is_step(const char *word)
{
	if (*word++ != '@')
		return false;
	if (*word == 'B')
		word++;
	return isdigit((unsigned char)*word) &&
	       word[strspn(word, "0123456789")] == '\0';
}

int rerun_check(char *const operands[], const char *command,
		struct roar_error *err)
{
	if (strcmp(command, "build") == 0 && operands[0][1] != 'B')
		return error_set(err, -EINVAL,
				 "step '%s' is no build step: 'roar run %s' "
				 "runs it again",
				 operands[0], operands[0]);
	for (size_t i = 1; operands[i]; i++)
		if (strncmp(operands[i], "--", 2) != 0 ||
		    !strchr(operands[i] + 2, '='))
			return error_set(err, -EINVAL,
					 "'%s' is no change of a step: write "
					 "--KEY=VALUE",
					 operands[i]);
	return 0;
}

/* "--key" of "--key=value": its length, 0 when it is no such option. */
static size_t key_length(const char *word)
{
	const char *equal = strchr(word, '=');

	if (strncmp(word, "--", 2) != 0 || !equal)
		return 0;
	return (size_t)(equal - word);
}

/* Replaces `--key=old` or `--key old`; false when the command has neither. */
static bool replace(char **argv, size_t n, char *word, size_t key_len)
{
	for (size_t i = 1; i < n; i++) {
		if (strncmp(argv[i], word, key_len) != 0)
			continue;
		if (argv[i][key_len] == '=') {
			argv[i] = word;
			return true;
		}
		if (argv[i][key_len] == '\0' && i + 1 < n) {
			argv[i + 1] = word + key_len + 1;
			return true;
		}
	}
	return false;
}

static int apply(struct pool *pool, char **stored, size_t n,
		 char *const words[], char ***ret)
{
	size_t n_words = 0;
	char **argv;

	while (words[n_words])
		n_words++;
	argv = pool_zalloc(pool, (n + n_words + 1) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	memcpy(argv, stored, n * sizeof(*argv));
	for (size_t i = 0; i < n_words; i++) {
		size_t key_len = key_length(words[i]);

		if (!key_len || !replace(argv, n, words[i], key_len))
			argv[n++] = words[i];
	}
	*ret = argv;
	return 0;
}

static bool has_secrets(char *const argv[])
{
	for (size_t i = 0; argv[i]; i++)
		if (strstr(argv[i], REDACTED))
			return true;
	return false;
}

int rerun_command(struct project *project, struct pool *pool,
		  char *const operands[], bool quiet, struct rerun *ret,
		  struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct target target;
	char **stored;
	size_t n;
	int r;

	r = project_store(project, STORE_READONLY, &store, err);
	if (r < 0)
		return r;
	r = target_resolve(store, pool, project, operands[0], TARGET_WANT_JOB,
			   &target, err);
	if (r < 0)
		return r;
	r = argv_json_decode(pool, target.job.argv, &stored, &n);
	if (r < 0 || n == 0)
		return error_set(err, -EBADMSG,
				 "the command of step '%s' "
				 "cannot be read from the record: type it "
				 "again",
				 operands[0]);
	r = apply(pool, stored, n, operands + 1, &ret->argv);
	if (r < 0)
		return error_set(err, r, "out of memory");
	if (has_secrets(ret->argv))
		return error_set(err, -ENOKEY,
				 "step '%s' was recorded without "
				 "the secrets of its command line: type the "
				 "command again",
				 operands[0]);
	if (!quiet)
		(void)upstream_warn(store, &target.job);
	ret->cwd = target.job.cwd;
	ret->kind = target.job.kind;
	return 0;
}
