/* suggest.c - see suggest.h */
#include "cli/suggest.h"

#include <string.h>

enum { WORD_MAX = 48 }; /* longer words are no misspelt names of ours */

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours that turn `a` into
 * `b`, row by row of the usual table; three rows are enough. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0];
	size_t *above = rows[1];
	size_t *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		above[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = min(change, min(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = min(row[j], before[j - 2] + 1);
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[m];
}

struct suggest suggest_for(const char *word)
{
	return (struct suggest){ .word = word };
}

/* A third of the letters may be wrong; the start of a name is near as well. */
void suggest_offer(struct suggest *s, const char *candidate)
{
	size_t n = strlen(s->word);
	size_t m = strlen(candidate);
	size_t d;

	if (n > WORD_MAX || m > WORD_MAX || n == 0)
		return;
	d = distance(s->word, n, candidate, m);
	if (n >= 3 && n < m && !strncmp(s->word, candidate, n))
		d = 1;
	if (d > 1 + min(n, m) / 4 || d >= m || (s->best && d >= s->distance))
		return;
	s->best = candidate;
	s->distance = d;
}
