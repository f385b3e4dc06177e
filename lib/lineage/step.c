/* step.c - see step.h.
 *
 * An identity is a chain of BLAKE3 digests: it starts at zero, and each field
 * turns it into H(identity || H(field)).  So fields cannot run into each other,
 * a command line of any size needs no memory, and the first 16 bytes of the
 * last link are the result. */
#include "lineage/step.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/path.h"
#include "base/str.h"
#include "hash/file/file_hash.h"

struct chain {
	uint8_t link[BLAKE3_LEN];
};

static void chain_add(struct chain *c, const char *field)
{
	uint8_t pair[2 * BLAKE3_LEN];
	struct digests d = { 0 };

	(void)digest_buffer(field, strlen(field), DIGEST_SET_BLAKE3, &d);
	memcpy(pair, c->link, BLAKE3_LEN);
	memcpy(pair + BLAKE3_LEN, d.blake3, BLAKE3_LEN);
	(void)digest_buffer(pair, sizeof(pair), DIGEST_SET_BLAKE3, &d);
	memcpy(c->link, d.blake3, BLAKE3_LEN);
}

void step_command_id(const char *kind, const char *cwd, char *const argv[],
		     uint8_t ret_id[STEP_ID_LEN])
{
	struct chain c = { 0 };

	chain_add(&c, "command");
	chain_add(&c, kind);
	chain_add(&c, cwd);
	for (size_t i = 0; argv && argv[i]; i++)
		chain_add(&c, argv[i]);
	memcpy(ret_id, c.link, STEP_ID_LEN);
}

/* Its options may be spelled with "_" or "-". */
static const char *const torchrun_values[] = {
	"local-addr",	"log-dir",	"master-addr",
	"master-port",	"max-restarts", "monitor-interval",
	"nnodes",	"node-rank",	"nproc-per-node",
	"rdzv-backend", "rdzv-conf",	"rdzv-endpoint",
	"rdzv-id",	"redirects",	"role",
	"start-method", "tee",		NULL,
};

/* How an interpreter's options are read: letters that take a value, letters
 * after which comes code instead of a script, letters after which comes the
 * script or module, and long options whose value is the next argument. */
static const struct interpreter {
	const char *name; /* without a version */
	const char *values;
	const char *code;
	const char *script;
	const char *const *long_values; /* NULL-terminated */
	const char *verb; /* word before the script, as in "deno run" */
} interpreters[] = {
	{ "python", "WXQ", "c", "m",
	  (const char *const[]){ "check-hash-based-pycs", NULL }, NULL },
	{ "pypy", "WX", "c", "m", NULL, NULL },
	{ "ipython", "", "c", "m", NULL, NULL },
	{ "sh", "oO", "c", "", NULL, NULL },
	{ "bash", "oO", "c", "",
	  (const char *const[]){ "rcfile", "init-file", NULL }, NULL },
	{ "dash", "o", "c", "", NULL, NULL },
	{ "zsh", "o", "c", "", NULL, NULL },
	{ "ksh", "o", "c", "", NULL, NULL },
	{ "fish", "dDo", "c", "", NULL, NULL },
	{ "perl", "I", "eE", "", NULL, NULL },
	{ "ruby", "IrCEW", "e", "", NULL, NULL },
	{ "lua", "l", "e", "", NULL, NULL },
	{ "luajit", "l", "e", "", NULL, NULL },
	{ "php", "dcz", "rRBE", "fF", NULL, NULL },
	{ "node", "rC", "ep", "",
	  (const char *const[]){ "require", "import", "loader", "env-file",
				 NULL },
	  NULL },
	{ "deno", "", "", "",
	  (const char *const[]){ "config", "import-map", NULL }, "run" },
	{ "Rscript", "", "e", "", NULL, NULL },
	{ "R", "d", "e", "f", NULL, NULL },
	{ "julia", "JptLHC", "eE", "",
	  (const char *const[]){ "sysimage", "procs", "threads", "load",
				 "machine-file", NULL },
	  NULL },
	{ "octave", "p", "", "", (const char *const[]){ "path", NULL }, NULL },
	{ "torchrun", "", "", "m", torchrun_values, NULL },
};

/* "python" for "python3.11", "perl" for "perl5.36". */
static size_t plain_len(const char *name)
{
	size_t len = strlen(name);

	while (len > 1 && strchr("0123456789.", name[len - 1]))
		len--;
	return len;
}

static const struct interpreter *find_interpreter(const char *program)
{
	const char *name = path_basename(program);
	size_t len = plain_len(name);

	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++) {
		const struct interpreter *in = &interpreters[i];

		if (strlen(in->name) == len && memcmp(in->name, name, len) == 0)
			return in;
	}
	return NULL;
}

static bool same_option(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(*a == '-' && *b == '_'))
			return false;
	return *a == *b;
}

static bool takes_next(const struct interpreter *in, const char *name)
{
	for (size_t i = 0; in->long_values && in->long_values[i]; i++)
		if (same_option(in->long_values[i], name))
			return true;
	return false;
}

/* What an argument that starts with a dash does to the search. */
enum option { OPTION_PLAIN, OPTION_SKIP_NEXT, OPTION_SCRIPT, OPTION_CODE };

static enum option read_letters(const struct interpreter *in, const char *arg,
				const char **ret_rest)
{
	for (const char *p = arg + 1; *p; p++) {
		*ret_rest = p + 1;
		if (strchr(in->code, *p))
			return OPTION_CODE;
		if (strchr(in->script, *p))
			return OPTION_SCRIPT;
		if (strchr(in->values, *p))
			return p[1] ? OPTION_PLAIN : OPTION_SKIP_NEXT;
	}
	return OPTION_PLAIN;
}

static enum option read_option(const struct interpreter *in, const char *arg,
			       const char **ret_rest)
{
	*ret_rest = "";
	if (arg[1] != '-')
		return read_letters(in, arg, ret_rest);
	if (strcmp(arg, "--eval") == 0 || strcmp(arg, "--print") == 0 ||
	    strcmp(arg, "--command") == 0)
		return OPTION_CODE;
	if (strcmp(arg, "--module") == 0 && strchr(in->script, 'm'))
		return OPTION_SCRIPT;
	return takes_next(in, arg + 2) ? OPTION_SKIP_NEXT : OPTION_PLAIN;
}

const char *step_script(char *const argv[])
{
	const struct interpreter *in;
	const char *rest;
	const char *verb;

	if (!argv || !argv[0])
		return NULL;
	in = find_interpreter(argv[0]);
	if (!in)
		return NULL;
	verb = in->verb;
	for (size_t i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--") == 0)
			return argv[i + 1];
		if (argv[i][0] != '-') {
			if (!verb || strcmp(argv[i], verb) != 0)
				return argv[i][0] ? argv[i] : NULL;
			verb = NULL;
			continue;
		}
		if (!argv[i][1])
			return NULL; /* the script comes from stdin */
		switch (read_option(in, argv[i], &rest)) {
		case OPTION_CODE:
			return NULL;
		case OPTION_SCRIPT:
			return *rest ? rest : argv[i + 1];
		case OPTION_SKIP_NEXT:
			if (!argv[i + 1])
				return NULL;
			i++;
			break;
		case OPTION_PLAIN:
			break;
		}
	}
	return NULL;
}

/* Adds a program or script: as a place when it names one, so that it is the
 * same from every directory; as the word it is when it is looked up. */
static int chain_add_program(struct chain *c, const char *cwd, const char *name,
			     bool is_path)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	if (!is_path) {
		chain_add(c, name);
		return 0;
	}
	path_normalize(&path, cwd, name);
	if (str_error(&path) < 0)
		return -ENOMEM;
	chain_add(c, str_cstr(&path));
	return 0;
}

/* The interpreter counts without directory and version: python, python3 and
 * the python of a virtual environment run the same script. */
static int chain_add_argv(struct chain *c, const char *cwd, char *const argv[])
{
	const char *program = argv && argv[0] ? argv[0] : "";
	const char *script = step_script(argv);
	char name[32];
	size_t len;

	if (!script)
		return chain_add_program(c, cwd, program,
					 strchr(program, '/') != NULL);
	program = path_basename(program);
	len = plain_len(program);
	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, program, len);
	name[len] = '\0';
	chain_add(c, name);
	return chain_add_program(c, cwd, script, true);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int step_output_id(const char *kind, const char *cwd, char *const argv[],
		   const char *const outputs[], size_t n_outputs,
		   uint8_t ret_id[STEP_ID_LEN])
{
	CLEANUP(freep) const char **sorted = NULL;
	struct chain c = { 0 };

	/* The program of `sh -c ...` is on the command line. */
	if (!n_outputs ||
	    (argv[0] && find_interpreter(argv[0]) && !step_script(argv))) {
		memset(ret_id, 0, STEP_ID_LEN);
		return 0;
	}
	sorted = calloc(n_outputs, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, outputs, n_outputs * sizeof(*sorted));
	qsort(sorted, n_outputs, sizeof(*sorted), by_text);

	chain_add(&c, "outputs");
	chain_add(&c, kind);
	if (chain_add_argv(&c, cwd, argv) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n_outputs; i++)
		if (!i || strcmp(sorted[i], sorted[i - 1]) != 0)
			chain_add(&c, sorted[i]);
	memcpy(ret_id, c.link, STEP_ID_LEN);
	return 0;
}
