/* credentials_metadata.c - containers and EC2
 *
 *	ECS, EKS	GET the URI, with a token where one is given	{"AccessKeyId": …}
 *	EC2		PUT /latest/api/token				TOKEN
 *			GET …/security-credentials/			ROLE
 *			GET …/security-credentials/ROLE			{"AccessKeyId": …}
 *
 * EC2's version 1, without the token, is not used: a proxy that forwards requests could be
 * made to give the keys away. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/private_file.h"
#include "http/url.h"
#include "s3/credentials_internal.h"

#define CONTAINER_URL "http://169.254.170.2"
#define EC2_URL "http://169.254.169.254"
#define EC2_URL_6 "http://[fd00:ec2::254]"
#define EC2_ROLES "/latest/meta-data/iam/security-credentials/"

static void take_keys(struct credentials *c)
{
	const struct credentials_fetch *f = &c->fetch;

	if (f->status != 200)
		credentials_fail(c, "the service answered %u", f->status);
	else if (credentials_json_keys(c, str_cstr(&f->reply), f->reply.len,
				       NULL) < 0)
		credentials_fail(c, "the reply of the service has no keys");
	else
		credentials_provide(c);
}

/* ---- containers ---- */

/* Without TLS only addresses that stay on the machine: a variable must not be able to send a
 * token elsewhere. */
static bool is_near(const struct http_url *url)
{
	static const char *const hosts[] = {
		"localhost",	 "127.0.0.1",	   "::1",
		"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		if (!strcmp(url->host, hosts[i]))
			return true;
	return !strncmp(url->host, "127.", 4);
}

/* Appends the token of the container, if there is one. */
static int read_token(struct str *token)
{
	const char *file = aws_config_env(
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = aws_config_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	int r = str_reserve(token, CREDENTIALS_MAX_TOKEN + 1);

	if (r == 0 && file)
		r = fd_read_file(AT_FDCWD, file, CREDENTIALS_MAX_TOKEN, token);
	else if (r == 0 && text)
		str_adds(token, text);
	while (token->len && strchr(" \t\r\n", token->data[token->len - 1]))
		token->data[--token->len] = '\0';
	return r;
}

static void send_container(struct credentials *c)
{
	CLEANUP(str_release) struct str token = STR_INIT;
	CLEANUP(str_release) struct str url = STR_INIT;
	CLEANUP(freep) char *origin = NULL;
	const char *relative = aws_config_env(
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = aws_config_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	struct http_field field = { "Authorization", NULL };
	struct http_url parsed;
	int r = read_token(&token);

	if (r < 0) {
		credentials_fail(c, "cannot read the container's token: %s",
				 strerror(-r));
		return;
	}
	str_addf(&url, "%s%s", relative ? CONTAINER_URL : "",
		 relative ? relative :
		 full	  ? full :
			    "");
	if (http_url_parse(str_cstr(&url), &parsed) < 0 ||
	    (!parsed.is_tls && !is_near(&parsed))) {
		credentials_fail(
			c,
			"AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https "
			"nor an address of this machine");
	} else {
		field.value = str_cstr(&token);
		origin = strndup(url.data, url.len - strlen(parsed.target));
		credentials_fetch_call(
			c, parsed.is_tls ? c->web : credentials_local_client(c),
			&(struct http_call_request){
				.method = "GET",
				.origin = origin ? origin : "",
				.target = *parsed.target ? parsed.target : "/",
				.fields = &field,
				.n_fields = token.len > 0 });
	}
	private_wipe(&token);
}

static void start_container(struct credentials *c)
{
	credentials_fetch_start(c, send_container, take_keys);
}

const struct credentials_base CREDENTIALS_CONTAINER = { "the container service",
							start_container };

/* ---- EC2 ---- */

static const char *metadata_origin(void)
{
	const char *url = aws_config_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = aws_config_env(
		"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

	if (url)
		return url;
	return mode && !strcasecmp(mode, "ipv6") ? EC2_URL_6 : EC2_URL;
}

static void send_metadata(struct credentials *c, const char *method,
			  const char *target, struct http_field field)
{
	const char *url = metadata_origin();
	size_t len = strlen(url);
	CLEANUP(freep) char *origin = NULL;

	while (len && url[len - 1] == '/')
		len--;
	origin = strndup(url, len);
	credentials_fetch_call(
		c, credentials_local_client(c),
		&(struct http_call_request){ .method = method,
					     .origin = origin ? origin : "",
					     .target = target,
					     .fields = &field,
					     .n_fields = 1 });
}

static void send_get(struct credentials *c, const char *target)
{
	send_metadata(c, "GET", target,
		      (struct http_field){ "X-aws-ec2-metadata-token",
					   c->metadata_token });
}

/* The reply as one line. */
static int copy_reply(struct credentials *c, char *ret, size_t size)
{
	const struct str *reply = &c->fetch.reply;
	size_t len = strcspn(str_cstr(reply), "\r\n");

	if (c->fetch.status != 200 || !len || len >= size)
		return -EBADMSG;
	memcpy(ret, reply->data, len);
	ret[len] = '\0';
	return 0;
}

static void send_role(struct credentials *c)
{
	CLEANUP(str_release) struct str target = STR_INIT;

	str_adds(&target, EC2_ROLES);
	sigv4_escape(&target, c->metadata_role, strlen(c->metadata_role),
		     false);
	send_get(c, str_cstr(&target));
}

static void take_role(struct credentials *c)
{
	if (copy_reply(c, c->metadata_role, sizeof(c->metadata_role)) < 0)
		credentials_fail(c, "the machine has no role (status %u)",
				 c->fetch.status);
	else
		credentials_fetch_start(c, send_role, take_keys);
}

static void send_roles(struct credentials *c)
{
	send_get(c, EC2_ROLES);
}

static void take_token(struct credentials *c)
{
	if (copy_reply(c, c->metadata_token, sizeof(c->metadata_token)) < 0)
		credentials_fail(c, "the service gave no token (status %u)",
				 c->fetch.status);
	else
		credentials_fetch_start(c, send_roles, take_role);
}

static void send_token(struct credentials *c)
{
	send_metadata(c, "PUT", "/latest/api/token",
		      (struct http_field){
			      "X-aws-ec2-metadata-token-ttl-seconds", "21600" });
}

static void start_metadata(struct credentials *c)
{
	credentials_fetch_start(c, send_token, take_token);
	/* Most machines are not of EC2: one try shows that. */
	c->fetch.max_tries = 1;
}

const struct credentials_base CREDENTIALS_METADATA = { "EC2 metadata",
						       start_metadata };
