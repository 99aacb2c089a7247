/* A log-structured store in memory: skiplist, sorted runs of blocks with bloom filters, merging, an LRU block cache. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

enum { MAX_HEIGHT = 8, BLOCK_ENTRIES = 16, BLOOM_WORDS = 16, CACHE_SLOTS = 6, CACHE_HASH = 16, MAX_RUNS = 5 };

typedef struct slice {
	const char *data;
	uint32_t len;
} slice;

typedef struct skip_node {
	char key[20];
	char *value;
	uint32_t value_len;
	uint32_t seq;
	uint8_t deleted;
	uint8_t height;
	struct skip_node *next[];
} skip_node;

typedef struct memtable {
	skip_node *head;
	unsigned height, count;
	size_t bytes;
} memtable;

typedef struct entry {
	char key[20];
	uint32_t seq : 31, deleted : 1;
	uint16_t offset, len;			/* of the value, in the block's heap */
} entry;

typedef struct block {
	uint32_t checksum;
	uint16_t count, heap_len;
	entry entries[BLOCK_ENTRIES];
	char heap[BLOCK_ENTRIES * 24];
} block;

typedef struct bloom {
	uint64_t bits[BLOOM_WORDS];
	uint32_t added;
} bloom;

typedef struct run {
	uint32_t id, nblocks, max_blocks, nentries;
	block **blocks;
	bloom filter;
	struct {
		char first[20], last[20];
	} range;
} run;

typedef struct cached {
	struct cached *newer, *older;		/* LRU order */
	struct cached *chain;
	uint32_t run_id, index;
	unsigned hits;
	block copy;
} cached;

typedef struct cache {
	cached *hash[CACHE_HASH];
	cached lru;				/* only its links are used */
	unsigned used, hits, misses, evictions;
} cache;

/* One of the sources of a merge: either a run or the memtable. */
typedef struct iter {
	enum { IT_RUN, IT_MEM } kind;
	const char *key;
	uint32_t seq;
	union {
		struct {
			const run *run;
			uint32_t block, slot;
		} r;
		const skip_node *node;
	} at;
} iter;

typedef struct store {
	memtable mem;
	run *runs[MAX_RUNS];
	unsigned nruns;
	cache cache;
	uint32_t seq, next_run;
	struct {
		uint32_t gets, found, filtered, flushes, merges;
		double fill;
	} stat;
} store;

static uint32_t random_state = 88172645;

static uint32_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	return random_state ^= random_state << 5;
}

static uint32_t hash_bytes(const void *data, size_t len, uint32_t h)
{
	for (const uint8_t *p = data; len--; p++)
		h = (h ^ *p) * 0x01000193;
	return h ^ h >> 13;
}

static char *slice_copy(slice s)
{
	char *p;

	if (!s.len)
		return NULL;
	p = calloc(s.len, 1);
	stepped_here("char", p, 1, s.len);
	return memcpy(p, s.data, s.len);
}

static skip_node *node_new(unsigned height, const char *key, slice value)
{
	size_t size = sizeof(skip_node) + height * sizeof(skip_node *);
	skip_node *n = calloc(1, size);

	stepped_here("skip_node", n, size, 1);
	strncpy(n->key, key, sizeof(n->key) - 1);
	n->height = (uint8_t)height;
	n->value_len = value.len;
	n->value = slice_copy(value);
	return n;
}

static void mem_put(memtable *m, const char *key, slice value, uint32_t seq)
{
	skip_node *before[MAX_HEIGHT], *n = m->head;
	unsigned height = 1;

	for (int i = MAX_HEIGHT - 1; i >= 0; i--) {
		while (n->next[i] && strcmp(n->next[i]->key, key) < 0)
			n = n->next[i];
		before[i] = n;
	}
	n = n->next[0];
	if (n && !strcmp(n->key, key)) {
		free(n->value);
		n->value = slice_copy(value);
		n->value_len = value.len;
	} else {
		while (height < MAX_HEIGHT && rnd() % 3 == 0)
			height++;
		n = node_new(height, key, value);
		for (unsigned i = 0; i < height; i++) {
			n->next[i] = before[i]->next[i];
			before[i]->next[i] = n;
		}
		m->count++;
	}
	n->seq = seq;
	n->deleted = !value.len;
	m->bytes += value.len;
	if (height > m->height)
		m->height = height;
}

static const skip_node *mem_get(const memtable *m, const char *key)
{
	const skip_node *n = m->head;

	for (int i = (int)m->height - 1; i >= 0; i--)
		while (n->next[i] && strcmp(n->next[i]->key, key) < 0)
			n = n->next[i];
	n = n->next[0];
	return n && !strcmp(n->key, key) ? n : NULL;
}

static void mem_clear(memtable *m)
{
	for (skip_node *n = m->head->next[0], *next; n; n = next) {
		next = n->next[0];
		free(n->value);
		free(n);
	}
	memset(m->head->next, 0, MAX_HEIGHT * sizeof(m->head->next[0]));
	m->count = m->height = 0;
	m->bytes = 0;
}

static int bloom_check(bloom *b, const char *key, int add)
{
	uint32_t h = hash_bytes(key, strlen(key), 0x811c9dc5), step = h >> 17 | 1;

	for (int i = 0; i < 3; i++, h += step) {
		uint64_t *word = &b->bits[h / 64 % BLOOM_WORDS], bit = 1ull << h % 64;

		if (add)
			*word |= bit;
		else if (!(*word & bit))
			return 0;
	}
	b->added += add;
	return 1;
}

static void run_append(run *r, const char *key, uint32_t seq, int deleted, slice value)
{
	block *b = r->nblocks ? r->blocks[r->nblocks - 1] : NULL;
	entry *e;

	if (!b || b->count == BLOCK_ENTRIES || b->heap_len + value.len > sizeof(b->heap)) {
		if (r->nblocks == r->max_blocks) {
			r->max_blocks += 4;
			r->blocks = realloc(r->blocks, r->max_blocks * sizeof(*r->blocks));
			stepped_here("block *", r->blocks, sizeof(*r->blocks), r->max_blocks);
		}
		b = r->blocks[r->nblocks++] = calloc(1, sizeof(*b));
		stepped_here("block", b, sizeof(*b), 1);
	}
	e = &b->entries[b->count++];
	strcpy(e->key, key);
	e->seq = seq;
	e->deleted = deleted;
	e->offset = b->heap_len;
	e->len = (uint16_t)value.len;
	memcpy(b->heap + e->offset, value.data ? value.data : "", value.len);
	b->heap_len += value.len;
	b->checksum = b->checksum * 31 + e->seq + e->len;
	bloom_check(&r->filter, key, 1);
	if (!r->nentries++)
		strcpy(r->range.first, key);
	strcpy(r->range.last, key);
}

static run *run_new(store *s)
{
	run *r = calloc(1, sizeof(*r));

	stepped_here("run", r, sizeof(*r), 1);
	r->id = ++s->next_run;
	return r;
}

static void run_free(run *r)
{
	while (r->nblocks)
		free(r->blocks[--r->nblocks]);
	free(r->blocks);
	free(r);
}

/* The block as read: from the cache, or copied into it in place of the one unused for longest. */
static const block *cache_read(cache *c, const run *r, uint32_t index)
{
	cached **slot = &c->hash[(r->id * 31 + index) % CACHE_HASH], *e, **p;

	for (e = *slot; e && (e->run_id != r->id || e->index != index); e = e->chain)
		;
	if (e) {
		c->hits++;
		e->hits++;
		e->newer->older = e->older;
		e->older->newer = e->newer;
	} else {
		c->misses++;
		if (c->used < CACHE_SLOTS) {
			e = calloc(1, sizeof(*e));
			stepped_here("cached", e, sizeof(*e), 1);
			c->used++;
		} else {
			e = c->lru.newer;		/* the oldest */
			e->newer->older = e->older;
			e->older->newer = e->newer;
			for (p = &c->hash[(e->run_id * 31 + e->index) % CACHE_HASH]; *p != e; p = &(*p)->chain)
				;
			*p = e->chain;
			c->evictions++;
		}
		e->run_id = r->id;
		e->index = index;
		e->hits = 0;
		e->copy = *r->blocks[index];
		e->chain = *slot;
		*slot = e;
	}
	e->older = c->lru.older;
	e->newer = &c->lru;
	e->older->newer = c->lru.older = e;
	return &e->copy;
}

static slice run_get(store *s, run *r, const char *key, int *found)
{
	uint32_t lo = 0, hi = r->nblocks;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (strcmp(r->blocks[mid]->entries[0].key, key) <= 0)
			lo = mid;
		else
			hi = mid;
	}
	const block *b = cache_read(&s->cache, r, lo);
	for (const entry *e = b->entries; e < b->entries + b->count; e++) {
		if (!strcmp(e->key, key)) {
			*found = 1;
			return (slice){ e->deleted ? NULL : b->heap + e->offset, e->len };
		}
	}
	return (slice){ NULL, 0 };
}

static slice store_get(store *s, const char *key)
{
	const skip_node *n = mem_get(&s->mem, key);
	slice v = { NULL, 0 };
	int found = 0;

	s->stat.gets++;
	if (n)
		return (slice){ n->value, n->value_len };
	for (int i = (int)s->nruns - 1; i >= 0 && !found; i--) {
		run *r = s->runs[i];

		if (strcmp(key, r->range.first) < 0 || strcmp(key, r->range.last) > 0)
			continue;
		if (bloom_check(&r->filter, key, 0))
			v = run_get(s, r, key, &found);
		else
			s->stat.filtered++;
	}
	s->stat.found += v.data != NULL;
	return v;
}

static const entry *iter_entry(const iter *it)
{
	return &it->at.r.run->blocks[it->at.r.block]->entries[it->at.r.slot];
}

static void iter_load(iter *it)
{
	it->key = NULL;
	if (it->kind == IT_MEM) {
		if (it->at.node) {
			it->key = it->at.node->key;
			it->seq = it->at.node->seq;
		}
	} else if (it->at.r.block < it->at.r.run->nblocks) {
		it->key = iter_entry(it)->key;
		it->seq = iter_entry(it)->seq;
	}
}

static void iter_next(iter *it)
{
	if (it->kind == IT_MEM) {
		it->at.node = it->at.node->next[0];
	} else if (++it->at.r.slot == it->at.r.run->blocks[it->at.r.block]->count) {
		it->at.r.slot = 0;
		it->at.r.block++;
	}
	iter_load(it);
}

/* Merge all sources into one run, of each key what is newest. */
static run *merge(store *s, iter *its, unsigned n, int drop_deleted)
{
	run *out = run_new(s);
	char key[20];

	for (;;) {
		iter *best = NULL;
		slice value;
		int deleted;

		for (iter *it = its; it < its + n; it++) {
			int cmp = !it->key ? 1 : best ? strcmp(it->key, best->key) : -1;

			if (cmp < 0 || (!cmp && it->seq > best->seq))
				best = it;
		}
		if (!best)
			break;
		if (best->kind == IT_MEM) {
			value = (slice){ best->at.node->value, best->at.node->value_len };
			deleted = best->at.node->deleted;
		} else {
			const entry *e = iter_entry(best);

			value = (slice){ best->at.r.run->blocks[best->at.r.block]->heap + e->offset, e->len };
			deleted = e->deleted;
		}
		strcpy(key, best->key);
		if (!deleted || !drop_deleted)
			run_append(out, key, best->seq, deleted, value);
		for (unsigned i = 0; i < n; i++)
			while (its[i].key && !strcmp(its[i].key, key))
				iter_next(&its[i]);
	}
	return out;
}

static void store_flush(store *s)
{
	iter its[MAX_RUNS] = { { .kind = IT_MEM, .at.node = s->mem.head->next[0] } };
	run *r;

	iter_load(&its[0]);
	r = merge(s, its, 1, 0);
	mem_clear(&s->mem);
	s->stat.flushes++;
	s->runs[s->nruns++] = r;
	if (s->nruns < MAX_RUNS)
		return;
	for (unsigned i = 0; i < s->nruns; i++) {
		its[i] = (iter){ .kind = IT_RUN, .at.r.run = s->runs[i] };
		iter_load(&its[i]);
	}
	r = merge(s, its, s->nruns, 1);
	s->stat.merges++;
	s->stat.fill += (double)r->nentries / (r->nblocks * BLOCK_ENTRIES);
	while (s->nruns)
		run_free(s->runs[--s->nruns]);
	s->runs[s->nruns++] = r;
}

static void store_put(store *s, const char *key, slice value)
{
	mem_put(&s->mem, key, value, ++s->seq);
	if (s->mem.count >= 40 || s->mem.bytes > 800)
		store_flush(s);
}

int main(void)
{
	static store s;
	char key[20], text[24];
	uint32_t check = 0;

	s.mem.head = node_new(MAX_HEIGHT, "", (slice){ NULL, 0 });
	s.cache.lru.newer = s.cache.lru.older = &s.cache.lru;
	for (unsigned i = 0; i < 600; i++) {
		snprintf(key, sizeof(key), "user/%03u", rnd() % 150);
		if (rnd() % 3 == 0) {
			slice v = store_get(&s, key);

			check = hash_bytes(v.data, v.data ? v.len : 0, check + v.len);
		} else if (rnd() % 8 == 0) {
			store_put(&s, key, (slice){ NULL, 0 });
		} else {
			snprintf(text, sizeof(text), "%x.%.*s", rnd() & 0xffff, (int)(i % 11), "abcdefghijkl");
			store_put(&s, key, (slice){ text, (uint32_t)strlen(text) });
		}
	}
	printf("%08x gets %u found %u filtered %u flushes %u merges %u fill %.3f cache %u/%u evicted %u\n", check,
	       s.stat.gets, s.stat.found, s.stat.filtered, s.stat.flushes, s.stat.merges,
	       s.stat.merges ? s.stat.fill / s.stat.merges : 0, s.cache.hits, s.cache.misses, s.cache.evictions);
	mem_clear(&s.mem);
	free(s.mem.head);
	while (s.nruns)
		run_free(s.runs[--s.nruns]);
	for (cached *c = s.cache.lru.newer, *next; c != &s.cache.lru; c = next) {
		next = c->newer;
		free(c);
	}
	return 0;
}
