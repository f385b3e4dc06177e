/* credentials_sso.c - the token of `aws sso login`
 *
 * The login leaves a token in ~/.aws/sso/cache/SHA1.json, where SHA1 is that of the session's
 * name or of the start URL.  SSO exchanges it for the keys of a role.  A token that has
 * expired is not renewed here: the user logs in again. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/private_file.h"
#include "hash/digest/digest.h"
#include "http/url.h"
#include "s3/credentials_internal.h"

enum { MAX_CACHE = 64 << 10 };

struct sso {
	const char *session; /* NULL: the old form, without one */
	const char *start_url, *region, *account, *role;
};

static const char *get(const struct credentials *c, const struct sso *sso,
		       const char *key)
{
	const char *value = NULL;

	if (sso->session)
		value = aws_config_find(c->config, AWS_SSO_SESSION,
					sso->session, NULL, key);
	return value ? value :
		       aws_config_find(c->config, AWS_PROFILE, c->plan.profile,
				       NULL, key);
}

static struct sso read_profile(const struct credentials *c)
{
	struct sso sso = { .session = aws_config_find(c->config, AWS_PROFILE,
						      c->plan.profile, NULL,
						      "sso_session") };

	sso.start_url = get(c, &sso, "sso_start_url");
	sso.region = get(c, &sso, "sso_region");
	sso.account = get(c, &sso, "sso_account_id");
	sso.role = get(c, &sso, "sso_role_name");
	return sso;
}

/* Appends the content of the cache file. */
static int read_cache(const struct sso *sso, struct str *out)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const char *name = sso->session ? sso->session : sso->start_url;
	const char *home = aws_config_env("HOME");
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1];
	unsigned len = 0;

	if (!home)
		return -ENOENT;
	if (!EVP_Digest(name, strlen(name), digest, &len, EVP_sha1(), NULL))
		return -ENOTSUP;
	digest_hex(hex, digest, len);
	str_addf(&path, "%s/.aws/sso/cache/%s.json", home, hex);
	if (path.failed || str_reserve(out, MAX_CACHE + 1) < 0)
		return -ENOMEM;
	return fd_read_file(AT_FDCWD, path.data, MAX_CACHE, out);
}

/* Reads the token, if it is still good. */
static int read_token(struct credentials *c, const struct sso *sso, char *ret,
		      size_t size)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char expires[64];
	int r = read_cache(sso, &text);

	if (r == 0)
		r = credentials_json_text(text.data, text.len, "accessToken",
					  ret, size);
	if (r == 0)
		r = credentials_json_text(text.data, text.len, "expiresAt",
					  expires, sizeof(expires));
	private_wipe(&text);
	if (r == 0 && (!ret[0] || credentials_parse_time(expires) <=
					  loop_wall_ms(c->loop)))
		r = -EKEYEXPIRED;
	return r;
}

static void take_reply(struct credentials *c)
{
	const struct credentials_fetch *f = &c->fetch;

	if (f->status == 401)
		credentials_fail(c,
				 "the session has ended: run 'aws sso login "
				 "--profile %s'",
				 c->plan.profile);
	else if (f->status != 200 ||
		 credentials_json_keys(c, str_cstr(&f->reply), f->reply.len,
				       "roleCredentials") < 0)
		credentials_fail(c, "SSO answered %u without keys", f->status);
	else
		credentials_provide(c);
}

static void send_request(struct credentials *c)
{
	CLEANUP(str_release) struct str origin = STR_INIT;
	CLEANUP(str_release) struct str target = STR_INIT;
	const char *url = aws_config_endpoint(c->config, "sso");
	struct sso sso = read_profile(c);
	char token[8192];
	struct http_field field = { "x-amz-sso_bearer_token", token };
	struct http_url parsed;
	int r = read_token(c, &sso, token, sizeof(token));

	if (r < 0) {
		credentials_fail(c,
				 "there is no valid token of SSO (%s): run "
				 "'aws sso login --profile %s'",
				 strerror(-r), c->plan.profile);
		return;
	}
	if (url && http_url_parse(url, &parsed) == 0)
		str_add(&origin, url, strlen(url) - strlen(parsed.target));
	else
		str_addf(&origin, "https://portal.sso.%s.amazonaws.com",
			 sso.region);
	str_adds(&target, "/federation/credentials?role_name=");
	sigv4_escape(&target, sso.role, strlen(sso.role), false);
	str_adds(&target, "&account_id=");
	sigv4_escape(&target, sso.account, strlen(sso.account), false);
	credentials_fetch_call(
		c, c->web,
		&(struct http_call_request){ .method = "GET",
					     .origin = str_cstr(&origin),
					     .target = str_cstr(&target),
					     .fields = &field,
					     .n_fields = 1 });
	explicit_bzero(token, sizeof(token));
}

static void start_sso(struct credentials *c)
{
	struct sso sso = read_profile(c);

	if (!sso.start_url || !sso.region || !sso.account || !sso.role) {
		credentials_fail(c, "the profile lacks sso_start_url, "
				    "sso_region, sso_account_id or "
				    "sso_role_name");
		return;
	}
	credentials_fetch_start(c, send_request, take_reply);
}

const struct credentials_base CREDENTIALS_SSO = { "SSO", start_sso };
