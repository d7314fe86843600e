// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Random sessions, see session.h. Written from RFC 5044, 6581, 5041, 5040 and
 * 7306, independently of the driver.
 *
 * Most mutations happen before the CRC is computed, so that they get past it.
 */
#include "session.h"

#include <arpa/inet.h>
#include <string.h>

#define UNITS		24
#define UNIT_MAX	1600
#define TAGGED		0x80
#define LAST		0x40
#define DDP_VERSION	0x01
#define RDMAP_VERSION	0x40
#define FLAG_M		0x80
#define FLAG_C		0x40
#define FLAG_S		0x10

enum opcode { WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV,
	      TERMINATE, IMM, IMM_SE, ATOMIC_REQ, ATOMIC_RESP };

/**
 * struct unit - a DDP segment
 * @b: its bytes
 * @len: how many
 */
struct unit {
	__u8 b[UNIT_MAX];
	size_t len;
};

/**
 * struct draft - a session under construction
 * @s: the session
 * @regions: regions of the device that the peer may name
 * @units: its segments
 * @num: how many
 * @msn: next one per queue
 */
struct draft {
	struct session *s;
	const struct session_region *regions;
	struct unit units[UNITS];
	size_t num;
	__u32 msn[4];
};

static __u64 rnd(struct session *s)
{
	__u64 x = s->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static size_t below(struct session *s, size_t n)
{
	return n ? rnd(s) % n : 0;
}

static bool chance(struct session *s, unsigned int percent)
{
	return below(s, 100) < percent;
}

static void noise(struct session *s, __u8 *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = rnd(s);
}

static __u32 crc32c(const __u8 *p, size_t len)
{
	__u32 crc = ~0U;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* ---- valid segments ---------------------------------------------------- */

static void put(struct unit *u, const void *p, size_t len)
{
	if (u->len + len > UNIT_MAX)
		return;
	memcpy(u->b + u->len, p, len);
	u->len += len;
}

static void put8(struct unit *u, __u8 v)
{
	put(u, &v, 1);
}

static void put32(struct unit *u, __u32 v)
{
	v = htonl(v);
	put(u, &v, 4);
}

static void put64(struct unit *u, __u64 v)
{
	put32(u, v >> 32);
	put32(u, v);
}

static void put_noise(struct session *s, struct unit *u, size_t len)
{
	if (u->len + len > UNIT_MAX)
		len = UNIT_MAX - u->len;
	noise(s, u->b + u->len, len);
	u->len += len;
}

static struct unit *new_unit(struct draft *d)
{
	struct unit *u = &d->units[d->num < UNITS ? d->num++ : UNITS - 1];

	u->len = 0;
	return u;
}

static struct unit *tagged(struct draft *d, enum opcode op, __u32 stag,
			   __u64 to, bool last)
{
	struct unit *u = new_unit(d);

	put8(u, TAGGED | (last ? LAST : 0) | DDP_VERSION);
	put8(u, RDMAP_VERSION | op);
	put32(u, stag);
	put64(u, to);
	return u;
}

static struct unit *untagged(struct draft *d, enum opcode op, __u32 inv,
			     __u32 qn, __u32 mo, bool last)
{
	struct unit *u = new_unit(d);

	put8(u, (last ? LAST : 0) | DDP_VERSION);
	put8(u, RDMAP_VERSION | op);
	put32(u, inv);
	put32(u, qn);
	put32(u, d->msn[qn]);
	put32(u, mo);
	if (last)
		d->msn[qn]++;
	return u;
}

static size_t payload(struct session *s)
{
	return chance(s, 70) ? below(s, 64) : below(s, 1400);
}

/* Draws a target: mostly the writable region, mostly within its bounds. */
static const struct session_region *region(struct draft *d)
{
	return &d->regions[chance(d->s, 85) ? SESSION_RW :
			   below(d->s, SESSION_REGIONS)];
}

static void make_write(struct draft *d)
{
	const struct session_region *r = region(d);
	size_t segments = 1 + below(d->s, 3);
	__u64 to = r->to + below(d->s, r->len);
	size_t len;

	while (segments--) {
		len = payload(d->s);
		put_noise(d->s, tagged(d, WRITE, r->stag, to, !segments), len);
		to += len;
	}
}

static void make_send(struct draft *d, enum opcode op)
{
	bool inv = op == SEND_INV || op == SEND_SE_INV;
	size_t segments = 1 + below(d->s, 3);
	__u32 mo = 0;
	size_t len;

	while (segments--) {
		len = below(d->s, 200);
		put_noise(d->s, untagged(d, op, inv ? region(d)->stag : 0, 0,
					 mo, !segments), len);
		mo += len;
	}
}

static void make_read(struct draft *d)
{
	const struct session_region *r = region(d);
	struct unit *u = untagged(d, READ_REQ, 0, 1, 0, true);
	__u32 at = below(d->s, r->len);

	put32(u, rnd(d->s));
	put64(u, rnd(d->s));
	put32(u, below(d->s, r->len - at + 16));
	put32(u, r->stag);
	put64(u, r->to + at);
}

static void make_atomic(struct draft *d)
{
	const struct session_region *r = region(d);
	struct unit *u = untagged(d, ATOMIC_REQ, 0, 1, 0, true);
	int i;

	put32(u, below(d->s, 4));
	put32(u, rnd(d->s));
	put32(u, r->stag);
	put64(u, r->to + (below(d->s, r->len) & ~7ULL));
	for (i = 0; i < 4; i++)
		put64(u, chance(d->s, 50) ? ~0ULL : rnd(d->s));
}

static void make_response(struct draft *d)
{
	if (chance(d->s, 50)) {
		put_noise(d->s, untagged(d, ATOMIC_RESP, 0, 3, 0, true), 12);
		return;
	}
	put_noise(d->s, tagged(d, READ_RESP, region(d)->stag, region(d)->to,
			       true), payload(d->s));
}

static void make_terminate(struct draft *d)
{
	struct unit *u = untagged(d, TERMINATE, 0, 2, 0, true);

	put8(u, below(d->s, 3) << 4 | below(d->s, 4));
	put8(u, rnd(d->s));
	put8(u, chance(d->s, 50) ? 0xc0 : rnd(d->s));
	put8(u, 0);
	put_noise(d->s, u, below(d->s, 60));
}

static void make_unit(struct draft *d)
{
	size_t kind = below(d->s, 100);

	if (kind < 30)
		make_write(d);
	else if (kind < 60)
		make_send(d, kind < 50 ? SEND : SEND_INV + below(d->s, 3));
	else if (kind < 75)
		make_read(d);
	else if (kind < 88)
		make_atomic(d);
	else if (kind < 95)
		put_noise(d->s, untagged(d, kind & 1 ? IMM : IMM_SE, 0, 0, 0,
					 true), 8);
	else if (kind < 98)
		make_response(d);
	else
		make_terminate(d);
}

/* ---- mutations of segments --------------------------------------------- */

static __u32 odd_value(struct session *s)
{
	static const __u32 values[] = {
		0, 1, 2, 7, 0x7f, 0xff, 0x100, 0x7fff, 0xffff, 0x10000,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};

	return values[below(s, sizeof(values) / sizeof(values[0]))];
}

static void flip(struct session *s, __u8 *p, size_t len)
{
	if (len)
		p[below(s, len)] ^= 1 << below(s, 8);
}

static void mutate_head(struct session *s, struct unit *u)
{
	size_t head = u->len < 52 ? u->len : 52;
	__u32 word = htonl(odd_value(s));

	switch (below(s, 6)) {
	case 0:
		flip(s, u->b, head < 18 ? head : 18);
		break;
	case 1:
		flip(s, u->b, u->len);
		break;
	case 2:
		if (head >= 6)
			memcpy(u->b + 2 + below(s, head - 5), &word, 4);
		break;
	case 3:
		u->len = below(s, u->len + 1);
		break;
	case 4:
		put_noise(s, u, below(s, chance(s, 80) ? 16 : UNIT_MAX));
		break;
	default:
		noise(s, u->b, u->len < 2 ? u->len : 2);
		break;
	}
}

static void mutate_order(struct draft *d)
{
	size_t i = below(d->s, d->num);
	size_t j = below(d->s, d->num);
	struct unit tmp = d->units[i];
	size_t cut;

	switch (below(d->s, 4)) {
	case 0:		/* exchange two segments */
		d->units[i] = d->units[j];
		d->units[j] = tmp;
		break;
	case 1:		/* repeat one */
		if (d->num < UNITS)
			d->units[d->num++] = tmp;
		break;
	case 2:		/* drop one */
		d->units[i] = d->units[--d->num];
		break;
	default:	/* join the head of one and the tail of another */
		cut = below(d->s, tmp.len < d->units[j].len ?
				  tmp.len : d->units[j].len);
		d->units[i].len = cut;
		put(&d->units[i], d->units[j].b + cut, d->units[j].len - cut);
		break;
	}
}

static void mutate(struct draft *d)
{
	size_t n = chance(d->s, 15) ? 0 : 1 + below(d->s, 3);

	while (n-- && d->num)
		if (chance(d->s, 65))
			mutate_head(d->s, &d->units[below(d->s, d->num)]);
		else
			mutate_order(d);
}

/* ---- the stream -------------------------------------------------------- */

static void frame(struct session *s, const struct unit *u, bool right)
{
	__u8 *start = s->stream + s->stream_len;
	size_t len = 2 + u->len;
	__u32 crc;

	if (s->stream_len + len + 8 > SESSION_STREAM_MAX)
		return;
	start[0] = u->len >> 8;
	start[1] = u->len;
	memcpy(start + 2, u->b, u->len);
	while (len & 3)
		start[len++] = 0;
	if (!right)
		flip(s, start, 2);
	crc = crc32c(start, len);
	if (!right && chance(s, 30))
		crc ^= 1U << below(s, 32);
	memcpy(start + len, &crc, 4);
	s->stream_len += len + 4;
}

/* Mutations of bytes, independent of segments */
static void mutate_stream(struct session *s)
{
	size_t at = below(s, s->stream_len);
	size_t n = below(s, s->stream_len - at);

	switch (below(s, 4)) {
	case 0:
		flip(s, s->stream, s->stream_len);
		break;
	case 1:
		s->stream_len = at;
		break;
	case 2:
		noise(s, s->stream + at, n < 32 ? n : 32);
		break;
	default:
		memmove(s->stream + at, s->stream + at + n,
			s->stream_len - at - n);
		s->stream_len -= n;
		break;
	}
}

static void make_request(struct session *s)
{
	bool enhanced = chance(s, 60);
	struct unit u = {};
	size_t private = below(s, 40);

	put(&u, "MPA ID Req Frame", 16);
	put8(&u, (chance(s, 80) ? FLAG_C : 0) | (chance(s, 10) ? FLAG_M : 0) |
		 (enhanced ? FLAG_S : 0));
	put8(&u, enhanced ? 2 : 1 + below(s, 2));
	put8(&u, 0);
	put8(&u, private + (enhanced ? 4 : 0));
	if (enhanced) {
		put8(&u, chance(s, 50) ? below(s, 4) << 6 : 0);
		put8(&u, below(s, 20));
		put8(&u, below(s, 4) << 6);
		put8(&u, below(s, 20));
	}
	put_noise(s, &u, private);
	s->request_bad = chance(s, 12);
	if (s->request_bad && chance(s, 50))
		mutate_head(s, &u);
	else if (s->request_bad)
		flip(s, u.b, u.len);
	s->request_len = u.len < SESSION_REQUEST_MAX ? u.len :
						       SESSION_REQUEST_MAX;
	memcpy(s->request, u.b, s->request_len);
}

/*
 * session_make: generates session NUMBER of the sequence that SEED determines.
 */
void session_make(struct session *s, __u64 seed, __u64 number,
		  const struct session_region *regions)
{
	static struct draft d;
	size_t n;
	size_t i;

	memset(&d, 0, sizeof(d));
	s->state = seed * 0xd1342543de82ef95ULL + number;
	rnd(s);
	s->stream_len = 0;
	d.s = s;
	d.regions = regions;
	for (i = 0; i < 4; i++)
		d.msn[i] = 1;
	make_request(s);
	for (n = 1 + below(s, 10); n; n--)
		make_unit(&d);
	mutate(&d);
	for (i = 0; i < d.num; i++)
		frame(s, &d.units[i], !chance(s, 2));
	if (s->stream_len && chance(s, 15))
		mutate_stream(s);
	s->chunk = chance(s, 70) ? SESSION_STREAM_MAX : 1 + below(s, 3000);
	s->end = chance(s, 80) ? SESSION_FIN :
		 chance(s, 50) ? SESSION_RESET : SESSION_CLOSE;
}
