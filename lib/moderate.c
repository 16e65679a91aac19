/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates a/s and b/t are compared as a*t and b*s. With 32 bits of counter and 28 of time the products have 60 bits, and
 * ten times one of them 64.
 */
#include "vnetrx/moderate.h"

#include "compiler.h"

#define TIME_SHIFT   10u               /* 1024 ns                                                       */
#define TIME_MAX     ((1u << 28) - 1u) /* 275 s; a longer measurement counts as that                    */
#define TENTH        10u               /* a difference must be more than that part                      */
#define EVENTS_MAX   65536u
#define FAILURES_MAX 6u /* a measurement is prolonged to 64 times its length at most     */

_Static_assert(TIME_MAX <= UINT64_MAX / UINT32_MAX / TENTH, "no product overflows");

const struct vnetrx_moderate_profile *vnetrx_moderate_rx_profiles(void)
{
	static const struct vnetrx_moderate_profile profiles[VNETRX_MODERATE_DEFAULTS] = {
		{ 1, 256 }, { 8, 256 }, { 64, 256 }, { 128, 256 }, { 256, 256 },
	};

	return profiles;
}

const struct vnetrx_moderate_profile *vnetrx_moderate_tx_profiles(void)
{
	static const struct vnetrx_moderate_profile profiles[VNETRX_MODERATE_DEFAULTS] = {
		{ 1, 128 }, { 8, 128 }, { 32, 128 }, { 64, 128 }, { 128, 128 },
	};

	return profiles;
}

/* ---- measurements ---- */

enum verdict {
	WORSE = -1,
	SAME = 0,
	BETTER = 1,
};

/* Is a per time s more than b per time t, or less? Something is more than nothing. */
static enum verdict compare_rate(uint32_t a, uint32_t s, uint32_t b, uint32_t t)
{
	uint64_t now = (uint64_t)a * t;
	uint64_t before = (uint64_t)b * s;
	uint64_t differs = now > before ? now - before : before - now;

	if (b == 0u)
		return a != 0u ? BETTER : SAME;
	if (differs * TENTH <= before)
		return SAME;
	return now > before ? BETTER : WORSE;
}

static enum verdict compare(const struct vnetrx_moderate_rates *now, const struct vnetrx_moderate_rates *before)
{
	enum verdict v = compare_rate(now->bytes, now->time, before->bytes, before->time);

	if (v == SAME)
		v = compare_rate(now->packets, now->time, before->packets, before->time);
	if (v == SAME && before->events != 0u) /* the fewer the better */
		v = (enum verdict)-(int)compare_rate(now->events, now->time, before->events, before->time);
	return v;
}

static uint32_t units_of_time(vnetrx_ns ns)
{
	uint64_t units = ns >> TIME_SHIFT;

	return units < TIME_MAX ? (uint32_t)units : TIME_MAX;
}

/* ---- steps ---- */

static void park(struct vnetrx_moderate_tuning *t, enum vnetrx_moderate_way way)
{
	t->way = (uint8_t)way;
	t->lazier = 0;
	t->quicker = 0;
	if (way == VNETRX_MODERATE_ON_TOP)
		t->tired = 0;
}

static void turn(struct vnetrx_moderate_tuning *t)
{
	if (t->way == VNETRX_MODERATE_LAZIER) {
		t->way = VNETRX_MODERATE_QUICKER;
		t->quicker = 0;
	} else {
		t->way = VNETRX_MODERATE_LAZIER;
		t->lazier = 0;
	}
}

/* One step back after more than one there: the best is here. */
static bool on_top(const struct vnetrx_moderate_tuning *t)
{
	if (t->way == VNETRX_MODERATE_LAZIER)
		return t->quicker > 1u && t->lazier == 1u;
	return t->lazier > 1u && t->quicker == 1u;
}

/* Goes on to the next profile; parks where there is none, or after two steps for each profile. */
static void step(struct vnetrx_moderate_tuning *t, uint32_t profiles_num)
{
	bool lazier = t->way == VNETRX_MODERATE_LAZIER;

	if (t->tired >= 2u * profiles_num) {
		park(t, VNETRX_MODERATE_TIRED);
	} else if (lazier ? t->index + 1u >= profiles_num : t->index == 0u) {
		park(t, VNETRX_MODERATE_ON_TOP);
	} else if (lazier) {
		t->index++;
		t->lazier++;
		t->tired++;
	} else {
		t->index--;
		t->quicker++;
		t->tired++;
	}
}

static void leave_parking(struct vnetrx_moderate_tuning *t, uint32_t profiles_num)
{
	t->way = t->index > 0u ? VNETRX_MODERATE_QUICKER : VNETRX_MODERATE_LAZIER;
	step(t, profiles_num);
}

static void decide(struct vnetrx_moderate_tuning *t, const struct vnetrx_moderate_rates *now, uint32_t profiles_num)
{
	enum verdict v = compare(now, &t->before);

	if (t->way == VNETRX_MODERATE_ON_TOP) {
		if (v == SAME)
			return; /* a slow drift is compared with where it began */
		leave_parking(t, profiles_num);
	} else if (t->way == VNETRX_MODERATE_TIRED) {
		t->tired--;
		if (t->tired == 0u)
			leave_parking(t, profiles_num);
	} else {
		if (v == WORSE || (v == SAME && t->way == VNETRX_MODERATE_LAZIER))
			turn(t);
		if (on_top(t))
			park(t, VNETRX_MODERATE_ON_TOP);
		else
			step(t, profiles_num);
	}
	t->before = *now;
}

/* ---- the object ---- */

static bool config_ok(const struct vnetrx_moderate_config *cfg, const struct vnetrx_moderate_profile *profiles,
                      uint32_t num)
{
	if (num == 0u || num > VNETRX_MODERATE_PROFILES_MAX || cfg->first >= num || cfg->events_min > EVENTS_MAX)
		return false;
	for (uint32_t i = 1; i < num; i++)
		if (profiles[i].usecs < profiles[i - 1u].usecs)
			return false;
	return true;
}

int vnetrx_moderate_init(struct vnetrx_moderate *m, const struct vnetrx_moderate_config *cfg)
{
	const struct vnetrx_moderate_profile *profiles = cfg->profiles;
	uint32_t num = cfg->profiles_num;

	if (profiles == NULL) {
		profiles = vnetrx_moderate_rx_profiles();
		num = VNETRX_MODERATE_DEFAULTS;
	}
	if (!config_ok(cfg, profiles, num))
		return VNETRX_ERR_INVALID;
	memset(m, 0, sizeof(*m));
	memcpy(m->profiles, profiles, num * sizeof(profiles[0]));
	m->profiles_num = num;
	m->first = cfg->first;
	m->events_min = cfg->events_min != 0u ? cfg->events_min : VNETRX_MODERATE_EVENTS;
	vnetrx_moderate_restart(m);
	return VNETRX_OK;
}

void vnetrx_moderate_restart(struct vnetrx_moderate *m)
{
	memset(&m->tuning, 0, sizeof(m->tuning));
	m->tuning.index = (uint8_t)m->first;
	m->in_force = (uint8_t)m->profiles_num;
	m->failures = 0;
	m->state = VNETRX_MODERATE_STARTING;
}

static void begin(struct vnetrx_moderate *m, const struct vnetrx_moderate_counters *counters, vnetrx_ns now)
{
	m->start = *counters;
	m->start_ns = now;
	m->state = VNETRX_MODERATE_MEASURING;
}

/* The measurement until now; false = it must go on. */
static bool measured(const struct vnetrx_moderate *m, const struct vnetrx_moderate_counters *counters, vnetrx_ns now,
                     struct vnetrx_moderate_rates *rates)
{
	rates->packets = counters->packets - m->start.packets;
	rates->bytes = counters->bytes - m->start.bytes;
	rates->events = counters->events - m->start.events;
	rates->time = now > m->start_ns ? units_of_time(now - m->start_ns) : 0u;
	return rates->events >= m->events_min << m->failures && rates->time != 0u;
}

static bool ask(struct vnetrx_moderate *m, const struct vnetrx_moderate_tuning *taken_back,
                struct vnetrx_moderate_profile *profile)
{
	m->taken_back = *taken_back;
	m->state = VNETRX_MODERATE_APPLYING;
	*profile = m->profiles[m->tuning.index];
	return true;
}

bool vnetrx_moderate_sample(struct vnetrx_moderate *m, const struct vnetrx_moderate_counters *counters, vnetrx_ns now,
                            struct vnetrx_moderate_profile *profile)
{
	struct vnetrx_moderate_tuning old = m->tuning;
	struct vnetrx_moderate_rates rates;

	if (m->state == VNETRX_MODERATE_APPLYING)
		return false;
	if (m->state == VNETRX_MODERATE_STARTING) {
		begin(m, counters, now);
		return m->in_force >= m->profiles_num && m->failures == 0u && ask(m, &old, profile);
	}
	if (!measured(m, counters, now, &rates))
		return false;
	if (m->in_force >= m->profiles_num)
		return ask(m, &old, profile); /* nothing can be learned while it is not known what is in force */
	decide(&m->tuning, &rates, m->profiles_num);
	begin(m, counters, now);
	if (m->tuning.index != m->in_force)
		return ask(m, &old, profile);
	m->failures = 0;
	return false;
}

void vnetrx_moderate_applied(struct vnetrx_moderate *m, bool ok)
{
	if (m->state != VNETRX_MODERATE_APPLYING)
		return;
	m->state = VNETRX_MODERATE_STARTING;
	if (ok) {
		m->in_force = m->tuning.index;
		m->failures = 0;
	} else {
		m->tuning = m->taken_back;
		if (m->failures < FAILURES_MAX)
			m->failures++;
	}
}
