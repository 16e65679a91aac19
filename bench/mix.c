/* SPDX-License-Identifier: BSD-3-Clause */
#include "mix.h"

#define PHASE     2000u
#define OCTAVE    400u
#define OCTAVES   10u /* 64 to 65536 */
#define GSO_ONE_IN 8u

const char *mix_name(enum mix_kind kind)
{
	static const char *const names[MIX_KINDS] = {
		"small", "MTU", "64K", "bimodal ACKs, GSO", "bimodal 300, GSO", "300, MTU, 9000", "drifting", "phases",
	};

	return names[kind];
}

void mix_init(struct mix *m, enum mix_kind kind)
{
	m->kind = kind;
	m->rnd = 2463534242u;
	m->nth = 0;
}

static uint32_t draw(struct mix *m, uint32_t below)
{
	m->rnd ^= m->rnd << 13;
	m->rnd ^= m->rnd >> 17;
	m->rnd ^= m->rnd << 5;
	return (uint32_t)((uint64_t)m->rnd * below >> 32);
}

static uint32_t small(struct mix *m)
{
	return 60u + draw(m, 441);
}

static uint32_t bimodal(struct mix *m, uint32_t other)
{
	return draw(m, GSO_ONE_IN) == 0u ? MIX_GSO : other;
}

static uint32_t drift(struct mix *m)
{
	uint32_t at = m->nth % (2u * OCTAVES * OCTAVE);
	uint32_t up = at < OCTAVES * OCTAVE ? at : 2u * OCTAVES * OCTAVE - at;
	uint32_t base = 64u << up / OCTAVE;
	uint32_t len = base + base * (up % OCTAVE) / OCTAVE;

	len -= draw(m, len / 8u); /* not all the same */
	return len < MIX_GSO ? len : MIX_GSO;
}

static uint32_t phase(struct mix *m)
{
	switch (m->nth / PHASE % 5u) {
	case 0:
		return small(m);
	case 1:
		return MIX_MTU;
	case 2:
		return MIX_GSO;
	case 3:
		return 9014;
	default:
		return bimodal(m, 66);
	}
}

uint32_t mix_next(struct mix *m)
{
	static const uint32_t thirds[] = { 300, MIX_MTU, 9014 };
	uint32_t len = MIX_MTU;

	switch (m->kind) {
	case MIX_SMALL:
		len = small(m);
		break;
	case MIX_LARGE:
		len = MIX_GSO;
		break;
	case MIX_ACKS_GSO:
		len = bimodal(m, 66);
		break;
	case MIX_300_GSO:
		len = bimodal(m, 300);
		break;
	case MIX_300_MTU_9000:
		len = thirds[draw(m, 3)];
		break;
	case MIX_DRIFT:
		len = drift(m);
		break;
	case MIX_PHASES:
		len = phase(m);
		break;
	default:
		break;
	}
	m->nth++;
	return len;
}
