/* R-tree over rectangles: quadratic split, window queries, and nearest neighbours by a priority queue. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

#define FANOUT		6
#define MIN_FILL	2
#define POOL_NODES	16

typedef struct { double x, y; } vec2;
typedef struct { vec2 lo, hi; } rect;

enum place_kind { SHOP, STATION, PARK };

typedef struct place {
	rect bounds;
	uint32_t id;
	char name[14];
	uint8_t kind;
	bool removed;
	union {
		struct { float rating; uint16_t staff; } shop;
		struct { uint8_t platforms; uint32_t riders; } station;
		struct { double acres; } park;
	} info;
} place;

struct node;

typedef struct branch {
	rect box;
	union {
		struct node *child;
		place *item;
	} to;
} branch;

typedef struct node {
	struct node *parent;
	uint16_t level;			/* 0: a leaf */
	uint16_t count;
	uint32_t visits;
	branch branches[FANOUT + 1];	/* one more while it is split */
} node;

typedef struct pool {
	struct pool *next;
	unsigned used;
	node nodes[POOL_NODES];
} pool;

typedef struct tree {
	node *root;
	pool *pools;
	size_t items;
	struct {
		unsigned splits, visited, height;
		double split_cost;
	} stat;
} tree;

typedef struct candidate {
	double distance;
	bool is_item;
	union {
		const node *node;
		const place *item;
	};
} candidate;

typedef struct heap {
	candidate *at;
	size_t len, max;
	size_t peak;
} heap;

typedef bool (*visit_fn)(const place *p, void *ctx);

static rect rect_union(rect a, rect b)
{
	return (rect){ { fmin(a.lo.x, b.lo.x), fmin(a.lo.y, b.lo.y) }, { fmax(a.hi.x, b.hi.x), fmax(a.hi.y, b.hi.y) } };
}

static double rect_area(const rect *r)
{
	return (r->hi.x - r->lo.x) * (r->hi.y - r->lo.y);
}

static bool rect_overlap(const rect *a, const rect *b)
{
	return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y;
}

static double rect_distance(const rect *r, vec2 p)
{
	double dx = p.x < r->lo.x ? r->lo.x - p.x : p.x > r->hi.x ? p.x - r->hi.x : 0;
	double dy = p.y < r->lo.y ? r->lo.y - p.y : p.y > r->hi.y ? p.y - r->hi.y : 0;

	return dx * dx + dy * dy;
}

static double growth(const rect *have, const rect *add)
{
	rect u = rect_union(*have, *add);

	return rect_area(&u) - rect_area(have);
}

static node *node_new(tree *t, unsigned level)
{
	node *n;

	if (!t->pools || t->pools->used == POOL_NODES) {
		pool *p = calloc(1, sizeof(*p));

		stepped_here("pool", p, sizeof(*p), 1);
		p->next = t->pools;
		t->pools = p;
	}
	n = &t->pools->nodes[t->pools->used++];
	n->level = (uint16_t)level;
	return n;
}

static rect node_box(const node *n)
{
	rect r = n->branches[0].box;

	for (int i = 1; i < n->count; i++)
		r = rect_union(r, n->branches[i].box);
	return r;
}

static void node_add(node *n, branch b)
{
	if (n->level)
		b.to.child->parent = n;
	n->branches[n->count++] = b;
}

/* Spread the branches of an overfull node over it and a new one, which is returned. */
static node *node_split(tree *t, node *n)
{
	branch all[FANOUT + 1];
	bool taken[FANOUT + 1] = { false };
	node *half[2] = { n, node_new(t, n->level) };
	rect box[2];
	int seed[2] = { 0, 1 }, left = FANOUT + 1 - 2;
	double worst = -DBL_MAX;

	memcpy(all, n->branches, sizeof(all));
	for (int i = 0; i <= FANOUT; i++) {
		for (int j = i + 1; j <= FANOUT; j++) {
			double waste = growth(&all[i].box, &all[j].box) - rect_area(&all[j].box);

			if (waste > worst) {
				worst = waste;
				seed[0] = i;
				seed[1] = j;
			}
		}
	}
	n->count = 0;
	for (int k = 0; k < 2; k++) {
		taken[seed[k]] = true;
		box[k] = all[seed[k]].box;
		node_add(half[k], all[seed[k]]);
	}
	for (int i = 0; i <= FANOUT; i++) {
		int k;

		if (taken[i])
			continue;
		k = growth(&box[0], &all[i].box) > growth(&box[1], &all[i].box);
		if (half[!k]->count + left == MIN_FILL)
			k = !k;
		box[k] = rect_union(box[k], all[i].box);
		node_add(half[k], all[i]);
		left--;
	}
	t->stat.splits++;
	t->stat.split_cost += worst;
	return half[1];
}

static node *choose_leaf(tree *t, const rect *r)
{
	node *n = t->root;

	while (n->level) {
		branch *best = n->branches;
		double least = DBL_MAX;

		for (branch *b = n->branches; b < n->branches + n->count; b++) {
			double g = growth(&b->box, r);

			if (g < least || (g == least && rect_area(&b->box) < rect_area(&best->box))) {
				least = g;
				best = b;
			}
		}
		best->box = rect_union(best->box, *r);
		n = best->to.child;
	}
	return n;
}

static void tree_insert(tree *t, place *p)
{
	branch b = { .box = p->bounds, .to.item = p };
	node *n = choose_leaf(t, &p->bounds), *parent, *twin;

	node_add(n, b);
	t->items++;
	while (n->count > FANOUT) {
		parent = n->parent;
		twin = node_split(t, n);
		if (!parent) {
			t->root = parent = node_new(t, n->level + 1u);
			node_add(parent, (branch){ .box = node_box(n), .to.child = n });
			t->stat.height++;
		} else {
			for (int i = 0; i < parent->count; i++)
				if (parent->branches[i].to.child == n)
					parent->branches[i].box = node_box(n);
		}
		node_add(parent, (branch){ .box = node_box(twin), .to.child = twin });
		n = parent;
	}
}

static bool tree_window(tree *t, node *n, const rect *window, visit_fn fn, void *ctx)
{
	n->visits++;
	t->stat.visited++;
	for (int i = 0; i < n->count; i++) {
		const branch *b = &n->branches[i];

		if (!rect_overlap(&b->box, window))
			continue;
		if (n->level ? !tree_window(t, b->to.child, window, fn, ctx) : !b->to.item->removed && !fn(b->to.item, ctx))
			return false;
	}
	return true;
}

static void heap_push(heap *h, candidate c)
{
	size_t i;

	if (h->len == h->max) {
		h->max = h->max ? h->max * 2 : 16;
		h->at = realloc(h->at, h->max * sizeof(*h->at));
		if (!h->at)
			abort();
		stepped_here("candidate", h->at, sizeof(*h->at), h->max);
	}
	for (i = h->len++; i && h->at[(i - 1) / 2].distance > c.distance; i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = c;
	if (h->len > h->peak)
		h->peak = h->len;
}

static candidate heap_pop(heap *h)
{
	candidate top = h->at[0], last = h->at[--h->len];
	size_t i = 0, kid;

	while ((kid = 2 * i + 1) < h->len) {
		if (kid + 1 < h->len && h->at[kid + 1].distance < h->at[kid].distance)
			kid++;
		if (h->at[kid].distance >= last.distance)
			break;
		h->at[i] = h->at[kid];
		i = kid;
	}
	h->at[i] = last;
	return top;
}

static size_t tree_nearest(const tree *t, heap *h, vec2 from, const place **out, size_t want)
{
	size_t got = 0;

	h->len = 0;
	heap_push(h, (candidate){ .distance = 0, .node = t->root });
	while (h->len && got < want) {
		candidate c = heap_pop(h);

		if (c.is_item) {
			out[got++] = c.item;
			continue;
		}
		for (int i = 0; i < c.node->count; i++) {
			const branch *b = &c.node->branches[i];
			candidate next = { .distance = rect_distance(&b->box, from), .is_item = !c.node->level };

			if (next.is_item && b->to.item->removed)
				continue;
			if (next.is_item)
				next.item = b->to.item;
			else
				next.node = b->to.child;
			heap_push(h, next);
		}
	}
	return got;
}

struct summary {
	unsigned count[3];
	double acres, rating;
	uint64_t riders;
	unsigned limit;
};

static bool summarise(const place *p, void *ctx)
{
	struct summary *s = ctx;

	s->count[p->kind]++;
	switch (p->kind) {
	case SHOP:
		s->rating += p->info.shop.rating * p->info.shop.staff;
		break;
	case STATION:
		s->riders += p->info.station.riders / p->info.station.platforms;
		break;
	case PARK:
		s->acres += p->info.park.acres;
		break;
	}
	return --s->limit;
}

static double unit(void)
{
	static uint64_t x = 0x853c49e6748fea9bull;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(x >> 40) / (1 << 24);
}

static place *places_make(unsigned n)
{
	static const char *const kinds[] = { "shop", "station", "park" };
	place *places = calloc(n, sizeof(*places));

	stepped_here("place", places, sizeof(*places), n);
	for (unsigned i = 0; i < n; i++) {
		place *p = &places[i];
		vec2 at = { unit() * 100, unit() * 100 }, size = { unit() * 2, unit() * 2 };

		p->id = i;
		p->kind = (uint8_t)(i % 7 == 3 ? STATION : i % 5 == 2 ? PARK : SHOP);
		p->bounds = (rect){ at, { at.x + size.x, at.y + size.y } };
		snprintf(p->name, sizeof(p->name), "%s-%u", kinds[p->kind], i);
		if (p->kind == SHOP) {
			p->info.shop.rating = (float)(unit() * 5);
			p->info.shop.staff = (uint16_t)(1 + i % 9);
		} else if (p->kind == STATION) {
			p->info.station.platforms = (uint8_t)(1 + i % 4);
			p->info.station.riders = i * 100;
		} else {
			p->info.park.acres = rect_area(&p->bounds);
		}
	}
	return places;
}

int main(void)
{
	enum { PLACES = 220, NEAR = 4 };
	place *places = places_make(PLACES);
	struct summary sum = { .limit = 500 };
	const place *near[NEAR];
	heap queue = { 0 };
	tree t = { 0 };
	uint64_t check = 0;

	t.root = node_new(&t, 0);
	for (unsigned i = 0; i < PLACES; i++)
		tree_insert(&t, &places[i]);
	for (int i = 0; i < 25; i++) {
		vec2 lo = { unit() * 85, unit() * 85 };
		rect window = { lo, { lo.x + 12, lo.y + 12 } };

		tree_window(&t, t.root, &window, summarise, &sum);
		for (size_t k = tree_nearest(&t, &queue, lo, near, NEAR); k--;)
			check = check * 31 + near[k]->id + (unsigned char)near[k]->name[k];
		places[near[0]->id].removed = true;
	}
	for (const pool *p = t.pools; p; p = p->next)
		for (unsigned i = 0; i < p->used; i++)
			check += p->nodes[i].visits * (p->nodes[i].level + 1u);
	printf("%016llx shops %u stations %u parks %u %.3f %.3f %llu splits %u %.2f height %u visited %u peak %zu\n",
	       (unsigned long long)check, sum.count[SHOP], sum.count[STATION], sum.count[PARK], sum.rating, sum.acres,
	       (unsigned long long)sum.riders, t.stat.splits, t.stat.split_cost, t.stat.height, t.stat.visited, queue.peak);
	for (pool *p; (p = t.pools); free(p))
		t.pools = p->next;
	free(queue.at);
	free(places);
	return 0;
}
