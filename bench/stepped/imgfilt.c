/* Image filtering: planar images, separable and square kernels, histogram equalisation, labelling of regions. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

#define MAX_PLANES	3
#define KSIZE		3
#define BINS		64
#define MAX_WIDTH	48
#define MAX_HEIGHT	32
#define MAX_REGIONS	40

typedef struct {
	int x, y;
} point_t;

typedef struct {
	point_t min, max;
} box_t;

typedef struct {
	uint8_t r, g, b, a;
} pixel_t;

typedef struct {
	int width, height;
	int stride;
	int border;
	float *data;			/* first sample of the padded area */
	float *origin;			/* sample (0, 0) */
} plane_t;

typedef struct {
	char name[16];
	unsigned nplanes;
	double gamma;
	plane_t planes[MAX_PLANES];
	box_t roi;
} image_t;

typedef struct {
	const char *name;
	float taps[KSIZE][KSIZE];
	float bias;
	unsigned normalize : 1;
	unsigned absolute : 1;
	unsigned passes : 4;
} kernel_t;

typedef struct {
	uint32_t count[BINS];
	uint32_t total;
	float lo, hi;
	uint8_t lut[BINS];
} histogram_t;

typedef struct {
	uint32_t area;
	box_t box;
	double sum_x, sum_y;
	float mass;
	double moment[2][2];
} region_t;

typedef struct {
	point_t *todo;
	unsigned depth, max_depth;
	unsigned nregions;
	region_t regions[MAX_REGIONS];
	uint8_t map[MAX_HEIGHT][MAX_WIDTH];
} labelling_t;

typedef struct filter_op filter_op_t;
struct filter_op {
	const char *name;
	void (*apply)(const filter_op_t *op, image_t *im);
	const kernel_t *kernel;
	union {
		float threshold;
		int radius;
		struct {
			float gain, offset;
		} linear;
	} arg;
	unsigned calls;
	uint64_t samples;
};

static const kernel_t kernels[] = {
	{ "gauss", { { 1, 2, 1 }, { 2, 4, 2 }, { 1, 2, 1 } }, 0.0f, 1, 0, 1 },
	{ "edge", { { -1, -1, -1 }, { -1, 8, -1 }, { -1, -1, -1 } }, 4.0f, 0, 1, 1 },
	{ "sharpen", { { 0, -1, 0 }, { -1, 5, -1 }, { 0, -1, 0 } }, 0.0f, 0, 0, 1 },
};

static struct {
	uint64_t convolved;
	uint64_t clipped;
	float peak;
	unsigned allocated;
} stats;

static inline float *sample(const plane_t *p, int x, int y)
{
	return p->origin + y * p->stride + x;
}

static int plane_init(plane_t *p, int width, int height, int border)
{
	size_t n;

	p->width = width;
	p->height = height;
	p->border = border;
	p->stride = width + 2 * border;
	n = (size_t)p->stride * (height + 2 * border);
	p->data = calloc(n, sizeof(*p->data));
	if (!p->data)
		return -1;
	stepped_here("float", p->data, sizeof(*p->data), n);
	p->origin = p->data + border * p->stride + border;
	stats.allocated++;
	return 0;
}

static image_t *image_new(const char *name, int width, int height, unsigned nplanes)
{
	image_t *im = calloc(1, sizeof(*im));

	if (!im)
		abort();
	stepped_here("image_t", im, sizeof(*im), 1);
	snprintf(im->name, sizeof(im->name), "%s", name);
	im->gamma = 2.2;
	im->roi = (box_t){ { 0, 0 }, { width - 1, height - 1 } };
	for (im->nplanes = 0; im->nplanes < nplanes; im->nplanes++)
		if (plane_init(&im->planes[im->nplanes], width, height, 1))
			abort();
	return im;
}

static void image_free(image_t *im)
{
	for (unsigned i = 0; i < im->nplanes; i++)
		free(im->planes[i].data);
	free(im);
}

/* Repeat the outermost samples into the border. */
static void plane_extend(plane_t *p)
{
	for (int y = 0; y < p->height; y++) {
		*sample(p, -1, y) = *sample(p, 0, y);
		*sample(p, p->width, y) = *sample(p, p->width - 1, y);
	}
	memcpy(sample(p, -1, -1), sample(p, -1, 0), p->stride * sizeof(float));
	memcpy(sample(p, -1, p->height), sample(p, -1, p->height - 1), p->stride * sizeof(float));
}

static void plane_convolve(plane_t *p, const kernel_t *k)
{
	plane_t out;
	float sum = 0, scale = 1;

	if (plane_init(&out, p->width, p->height, p->border))
		abort();
	for (int i = 0; i < KSIZE; i++)
		for (int j = 0; j < KSIZE; j++)
			sum += k->taps[i][j];
	if (k->normalize && sum != 0)
		scale = 1 / sum;
	plane_extend(p);
	for (int y = 0; y < p->height; y++) {
		for (int x = 0; x < p->width; x++) {
			float acc = 0;

			for (int i = 0; i < KSIZE; i++) {
				const float *row = sample(p, x - 1, y + i - 1);

				acc += row[0] * k->taps[i][0] + row[1] * k->taps[i][1] + row[2] * k->taps[i][2];
			}
			acc = acc * scale + k->bias;
			if (k->absolute)
				acc = fabsf(acc);
			stats.clipped += acc < 0 || acc > 255;
			*sample(&out, x, y) = fminf(fmaxf(acc, 0), 255);
		}
	}
	stats.convolved += (uint64_t)p->width * p->height;
	free(p->data);
	*p = out;
}

static void op_convolve(const filter_op_t *op, image_t *im)
{
	for (unsigned i = 0; i < im->nplanes; i++)
		for (unsigned n = 0; n < op->kernel->passes; n++)
			plane_convolve(&im->planes[i], op->kernel);
}

static void op_linear(const filter_op_t *op, image_t *im)
{
	for (unsigned i = 0; i < im->nplanes; i++) {
		plane_t *p = &im->planes[i];

		for (int y = im->roi.min.y; y <= im->roi.max.y; y++)
			for (int x = im->roi.min.x; x <= im->roi.max.x; x++)
				*sample(p, x, y) = *sample(p, x, y) * op->arg.linear.gain + op->arg.linear.offset;
	}
}

static void histogram_fill(histogram_t *h, const plane_t *p)
{
	uint32_t sum = 0;

	memset(h, 0, sizeof(*h));
	h->lo = h->hi = *sample(p, 0, 0);
	for (int y = 0; y < p->height; y++) {
		for (int x = 0; x < p->width; x++) {
			float v = *sample(p, x, y);
			int bin = v <= 0 ? 0 : v >= 255 ? BINS - 1 : (int)(v * BINS / 256);

			if (v < h->lo)
				h->lo = v;
			if (v > h->hi)
				h->hi = v;
			h->count[bin]++;
			h->total++;
		}
	}
	for (int i = 0; i < BINS; i++) {
		sum += h->count[i];
		h->lut[i] = (uint8_t)(255u * sum / h->total);
	}
	if (h->hi > stats.peak)
		stats.peak = h->hi;
}

/* The bin that has FRACTION of all samples below it. */
static int histogram_quantile(const histogram_t *h, double fraction)
{
	uint32_t n = 0;
	int i;

	for (i = 0; i < BINS - 1; i++) {
		n += h->count[i];
		if (n > fraction * h->total)
			break;
	}
	return i;
}

static void region_add(region_t *r, int x, int y, float v)
{
	if (!r->area++) {
		r->box.min = r->box.max = (point_t){ x, y };
	} else {
		if (x < r->box.min.x)
			r->box.min.x = x;
		if (x > r->box.max.x)
			r->box.max.x = x;
		if (y < r->box.min.y)
			r->box.min.y = y;
		if (y > r->box.max.y)
			r->box.max.y = y;
	}
	r->sum_x += x;
	r->sum_y += y;
	r->mass += v;
	r->moment[0][0] += x * x;
	r->moment[0][1] += x * y;
	r->moment[1][1] += y * y;
}

static void push(labelling_t *l, int x, int y)
{
	if (l->depth == l->max_depth) {
		l->max_depth = l->max_depth ? l->max_depth * 2 : 16;
		l->todo = realloc(l->todo, l->max_depth * sizeof(*l->todo));
		stepped_here("point_t", l->todo, sizeof(*l->todo), l->max_depth);
	}
	l->todo[l->depth++] = (point_t){ x, y };
}

/* Everything brighter than LEVEL that hangs together with (x, y) becomes region ID. */
static void label_fill(labelling_t *l, const plane_t *p, float level, uint8_t id, int x, int y)
{
	push(l, x, y);
	while (l->depth) {
		point_t at = l->todo[--l->depth];
		float v;

		if (at.x < 0 || at.y < 0 || at.x >= p->width || at.y >= p->height || l->map[at.y][at.x])
			continue;
		v = *sample(p, at.x, at.y);
		if (v <= level)
			continue;
		l->map[at.y][at.x] = id;
		region_add(&l->regions[id], at.x, at.y, v);
		push(l, at.x - 1, at.y);
		push(l, at.x + 1, at.y);
		push(l, at.x, at.y - 1);
		push(l, at.x, at.y + 1);
	}
}

static labelling_t *label_regions(const plane_t *p, float level)
{
	labelling_t *l = calloc(1, sizeof(*l));

	stepped_here("labelling_t", l, sizeof(*l), 1);
	for (int y = 0; y < p->height; y++)
		for (int x = 0; x < p->width; x++)
			if (!l->map[y][x] && *sample(p, x, y) > level && l->nregions < MAX_REGIONS - 1)
				label_fill(l, p, level, (uint8_t)++l->nregions, x, y);
	free(l->todo);
	return l;
}

static pixel_t scene_pixel(int x, int y)
{
	int dx = x - 13, dy = y - 11;
	uint32_t noise = x * 73856093u ^ y * 19349663u;
	pixel_t px = { (uint8_t)(x * 3), (uint8_t)(y * 4), (uint8_t)(noise >> 9 & 31), 255 };

	if (dx * dx + dy * dy < 50)
		px.r = px.g = 220;
	if (x > 22 && x < 32 && y > 12 && (x / 3 + y / 3) % 3)
		px.b = 240, px.g = 200;
	return px;
}

static void scene_draw(image_t *im)
{
	for (int y = 0; y < im->planes[0].height; y++) {
		for (int x = 0; x < im->planes[0].width; x++) {
			pixel_t px = scene_pixel(x, y);

			*sample(&im->planes[0], x, y) = px.r;
			*sample(&im->planes[1], x, y) = px.g;
			*sample(&im->planes[2], x, y) = px.b;
		}
	}
}

static filter_op_t chain[] = {
	{ .name = "smooth", .apply = op_convolve, .kernel = &kernels[0] },
	{ .name = "stretch", .apply = op_linear, .arg.linear = { 1.1f, -4.0f } },
	{ .name = "sharpen", .apply = op_convolve, .kernel = &kernels[2] },
};

int main(void)
{
	image_t *im = image_new("scene", 34, 26, 3);
	histogram_t *hists;
	labelling_t *lab;
	double check = 0;

	scene_draw(im);
	im->roi.min.x += 2;
	im->roi.max.y -= 2;
	for (filter_op_t *op = chain; op < chain + sizeof(chain) / sizeof(chain[0]); op++) {
		op->apply(op, im);
		op->calls++;
		op->samples += (uint64_t)im->nplanes * im->planes[0].width;
	}
	hists = malloc(im->nplanes * sizeof(*hists));
	if (!hists)
		abort();
	stepped_here("histogram_t", hists, sizeof(*hists), im->nplanes);
	for (unsigned i = 0; i < im->nplanes; i++) {
		int split;

		histogram_fill(&hists[i], &im->planes[i]);
		split = histogram_quantile(&hists[i], 0.8);
		lab = label_regions(&im->planes[i], split * 256.0f / BINS);
		for (unsigned r = 1; r <= lab->nregions; r++) {
			const region_t *reg = &lab->regions[r];
			double cx = reg->sum_x / reg->area, cy = reg->sum_y / reg->area;

			check += cx * 3 + cy + reg->mass / 255 + (reg->box.max.x - reg->box.min.x);
			check += sqrt(fabs(reg->moment[0][0] / reg->area - cx * cx)) + reg->box.max.y;
		}
		check += hists[i].lut[split] + lab->nregions;
		free(lab);
	}
	for (unsigned i = 0; i < sizeof(chain) / sizeof(chain[0]); i++)
		check += chain[i].calls + (double)chain[i].samples;
	free(hists);
	printf("%s %.3f clipped %llu peak %.1f\n", im->name, check, (unsigned long long)stats.clipped, stats.peak);
	image_free(im);
	return 0;
}
