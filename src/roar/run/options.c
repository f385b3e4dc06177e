/* options.c - see options.h */
#include "run/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "project/config.h"

const struct option_spec run_option_table[] = {
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "print nothing unless the command could not be run or "
		  "recorded" },
	{ .name = "verbose",
	  .letter = 'v',
	  .flags = OPTION_REPEAT,
	  .help = "list files; -vv lists filtered files as well" },
	{ .name = "name",
	  .letter = 'n',
	  .arg = "NAME",
	  .help = "a name for the step" },
	{ .name = "group",
	  .arg = "ID",
	  .help = "the job that this run is a part of, when it runs on several "
		  "machines (default: that of Slurm, torchrun or Ray)" },
	{ .name = "node",
	  .arg = "I/N",
	  .help = "the machine is number I, from 0, of N (default: that of "
		  "Slurm)" },
	{ .name = "yes",
	  .letter = 'y',
	  .help = "do not ask when a step that this one depends on is stale" },
	{ .name = "hash",
	  .arg = "ALGO",
	  .flags = OPTION_REPEAT,
	  .values = "blake3|sha256|sha512|md5|crc64nvme|git-blob",
	  .help = "also compute this digest (BLAKE3 is always computed)" },
	{ .name = "add-tag",
	  .arg = "KIND=VALUE",
	  .flags = OPTION_REPEAT,
	  .help = "attach this tag to the outputs and to everything made from "
		  "them" },
	{ .name = "block-tag",
	  .arg = "KIND[=VALUE]",
	  .flags = OPTION_REPEAT,
	  .help = "the outputs do not inherit tags of this kind, or only not "
		  "this value" },
	{ .name = "tracer",
	  .arg = "NAME",
	  .values = "auto|ebpf|hybrid|preload|ptrace",
	  .help = "how to observe the command ('roar tracer' shows which work "
		  "here)" },
	{ .name = "tracer-fallback",
	  .help = "if the tracer is refused, use another one, or none "
		  "(default)" },
	{ .name = "no-tracer-fallback",
	  .help = "do not run the command if the tracer is refused" },
	{ .name = "keep",
	  .arg = "WHAT",
	  .values = CONFIG_KEEP_WORDS,
	  .help = "content to keep in .roar/objects (objects.keep)" },
	{ .name = "proxy",
	  .help = "record S3 objects: set an endpoint in the environment of the "
		  "command that is a proxy (proxy.enabled)" },
	{ .name = "no-proxy", .help = "record no S3 objects" },
	{ .name = "proxy-upstream",
	  .arg = "URL",
	  .help = "the S3 server that the proxy forwards to; implies --proxy "
		  "(default: the endpoint in the environment, else AWS)" },
	{ .name = "capture-trackio",
	  .flags = OPTION_REFUSED,
	  .help = "experiment trackers are not captured; the files they write "
		  "are recorded like all others" },
	{ .name = "trackio-space",
	  .flags = OPTION_REFUSED,
	  .help = "experiment trackers are not captured; the files they write "
		  "are recorded like all others" },
	{ 0 },
};

static int parse_hashes(const struct args *args, digest_set *want)
{
	for (size_t i = 0; i < args->n_options; i++) {
		const struct arg_value *v = &args->options[i];
		int algo;

		if (strcmp(v->spec->name, "hash") != 0)
			continue;
		algo = digest_algo_parse(v->value);
		if (algo < 0)
			return cli_usage(
				args->command,
				"unknown hash '%s': use blake3, sha256, sha512, md5, "
				"crc64nvme or git-blob",
				v->value);
		*want |= (digest_set)1 << algo;
	}
	return 0;
}

int run_options_parse(const struct args *args, const struct config *config,
		      struct run_options *ret)
{
	const char *tracer = args_get(args, "tracer");
	const char *keep = args_get(args, "keep");

	ret->name = args_get(args, "name") ? args_get(args, "name") : "";
	ret->verbose = args_count(args, "verbose");
	ret->quiet = args_has(args, "quiet");
	ret->fallback = config->tracer_fallback;
	ret->want = config->hash_run;
	if (!ret->quiet && !ret->verbose) {
		ret->quiet = config->verbosity == VERBOSITY_QUIET;
		if (config->verbosity > VERBOSITY_NORMAL)
			ret->verbose = (int)config->verbosity - 1;
	}
	for (size_t i = 0; i < args->n_options; i++) {
		if (strcmp(args->options[i].spec->name, "tracer-fallback") == 0)
			ret->fallback = true;
		if (strcmp(args->options[i].spec->name, "no-tracer-fallback") ==
		    0)
			ret->fallback = false;
	}
	ret->keep = config->objects_keep;
	if (keep && config_keep_parse(keep) < 0)
		return cli_usage(
			args->command,
			"unknown value '%s' of --keep: use none, outputs, inputs or "
			"all",
			keep);
	if (keep)
		ret->keep = (unsigned)config_keep_parse(keep);
	ret->proxy_upstream = args_get(args, "proxy-upstream");
	ret->proxy = config->proxy_enabled;
	if (args_has(args, "proxy") || ret->proxy_upstream)
		ret->proxy = true;
	if (args_has(args, "no-proxy"))
		ret->proxy = false;
	if (!tracer)
		tracer = config->tracer;
	ret->tracer_named = strcmp(tracer, "auto") != 0;
	ret->n_tracers = probe_candidates(tracer, ret->fallback, ret->tracers);
	if (!ret->n_tracers)
		return cli_usage(
			args->command,
			"unknown tracer '%s': use auto, ebpf, hybrid, preload or "
			"ptrace",
			tracer);
	ret->tracer = ret->tracers[0];
	return parse_hashes(args, &ret->want);
}

/* ---- tags ---- */

static int add_tag(struct run_tags *tags, const struct args *args,
		   const struct arg_value *v, enum tag_action action,
		   struct pool *pool)
{
	struct roar_error err;
	int r = tag_parse(pool, action, v->value, &tags->list[tags->n], &err);

	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return cli_fail("%s", err.text);
	tags->n++;
	return 0;
}

int run_tags_parse(const struct args *args, struct pool *pool,
		   struct run_tags *ret)
{
	int r = 0;

	*ret = (struct run_tags){
		.list = pool_alloc(pool,
				   (args->n_options + 1) * sizeof(*ret->list))
	};
	if (!ret->list)
		return cli_fail("out of memory");
	for (size_t i = 0; r == 0 && i < args->n_options; i++) {
		const struct arg_value *v = &args->options[i];

		if (strcmp(v->spec->name, "add-tag") == 0)
			r = add_tag(ret, args, v, TAG_ADD, pool);
		else if (strcmp(v->spec->name, "block-tag") == 0)
			r = add_tag(ret, args, v, TAG_BLOCK, pool);
	}
	return r;
}

static bool is_repeated(const struct run_tags *tags, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(tags->list[i].kind, tags->list[at].kind) == 0)
			return true;
	return false;
}

void run_tags_warn(const struct run_tags *tags)
{
	for (size_t i = 0; i < tags->n; i++)
		if (!tag_kind_is_known(tags->list[i].kind) &&
		    !is_repeated(tags, i))
			(void)fprintf(stderr,
				      "roar: warning: the tag kind '%s' is "
				      "recorded, but it is none of the usual "
				      "ones: " TAG_KINDS_KNOWN "\n",
				      tags->list[i].kind);
}

static bool has_action(const struct run_tags *tags, uint8_t action)
{
	for (size_t i = 0; i < tags->n; i++)
		if (tags->list[i].action == action)
			return true;
	return false;
}

int run_tags_inherit(struct pool *pool, struct run_tags *tags,
		     const struct run_tags *recorded)
{
	const bool given[] = {
		[TAG_ADD] = has_action(tags, TAG_ADD),
		[TAG_BLOCK] = has_action(tags, TAG_BLOCK),
	};
	struct tag *list = pool_alloc(pool, (tags->n + recorded->n + 1) *
						    sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (tags->n)
		memcpy(list, tags->list, tags->n * sizeof(*list));
	for (size_t i = 0; i < recorded->n; i++)
		if (!given[recorded->list[i].action == TAG_BLOCK])
			list[tags->n++] = recorded->list[i];
	tags->list = list;
	return 0;
}

/* ---- environment ---- */

char **run_environment(struct pool *pool, const struct config *config)
{
	size_t n = 0;
	size_t k = 0;
	char **envp;

	if (!config->n_env)
		return environ;
	while (environ[n])
		n++;
	envp = pool_zalloc(pool, (n + config->n_env + 1) * sizeof(*envp));
	if (!envp)
		return environ;
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(environ[i], "=") + 1;
		bool replaced = false;

		for (size_t e = 0; e < config->n_env && !replaced; e++)
			replaced = strncmp(environ[i], config->env[e], len) ==
				   0;
		if (!replaced)
			envp[k++] = environ[i];
	}
	for (size_t e = 0; e < config->n_env; e++)
		envp[k++] = config->env[e];
	return envp;
}

const char *run_environment_get(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=')
			return envp[i] + len + 1;
	return NULL;
}
