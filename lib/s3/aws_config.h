/* aws_config.h - the configuration that all AWS tools share.
 *
 *	~/.aws/config		[default], [profile NAME], [sso-session NAME],
 *				[services NAME]; AWS_CONFIG_FILE names another file
 *	~/.aws/credentials	[NAME]; AWS_SHARED_CREDENTIALS_FILE likewise
 *
 * A section has lines KEY = VALUE.  A key without a value opens a group: the indented lines
 * after it are its own keys ("s3 =", then "  addressing_style = path").  Lines that start
 * with '#' or ';' are comments, and so is the rest of a line after a blank and one of them.
 * Where both files have a key of a profile, that of the credentials file counts; of several
 * in one file, the last.
 *
 * The files hold secrets: no error message quotes them, and the memory is wiped when the
 * configuration is freed.  After loading nothing changes, so all threads may read. */
#ifndef S3_AWS_CONFIG_H
#define S3_AWS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

enum {
	AWS_CONFIG_MAX_BYTES = 1 << 20, /* of one file */
	AWS_CONFIG_MAX_ENTRIES = 1 << 14, /* of both */
};

enum aws_section { AWS_PROFILE, AWS_SSO_SESSION, AWS_SERVICES };

struct aws_config;

/* Reads both files.  `profile` is the one in use; NULL: that of AWS_PROFILE or
 * AWS_DEFAULT_PROFILE, else "default".  A file that does not exist is an empty one.  -ENOENT:
 * the profile was named and is in neither; -EINVAL: a line is malformed; -EFBIG; other errors
 * as open(2), each with a sentence. */
int aws_config_load(const char *profile, struct aws_config **ret,
		    struct roar_error *err);
void aws_config_free(struct aws_config *c);
DEFINE_CLEANUP(struct aws_config *, aws_config_free)

/* An empty one for aws_config_parse(), with that profile.  -ENOMEM. */
int aws_config_new(const char *profile, struct aws_config **ret);
/* Adds the text of a file, which `name` stands for in error messages. */
int aws_config_parse(struct aws_config *c, const char *name, const char *text,
		     size_t len, bool is_credentials, struct roar_error *err);

/* The name of the profile in use, and whether the user has chosen it. */
const char *aws_config_profile(const struct aws_config *c);
bool aws_config_is_chosen(const struct aws_config *c);
bool aws_config_has_profile(const struct aws_config *c, const char *name);

/* The value of a key, or of a key in a group; NULL: it is not there.  `group` may be NULL. */
const char *aws_config_find(const struct aws_config *c, enum aws_section kind,
			    const char *name, const char *group,
			    const char *key);
/* The same of the profile in use. */
const char *aws_config_get(const struct aws_config *c, const char *key);

/* AWS_REGION, AWS_DEFAULT_REGION, the profile's region, or NULL. */
const char *aws_config_region(const struct aws_config *c);

/* The endpoint that was configured for a service ("s3", "sts", "sso"), in this order:
 * AWS_ENDPOINT_URL_SERVICE, AWS_ENDPOINT_URL, endpoint_url of the service in the profile's
 * [services] section, endpoint_url of the profile.  NULL: there is none, or
 * AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true. */
const char *aws_config_endpoint(const struct aws_config *c,
				const char *service);

/* The variable's value; NULL when it is not set, or empty. */
const char *aws_config_env(const char *name);

#endif
