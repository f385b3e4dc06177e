/* toml_number.c - see toml_number.h */
#include "base/toml_number.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

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

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Digits of `base`, with single '_' between two of them. */
static int parse_digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	bool after_digit = false;
	bool overflow = false;

	for (size_t i = 0; i < len; i++) {
		unsigned digit;

		if (s[i] == '_' && after_digit && i + 1 < len) {
			after_digit = false;
			continue;
		}
		digit = (unsigned)digit_value(s[i]);
		if (digit >= base)
			return -EINVAL;
		after_digit = true;
		overflow |= __builtin_mul_overflow(value, base, &value);
		overflow |= __builtin_add_overflow(value, digit, &value);
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

/* Bytes of digits with single '_' between them. */
static size_t digits(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len &&
	       (is_digit(s[n]) || (s[n] == '_' && n && is_digit(s[n - 1]) &&
				   n + 1 < len && is_digit(s[n + 1]))))
		n++;
	return n;
}

static size_t sign(const char *s, size_t len)
{
	return len && (s[0] == '+' || s[0] == '-');
}

/* "." and digits; 0 when there is no fraction. */
static size_t fraction(const char *s, size_t len)
{
	size_t n = len && s[0] == '.' ? digits(s + 1, len - 1) : 0;

	return n ? n + 1 : 0;
}

static size_t exponent(const char *s, size_t len)
{
	size_t i = 1;
	size_t n;

	if (!len || (s[0] != 'e' && s[0] != 'E'))
		return 0;
	i += sign(s + i, len - i);
	n = digits(s + i, len - i);
	return n ? i + n : 0;
}

bool toml_is_float(const char *word, size_t len)
{
	size_t i = sign(word, len);
	size_t whole;
	size_t n;

	word += i;
	len -= i;
	if (len == 3 && (!memcmp(word, "inf", 3) || !memcmp(word, "nan", 3)))
		return true;
	whole = digits(word, len);
	if (!whole || (whole > 1 && word[0] == '0'))
		return false;
	n = whole + fraction(word + whole, len - whole);
	n += exponent(word + n, len - n);
	return n > whole && n == len;
}

/* Does the word start with `shape`, where 9 stands for any digit? */
static bool has_shape(const char *word, size_t len, const char *shape)
{
	size_t n = strlen(shape);

	if (len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == '9' ? !is_digit(word[i]) : word[i] != shape[i])
			return false;
	return true;
}

/* "07:32:00", with a fraction; returns its length, 0 when it is none. */
static size_t time_length(const char *word, size_t len)
{
	size_t n = 8;

	if (!has_shape(word, len, "99:99:99"))
		return 0;
	if (n + 1 < len && word[n] == '.' && is_digit(word[n + 1]))
		for (n++; n < len && is_digit(word[n]);)
			n++;
	return n;
}

static bool is_zone(const char *word, size_t len)
{
	if (len == 1)
		return word[0] == 'Z' || word[0] == 'z';
	return len == 6 && sign(word, len) && has_shape(word + 1, 5, "99:99");
}

bool toml_is_date(const char *word, size_t len)
{
	size_t n;

	if (!has_shape(word, len, "9999-99-99"))
		return len && time_length(word, len) == len;
	if (len == 10)
		return true;
	if (word[10] != 'T' && word[10] != 't' && word[10] != ' ')
		return false;
	n = time_length(word + 11, len - 11);
	if (!n)
		return false;
	n += 11;
	return n == len || is_zone(word + n, len - n);
}
