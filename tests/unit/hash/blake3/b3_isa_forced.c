/* b3_isa_forced.c - see b3_isa.h */
#include <string.h>

#include "b3_isa.h"

/* BLAKE3's dispatcher, as it is when compiled with BLAKE3_TESTING. */
enum {
	SSE2 = 1 << 0,
	SSSE3 = 1 << 1,
	SSE41 = 1 << 2,
	AVX = 1 << 3,
	AVX2 = 1 << 4,
	AVX512F = 1 << 5,
	AVX512VL = 1 << 6,
	NOT_KNOWN = 1 << 30,
};
extern int g_cpu_features;
int get_cpu_features(void);
size_t blake3_simd_degree(void);

enum {
	UP_TO_SSE41 = SSE2 | SSSE3 | SSE41,
	UP_TO_AVX2 = UP_TO_SSE41 | AVX | AVX2,
	UP_TO_AVX512 = UP_TO_AVX2 | AVX512F | AVX512VL,
};

const char *const isa_names[] = { "native", "portable", "sse2",
				  "sse4.1", "avx2",	"avx512" };
const size_t n_isas = sizeof(isa_names) / sizeof(*isa_names);

static const struct isa {
	const char *name;
	int features;
	size_t lanes;
} forced[] = {
	{ "portable", 0, 1 },		{ "sse2", SSE2, 4 },
	{ "sse4.1", UP_TO_SSE41, 4 },	{ "avx2", UP_TO_AVX2, 8 },
	{ "avx512", UP_TO_AVX512, 16 },
};

/* The lanes show whether the dispatcher went along: that of another architecture
 * has nothing to choose from. */
static bool force(const struct isa *isa)
{
	if ((get_cpu_features() & isa->features) != isa->features)
		return false;
	g_cpu_features = isa->features;
	return blake3_simd_degree() == isa->lanes;
}

bool isa_force(const char *name)
{
	g_cpu_features = NOT_KNOWN;
	for (size_t i = 0; i < sizeof(forced) / sizeof(*forced); i++)
		if (!strcmp(forced[i].name, name))
			return force(&forced[i]);
	return true;
}
