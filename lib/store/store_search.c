/* store_search.c - makes a query of FTS5 from the user's words.
 *
 * Every word becomes a quoted prefix, so that user input is never syntax: `train lr`
 * finds "train.py --lr 0.1".  A word without letters or digits is ignored; a text of
 * only such words finds nothing. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

enum { SEARCH_MAX = 4096, WORDS_MAX = 64 };

int store_search_words(struct str *out, const char *search,
		       struct roar_error *err)
{
	const char *p = search;
	int n_words = 0;

	if (strlen(search) > SEARCH_MAX)
		return error_set(err, -E2BIG,
				 "the search text is longer than %d bytes: "
				 "shorten it",
				 SEARCH_MAX);
	while (*(p += strspn(p, " \t\n\r\f\v"))) {
		size_t len = strcspn(p, " \t\n\r\f\v");

		if (++n_words > WORDS_MAX)
			return error_set(err, -E2BIG,
					 "the search text has more than %d "
					 "words: shorten it",
					 WORDS_MAX);
		str_addc(out, '"');
		for (size_t i = 0; i < len; i++)
			str_add(out, p[i] == '"' ? "\"\"" : p + i,
				p[i] == '"' ? 2 : 1);
		str_adds(out, "\"* ");
		p += len;
	}
	return 0;
}
