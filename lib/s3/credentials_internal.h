/* credentials_internal.h - shared by the files of credentials.h.
 *
 *	credentials.c           the cache, the waiting, the order of a fetch
 *	credentials_plan.c      which source it is, by environment and configuration
 *	credentials_fetch.c     one HTTP exchange with retries
 *	credentials_sts.c       AssumeRole, AssumeRoleWithWebIdentity
 *	credentials_metadata.c  containers and EC2
 *	credentials_sso.c       the token of `aws sso login`
 *	credentials_process.c   a program that prints keys
 *	credentials_json.c      keys as JSON
 *
 * A fetch asks the base of the plan, then has STS exchange the keys for those of each role:
 *
 *	plan.base ──▶ credentials_provide() ──▶ STS, role 1 ──▶ … ──▶ cache
 *
 * A step ends with credentials_provide() or credentials_fail(), from a callback or at once. */
#ifndef S3_CREDENTIALS_INTERNAL_H
#define S3_CREDENTIALS_INTERNAL_H

#include <sys/types.h>

#include "base/str.h"
#include "http/http_client.h"
#include "net/loop.h"
#include "s3/aws_config.h"
#include "s3/credentials.h"
#include "s3/s3_xml.h"

enum {
	CREDENTIALS_MAX_ROLES = 8, /* one after the other */
	CREDENTIALS_MAX_REPLY = 64 << 10,
	CREDENTIALS_MAX_TOKEN = 32 << 10, /* of a token file */
	CREDENTIALS_N_TRIES = 3,
};

/* Strings are those of the configuration. */
struct credentials_role {
	const char *arn;
	const char *session; /* NULL: a name of ours */
	const char *external_id; /* NULL: none */
	const char *duration; /* seconds; NULL: the default of STS */
};

struct credentials_base {
	const char *name; /* for people */
	/* Begins to fetch the keys. */
	void (*start)(struct credentials *c);
};

struct credentials_plan {
	const struct credentials_base *base;
	const char *profile; /* that the base is configured in */
	struct credentials_role web_identity; /* of that base */
	const char *token_file; /* likewise */
	struct credentials_role roles[CREDENTIALS_MAX_ROLES]; /* first to last */
	unsigned n_roles;
};

/* One exchange; the body of the request is in `body`. */
struct credentials_fetch {
	struct http_call *call;
	struct loop_timer timer; /* of the next try */
	void (*send)(struct credentials *c); /* sends it, or again */
	void (*then)(struct credentials *c); /* status and reply are there */
	unsigned n_tries;
	unsigned max_tries;
	unsigned status;
	struct str reply, body; /* wiped */
};

struct credentials_process {
	pid_t pid; /* 0: none */
	int pidfd;
	struct loop_fd exit_fd, out_fd;
	struct loop_timer timer;
	struct str out; /* wiped */
	bool has_ended, has_exited;
	int status;
};

struct credentials {
	struct loop *loop;
	struct http_client *web; /* NULL in a static one */
	struct http_client
		*local; /* without proxies, for metadata; made when needed */
	const struct aws_config *config;
	struct sigv4 *sigv4;
	struct credentials_plan plan;
	struct str source; /* for people */

	struct s3_keys *keys; /* cached; NULL: none */
	struct sigv4_credentials view; /* of them */
	int64_t expires_ms; /* INT64_MAX: never */
	struct list waiting; /* struct credentials_wait */
	struct list ending; /* those to call at the end of this round */
	struct loop_later later;
	int64_t asked_ms; /* when the last fetch began; 0: none did */
	uint64_t n_fetches;
	struct roar_error failure; /* of the last fetch; "" when it succeeded */

	bool is_fetching;
	unsigned n_assumed; /* roles of the plan that were exchanged */
	struct s3_keys fresh; /* of the step before */
	struct credentials_fetch fetch;
	struct credentials_process process;
	char metadata_token[256], metadata_role[256]; /* of EC2 */
};

/* ---- credentials.c ---- */

/* The step has got the keys in c->fresh. */
void credentials_provide(struct credentials *c);
/* The fetch has failed.  The sentence must not have a secret in it. */
void credentials_fail(struct credentials *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* -EINVAL: one is missing or too long. */
int credentials_copy_keys(struct s3_keys *ret,
			  const struct sigv4_credentials *keys);

/* "2026-11-17T00:00:00Z" in milliseconds since 1970, or -EINVAL. */
int64_t credentials_parse_time(const char *text);

/* ---- the others ---- */

int credentials_plan_make(struct credentials *c, struct roar_error *err);

extern const struct credentials_base CREDENTIALS_ENVIRONMENT,
	CREDENTIALS_PROFILE, CREDENTIALS_PROCESS, CREDENTIALS_WEB_IDENTITY,
	CREDENTIALS_SSO, CREDENTIALS_CONTAINER, CREDENTIALS_METADATA;

/* Exchanges c->fresh for the keys of a role. */
void credentials_sts_assume(struct credentials *c,
			    const struct credentials_role *role);

/* Begins an exchange: `send` calls credentials_fetch_call(), now and for each retry. */
void credentials_fetch_start(struct credentials *c,
			     void (*send)(struct credentials *c),
			     void (*then)(struct credentials *c));
/* `request` has its body, if any, in c->fetch.body.  Failures end the fetch. */
void credentials_fetch_call(struct credentials *c, struct http_client *client,
			    struct http_call_request *request);
void credentials_fetch_release(struct credentials *c);
/* The client for metadata; NULL without memory. */
struct http_client *credentials_local_client(struct credentials *c);

void credentials_process_release(struct credentials *c);

/* Reads keys into c->fresh: members AccessKeyId, SecretAccessKey, Token or SessionToken,
 * Expiration; or of `member`, those with a small first letter.  -EBADMSG: there are none, or
 * "Version" is not 1. */
int credentials_json_keys(struct credentials *c, const char *text, size_t len,
			  const char *member);
/* The text of a member; "" when it is not there or longer than that.  -EBADMSG: the text is
 * not a JSON object. */
int credentials_json_text(const char *text, size_t len, const char *name,
			  char *ret, size_t size);

#endif
