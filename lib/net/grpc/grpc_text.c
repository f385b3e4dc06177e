/* grpc_text.c - see grpc_text.h */
#include "net/grpc/grpc_text.h"

#include <errno.h>
#include <string.h>

/* Nanoseconds of a unit, or 0. */
static int64_t unit_ns(char unit)
{
	switch (unit) {
	case 'H':
		return 3600000000000;
	case 'M':
		return 60000000000;
	case 'S':
		return 1000000000;
	case 'm':
		return 1000000;
	case 'u':
		return 1000;
	case 'n':
		return 1;
	default:
		return 0;
	}
}

int grpc_timeout_parse(const char *text, size_t len, int64_t *ret_ms)
{
	static const int64_t MS = 1000000;
	int64_t number = 0;

	if (len < 2 || len > 9)
		return -EINVAL;
	for (size_t i = 0; i < len - 1; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		number = number * 10 + (text[i] - '0');
	}

	int64_t ns = unit_ns(text[len - 1]);

	if (ns == 0)
		return -EINVAL;
	/* 99999999 hours are more nanoseconds than 64 bits hold. */
	*ret_ms = ns >= MS ? number * (ns / MS) : (number * ns + MS - 1) / MS;
	return 0;
}

bool grpc_content_type_ok(const char *text, size_t len)
{
	static const char WANTED[] = "application/grpc";
	size_t n = sizeof(WANTED) - 1;

	if (len < n || memcmp(text, WANTED, n) != 0)
		return false;
	if (len == n || text[n] == ';')
		return true;
	return len >= n + 6 && memcmp(text + n, "+proto", 6) == 0 &&
	       (len == n + 6 || text[n + 6] == ';');
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c <= '~' && c != '%';
}

/* How many bytes of UTF-8 begin with `c`; 1 for what begins none. */
static size_t char_len(unsigned char c)
{
	if (c >= 0xf0)
		return 4;
	if (c >= 0xe0)
		return 3;
	return c >= 0xc0 ? 2 : 1;
}

int grpc_encode(struct shelf *shelf, struct buffer *out, const char *text,
		size_t max)
{
	static const char HEX[] = "0123456789ABCDEF";
	size_t used = 0;

	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		uint8_t three[3] = { '%', (uint8_t)HEX[*c >> 4],
				     (uint8_t)HEX[*c & 15] };
		size_t len = is_plain(*c) ? 1 : 3;

		if (used + len * char_len(*c) > max)
			break;
		if (buffer_add(shelf, out, len == 1 ? c : three, len) < 0)
			return -ENOMEM;
		used += len;
	}
	return 0;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
				      -1;
}

void grpc_decode(struct str *out, const char *text, size_t len, size_t max)
{
	for (size_t i = 0; i < len && out->len < max; i++) {
		bool coded = text[i] == '%' && i + 2 < len &&
			     digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;

		if (!coded) {
			str_addc(out, text[i]);
			continue;
		}
		str_addc(out,
			 (char)(digit(text[i + 1]) << 4 | digit(text[i + 2])));
		i += 2;
	}
}
