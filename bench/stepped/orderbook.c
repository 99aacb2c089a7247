/* A limit order book: price levels in sorted lists, orders in time order, accounts, and a ring of what happened. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define RING_SIZE	64
#define ID_BUCKETS	128
#define NACCOUNTS	12
#define NSYMBOLS	3
#define CHUNK_ORDERS	32

struct list {
	struct list *next, *prev;
};

enum side { BUY, SELL };
enum event_kind { EV_ADD, EV_TRADE, EV_CANCEL, EV_REJECT, EV_KINDS };

typedef int64_t price_t;

struct money {
	int64_t units;
	int32_t cents;
};

struct position {
	int32_t held;
	int32_t open[2];
	double average;
};

struct account {
	uint32_t id;
	char owner[12];
	struct money cash, fees;
	struct position positions[NSYMBOLS];
	struct list orders;
	unsigned norders, rejected;
};

struct level {
	struct list link;		/* in book->levels[side] */
	struct list orders;
	price_t price;
	uint32_t volume;
	uint16_t norders;
};

struct order {
	struct list in_level;
	struct list in_account;
	struct order *hash_next;
	struct level *level;
	struct account *account;
	uint64_t id;
	price_t price;
	uint32_t left, filled;
	uint16_t symbol;
	uint8_t side : 1, ioc : 1, hidden : 1;
	uint32_t stamp;
};

struct order_chunk {
	struct order_chunk *next;
	struct order orders[CHUNK_ORDERS];
};

struct event {
	uint32_t seq;
	uint8_t kind;
	uint8_t side;
	uint16_t symbol;
	union {
		struct {
			uint64_t id;
			uint32_t quantity;
		} add;
		struct {
			uint64_t maker, taker;
			price_t price;
			uint32_t quantity;
		} trade;
		struct {
			uint64_t id;
			char reason[16];
		} reject;
	} u;
};

struct ring {
	struct event events[RING_SIZE];
	uint32_t head, tail;
	uint32_t dropped;
};

struct book {
	char symbol[8];
	struct list levels[2];
	price_t last, low, high;
	uint64_t traded;
	struct {
		uint32_t adds, cancels, trades;
	} n;
};

struct exchange {
	struct book books[NSYMBOLS];
	struct account *accounts[NACCOUNTS];
	struct order *by_id[ID_BUCKETS];
	struct order_chunk *chunks;
	struct list free_orders;
	struct ring ring;
	uint64_t next_id;
	uint32_t clock;
};

typedef void (*event_fn)(const struct event *ev, void *arg);

static struct exchange ex;

static void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static void list_add_before(struct list *at, struct list *l)
{
	l->next = at;
	l->prev = at->prev;
	at->prev->next = l;
	at->prev = l;
}

static void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

static struct order *order_alloc(void)
{
	struct order *o;

	if (ex.free_orders.next == &ex.free_orders) {
		struct order_chunk *c = calloc(1, sizeof(*c));

		stepped_here("order_chunk", c, sizeof(*c), 1);
		c->next = ex.chunks;
		ex.chunks = c;
		for (int i = 0; i < CHUNK_ORDERS; i++)
			list_add_before(&ex.free_orders, &c->orders[i].in_level);
	}
	o = container_of(ex.free_orders.next, struct order, in_level);
	list_del(&o->in_level);
	memset(o, 0, sizeof(*o));
	list_init(&o->in_level);
	return o;
}

static struct order **order_slot(uint64_t id)
{
	struct order **p = &ex.by_id[(id * 0x9e3779b97f4a7c15ull >> 32) % ID_BUCKETS];

	while (*p && (*p)->id != id)
		p = &(*p)->hash_next;
	return p;
}

static struct event *log_event(enum event_kind kind, const struct order *o)
{
	struct ring *r = &ex.ring;
	struct event *ev = &r->events[r->head++ % RING_SIZE];

	if (r->head - r->tail > RING_SIZE) {
		r->tail++;
		r->dropped++;
	}
	*ev = (struct event){ .seq = r->head, .kind = kind, .side = o->side, .symbol = o->symbol };
	return ev;
}

static void log_drain(event_fn fn, void *arg)
{
	while (ex.ring.tail != ex.ring.head)
		fn(&ex.ring.events[ex.ring.tail++ % RING_SIZE], arg);
}

static struct money money_add(struct money m, price_t ticks)
{
	int64_t all = m.units * 100 + m.cents + ticks;

	return (struct money){ .units = all / 100, .cents = (int32_t)(all % 100) };
}

static struct level *level_get(struct book *b, enum side side, price_t price)
{
	struct list *l;
	struct level *lv;

	for (l = b->levels[side].next; l != &b->levels[side]; l = l->next) {
		lv = container_of(l, struct level, link);
		if (lv->price == price)
			return lv;
		if (side == BUY ? lv->price < price : lv->price > price)
			break;
	}
	lv = calloc(1, sizeof(*lv));
	if (!lv)
		abort();
	stepped_here("level", lv, sizeof(*lv), 1);
	list_init(&lv->orders);
	lv->price = price;
	list_add_before(l, &lv->link);
	return lv;
}

static void order_remove(struct order *o)
{
	struct level *lv = o->level;

	*order_slot(o->id) = o->hash_next;
	if (lv) {
		list_del(&o->in_level);
		lv->volume -= o->left;
		if (!--lv->norders) {
			list_del(&lv->link);
			free(lv);
		}
	}
	list_del(&o->in_account);
	o->account->norders--;
	o->account->positions[o->symbol].open[o->side] -= o->left;
	list_add_before(&ex.free_orders, &o->in_level);
}

static void settle(struct order *o, price_t price, uint32_t quantity)
{
	struct account *a = o->account;
	struct position *p = &a->positions[o->symbol];
	price_t value = price * quantity;

	if (o->side == BUY) {
		if (p->held + (int32_t)quantity > 0)
			p->average = (p->average * p->held + (double)value) / (p->held + (int32_t)quantity);
		p->held += quantity;
		a->cash = money_add(a->cash, -value);
	} else {
		p->held -= quantity;
		a->cash = money_add(a->cash, value);
	}
	p->open[o->side] -= quantity;
	a->fees = money_add(a->fees, value / 1000);
	o->left -= quantity;
	o->filled += quantity;
}

static void match(struct book *b, struct order *taker)
{
	struct list *other = &b->levels[!taker->side];

	while (taker->left && other->next != other) {
		struct level *lv = container_of(other->next, struct level, link);
		struct order *maker = container_of(lv->orders.next, struct order, in_level);
		uint32_t quantity = maker->left < taker->left ? maker->left : taker->left;
		struct event *ev;

		if (taker->side == BUY ? lv->price > taker->price : lv->price < taker->price)
			break;
		b->last = lv->price;
		if (!b->low || b->last < b->low)
			b->low = b->last;
		if (b->last > b->high)
			b->high = b->last;
		b->traded += quantity;
		b->n.trades++;
		lv->volume -= quantity;
		settle(maker, b->last, quantity);
		settle(taker, b->last, quantity);
		ev = log_event(EV_TRADE, taker);
		ev->u.trade.maker = maker->id;
		ev->u.trade.taker = taker->id;
		ev->u.trade.price = b->last;
		ev->u.trade.quantity = quantity;
		if (!maker->left)
			order_remove(maker);
	}
}

static uint64_t submit(struct account *a, uint16_t symbol, enum side side, price_t price, uint32_t quantity, int ioc)
{
	struct book *b = &ex.books[symbol];
	struct order *o = order_alloc();
	struct event *ev;

	o->id = ++ex.next_id;
	o->account = a;
	o->symbol = symbol;
	o->side = side;
	o->ioc = ioc;
	o->price = price;
	o->left = quantity;
	o->stamp = ex.clock;
	if (a->positions[symbol].open[side] + quantity > 400) {
		ev = log_event(EV_REJECT, o);
		ev->u.reject.id = o->id;
		strcpy(ev->u.reject.reason, "exposure");
		a->rejected++;
		list_add_before(&ex.free_orders, &o->in_level);
		return 0;
	}
	*order_slot(o->id) = o;
	list_add_before(&a->orders, &o->in_account);
	a->norders++;
	a->positions[symbol].open[side] += quantity;
	b->n.adds++;
	ev = log_event(EV_ADD, o);
	ev->u.add.id = o->id;
	ev->u.add.quantity = quantity;
	match(b, o);
	if (!o->left || o->ioc) {
		order_remove(o);
		return 0;
	}
	o->level = level_get(b, side, price);
	o->level->volume += o->left;
	o->level->norders++;
	list_add_before(&o->level->orders, &o->in_level);
	return o->id;
}

static void cancel(uint64_t id)
{
	struct order *o = *order_slot(id);

	if (!o)
		return;
	ex.books[o->symbol].n.cancels++;
	log_event(EV_CANCEL, o)->u.add.id = id;
	order_remove(o);
}

struct tally {
	uint32_t count[EV_KINDS];
	uint64_t hash;
	int64_t turnover;
};

static void tally_event(const struct event *ev, void *arg)
{
	struct tally *t = arg;

	t->count[ev->kind]++;
	t->hash = t->hash * 31 + ev->seq + ev->symbol;
	if (ev->kind == EV_TRADE) {
		t->turnover += ev->u.trade.price * ev->u.trade.quantity;
		t->hash ^= ev->u.trade.maker * 7 + ev->u.trade.taker;
	} else if (ev->kind == EV_REJECT) {
		t->hash += (unsigned char)ev->u.reject.reason[0];
	} else {
		t->hash += ev->u.add.id + (ev->side == SELL);
	}
}

static uint32_t rnd(void)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void setup(void)
{
	static const char *const symbols[NSYMBOLS] = { "ACME", "GLOBEX", "HOOLI" };

	list_init(&ex.free_orders);
	for (int i = 0; i < NSYMBOLS; i++) {
		strcpy(ex.books[i].symbol, symbols[i]);
		list_init(&ex.books[i].levels[BUY]);
		list_init(&ex.books[i].levels[SELL]);
		ex.books[i].last = 1000 + 250 * i;
	}
	for (uint32_t i = 0; i < NACCOUNTS; i++) {
		struct account *a = calloc(1, sizeof(*a));

		stepped_here("account", a, sizeof(*a), 1);
		a->id = 100 + i;
		snprintf(a->owner, sizeof(a->owner), "acct%u", a->id);
		a->cash.units = 100000;
		list_init(&a->orders);
		ex.accounts[i] = a;
	}
}

int main(void)
{
	struct tally tally = { .hash = 1 };
	uint64_t recent[16] = { 0 };
	int64_t sum = 0;

	setup();
	for (ex.clock = 0; ex.clock < 1200; ex.clock++) {
		struct account *a = ex.accounts[rnd() % NACCOUNTS];
		uint16_t symbol = rnd() % NSYMBOLS;
		enum side side = rnd() >> 7 & 1;
		price_t price = ex.books[symbol].last + (price_t)(rnd() % 21) - 10 + (side == BUY ? -2 : 2);
		uint32_t quantity = 1 + rnd() % 50;
		uint64_t id = submit(a, symbol, side, price, quantity, price % 16 == 0);

		if (id) {
			uint64_t *slot = &recent[rnd() % 16];

			if (rnd() % 3 == 0)
				cancel(*slot);
			*slot = id;
		}
		if (ex.clock % 40 == 39)
			log_drain(tally_event, &tally);
	}
	log_drain(tally_event, &tally);
	for (int i = 0; i < NACCOUNTS; i++) {
		struct account *a = ex.accounts[i];

		for (int s = 0; s < NSYMBOLS; s++)
			sum += a->positions[s].held * (s + 1) + (int64_t)a->positions[s].average;
		sum += a->cash.units + a->fees.units + a->fees.cents + a->rejected + a->norders;
		while (a->orders.next != &a->orders)
			cancel(container_of(a->orders.next, struct order, in_account)->id);
		sum += a->owner[4];
		free(a);
	}
	for (struct book *b = ex.books; b < ex.books + NSYMBOLS; b++)
		sum = sum * 3 + (int64_t)b->traded + b->n.trades + b->n.cancels * 2 + b->high - b->low + b->symbol[1];
	for (struct order_chunk *c; (c = ex.chunks); free(c))
		ex.chunks = c->next;
	printf("%016llx sum %lld trades %u turnover %lld dropped %u\n", (unsigned long long)tally.hash, (long long)sum,
	       tally.count[EV_TRADE], (long long)tally.turnover, ex.ring.dropped);
	return 0;
}
