/* Takes captured frames apart, keeps a table of flows, and lets them expire on a wheel of timers. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stepped.h"

#define PACKED __attribute__((packed))

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

struct eth_hdr {
	u8 dst[6], src[6];
	u16 proto;
} PACKED;

struct vlan_tag {
	u16 tci, proto;
} PACKED;

struct ip_hdr {
	u8 ihl : 4, version : 4;
	u8 tos;
	u16 len, id, frag;
	u8 ttl, proto;
	u16 sum;
	u32 src, dst;
} PACKED;

struct tcp_hdr {
	u16 sport, dport;
	u32 seq, ack;
	u8 reserved : 4, off : 4;
	u8 fin : 1, syn : 1, rst : 1, psh : 1, ackf : 1, urg : 1, : 2;
	u16 window, sum, urgent;
} PACKED;

struct udp_hdr {
	u16 sport, dport, len, sum;
} PACKED;

/* A capture, as it lies in the file. */
struct record {
	u32 sec, usec;
	u16 caplen, len;
	u8 frame[];
} PACKED;

struct packet {
	const struct record *rec;
	const struct eth_hdr *eth;
	const struct ip_hdr *ip;
	union {
		const struct tcp_hdr *tcp;
		const struct udp_hdr *udp;
	} l4;
	const u8 *payload;
	u16 payload_len;
	u16 vlan;
};

struct endpoint {
	u32 addr;
	u16 port;
};

struct flow_key {
	struct endpoint lo, hi;
	u8 proto;
};

struct timer {
	struct timer *next, **pprev;
	u32 expires;
	void (*fn)(struct timer *t);
};

struct direction {
	u64 bytes;
	u32 packets;
	u32 next_seq;
	u16 window;
	u16 retransmits;
};

enum tcp_state { S_NEW, S_SYN, S_OPEN, S_CLOSING, S_CLOSED };

struct flow {
	struct flow *chain;
	u32 hash;
	struct flow_key key;
	enum tcp_state state;
	struct direction dir[2];
	struct timer timer;
	u32 first, last;
	u16 vlan;
	bool seen_fin[2];
};

struct flow_table {
	struct flow **buckets;
	u32 nbuckets, count;
	u32 grown, longest;
};

#define WHEEL_SLOTS	32
#define WHEEL_LEVELS	2

struct wheel {
	u32 now;
	struct timer *slots[WHEEL_LEVELS][WHEEL_SLOTS];
	u32 armed, cascaded, fired;
};

struct proto_ops {
	u8 proto;
	const char *name;
	bool (*parse)(struct packet *p, const u8 *at, u32 left);
	void (*ports)(const struct packet *p, u16 *sport, u16 *dport);
	void (*update)(struct flow *f, int dir, const struct packet *p);
	u32 timeout;
};

static struct flow_table table;
static struct wheel wheel;

static struct {
	u32 frames, bad_len, bad_sum, unknown, tagged;
	u32 per_proto[2];
	u64 flow_bytes, expired_hash;
} counters;

/* ---- timers ---- */

static void timer_link(struct timer *t)
{
	u32 delta = t->expires - wheel.now;
	struct timer **slot = delta < WHEEL_SLOTS ? &wheel.slots[0][t->expires % WHEEL_SLOTS] :
		&wheel.slots[1][t->expires / WHEEL_SLOTS % WHEEL_SLOTS];

	t->next = *slot;
	if (t->next)
		t->next->pprev = &t->next;
	t->pprev = slot;
	*slot = t;
}

static void timer_unlink(struct timer *t)
{
	if (!t->pprev)
		return;
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
	t->pprev = NULL;
}

static void timer_arm(struct timer *t, u32 in)
{
	timer_unlink(t);
	t->expires = wheel.now + in;
	timer_link(t);
	wheel.armed++;
}

static void wheel_advance(u32 to)
{
	struct timer *t;

	while (wheel.now != to) {
		wheel.now++;
		if (wheel.now % WHEEL_SLOTS == 0) {
			struct timer **outer = &wheel.slots[1][wheel.now / WHEEL_SLOTS % WHEEL_SLOTS];

			while ((t = *outer)) {
				timer_unlink(t);
				timer_link(t);
				wheel.cascaded++;
			}
		}
		while ((t = wheel.slots[0][wheel.now % WHEEL_SLOTS])) {
			timer_unlink(t);
			wheel.fired++;
			t->fn(t);
		}
	}
}

/* ---- flows ---- */

static u32 key_hash(const struct flow_key *k)
{
	u32 h = k->lo.addr * 0x9e3779b1u ^ k->hi.addr * 0x85ebca6bu;

	h ^= (u32)k->lo.port << 16 | k->hi.port;
	h = (h ^ k->proto) * 0xc2b2ae35u;
	return h ^ h >> 15;
}

static bool key_equal(const struct flow_key *a, const struct flow_key *b)
{
	return a->lo.addr == b->lo.addr && a->hi.addr == b->hi.addr && a->lo.port == b->lo.port &&
	       a->hi.port == b->hi.port && a->proto == b->proto;
}

static void table_grow(void)
{
	u32 n = table.nbuckets ? table.nbuckets * 2 : 8;
	struct flow **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		abort();
	stepped_here("struct flow *", buckets, sizeof(*buckets), n);
	for (u32 i = 0; i < table.nbuckets; i++) {
		struct flow *f, *next;

		for (f = table.buckets[i]; f; f = next) {
			next = f->chain;
			f->chain = buckets[f->hash % n];
			buckets[f->hash % n] = f;
		}
	}
	free(table.buckets);
	table.buckets = buckets;
	table.nbuckets = n;
	table.grown++;
}

static void flow_expire(struct timer *t)
{
	struct flow *f = (struct flow *)((char *)t - offsetof(struct flow, timer)), **p;

	for (p = &table.buckets[f->hash % table.nbuckets]; *p != f; p = &(*p)->chain)
		;
	*p = f->chain;
	table.count--;
	counters.flow_bytes += f->dir[0].bytes + f->dir[1].bytes;
	counters.expired_hash = counters.expired_hash * 33 + f->hash + f->state + f->last - f->first +
		f->dir[0].retransmits + f->dir[1].window;
	free(f);
}

static struct flow *flow_get(const struct flow_key *key, u32 now)
{
	u32 hash = key_hash(key), depth = 0;
	struct flow *f;

	if (table.count >= table.nbuckets)
		table_grow();
	for (f = table.buckets[hash % table.nbuckets]; f; f = f->chain) {
		if (f->hash == hash && key_equal(&f->key, key))
			return f;
		depth++;
	}
	if (depth > table.longest)
		table.longest = depth;
	f = calloc(1, sizeof(*f));
	stepped_here("flow", f, sizeof(*f), 1);
	f->hash = hash;
	f->key = *key;
	f->first = now;
	f->timer.fn = flow_expire;
	f->chain = table.buckets[hash % table.nbuckets];
	table.buckets[hash % table.nbuckets] = f;
	table.count++;
	return f;
}

/* ---- protocols ---- */

static bool tcp_parse(struct packet *p, const u8 *at, u32 left)
{
	p->l4.tcp = (const void *)at;
	if (left < sizeof(struct tcp_hdr) || p->l4.tcp->off * 4u > left)
		return false;
	p->payload = at + p->l4.tcp->off * 4;
	p->payload_len = (u16)(left - p->l4.tcp->off * 4);
	return true;
}

static void tcp_ports(const struct packet *p, u16 *sport, u16 *dport)
{
	*sport = ntohs(p->l4.tcp->sport);
	*dport = ntohs(p->l4.tcp->dport);
}

static void tcp_update(struct flow *f, int dir, const struct packet *p)
{
	const struct tcp_hdr *th = p->l4.tcp;
	struct direction *d = &f->dir[dir];
	u32 seq = ntohl(th->seq), end = seq + p->payload_len + th->syn + th->fin;

	if (d->packets > 1 && (int32_t)(seq - d->next_seq) < 0)
		d->retransmits++;
	else
		d->next_seq = end;
	d->window = ntohs(th->window);
	f->seen_fin[dir] |= th->fin;
	if (th->rst || (f->seen_fin[0] && f->seen_fin[1]))
		f->state = S_CLOSED;
	else if (th->fin)
		f->state = S_CLOSING;
	else if (th->syn)
		f->state = S_SYN;
	else if (th->ackf && f->state == S_SYN)
		f->state = S_OPEN;
}

static bool udp_parse(struct packet *p, const u8 *at, u32 left)
{
	p->l4.udp = (const void *)at;
	if (left < sizeof(struct udp_hdr) || ntohs(p->l4.udp->len) != left)
		return false;
	p->payload = at + sizeof(struct udp_hdr);
	p->payload_len = (u16)(left - sizeof(struct udp_hdr));
	return true;
}

static void udp_ports(const struct packet *p, u16 *sport, u16 *dport)
{
	*sport = ntohs(p->l4.udp->sport);
	*dport = ntohs(p->l4.udp->dport);
}

static void udp_update(struct flow *f, int dir, const struct packet *p)
{
	if (f->dir[!dir].packets && f->state == S_NEW)
		f->state = S_OPEN;
	f->dir[dir].window = p->payload_len;
}

static const struct proto_ops protocols[] = {
	{ 6, "tcp", tcp_parse, tcp_ports, tcp_update, 120 },
	{ 17, "udp", udp_parse, udp_ports, udp_update, 20 },
};

static u16 ip_sum(const void *data, u32 words)
{
	const u8 *p = data;
	u32 sum = 0;

	for (u32 i = 0; i < words; i++, p += 2)
		sum += (u32)p[0] << 8 | p[1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~(sum + (sum >> 16));
}

static void receive(const struct record *rec)
{
	struct packet p = { .rec = rec, .eth = (const void *)rec->frame };
	const u8 *at = rec->frame + sizeof(struct eth_hdr);
	u16 proto = ntohs(p.eth->proto);
	struct flow_key key = { .proto = 0 };
	struct endpoint src = { 0 }, dst = { 0 };
	const struct proto_ops *ops = NULL;
	struct flow *f;
	int dir;

	counters.frames++;
	if (proto == 0x8100) {
		const struct vlan_tag *tag = (const void *)at;

		p.vlan = ntohs(tag->tci) & 0xfff;
		proto = ntohs(tag->proto);
		at += sizeof(*tag);
		counters.tagged++;
	}
	p.ip = (const void *)at;
	for (size_t i = 0; i < 2 && proto == 0x800; i++)
		if (protocols[i].proto == p.ip->proto)
			ops = &protocols[i];
	if (!ops) {
		counters.unknown++;
		return;
	}
	if (ip_sum(p.ip, p.ip->ihl * 2)) {
		counters.bad_sum++;
		return;
	}
	if (!ops->parse(&p, at + p.ip->ihl * 4, ntohs(p.ip->len) - p.ip->ihl * 4u)) {
		counters.bad_len++;
		return;
	}
	src.addr = ntohl(p.ip->src);
	dst.addr = ntohl(p.ip->dst);
	ops->ports(&p, &src.port, &dst.port);
	dir = src.addr > dst.addr;
	key.lo = dir ? dst : src;
	key.hi = dir ? src : dst;
	key.proto = p.ip->proto;
	f = flow_get(&key, rec->sec);
	f->last = rec->sec;
	f->vlan = p.vlan;
	f->dir[dir].packets++;
	f->dir[dir].bytes += p.payload_len;
	ops->update(f, dir, &p);
	counters.per_proto[ops - protocols]++;
	timer_arm(&f->timer, f->state == S_CLOSED ? 2 : ops->timeout);
}

/* ---- traffic ---- */

static u32 rnd(void)
{
	static u32 x = 12345;

	x = x * 1664525u + 1013904223u;
	return x >> 8;
}

/* Conversation N's next frame, at OUT; returns the record's length. */
static u32 make_frame(u8 *out, u32 now, u32 n, u32 step)
{
	struct record *rec = (struct record *)out;
	struct eth_hdr *eth = (struct eth_hdr *)rec->frame;
	u8 *at = rec->frame + sizeof(*eth);
	bool tcp = n % 3, back = step & 1;
	u16 payload = (u16)(rnd() % 90), head = tcp ? sizeof(struct tcp_hdr) : sizeof(struct udp_hdr);
	struct ip_hdr *ip;

	memset(out, 0, sizeof(*rec) + sizeof(*eth) + sizeof(*ip) + head + sizeof(struct vlan_tag));
	memset(eth->dst, back ? 2 : 4, 6);
	eth->src[5] = (u8)n;
	eth->proto = htons(n % 7 ? 0x800 : 0x8100);
	if (n % 7 == 0) {
		*(struct vlan_tag *)at = (struct vlan_tag){ htons(0x2000 | n), htons(0x800) };
		at += sizeof(struct vlan_tag);
	}
	ip = (struct ip_hdr *)at;
	*ip = (struct ip_hdr){ .ihl = 5, .version = 4, .ttl = 64, .proto = tcp ? 6 : 17, .id = htons((u16)step) };
	ip->len = htons((u16)(sizeof(*ip) + head + payload));
	ip->src = htonl(back ? 0xc0a80001 : 0x0a000000 + n);
	ip->dst = htonl(back ? 0x0a000000 + n : 0xc0a80001);
	ip->sum = htons((u16)(ip_sum(ip, 10) + (rnd() % 50 == 0)));
	at += sizeof(*ip);
	if (tcp) {
		struct tcp_hdr *th = (struct tcp_hdr *)at;

		th->sport = htons(back ? 443 : (u16)(1024 + n));
		th->dport = htons(back ? (u16)(1024 + n) : 443);
		th->seq = htonl(1000 + step * 60);
		th->off = 5;
		th->syn = step < 2;
		th->ackf = step > 0;
		th->fin = step > 7;
		th->window = htons((u16)(8192 - step));
	} else {
		struct udp_hdr *uh = (struct udp_hdr *)at;

		uh->sport = htons(back ? 53 : (u16)(2048 + n));
		uh->dport = htons(back ? (u16)(2048 + n) : 53);
		uh->len = htons((u16)(sizeof(*uh) + payload));
	}
	at += head + payload;
	rec->sec = now;
	rec->usec = rnd() % 1000000;
	rec->caplen = rec->len = (u16)(at - rec->frame);
	return (u32)(at - out);
}

int main(void)
{
	enum { SIZE = 16384, CONVERSATIONS = 60 };
	u8 steps[CONVERSATIONS] = { 0 };
	u8 *capture = calloc(1, SIZE);
	u32 now = 1, used = 0;

	if (!capture)
		abort();
	stepped_here("u8", capture, 1, SIZE);
	for (int round = 0; round < 8; round++) {
		for (used = 0; used + 256 < SIZE; now += rnd() % 2) {
			u32 n = (rnd() % 12 + now / 4) % CONVERSATIONS;

			used += make_frame(capture + used, now, n, steps[n]);
			steps[n] = steps[n] < 9 ? steps[n] + 1 : 0;
		}
		for (u32 at = 0; at < used;) {
			const struct record *rec = (const struct record *)(capture + at);

			wheel_advance(rec->sec);
			receive(rec);
			at += sizeof(*rec) + rec->caplen;
		}
	}
	wheel_advance(now + 300);
	printf("%016llx frames %u bad %u tagged %u tcp %u udp %u bytes %llu fired %u cascaded %u left %u longest %u\n",
	       (unsigned long long)counters.expired_hash, counters.frames, counters.bad_sum + counters.bad_len,
	       counters.tagged, counters.per_proto[0], counters.per_proto[1], (unsigned long long)counters.flow_bytes,
	       wheel.fired, wheel.cascaded, table.count, table.longest);
	free(table.buckets);
	free(capture);
	return 0;
}
