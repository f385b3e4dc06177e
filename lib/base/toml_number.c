/* toml_number.c - see toml_number.h */
#include "base/toml_number.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/macros.h"
#include "base/str.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t length_to_delimiter(const char *word, size_t len)
{
	size_t n = 0;

	while (n < len && !memchr(",]}# \t\r\n=", word[n], 9))
		n++;
	return n;
}

size_t toml_word_length(const char *word, size_t len)
{
	size_t n = length_to_delimiter(word, len);

	if (n == 10 && toml_is_date(word, n) && len - n > 1 && word[n] == ' ' &&
	    is_digit(word[n + 1]))
		n += 1 + length_to_delimiter(word + n + 1, len - n - 1);
	return n;
}

/* ---- integers ---- */

/* Digits of `base`, with single '_' between two of them. */
static int parse_digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	bool after_digit = false;
	bool overflow = false;

	for (size_t i = 0; i < len; i++) {
		int digit;

		if (s[i] == '_' && after_digit && i + 1 < len) {
			after_digit = false;
			continue;
		}
		digit = hex_digit(s[i]);
		if (digit < 0 || (unsigned)digit >= base)
			return -EINVAL;
		after_digit = true;
		overflow |= __builtin_mul_overflow(value, base, &value);
		overflow |= __builtin_add_overflow(value, (unsigned)digit,
						   &value);
	}
	if (!after_digit)
		return -EINVAL;
	*ret = value;
	return overflow ? -ERANGE : 0;
}

static unsigned take_base(const char **word, size_t *len)
{
	static const struct {
		char letter;
		unsigned base;
	} bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		if (*len > 2 && (*word)[0] == '0' &&
		    (*word)[1] == bases[i].letter) {
			*word += 2;
			*len -= 2;
			return bases[i].base;
		}
	}
	return 10;
}

int toml_parse_integer(const char *word, size_t len, int64_t *ret)
{
	unsigned base = take_base(&word, &len);
	bool negative = false;
	uint64_t value;
	int r;

	if (base == 10 && len && (word[0] == '+' || word[0] == '-')) {
		negative = word[0] == '-';
		word++;
		len--;
	}
	if (base == 10 && len > 1 && word[0] == '0')
		return -EINVAL;
	r = parse_digits(word, len, base, &value);
	if (r < 0)
		return r;
	if (value > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = (int64_t)(negative ? 0 - value : value);
	return 0;
}

/* ---- shapes that are only recognised ---- */

/* Nobody reads such a value, so it is enough that the whole word has the form.
 * The copy ends with NUL, as regexec() expects; the range is for a word with a NUL
 * inside. */
static bool has_form(const char *word, size_t len, const char *form)
{
	CLEANUP(str_release) struct str copy = STR_INIT;
	regmatch_t range = { 0, (regoff_t)len };
	regex_t regex;
	bool found;

	str_add(&copy, word, len);
	if (str_error(&copy) < 0 ||
	    regcomp(&regex, form, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	found = regexec(&regex, str_cstr(&copy), 1, &range, REG_STARTEND) == 0;
	regfree(&regex);
	return found;
}

#define DIGITS "[0-9](_?[0-9])*"
#define EXPONENT "[eE][+-]?" DIGITS

bool toml_is_float(const char *word, size_t len)
{
	return has_form(word, len,
			"^[+-]?(inf|nan|(0|[1-9](_?[0-9])*)"
			"(\\." DIGITS "(" EXPONENT ")?|" EXPONENT "))$");
}

#define DATE "[0-9]{4}-[0-9]{2}-[0-9]{2}"
#define TIME "[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?"
#define ZONE "([Zz]|[+-][0-9]{2}:[0-9]{2})"

bool toml_is_date(const char *word, size_t len)
{
	return has_form(word, len,
			"^(" DATE "([Tt ]" TIME ZONE "?)?|" TIME ")$");
}
