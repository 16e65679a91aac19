/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a device reads and writes at the same time as we do: single accesses, and what keeps them in order.
 *
 * Two kinds of device. One that is a thread on another core (vhost, a hypervisor) sees memory as the cores do: the
 * barriers between cores, here the compiler's fences, are enough. One on a bus (ORDER_PLATFORM) need not: it may sit
 * outside the cores' shareability domain, and memory may be mapped so that stores to it are combined. `bus` selects the
 * barriers that order such a device too. No access here is a register access: a doorbell is the transport's, and so is
 * the barrier in front of it.
 */
#ifndef VNRX_BARRIER_H
#define VNRX_BARRIER_H

#include "compiler.h"

/* ---- barriers ---- */

#if defined(VNRX_GNU) && (defined(__x86_64__) || defined(__i386__))
/* Cores keep loads in order and stores in order, but not in write-combining memory. sfence, lfence and mfence are in
 * every processor that has SSE2, which every x86-64 one has; a locked instruction does the same for older ones. */
#if defined(__SSE2__)
#define VNRX_BUS_WRITE() __asm__ volatile("sfence" ::: "memory")
#define VNRX_BUS_READ()  __asm__ volatile("lfence" ::: "memory")
#define VNRX_BUS_FULL()  __asm__ volatile("mfence" ::: "memory")
#else
#define VNRX_BUS_WRITE() VNRX_FENCE_FULL()
#define VNRX_BUS_READ()  VNRX_FENCE_FULL()
#define VNRX_BUS_FULL()  VNRX_FENCE_FULL()
#endif
#elif defined(VNRX_GNU) && (defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 8))
/* The compiler's fences stop at the inner shareable domain (the cores); devices are in the outer one. */
#define VNRX_BUS_WRITE() __asm__ volatile("dmb oshst" ::: "memory")
#define VNRX_BUS_READ()  __asm__ volatile("dmb oshld" ::: "memory")
#define VNRX_BUS_FULL()  __asm__ volatile("dmb osh" ::: "memory")
#elif defined(VNRX_GNU) && defined(__ARM_ARCH) && __ARM_ARCH == 7
/* The same; ARMv7 has no barrier for loads alone. */
#define VNRX_BUS_WRITE() __asm__ volatile("dmb oshst" ::: "memory")
#define VNRX_BUS_READ()  __asm__ volatile("dmb osh" ::: "memory")
#define VNRX_BUS_FULL()  __asm__ volatile("dmb osh" ::: "memory")
#elif defined(VNRX_GNU) && defined(__riscv)
/* Memory that a device shares may be mapped as I/O, which the compiler's fences leave out. */
#define VNRX_BUS_WRITE() __asm__ volatile("fence ow, ow" ::: "memory")
#define VNRX_BUS_READ()  __asm__ volatile("fence ir, ir" ::: "memory")
#define VNRX_BUS_FULL()  __asm__ volatile("fence iorw, iorw" ::: "memory")
#else
/* Elsewhere the strongest fence of the compiler: on s390x and POWER it is the instruction that orders devices too. */
#define VNRX_BUS_WRITE() VNRX_FENCE_FULL()
#define VNRX_BUS_READ()  VNRX_FENCE_FULL()
#define VNRX_BUS_FULL()  VNRX_FENCE_FULL()
#endif

/* Stores before it are seen before stores after it: descriptors before the index or flag that offers them. `word` is
 * what is stored next. */
/*@ assigns \nothing; */
static VNRX_INLINE void vnrx_barrier_write(bool bus, const uint8_t *word)
{
	VNRX_TSAN_RELEASE(word);
	if (VNRX_UNLIKELY(bus))
		VNRX_BUS_WRITE();
	else
		VNRX_FENCE_RELEASE();
}

/* Loads before it are done before loads after it: the index or flag before what it says is there. */
/*@ assigns \nothing; */
static VNRX_INLINE void vnrx_barrier_read(bool bus)
{
	if (VNRX_UNLIKELY(bus))
		VNRX_BUS_READ();
	else
		VNRX_FENCE_ACQUIRE();
}

/* `word` was read and announces something: the barrier for reading that follows, or went before, orders what lies
 * behind it. Says so to ThreadSanitizer, and does nothing. */
/*@ assigns \nothing; */
static VNRX_INLINE void vnrx_announced(const uint8_t *word)
{
	VNRX_TSAN_ACQUIRE(word);
}

/* Stores before it are seen before loads after it are done. Every processor reorders these two. Between saying
 * something and looking whether the other side wants to be woken: either it sees what was said, or we see that it
 * sleeps. */
/*@ assigns \nothing; */
static VNRX_INLINE void vnrx_barrier_full(bool bus)
{
	if (VNRX_UNLIKELY(bus))
		VNRX_BUS_FULL();
	else
		VNRX_FENCE_FULL();
}

/* ---- accesses: each once, whole, aligned; no order among them but what a barrier makes ---- */

#ifdef VNRX_GNU
#define VNRX_SHARED_LOAD(type, p)     __atomic_load_n((const type *)(p), __ATOMIC_RELAXED)
#define VNRX_SHARED_STORE(type, p, v) __atomic_store_n((type *)(p), (v), __ATOMIC_RELAXED)
#elif !defined(VNRX_SHARED_LOAD)
#define VNRX_SHARED_LOAD(type, p)     (*(const volatile type *)(p))
#define VNRX_SHARED_STORE(type, p, v) ((void)(*(volatile type *)(p) = (v)))
#endif

/*@ requires \valid_read(p + (0 .. 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_shared_load16(const uint8_t *p)
{
	return VNRX_SHARED_LOAD(uint16_t, p);
}

/*@ requires \valid_read(p + (0 .. 3));
    assigns \nothing;
*/
static VNRX_INLINE uint32_t vnrx_shared_load32(const uint8_t *p)
{
	return VNRX_SHARED_LOAD(uint32_t, p);
}

/*@ requires \valid(p + (0 .. 1));
    assigns p[0 .. 1];
*/
static VNRX_INLINE void vnrx_shared_store16(uint8_t *p, uint16_t v)
{
	VNRX_SHARED_STORE(uint16_t, p, v);
}

/*@ requires \valid(p + (0 .. 3));
    assigns p[0 .. 3];
*/
static VNRX_INLINE void vnrx_shared_store32(uint8_t *p, uint32_t v)
{
	VNRX_SHARED_STORE(uint32_t, p, v);
}

/* Where 8 bytes are loaded whole too. */
#if defined(VNRX_GNU) && UINTPTR_MAX > UINT32_MAX
#define VNRX_SHARED_WHOLE64 1

static VNRX_INLINE uint64_t vnrx_shared_load64(const uint8_t *p)
{
	return VNRX_SHARED_LOAD(uint64_t, p);
}
#endif

/* ---- byte order; all of it folds away where the order is known ---- */

/*@ assigns \nothing; */
static VNRX_INLINE bool vnrx_host_big(void)
{
	uint8_t bytes[2];

	vnrx_store16(bytes, 1);
	return bytes[0] == 0u;
}

/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_swap16(uint16_t v)
{
	return (uint16_t)((uint32_t)v << 8 | (uint32_t)v >> 8);
}

/*@ assigns \nothing; */
static VNRX_INLINE uint32_t vnrx_swap32(uint32_t v)
{
	return v << 24 | (v & 0xff00u) << 8 | (v >> 8 & 0xff00u) | v >> 24;
}

/*@ assigns \nothing; */
static VNRX_INLINE uint64_t vnrx_swap64(uint64_t v)
{
	return (uint64_t)vnrx_swap32((uint32_t)v) << 32 | vnrx_swap32((uint32_t)(v >> 32));
}

/* Between the host's order and that of memory that is big endian, or little endian. */
/*@ assigns \nothing; */
static VNRX_INLINE uint16_t vnrx_order16(uint16_t v, bool big)
{
	return big != vnrx_host_big() ? vnrx_swap16(v) : v;
}

/*@ assigns \nothing; */
static VNRX_INLINE uint32_t vnrx_order32(uint32_t v, bool big)
{
	return big != vnrx_host_big() ? vnrx_swap32(v) : v;
}

/*@ assigns \nothing; */
static VNRX_INLINE uint64_t vnrx_order64(uint64_t v, bool big)
{
	return big != vnrx_host_big() ? vnrx_swap64(v) : v;
}

#endif
