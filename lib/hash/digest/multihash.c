/* multihash.c - see multihash.h */
#include "hash/digest/multihash.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "hash/blake3/b3.h"
#include "hash/digest/crc64nvme.h"

static const char *const evp_names[DIGEST_ALGO_END] = {
	[DIGEST_SHA256] = "SHA256",
	[DIGEST_SHA512] = "SHA512",
	[DIGEST_MD5] = "MD5",
	[DIGEST_GIT_BLOB] = "SHA1",
};

/* These do without libcrypto. */
enum { OWN_SET = DIGEST_SET_BLAKE3 | 1 << DIGEST_CRC64NVME };

/* Written once, under evp_once; NULL: the algorithm is not available. */
static EVP_MD *evp_mds[DIGEST_ALGO_END];
static pthread_once_t evp_once = PTHREAD_ONCE_INIT;

/* A separate library context reads no configuration file and does not affect the context of
 * the host process.  It is never freed. */
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
	return m->want & (1u << algo);
}

static bool wants_evp(const struct multihash *m, int algo)
{
	return evp_names[algo] && wants(m, algo);
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

/* "blob", a space, the size in decimal and a NUL come before the content. */
static int start_git_blob(struct multihash *m)
{
	char header[32];
	int n = snprintf(header, sizeof(header), "blob %" PRIu64, m->size);

	if (!EVP_DigestUpdate(m->evp[DIGEST_GIT_BLOB], header, (size_t)n + 1))
		return -EIO;
	return 0;
}

int multihash_start(struct multihash *m, digest_set want, uint64_t size)
{
	if (want >> DIGEST_ALGO_END)
		return -EINVAL;
	m->want = want;
	m->error = 0;
	m->size = size;
	m->n_fed = 0;
	m->crc64nvme = 0;
	b3_probe();
	blake3_hasher_init(&m->blake3);
	if (!(m->want & ~(digest_set)OWN_SET))
		return 0;

	(void)pthread_once(&evp_once, fetch_evp);
	for (int i = 0; i < DIGEST_ALGO_END; i++) {
		int r = wants_evp(m, i) ? start_evp(m, i) : 0;

		if (r < 0)
			return r;
	}
	return wants(m, DIGEST_GIT_BLOB) ? start_git_blob(m) : 0;
}

void multihash_update(struct multihash *m, const void *data, size_t len)
{
	m->n_fed += len;
	if (wants(m, DIGEST_BLAKE3))
		blake3_hasher_update(&m->blake3, data, len);
	if (m->want == DIGEST_SET_BLAKE3)
		return;
	if (wants(m, DIGEST_CRC64NVME))
		m->crc64nvme = crc64nvme(m->crc64nvme, data, len);
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (wants_evp(m, i) && !EVP_DigestUpdate(m->evp[i], data, len))
			m->error = -EIO;
}

static void final_crc64nvme(const struct multihash *m, struct digests *d)
{
	for (int i = 0; i < 8; i++)
		d->crc64nvme[i] = (uint8_t)(m->crc64nvme >> (56 - 8 * i));
}

int multihash_final(struct multihash *m, struct digests *ret)
{
	struct digests d = { .have = m->want };

	if (wants(m, DIGEST_GIT_BLOB) && m->n_fed != m->size)
		return -ESTALE;
	if (wants(m, DIGEST_CRC64NVME))
		final_crc64nvme(m, &d);
	if (wants(m, DIGEST_BLAKE3))
		blake3_hasher_finalize(&m->blake3, d.blake3, sizeof(d.blake3));
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (wants_evp(m, i) &&
		    !EVP_DigestFinal_ex(m->evp[i], digests_slot(&d, i), NULL))
			m->error = -EIO;
	if (m->error)
		return m->error;
	*ret = d;
	return 0;
}
