/* select.c - see select.h */
#include "show/select.h"
#include "base/macros.h"

static const struct {
	const char *option;
	enum target_want want;
} selectors[] = {
	{ "path", TARGET_WANT_PATH },
	{ "job", TARGET_WANT_JOB },
	{ "artifact", TARGET_WANT_ARTIFACT },
};

int select_read(const struct args *args, struct selection *ret)
{
	int n = args->n_operands;

	*ret = (struct selection){ .word = n ? args->operands[0] : NULL };
	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++) {
		if (!args_has(args, selectors[i].option))
			continue;
		ret->word = args_get(args, selectors[i].option);
		ret->want = selectors[i].want;
		n++;
	}
	return n;
}
