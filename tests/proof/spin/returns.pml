/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The return list and the wake of a queue that ran short (lib/buf/pkt.c): the queue says that it is short and looks at
 * the list once more; who frees elsewhere pushes and then looks whether it is short, and of several only one wakes it.
 * Three packets between the queue and three threads. A queue that sleeps while nobody will wake it is a deadlock.
 *
 * LOST_LOOK and LOST_PUSH each leave out one of the two full barriers, NO_LOOK the second look at the list.
 */
#include "tso.h"

#define PACKETS 3
#define SHORT 0
#define LIST 1

byte memory[2];
byte host; /* packets that were delivered */
bool wake;
PENDING(queue);

active proctype queue_thread()
{
	byte have = PACKETS;

	do
	:: have != 0 -> atomic { have--; host++ }
	:: memory[LIST] != 0 -> atomic { have = have + memory[LIST]; memory[LIST] = 0 }
	:: have == 0 -> /* vnrx_pool_set_short(), vnetrx_pool_collect() */
		STORE(queue, SHORT, 1);
#ifndef LOST_LOOK
		FENCE(queue);
#endif
		if
#ifndef NO_LOOK
		:: memory[LIST] != 0 -> atomic { have = have + memory[LIST]; memory[LIST] = 0 }; STORE(queue, SHORT, 0)
#endif
		:: memory[LIST] == 0 -> atomic { wake -> wake = false }
#ifdef NO_LOOK
		:: else -> atomic { wake -> wake = false }
#endif
		fi
	od
}

/* The push is an exchange in memory; without the fence the look may be done before it. */
active [3] proctype other_thread()
{
	bool was;

end:	do
	:: atomic { host != 0 -> host-- };
#ifdef LOST_PUSH
		was = memory[SHORT] != 0;
		memory[LIST]++;
#else
		memory[LIST]++;
		was = memory[SHORT] != 0;
#endif
		if
		:: was -> atomic { /* an exchange */
			if
			:: memory[SHORT] != 0 -> memory[SHORT] = 0; wake = true
			:: else
			fi }
		:: else
		fi
	od
}

active proctype bus()
{
end:	do
	:: WRITE_BACK(queue, memory)
	od
}
