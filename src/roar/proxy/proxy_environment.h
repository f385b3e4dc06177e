/* proxy_environment.h - the variables by which S3 clients find their endpoint. */
#ifndef ROAR_PROXY_ENVIRONMENT_H
#define ROAR_PROXY_ENVIRONMENT_H

struct pool;

/* Their names, as a record has them. */
#define PROXY_VARIABLES "AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL S3_ENDPOINT_URL"

/* The server that a proxy forwards to: as given, else what the environment names, else
 * the setting, where "auto" is none.  NULL: as the AWS configuration says. */
const char *proxy_environment_upstream(char *const *envp, const char *given,
				       const char *setting);

/* The environment with all of them set to this URL, in the pool; NULL without
 * memory. */
char **proxy_environment_set(struct pool *pool, char *const *envp,
			     const char *url);

#endif
