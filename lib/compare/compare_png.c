/* compare_png.c - two PNG images, pixel by pixel
 *
 *	"\x89PNG\r\n\x1a\n", then chunks: length (big-endian), type, bytes, CRC
 *	IHDR	width, height, bits, colour type, compression, filter, interlacing
 *	PLTE	colours of a palette; tRNS their opacity
 *	IDAT	rows, deflated: a filter and the bytes of the row
 *
 * Rows of both images become RGBA, so that a palette may equal true colour.  Only images
 * of 8 bits that are not interlaced are read. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "compare/compare_internal.h"

enum { SIDE_MAX = 1 << 20, HEAD = 8, CHUNK = 12, CHUNKS_MAX = 10000 };

enum colour { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGBA = 6 };

struct png {
	uint32_t width, height;
	unsigned colour;
	unsigned n_channels;
	uint8_t palette[256][4];
	bool has_key; /* one colour is transparent */
	uint64_t data_at; /* of the first IDAT chunk */
	uint64_t data_len;
	struct compare_source in;
	uint8_t *row, *above; /* with n_channels zeros before them */
	uint8_t *pixels; /* RGBA */
};

static int take_header(struct png *p, const uint8_t *b, uint32_t len)
{
	static const uint8_t channels[] = { [GREY] = 1,
					    [RGB] = 3,
					    [PALETTE] = 1,
					    [GREY_ALPHA] = 2,
					    [RGBA] = 4 };

	if (len != 13)
		return -EBADMSG;
	p->width = be32_get(b);
	p->height = be32_get(b + 4);
	p->colour = b[9];
	if (p->width == 0 || p->height == 0 || b[9] > RGBA ||
	    channels[b[9]] == 0)
		return -EBADMSG;
	p->n_channels = channels[b[9]];
	if (b[8] != 8 || b[10] || b[11] || b[12] || p->width > SIDE_MAX)
		return -ENOTSUP;
	return 0;
}

static int take_palette(struct png *p, const uint8_t *b, uint32_t len)
{
	if (len > 768 || len % 3 != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < len / 3; i++)
		memcpy(p->palette[i], b + (size_t)3 * i, 3);
	return 0;
}

static int take_opacity(struct png *p, const uint8_t *b, uint32_t len)
{
	p->has_key = p->colour != PALETTE;
	if (len > 256)
		return -EBADMSG;
	for (uint32_t i = 0; i < len; i++)
		p->palette[i][3] = b[i];
	return 0;
}

static const struct {
	char type[5];
	int (*take)(struct png *p, const uint8_t *bytes, uint32_t len);
} chunks[] = {
	{ "IHDR", take_header },
	{ "PLTE", take_palette },
	{ "tRNS", take_opacity },
};

static int take_chunk(struct png *p, int fd, uint64_t at, const uint8_t *head,
		      uint32_t len)
{
	uint8_t bytes[768];

	for (size_t i = 0; i < 3; i++) {
		if (memcmp(head + 4, chunks[i].type, 4) != 0)
			continue;
		if (len > sizeof(bytes))
			return -EBADMSG;
		int r = compare_read_at(fd, at, bytes, len);

		return r < 0 ? r : chunks[i].take(p, bytes, len);
	}
	return 0;
}

/* Reads the chunks before the data. */
static int read_head(struct png *p, int fd)
{
	uint8_t head[HEAD];
	uint64_t at = HEAD;
	int r = compare_read_at(fd, 0, head, HEAD);

	if (r == 0 && memcmp(head, "\x89PNG\r\n\x1a\n", HEAD) != 0)
		r = -EBADMSG;
	memset(p->palette, 255, sizeof(p->palette));
	for (int i = 0; r == 0 && i < CHUNKS_MAX; i++) {
		r = compare_read_at(fd, at, head, HEAD);
		if (r < 0)
			return r;
		uint32_t len = be32_get(head);

		if (memcmp(head + 4, "IDAT", 4) == 0) {
			p->data_at = at + HEAD;
			p->data_len = len;
			break;
		}
		r = take_chunk(p, fd, at + HEAD, head, len);
		at += CHUNK + (uint64_t)len;
	}
	if (r < 0)
		return r;
	if (p->width == 0 || p->data_at == 0)
		return -EBADMSG;
	return p->has_key ? -ENOTSUP : 0;
}

static int png_open(struct png *p, int fd)
{
	int r = read_head(p, fd);

	if (r < 0)
		return r;
	size_t row = (size_t)(p->width + 1) * p->n_channels;

	/* Of the first row, the one above it has zeros. */
	p->row = calloc(1, row + 1);
	p->above = calloc(1, row + 1);
	p->pixels = malloc((size_t)p->width * 4);
	if (!p->row || !p->above || !p->pixels)
		return -ENOMEM;
	return source_open(&p->in, SOURCE_PNG, fd, p->data_at, p->data_len);
}

static void png_close(struct png *p)
{
	free(p->row);
	free(p->above);
	free(p->pixels);
	source_close(&p->in);
}

static unsigned paeth(int a, int b, int c)
{
	int p = a + b - c;
	int to_a = abs(p - a), to_b = abs(p - b), to_c = abs(p - c);

	if (to_a <= to_b && to_a <= to_c)
		return (unsigned)a;
	return (unsigned)(to_b <= to_c ? b : c);
}

static int unfilter(unsigned filter, uint8_t *row, const uint8_t *above,
		    size_t len, size_t step)
{
	const uint8_t *left = row - step, *corner = above - step;

	if (filter > 4)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) {
		unsigned by = 0;

		switch (filter) {
		case 1:
			by = left[i];
			break;
		case 2:
			by = above[i];
			break;
		case 3:
			by = (left[i] + above[i]) / 2U;
			break;
		case 4:
			by = paeth(left[i], above[i], corner[i]);
			break;
		default:
			break;
		}
		row[i] = (uint8_t)(row[i] + by);
	}
	return 0;
}

static void expand(const struct png *p, const uint8_t *row)
{
	for (uint32_t i = 0; i < p->width; i++) {
		const uint8_t *from = row + (size_t)i * p->n_channels;
		uint8_t *to = p->pixels + (size_t)i * 4;

		if (p->colour == PALETTE)
			memcpy(to, p->palette[*from], 4);
		else if (p->colour == RGB || p->colour == RGBA)
			memcpy(to, from, 3);
		else
			memset(to, *from, 3);
		if (p->colour == GREY || p->colour == RGB)
			to[3] = 255;
		else if (p->colour != PALETTE)
			to[3] = from[p->n_channels - 1];
	}
}

/* Reads the next row into p->pixels. */
static int next_row(struct png *p)
{
	size_t len = (size_t)p->width * p->n_channels;
	uint8_t *row = p->row + p->n_channels;
	uint8_t filter;
	int r = source_read(&p->in, &filter, 1);

	if (r == 0)
		r = source_read(&p->in, row, len);
	if (r == 0)
		r = unfilter(filter, row, p->above + p->n_channels, len,
			     p->n_channels);
	if (r < 0)
		return r;
	expand(p, row);
	p->row = p->above;
	p->above = row - p->n_channels;
	return 0;
}

static void compare_pixels(struct comparison *c, const struct png *a,
			   const struct png *b, uint32_t y)
{
	char place[COMPARE_PLACE_SIZE];
	size_t n = (size_t)a->width * 4;

	if (memcmp(a->pixels, b->pixels, n) == 0) {
		c->result->n_values += n;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double p = a->pixels[i], q = b->pixels[i];
		unsigned news = tally_integers(c, p, q, p > q ? p - q : q - p);

		if (!news)
			continue;
		(void)snprintf(place, sizeof(place),
			       "pixel x=%zu y=%" PRIu32 " %s", i / 4, y,
			       (const char *[]){ "red", "green", "blue",
						 "alpha" }[i % 4]);
		tally_place(c, news, place, p, q);
	}
}

static int compare_images(struct comparison *c, struct png *a, struct png *b)
{
	int r = png_open(a, c->file[0].fd);

	if (r == 0)
		r = png_open(b, c->file[1].fd);
	if (r < 0)
		return r;
	if (a->width != b->width || a->height != b->height) {
		tally_unlike(c,
			     "the images have %" PRIu32 "x%" PRIu32
			     " and %" PRIu32 "x%" PRIu32 " pixels",
			     a->width, a->height, b->width, b->height);
		return 0;
	}
	for (uint32_t y = 0; y < a->height; y++) {
		r = next_row(a);
		if (r == 0)
			r = next_row(b);
		if (r < 0)
			return r;
		compare_pixels(c, a, b, y);
	}
	return 0;
}

int compare_png(struct comparison *c)
{
	struct png *p = calloc(2, sizeof(*p));

	if (!p)
		return -ENOMEM;
	int r = compare_images(c, &p[0], &p[1]);

	png_close(&p[0]);
	png_close(&p[1]);
	free(p);
	return r == -EBADMSG || r == -ENOTSUP ?
		       error_set(c->why, r,
				 "one image is not a valid PNG of 8 bits") :
		       r;
}
