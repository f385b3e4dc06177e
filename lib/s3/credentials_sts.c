/* credentials_sts.c - AssumeRole, AssumeRoleWithWebIdentity
 *
 * A form is posted; the reply is XML.  AssumeRole is signed with the keys of the step before;
 * for a web identity the token in the form is proof enough. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/private_file.h"
#include "hash/digest/digest.h"
#include "http/url.h"
#include "s3/credentials_internal.h"

/* ---- the form ---- */

static void add_field(struct str *form, const char *name, const char *value)
{
	if (!value)
		return;
	str_addf(form, "&%s=", name);
	sigv4_escape(form, value, strlen(value), false);
}

static void make_form(struct credentials *c, const char *action,
		      const struct credentials_role *role, const char *token)
{
	struct str *form = &c->fetch.body;
	char session[64];

	(void)snprintf(session, sizeof(session), "roar-%d", (int)getpid());
	str_clear(form);
	/* At once, so that no copy of the token stays behind. */
	(void)str_reserve(form, 3 * strlen(token ? token : "") + 4096);
	str_addf(form, "Action=%s&Version=2011-06-15", action);
	add_field(form, "RoleArn", role->arn);
	add_field(form, "RoleSessionName",
		  role->session ? role->session : session);
	add_field(form, "DurationSeconds", role->duration);
	add_field(form, "ExternalId", role->external_id);
	add_field(form, "WebIdentityToken", token);
}

/* ---- the request ---- */

/* Appends the origin; returns the region to sign for. */
static const char *find_origin(const struct credentials *c, struct str *origin)
{
	const char *url = aws_config_endpoint(c->config, "sts");
	const char *region = aws_config_region(c->config);
	struct http_url parsed;

	if (url && http_url_parse(url, &parsed) == 0)
		str_add(origin, url, strlen(url) - strlen(parsed.target));
	else if (region)
		str_addf(origin, "https://sts.%s.amazonaws.com%s", region,
			 !strncmp(region, "cn-", 3) ? ".cn" : "");
	else
		str_adds(origin, "https://sts.amazonaws.com");
	return region ? region : "us-east-1";
}

static int sign(struct credentials *c, const char *origin, const char *region,
		const char *time, struct str *out)
{
	const char *host = strstr(origin, "://") + 3;
	const struct sigv4_credentials keys = { .key_id = c->fresh.key_id,
						.secret = c->fresh.secret };
	struct http_field fields[] = {
		{ "Host", host },
		{ "X-Amz-Date", time },
		{ "X-Amz-Security-Token", c->fresh.token },
	};
	char payload[SIGV4_HEX_SIZE];
	uint8_t digest[32];
	int r = sigv4_sha256(c->sigv4, c->fetch.body.data, c->fetch.body.len,
			     digest);

	if (r < 0)
		return r;
	digest_hex(payload, digest, sizeof(digest));
	return sigv4_sign(
		c->sigv4, &keys,
		&(struct sigv4_request){ .method = "POST",
					 .path = "/",
					 .fields = fields,
					 .n_fields = c->fresh.token[0] ? 3 : 2,
					 .payload = payload,
					 .time = time,
					 .region = region,
					 .service = "sts" },
		out, NULL);
}

static void post_form(struct credentials *c, bool is_signed)
{
	CLEANUP(str_release) struct str origin = STR_INIT;
	CLEANUP(str_release) struct str authorization = STR_INIT;
	const char *region = find_origin(c, &origin);
	char time[SIGV4_TIME_SIZE];
	struct http_field fields[5] = {
		{ "Content-Type", "application/x-www-form-urlencoded" },
		{ "Accept", "text/xml" },
	};
	size_t n = 2;
	int r = origin.failed ? -ENOMEM : 0;

	sigv4_time_format(loop_wall_ms(c->loop) / 1000, time);
	if (r == 0 && is_signed) {
		r = sign(c, origin.data, region, time, &authorization);
		fields[n++] = (struct http_field){ "X-Amz-Date", time };
		fields[n++] = (struct http_field){ "Authorization",
						   str_cstr(&authorization) };
		if (c->fresh.token[0])
			fields[n++] = (struct http_field){
				"X-Amz-Security-Token", c->fresh.token
			};
	}
	if (r < 0) {
		credentials_fail(c, "cannot sign a request to STS: %s",
				 strerror(-r));
		return;
	}
	credentials_fetch_call(
		c, c->web,
		&(struct http_call_request){ .method = "POST",
					     .origin = origin.data,
					     .target = "/",
					     .fields = fields,
					     .n_fields = n });
}

static void post_signed(struct credentials *c)
{
	post_form(c, true);
}

static void post_unsigned(struct credentials *c)
{
	post_form(c, false);
}

/* ---- the reply ---- */

static void take_reply(struct credentials *c)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	const struct credentials_fetch *f = &c->fetch;
	struct s3_error error = { "", "", "", "" };

	if (f->status == 200 &&
	    s3_xml_sts(str_cstr(&f->reply), f->reply.len, &c->fresh) == 0) {
		credentials_provide(c);
		return;
	}
	(void)s3_xml_error(str_cstr(&f->reply), f->reply.len, &pool, &error);
	credentials_fail(
		c, "STS answered %u %.60s: %.300s", f->status, error.code,
		*error.message ? error.message : "its reply has no keys");
}

void credentials_sts_assume(struct credentials *c,
			    const struct credentials_role *role)
{
	make_form(c, "AssumeRole", role, NULL);
	credentials_fetch_start(c, post_signed, take_reply);
}

static void start_web_identity(struct credentials *c)
{
	CLEANUP(str_release) struct str token = STR_INIT;
	int r = str_reserve(&token, CREDENTIALS_MAX_TOKEN + 1);

	if (r == 0)
		r = fd_read_file(AT_FDCWD, c->plan.token_file,
				 CREDENTIALS_MAX_TOKEN, &token);
	if (r < 0) {
		credentials_fail(c, "cannot read the token in '%s': %s",
				 c->plan.token_file, strerror(-r));
		return;
	}
	while (token.len && strchr(" \t\r\n", token.data[token.len - 1]))
		token.data[--token.len] = '\0';
	make_form(c, "AssumeRoleWithWebIdentity", &c->plan.web_identity,
		  token.data);
	private_wipe(&token);
	credentials_fetch_start(c, post_unsigned, take_reply);
}

const struct credentials_base CREDENTIALS_WEB_IDENTITY = { "web identity",
							   start_web_identity };
