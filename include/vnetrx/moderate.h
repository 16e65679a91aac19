/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dynamic interrupt moderation: finds out, by trying, how long the device should collect packets before it interrupts.
 *
 *              counters, now                           apply profile
 *   MEASURING -------------> compare with the measurement before -----> APPLYING
 *       ^                    better: on; worse: turn round                  |
 *       +---------------------- applied, or not ---------------------------+
 *
 * The method is that of DIM (net_dim of Linux): a measurement lasts 64 interrupts; more bytes per time are better, else
 * more packets, else fewer interrupts, and up to a tenth is no difference; steps go one profile at a time, until the
 * best is between two worse ones, or until nothing comes of it. Four things differ:
 *   - Rates are compared as products, not divided out: no division, no rounding, no overflow.
 *   - What changes nothing is given up for less moderation, because collecting costs latency. So a sparse load ends at
 *     the first profile, from wherever it started.
 *   - The first profile is applied too, and so is known to be in force.
 *   - An application that failed leaves no trace: the old profile counts as in force, and the same step is tried again
 *     after the next measurement, which gets longer each time.
 */
#ifndef VNETRX_MODERATE_H
#define VNETRX_MODERATE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_MODERATE_PROFILES_MAX 8u
#define VNETRX_MODERATE_EVENTS       64u /* default length of a measurement: as in Linux */

/* An interrupt `usecs` after the first packet, or after `packets`, whichever comes first. */
struct vnetrx_moderate_profile {
	uint32_t usecs;
	uint32_t packets;
};

/* The profiles of Linux for timers that start at the first packet, as those of virtio do: 1, 8, 64, 128 and 256 us with
 * 256 packets for receiving; 1, 8, 32, 64 and 128 us with 128 packets for sending. */
#define VNETRX_MODERATE_DEFAULTS 5u

/* Zero = default. */
struct vnetrx_moderate_config {
	const struct vnetrx_moderate_profile *profiles; /* from the quickest to the laziest; copied; default:
	                                                   vnetrx_moderate_rx_profiles()                           */
	uint32_t profiles_num; /* 1..VNETRX_MODERATE_PROFILES_MAX; ignored with the default profiles               */
	uint32_t first;        /* index of the profile to begin with; default 0                                    */
	uint32_t events_min;   /* interrupts that a measurement lasts at least, 1..65536; default 64               */
};

/* What the queue counted since any time; all wrap. A difference of 2^32 or more within one measurement is misread,
 * which costs a step in the wrong direction. */
struct vnetrx_moderate_counters {
	uint32_t packets;
	uint32_t bytes;
	uint32_t events; /* interrupts, not polls: what moderation changes */
};

enum vnetrx_moderate_state {
	VNETRX_MODERATE_STARTING = 0, /* the next counters begin a measurement              */
	VNETRX_MODERATE_MEASURING,    /* waiting for enough interrupts                      */
	VNETRX_MODERATE_APPLYING,     /* waiting for vnetrx_moderate_applied(); counters are ignored */
};

enum vnetrx_moderate_way {
	VNETRX_MODERATE_ON_TOP = 0, /* parked: the best is found, until the load changes           */
	VNETRX_MODERATE_TIRED,      /* parked: too many steps led nowhere, for as many measurements */
	VNETRX_MODERATE_LAZIER,     /* trying more moderation                                      */
	VNETRX_MODERATE_QUICKER,    /* trying less                                                 */
};

/* One measurement; units of time of 1024 ns. */
struct vnetrx_moderate_rates {
	uint32_t packets;
	uint32_t bytes;
	uint32_t events;
	uint32_t time;
};

/* What a decision changes, so that it can be taken back. */
struct vnetrx_moderate_tuning {
	struct vnetrx_moderate_rates before; /* the measurement to compare with     */
	uint8_t index;                       /* profile that should be in force     */
	uint8_t way;                         /* enum vnetrx_moderate_way            */
	uint8_t lazier;                      /* steps in that direction since a turn */
	uint8_t quicker;
	uint8_t tired;                       /* steps since parking; while TIRED: measurements left */
};

/* All fields are the library's; `state`, `in_force` and `tuning` may be read. */
struct vnetrx_moderate {
	struct vnetrx_moderate_profile  profiles[VNETRX_MODERATE_PROFILES_MAX];
	struct vnetrx_moderate_counters start;   /* of the measurement                      */
	vnetrx_ns                       start_ns;
	struct vnetrx_moderate_tuning   tuning;
	struct vnetrx_moderate_tuning   taken_back; /* tuning before what is being applied  */
	uint32_t profiles_num;
	uint32_t first;
	uint32_t events_min;
	uint8_t  state;    /* enum vnetrx_moderate_state                                    */
	uint8_t  in_force; /* index of the profile that the device has; profiles_num = not known */
	uint8_t  failures; /* applications in a row that failed, at most 6                  */
};

/* VNETRX_MODERATE_DEFAULTS profiles for receiving. */
const struct vnetrx_moderate_profile *vnetrx_moderate_rx_profiles(void);

/* VNETRX_MODERATE_DEFAULTS profiles for sending. */
const struct vnetrx_moderate_profile *vnetrx_moderate_tx_profiles(void);

/* Sets up; the profile `first` will be asked for by the first call of sample. VNETRX_ERR_INVALID for what is out of
 * range, or for profiles whose usecs fall. */
VNETRX_MUST_USE int vnetrx_moderate_init(struct vnetrx_moderate *m, const struct vnetrx_moderate_config *cfg);

/* Looks at the counters; call it at the end of each poll, or now and then. true: *profile is to be applied, now or
 * later, and then vnetrx_moderate_applied() is to be called; until then counters are ignored. A clock that stands still
 * only makes the measurement longer. */
VNETRX_MUST_USE bool vnetrx_moderate_sample(struct vnetrx_moderate *m, const struct vnetrx_moderate_counters *counters,
                                            vnetrx_ns now, struct vnetrx_moderate_profile *profile);

/* The application has ended, well or not; in both cases measuring goes on. Without effect while nothing is being
 * applied. */
void vnetrx_moderate_applied(struct vnetrx_moderate *m, bool ok);

/* The device was reset and has lost its profile: starts anew. An application that was under way is forgotten; do not
 * report its end. */
void vnetrx_moderate_restart(struct vnetrx_moderate *m);

#ifdef __cplusplus
}
#endif

#endif
