/* s3_phases.c - what roar-proxy itself does for a request, apart from moving bytes.
 *
 * usage: s3_phases [REQUESTS]
 *
 * The functions that the proxy calls, with a request as boto3 sends it: the credentials
 * (cached), the request's meaning, its new signature (with a cached key).  Prints the time of
 * each, and of all three, at the quantiles, as JSON in microseconds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "base/pool.h"
#include "base/str.h"
#include "http/head.h"
#include "http/http_client.h"
#include "net/loop.h"
#include "s3/aws_config.h"
#include "s3/credentials.h"
#include "s3/s3_request.h"
#include "s3/sigv4.h"

enum phase {
	PHASE_CREDENTIALS,
	PHASE_REQUEST,
	PHASE_SIGNING,
	PHASE_TOTAL,
	N_PHASES
};

static const char *const names[N_PHASES] = { "credentials", "request",
					     "signing", "total" };

static const char HEAD[] =
	"PUT /bench/runs/2026-11-18/checkpoint-000042.pt?partNumber=7"
	"&uploadId=Zm9vYmFyYmF6cXV4 HTTP/1.1\r\n"
	"Host: 127.0.0.1:9000\r\n"
	"Accept-Encoding: identity\r\n"
	"x-amz-sdk-checksum-algorithm: CRC32\r\n"
	"x-amz-checksum-crc32: AAAAAA==\r\n"
	"User-Agent: Boto3/1.44.3 md/Botocore#1.44.3 ua/2.1 os/linux#6.1 "
	"md/arch#x86_64 lang/python#3.11.2 md/pyimpl#CPython cfg/retry-mode\r\n"
	"Expect: 100-continue\r\n"
	"X-Amz-Date: 20261118T000000Z\r\n"
	"X-Amz-Content-SHA256: UNSIGNED-PAYLOAD\r\n"
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIAROARBENCH/20261118/"
	"us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-checksum-crc32;"
	"x-amz-content-sha256;x-amz-date;x-amz-sdk-checksum-algorithm, "
	"Signature=0000000000000000000000000000000000000000000000000000000000"
	"000000\r\n"
	"amz-sdk-invocation-id: 00000000-0000-0000-0000-000000000000\r\n"
	"amz-sdk-request: attempt=1\r\n"
	"Content-Length: 8388608\r\n\r\n";

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "s3_phases: %s: %s\n", what, strerror(-r));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The fields that the proxy signs. */
static void sign(struct sigv4 *signer, const struct sigv4_credentials *keys,
		 const struct s3_request *request)
{
	const struct http_field fields[] = {
		{ "host", "s3.us-east-1.amazonaws.com" },
		{ "x-amz-checksum-crc32", "AAAAAA==" },
		{ "x-amz-content-sha256", "UNSIGNED-PAYLOAD" },
		{ "x-amz-date", "20261118T000000Z" },
		{ "x-amz-sdk-checksum-algorithm", "CRC32" },
	};
	struct sigv4_request q = {
		.method = "PUT",
		.path = request->path,
		.query = request->query,
		.fields = fields,
		.n_fields = ARRAY_SIZE(fields),
		.payload = "UNSIGNED-PAYLOAD",
		.time = "20261118T000000Z",
		.region = "us-east-1",
		.service = "s3",
	};
	struct str out = STR_INIT;

	check(sigv4_sign(signer, keys, &q, &out, NULL), "sign");
	str_release(&out);
}

static void measure(struct credentials *credentials, struct sigv4 *signer,
		    const struct http_head *head, int64_t ret[N_PHASES])
{
	struct credentials_wait wait = { 0 };
	const struct s3_refusal *refusal;
	const struct sigv4_credentials *keys;
	struct s3_request request;
	struct pool pool = POOL_INIT;
	int64_t at[4];

	at[0] = now_ns();
	keys = credentials_get(credentials, &wait);
	at[1] = now_ns();
	check(keys ? 0 : -ENOENT, "credentials");
	check(s3_request_parse(&request, &pool, head, NULL, &refusal), "parse");
	at[2] = now_ns();
	sign(signer, keys, &request);
	at[3] = now_ns();
	pool_release(&pool);
	for (int i = 0; i < 3; i++)
		ret[i] = at[i + 1] - at[i];
	ret[PHASE_TOTAL] = at[3] - at[0];
}

static void print(int64_t *times[N_PHASES], size_t n)
{
	static const struct {
		const char *name;
		double at;
	} quantiles[] = { { "p50_us", 0.5 },
			  { "p95_us", 0.95 },
			  { "p99_us", 0.99 } };

	for (int i = 0; i < N_PHASES; i++) {
		qsort(times[i], n, sizeof(**times), compare);
		(void)printf("%s\"%s\": {", i ? ", " : "{", names[i]);
		for (size_t q = 0; q < ARRAY_SIZE(quantiles); q++)
			(void)printf(
				"%s\"%s\": %.3f", q ? ", " : "",
				quantiles[q].name,
				(double)times[i][(size_t)(quantiles[q].at *
							  (double)(n - 1))] /
					1e3);
		(void)printf("}");
	}
	(void)printf("}\n");
}

/* As the proxy has them in a shell with keys. */
static struct credentials *environment_credentials(void)
{
	struct credentials *credentials;
	struct aws_config *config;
	struct http_client *client;
	struct roar_error err;
	struct loop *loop;

	check(setenv("AWS_ACCESS_KEY_ID", "AKIAROARBENCH", 1), "setenv");
	check(setenv("AWS_SECRET_ACCESS_KEY", "of+the/bench", 1), "setenv");
	check(aws_config_load(NULL, &config, &err), "configuration");
	check(loop_new(&loop), "loop");
	check(http_client_new(loop, NULL, NULL, &HTTP_CLIENT_LIMITS, &client),
	      "client");
	check(credentials_new(loop, client, config, &credentials, &err),
	      "credentials");
	return credentials;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	int64_t *times[N_PHASES], one[N_PHASES];
	struct credentials *credentials;
	struct roar_error err;
	struct http_head head;
	struct sigv4 *signer;
	unsigned status;

	credentials = environment_credentials();
	check(sigv4_new(&signer), "signer");
	check(http_head_parse(&head, HTTP_HEAD_REQUEST, HEAD, sizeof(HEAD) - 1,
			      &status, &err),
	      "head");
	for (int i = 0; i < N_PHASES; i++) {
		times[i] = calloc(n + 1, sizeof(**times));
		check(times[i] ? 0 : -ENOMEM, "memory");
	}
	measure(credentials, signer, &head, one); /* derives the key */
	for (size_t i = 0; i < n; i++) {
		measure(credentials, signer, &head, one);
		for (int phase = 0; phase < N_PHASES; phase++)
			times[phase][i] = one[phase];
	}
	print(times, n);
	return 0;
}
