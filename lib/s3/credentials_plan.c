/* credentials_plan.c - which source it is, by environment and configuration
 *
 * A profile with a role is followed to the profile that its keys come from; the roles on the
 * way are exchanged in the reverse order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "s3/credentials_internal.h"

static const char *get(const struct credentials *c, const char *profile,
		       const char *key)
{
	return aws_config_find(c->config, AWS_PROFILE, profile, NULL, key);
}

static bool is_true(const char *text)
{
	return text && !strcasecmp(text, "true");
}

static struct credentials_role role_of(const struct credentials *c,
				       const char *profile)
{
	return (struct credentials_role){
		.arn = get(c, profile, "role_arn"),
		.session = get(c, profile, "role_session_name"),
		.external_id = get(c, profile, "external_id"),
		.duration = get(c, profile, "duration_seconds"),
	};
}

/* "credential_source = Ec2InstanceMetadata" */
static int set_named_source(struct credentials *c, const char *profile,
			    const char *name, struct roar_error *err)
{
	static const struct {
		const char *name;
		const struct credentials_base *base;
	} sources[] = {
		{ "Environment", &CREDENTIALS_ENVIRONMENT },
		{ "EcsContainer", &CREDENTIALS_CONTAINER },
		{ "Ec2InstanceMetadata", &CREDENTIALS_METADATA },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (!strcmp(sources[i].name, name)) {
			c->plan.base = sources[i].base;
			c->plan.profile = profile;
			return 0;
		}
	return error_set(err, -EINVAL,
			 "credential_source of profile '%s' is '%.40s': it can "
			 "be Environment, EcsContainer or Ec2InstanceMetadata",
			 profile, name);
}

/* What a profile has besides a role that needs other keys.  Returns 1 when it has something. */
static int set_profile_base(struct credentials *c, const char *profile)
{
	struct credentials_plan *plan = &c->plan;

	plan->profile = profile;
	if (get(c, profile, "role_arn") &&
	    get(c, profile, "web_identity_token_file")) {
		plan->base = &CREDENTIALS_WEB_IDENTITY;
		plan->web_identity = role_of(c, profile);
		plan->token_file = get(c, profile, "web_identity_token_file");
	} else if (get(c, profile, "sso_session") ||
		   get(c, profile, "sso_start_url")) {
		plan->base = &CREDENTIALS_SSO;
	} else if (get(c, profile, "aws_access_key_id")) {
		plan->base = &CREDENTIALS_PROFILE;
	} else if (get(c, profile, "credential_process")) {
		plan->base = &CREDENTIALS_PROCESS;
	} else {
		return 0;
	}
	return 1;
}

/* The first role that was met is the last to be exchanged. */
static void reverse_roles(struct credentials_plan *plan)
{
	for (unsigned i = 0, k = plan->n_roles; i + 1 < k; i++) {
		struct credentials_role swapped = plan->roles[--k];

		plan->roles[k] = plan->roles[i];
		plan->roles[i] = swapped;
	}
}

static int check_role(const struct credentials *c, const char *profile,
		      struct roar_error *err)
{
	if (get(c, profile, "mfa_serial"))
		return error_set(err, -EINVAL,
				 "profile '%s' asks for an MFA code, which roar "
				 "cannot ask for: use a profile with "
				 "credential_process or sso_session",
				 profile);
	if (c->plan.n_roles == CREDENTIALS_MAX_ROLES)
		return error_set(err, -EINVAL,
				 "source_profile of profile '%s' leads through "
				 "more than %d roles, perhaps in a circle",
				 profile, CREDENTIALS_MAX_ROLES);
	return 0;
}

/* 1: the profile has a source, 0: it has none. */
static int follow_profile(struct credentials *c, const char *profile,
			  struct roar_error *err)
{
	for (;;) {
		const char *source = get(c, profile, "source_profile");
		const char *named = get(c, profile, "credential_source");
		struct credentials_role role = role_of(c, profile);
		int r;

		if (!role.arn || (!source && !named) ||
		    get(c, profile, "web_identity_token_file"))
			return set_profile_base(c, profile);
		r = check_role(c, profile, err);
		if (r < 0)
			return r;
		c->plan.roles[c->plan.n_roles++] = role;
		if (named) {
			r = set_named_source(c, profile, named, err);
			return r < 0 ? r : 1;
		}
		if (!aws_config_has_profile(c->config, source))
			return error_set(err, -EINVAL,
					 "source_profile of profile '%s' is "
					 "'%.60s', which does not exist",
					 profile, source);
		/* A profile that is its own source has keys beside the role. */
		if (!strcmp(source, profile)) {
			r = set_profile_base(c, profile);
			return r ? r :
				   error_set(err, -EINVAL,
					     "profile '%s' is its own "
					     "source_profile and has no keys",
					     profile);
		}
		profile = source;
	}
}

/* Keys in the environment, or a web identity there that no role of the profile precedes. */
static bool set_environment(struct credentials *c)
{
	const char *token_file = aws_config_env("AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *profile = aws_config_profile(c->config);

	if (aws_config_is_chosen(c->config))
		return false;
	if (aws_config_env("AWS_ACCESS_KEY_ID") &&
	    aws_config_env("AWS_SECRET_ACCESS_KEY")) {
		c->plan.base = &CREDENTIALS_ENVIRONMENT;
		return true;
	}
	if (!token_file || !aws_config_env("AWS_ROLE_ARN") ||
	    get(c, profile, "role_arn"))
		return false;
	c->plan.base = &CREDENTIALS_WEB_IDENTITY;
	c->plan.token_file = token_file;
	c->plan.web_identity = (struct credentials_role){
		.arn = aws_config_env("AWS_ROLE_ARN"),
		.session = aws_config_env("AWS_ROLE_SESSION_NAME"),
	};
	return true;
}

/* What the machine that we run on gives. */
static bool set_machine(struct credentials *c)
{
	c->plan.profile = NULL;
	if (aws_config_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
	    aws_config_env("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
		c->plan.base = &CREDENTIALS_CONTAINER;
	else if (!is_true(aws_config_env("AWS_EC2_METADATA_DISABLED")))
		c->plan.base = &CREDENTIALS_METADATA;
	else
		return false;
	return true;
}

static int find_base(struct credentials *c, struct roar_error *err)
{
	const char *profile = aws_config_profile(c->config);
	int r;

	if (set_environment(c))
		return 0;
	r = follow_profile(c, profile, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (set_machine(c))
		return 0;
	return error_set(err, -ENOENT,
			 "no AWS credentials: set AWS_ACCESS_KEY_ID and "
			 "AWS_SECRET_ACCESS_KEY, or add profile '%s' to "
			 "~/.aws/credentials",
			 profile);
}

int credentials_plan_make(struct credentials *c, struct roar_error *err)
{
	int r = find_base(c, err);

	if (r < 0)
		return r;
	reverse_roles(&c->plan);
	str_adds(&c->source, c->plan.base->name);
	if (c->plan.profile)
		str_addf(&c->source, " of profile '%s'", c->plan.profile);
	if (c->plan.n_roles)
		str_addf(&c->source, " with role '%s'",
			 c->plan.roles[c->plan.n_roles - 1].arn);
	return 0;
}

/* ---- keys that are simply there ---- */

static void take_keys(struct credentials *c, const char *key_id,
		      const char *secret, const char *token)
{
	const struct sigv4_credentials keys = { key_id, secret, token };

	if (credentials_copy_keys(&c->fresh, &keys) < 0)
		credentials_fail(c, "the access key or its secret is missing "
				    "or too long");
	else
		credentials_provide(c);
}

static void start_environment(struct credentials *c)
{
	take_keys(c, aws_config_env("AWS_ACCESS_KEY_ID"),
		  aws_config_env("AWS_SECRET_ACCESS_KEY"),
		  aws_config_env("AWS_SESSION_TOKEN"));
}

static void start_profile(struct credentials *c)
{
	const char *profile = c->plan.profile;

	take_keys(c, get(c, profile, "aws_access_key_id"),
		  get(c, profile, "aws_secret_access_key"),
		  get(c, profile, "aws_session_token"));
}

const struct credentials_base CREDENTIALS_ENVIRONMENT = { "the environment",
							  start_environment };
const struct credentials_base CREDENTIALS_PROFILE = { "the keys",
						      start_profile };
