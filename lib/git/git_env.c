/* git_env.c - see git_env.h */
#include "git/git_env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"

static const char *const additions[] = {
	"LC_ALL=C", /* messages are quoted in notes */
	"GIT_OPTIONAL_LOCKS=0", /* never lock or refresh the user's index */
	"GIT_TERMINAL_PROMPT=0",
	"GIT_NO_LAZY_FETCH=1", /* a partial clone stays partial */
};

uint64_t git_hash_add(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Names a source of configuration.  GIT_CONFIG_PARAMETERS is what a git that
 * calls us hands down to its own children, and not meant for ours. */
static bool is_config(const char *var)
{
	return starts(var, "GIT_CONFIG_") &&
	       !starts(var, "GIT_CONFIG_PARAMETERS=");
}

static bool is_kept(const char *var)
{
	if (starts(var, "GIT_"))
		return is_config(var) || starts(var, "GIT_EXEC_PATH=");
	return !starts(var, "LC_ALL=") && !starts(var, "LANGUAGE=");
}

static bool decides_config(const char *var)
{
	return is_config(var) || starts(var, "HOME=") ||
	       starts(var, "XDG_CONFIG_HOME=");
}

static int add(struct git_env *env, const char *var)
{
	char *copy = pool_strdup(&env->pool, var);

	if (!copy)
		return -ENOMEM;
	env->vars[env->n_vars++] = copy;
	if (decides_config(var))
		env->hash = git_hash_add(env->hash, var, strlen(var) + 1);
	return 0;
}

int git_env_init(struct git_env *env, char *const *vars)
{
	size_t n_additions = ARRAY_SIZE(additions);
	size_t n = 0;
	int r = 0;

	*env = (struct git_env){ .pool = POOL_INIT, .hash = GIT_HASH_START };
	while (vars[n])
		n++;
	/* One more for HOME, which may not be set. */
	env->vars = calloc(n + n_additions + 2, sizeof(*env->vars));
	if (!env->vars)
		return -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++)
		if (is_kept(vars[i]))
			r = add(env, vars[i]);
	for (size_t i = 0; i < n_additions && r == 0; i++)
		r = add(env, additions[i]);
	if (r < 0)
		git_env_release(env);
	return r;
}

void git_env_release(struct git_env *env)
{
	free(env->vars);
	pool_release(&env->pool);
	*env = (struct git_env){ 0 };
}

const char *git_env_get(const struct git_env *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->n_vars; i++) {
		const char *var = env->vars[i];

		if (strncmp(var, name, len) == 0 && var[len] == '=')
			return var[len + 1] ? var + len + 1 : NULL;
	}
	return NULL;
}

int git_env_set_home(struct git_env *env, const char *dir)
{
	CLEANUP(str_release) struct str var = STR_INIT;
	char *copy;
	size_t i = 0;

	str_addf(&var, "HOME=%s", dir);
	copy = str_error(&var) == 0 ? pool_strdup(&env->pool, var.data) : NULL;
	if (!copy)
		return -ENOMEM;
	while (i < env->n_vars && !starts(env->vars[i], "HOME="))
		i++;
	env->vars[i] = copy;
	if (i == env->n_vars)
		env->n_vars++;
	env->hash = git_hash_add(env->hash, copy, strlen(copy) + 1);
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

char *git_env_find_program(const struct git_env *env, const char *name)
{
	const char *dirs = git_env_get(env, "PATH");
	struct str path = STR_INIT;

	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	while (*dirs) {
		size_t n = strcspn(dirs, ":");

		str_clear(&path);
		str_add(&path, n ? dirs : ".", n ? n : 1);
		str_addf(&path, "/%s", name);
		if (str_error(&path) == 0 && is_program(path.data))
			return str_take(&path);
		dirs += n;
		dirs += *dirs == ':';
	}
	str_release(&path);
	return NULL;
}
