/* SPDX-License-Identifier: BSD-3-Clause */
/* Three tiers: _Static_assert for layout, VNRX_ASSERT for what must hold (debug builds), VNRX_CHECK for walks over
 * whole structures (-Dchecks=full). Input of the device is never asserted: it is validated and counted. */
#ifndef VNRX_CHECK_H
#define VNRX_CHECK_H

#if defined(VNRX_CHECKS) && VNRX_CHECKS >= 1
#define VNRX_ASSERT(cond) ((cond) ? (void)0 : vnrx_trap())
#else
#define VNRX_ASSERT(cond) ((void)sizeof(cond))
#endif

#if defined(VNRX_CHECKS) && VNRX_CHECKS >= 2
#define VNRX_CHECK(cond) ((cond) ? (void)0 : vnrx_trap())
#else
#define VNRX_CHECK(cond) ((void)sizeof(cond))
#endif

static inline void vnrx_trap(void)
{
#if defined(__GNUC__) || defined(__clang__)
	__builtin_trap();
#else
	*(volatile int *)0 = 0;
#endif
}

#endif
