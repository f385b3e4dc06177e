/* copy.c - copying into an arena at the speed of the memory
 *
 * A plain copy of a large block reads every line of the destination from memory only to
 * write over it, and drives everything else out of the caches.  Stores past the caches do
 * neither.  Small blocks are better off in the caches: their reader comes soon. */
#include "arena/arena_api.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

/* Units below the first are better off in the caches; of the others, pieces below the
 * second are not worth the fence. */
enum { PAST_CACHES = 1 << 20, STREAM_MIN = 16 << 10, LINE = 64, STRIDE = 256 };

/* The processor looks ahead within a page only, and not far enough: asking for what comes
 * in eight strides makes a copy a quarter faster.  Behind the end nothing happens. */
enum { AHEAD = 8 * STRIDE };

static inline void ask_ahead(const unsigned char *from)
{
	for (int line = 0; line < STRIDE; line += LINE)
		_mm_prefetch((const char *)from + AHEAD + line, _MM_HINT_NTA);
}

/* Each copies `len` bytes, a multiple of STRIDE, to where lines begin. */
typedef void (*stream_fn)(unsigned char *to, const unsigned char *from,
			  size_t len);

__attribute__((target("avx512f"))) static void
stream_avx512(unsigned char *to, const unsigned char *from, size_t len)
{
	for (size_t i = 0; i < len; i += STRIDE) {
		__m512i a = _mm512_loadu_si512(from + i);
		__m512i b = _mm512_loadu_si512(from + i + 64);
		__m512i c = _mm512_loadu_si512(from + i + 128);
		__m512i d = _mm512_loadu_si512(from + i + 192);

		ask_ahead(from + i);
		_mm512_stream_si512((__m512i *)(to + i), a);
		_mm512_stream_si512((__m512i *)(to + i + 64), b);
		_mm512_stream_si512((__m512i *)(to + i + 128), c);
		_mm512_stream_si512((__m512i *)(to + i + 192), d);
	}
}

__attribute__((target("avx2"))) static void
stream_avx2(unsigned char *to, const unsigned char *from, size_t len)
{
	for (size_t i = 0; i < len; i += LINE) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(from + i));
		__m256i b = _mm256_loadu_si256((const __m256i *)(from + i + 32));

		if (i % STRIDE == 0)
			ask_ahead(from + i);
		_mm256_stream_si256((__m256i *)(to + i), a);
		_mm256_stream_si256((__m256i *)(to + i + 32), b);
	}
}

static void stream_sse2(unsigned char *to, const unsigned char *from,
			size_t len)
{
	for (size_t i = 0; i < len; i += 16)
		_mm_stream_si128((__m128i *)(to + i),
				 _mm_loadu_si128((const __m128i *)(from + i)));
}

static stream_fn choose(void)
{
	if (__builtin_cpu_supports("avx512f"))
		return stream_avx512;
	if (__builtin_cpu_supports("avx2"))
		return stream_avx2;
	return stream_sse2;
}

static void copy_past_caches(unsigned char *to, const unsigned char *from,
			     size_t len)
{
	size_t head = -(size_t)to % LINE;
	size_t body = (len - head) / STRIDE * STRIDE;

	memcpy(to, from, head);
	choose()(to + head, from + head, body);
	memcpy(to + head + body, from + head + body, len - head - body);
	/* Such stores are seen in any order without this. */
	_mm_sfence();
}
#endif

API void roar_arena_copy(void *to, const void *from, size_t len, size_t whole)
{
	(void)whole;
#ifdef __x86_64__
	if (whole >= PAST_CACHES && len >= STREAM_MIN) {
		copy_past_caches(to, from, len);
		return;
	}
#endif
	if (len)
		memcpy(to, from, len);
}
