/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event indices of a split ring in both directions (lib/virtio/virtq.c, virtq_split.c; virtio 1.2, 2.7.7 and 2.7.10):
 * whoever publishes looks whether the other side wants to hear of it, whoever sleeps says so and looks again. Indices
 * of four bits, up to three buffers in flight. Neither side may sleep while there is something to do for both: then
 * nobody would ever wake, and that is a deadlock of this model.
 *
 * LOST_KICK, LOST_WISH, LOST_ARM, LOST_IRQ each leave out one of the four full barriers, WINDOW takes the window of the
 * event index one too short.
 */
#include "tso.h"

#define MOD 16
#define FLIGHT 3
#define FRESH_MAX (FLIGHT + 1) /* a look comes at the latest after so many */
#ifdef WINDOW
#define EVENT_IN(event, now, fresh) (((now) + 2 * MOD - (event) - 1) % MOD + 1 < (fresh))
#else
#define EVENT_IN(event, now, fresh) (((now) + 2 * MOD - (event) - 1) % MOD < (fresh))
#endif

#define AVAIL 0
#define USED 1
#define AVAIL_EVENT 2
#define USED_EVENT 3

byte memory[4];
bool doorbell, interrupt;
PENDING(driver);
PENDING(device);

active proctype driver_side()
{
	byte avail, seen, out, fresh;
	bool rings;

	do
	:: out < FLIGHT && fresh < FRESH_MAX ->
		d_step {
			avail = (avail + 1) % MOD;
			out++;
			fresh++
		};
		STORE(driver, AVAIL, avail)
	:: fresh != 0 -> /* vnetrx_virtq_kick_needed() */
#ifndef LOST_KICK
		FENCE(driver);
#endif
		atomic {
			if
			:: EVENT_IN(memory[AVAIL_EVENT], avail, fresh) ->
				fresh = 0;
				rings = true
			:: else -> fresh = 0
			fi
		};
		if
		:: rings -> atomic { rings = false; doorbell = true }
		:: else
		fi
	:: memory[USED] != seen ->
		d_step { seen = (seen + 1) % MOD; out-- }
	:: out != 0 && fresh == 0 && memory[USED] == seen -> /* vnetrx_virtq_enable() */
		STORE(driver, USED_EVENT, seen);
#ifndef LOST_ARM
		FENCE(driver);
#endif
		if
		:: memory[USED] != seen
		:: else -> atomic { interrupt -> interrupt = false }
		fi
	od
}

active proctype device_side()
{
	byte last; /* what it took is also what it used */

	do
	:: memory[AVAIL] != last ->
		last = (last + 1) % MOD;
		STORE(device, USED, last);
#ifndef LOST_IRQ
		FENCE(device);
#endif
		if
		:: EVENT_IN(memory[USED_EVENT], last, 1) -> interrupt = true
		:: else
		fi
	:: memory[AVAIL] == last ->
		STORE(device, AVAIL_EVENT, last);
#ifndef LOST_WISH
		FENCE(device);
#endif
		if
		:: memory[AVAIL] != last
		:: else -> atomic { doorbell -> doorbell = false }
		fi
	od
}

active proctype buses()
{
end:	do
	:: WRITE_BACK(driver, memory)
	:: WRITE_BACK(device, memory)
	od
}
