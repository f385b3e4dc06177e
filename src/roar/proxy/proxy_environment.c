/* proxy_environment.c - see proxy_environment.h */
#include "proxy/proxy_environment.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/pool.h"

/* In the order in which clients prefer them. */
static const char *const names[] = {
	"AWS_ENDPOINT_URL_S3",
	"AWS_ENDPOINT_URL",
	"S3_ENDPOINT_URL",
};

/* The value, if the entry of an environment has that name; else NULL. */
static const char *value_of(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=' ?
		       entry + len + 1 :
		       NULL;
}

const char *proxy_environment_upstream(char *const *envp, const char *given,
				       const char *setting)
{
	if (given)
		return given;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t k = 0; envp[k]; k++) {
			const char *value = value_of(envp[k], names[i]);

			if (value && *value)
				return value;
		}
	}
	return strcmp(setting, "auto") == 0 ? NULL : setting;
}

static bool is_replaced(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (value_of(entry, names[i]))
			return true;
	return false;
}

char **proxy_environment_set(struct pool *pool, char *const *envp,
			     const char *url)
{
	size_t n = 0;
	size_t k = 0;
	char **ret;

	while (envp[n])
		n++;
	ret = pool_zalloc(pool, (n + ARRAY_SIZE(names) + 1) * sizeof(*ret));
	if (!ret)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!is_replaced(envp[i]))
			ret[k++] = envp[i];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ret[k] = pool_printf(pool, "%s=%s", names[i], url);
		if (!ret[k++])
			return NULL;
	}
	return ret;
}
