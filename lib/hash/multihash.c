/* multihash.c - see multihash.h */
#include "hash/multihash.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

static const char *const evp_names[DIGEST_ALGO_END] = {
	[DIGEST_SHA256] = "SHA256",
	[DIGEST_SHA512] = "SHA512",
	[DIGEST_MD5] = "MD5",
};

/* Written once, under evp_once; NULL where the algorithm is not to be had. */
static EVP_MD *evp_mds[DIGEST_ALGO_END];
static pthread_once_t evp_once = PTHREAD_ONCE_INIT;
static pthread_once_t blake3_once = PTHREAD_ONCE_INIT;

/* A library context of our own reads no configuration file and leaves the one
 * of the process we may be a guest in as it is.  It lives until exit. */
static void fetch_evp(void)
{
	static OSSL_LIB_CTX *context;

	context = OSSL_LIB_CTX_new();
	if (!context)
		return;
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (evp_names[i])
			evp_mds[i] = EVP_MD_fetch(context, evp_names[i], NULL);
}

/* BLAKE3 looks at the CPU when it first compresses a block and keeps the answer
 * in a plain variable.  One block here, before any other thread comes by,
 * makes that variable constant for all of them. */
static void probe_cpu(void)
{
	blake3_hasher hasher;
	uint8_t out[BLAKE3_LEN];

	blake3_hasher_init(&hasher);
	blake3_hasher_finalize(&hasher, out, sizeof(out));
}

void multihash_init(struct multihash *m)
{
	m->want = 0;
	m->error = 0;
	memset(m->evp, 0, sizeof(m->evp));
}

void multihash_release(struct multihash *m)
{
	for (int i = 0; i < DIGEST_ALGO_END; i++) {
		EVP_MD_CTX_free(m->evp[i]);
		m->evp[i] = NULL;
	}
}

static bool wants(const struct multihash *m, int algo)
{
	return evp_names[algo] && (m->want & (1u << algo));
}

static int start_evp(struct multihash *m, int algo)
{
	if (!evp_mds[algo])
		return -ENOTSUP;
	if (!m->evp[algo])
		m->evp[algo] = EVP_MD_CTX_new();
	if (!m->evp[algo])
		return -ENOMEM;
	if (!EVP_DigestInit_ex2(m->evp[algo], evp_mds[algo], NULL))
		return -ENOTSUP;
	return 0;
}

int multihash_start(struct multihash *m, digest_set want)
{
	if (want >> DIGEST_ALGO_END)
		return -EINVAL;
	m->want = want | DIGEST_SET_BLAKE3;
	m->error = 0;
	(void)pthread_once(&blake3_once, probe_cpu);
	blake3_hasher_init(&m->blake3);
	if (m->want == DIGEST_SET_BLAKE3)
		return 0;

	(void)pthread_once(&evp_once, fetch_evp);
	for (int i = 0; i < DIGEST_ALGO_END; i++) {
		int r = wants(m, i) ? start_evp(m, i) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

void multihash_update(struct multihash *m, const void *data, size_t len)
{
	blake3_hasher_update(&m->blake3, data, len);
	if (m->want == DIGEST_SET_BLAKE3)
		return;
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (wants(m, i) && !EVP_DigestUpdate(m->evp[i], data, len))
			m->error = -EIO;
}

int multihash_final(struct multihash *m, struct digests *ret)
{
	struct digests d = { .have = m->want };

	blake3_hasher_finalize(&m->blake3, d.blake3, sizeof(d.blake3));
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (wants(m, i) &&
		    !EVP_DigestFinal_ex(m->evp[i], digests_slot(&d, i), NULL))
			m->error = -EIO;
	if (m->error)
		return m->error;
	*ret = d;
	return 0;
}
