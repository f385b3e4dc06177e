/* credentials.h - who signs: access keys from wherever AWS tools look for them.
 *
 * The first of these that is configured is the source:
 *
 *	environment	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; or
 *			AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (Kubernetes).  Neither
 *			counts where a profile was named
 *	profile		role_arn with source_profile or credential_source (STS AssumeRole),
 *			or with web_identity_token_file; sso_session or sso_start_url (the
 *			token that `aws sso login` left); aws_access_key_id; credential_process
 *	container	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or …_FULL_URI (ECS, EKS)
 *	machine		EC2 metadata, version 2, unless AWS_EC2_METADATA_DISABLED is true
 *
 * They are fetched once and cached.  Ones that expire are fetched again in the background
 * when a quarter of an hour is left; requests use the old ones meanwhile, and wait only when
 * less than a minute is left.  Whoever waits shares one fetch.  After a failure the source is
 * asked again by the next request, but not for a few seconds.
 *
 * Secrets never appear in a sentence, and memory that held one is wiped.
 *
 * One thread: that of the loop. */
#ifndef S3_CREDENTIALS_H
#define S3_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/list.h"
#include "s3/sigv4.h"

struct aws_config;
struct credentials;
struct http_client;
struct loop;

/* A request that waits for credentials; held by its owner. */
struct credentials_wait {
	struct list link; /* the rest is the module's */
	/* `keys` is NULL when there are none; then `sentence` says why. */
	void (*done)(struct credentials_wait *w,
		     const struct sigv4_credentials *keys,
		     const char *sentence);
};

/* Finds the source; nothing is fetched yet.  `web` is for STS and SSO: it should know TLS and
 * proxies.  All three live as long as the credentials.  -EINVAL: the configuration
 * contradicts itself; -ENOMEM. */
int credentials_new(struct loop *loop, struct http_client *web,
		    const struct aws_config *config, struct credentials **ret,
		    struct roar_error *err);
/* The same with keys that the caller has. */
int credentials_new_static(const struct sigv4_credentials *keys,
			   struct credentials **ret);
/* Nobody may wait any more. */
void credentials_free(struct credentials *c);
DEFINE_CLEANUP(struct credentials *, credentials_free)

/* The keys, which stay until the loop goes on; or NULL: then done() is called later, from
 * the loop, unless credentials_cancel() comes first. */
const struct sigv4_credentials *credentials_get(struct credentials *c,
						struct credentials_wait *w);
/* Ends the waiting, if it has not ended. */
void credentials_cancel(struct credentials_wait *w);

/* A server refused the keys as expired (ExpiredToken): the next request has new ones
 * fetched. */
void credentials_expire(struct credentials *c);

/* What the source is, for people: "environment", "profile 'x'", "EC2 metadata"... */
const char *credentials_source(const struct credentials *c);
/* How often the source was asked, for tests and counters. */
uint64_t credentials_n_fetches(const struct credentials *c);

#endif
