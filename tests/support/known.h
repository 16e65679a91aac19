/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library under test was built to merge (-Dgro=...). */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H

#include "vnetrx/gro.h"

#ifdef VNRX_TCP_ONLY
#define GRO_KNOWN VNETRX_GRO_TCP
#else
#define GRO_KNOWN (VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL)
#endif

/* TCP over IPv4, over IPv6, and as many with UDP. */
#define KNOWN_KINDS ((GRO_KNOWN & VNETRX_GRO_UDP) != 0u ? 4u : 2u)

/* Skips the test where the library was built without what it is about (VNETRX_GRO_UDP ...); after cmocka.h. */
#define NEEDS(protos)                               \
	do {                                        \
		if (((protos) & ~GRO_KNOWN) != 0u) \
			skip();                     \
	} while (0)

/* PPPoE has no bit of its own: it is there with the others. */
#define NEEDS_PPPOE() NEEDS(VNETRX_GRO_TUNNEL)

#endif
