/* SPDX-License-Identifier: BSD-3-Clause */
/* The only place that knows compiler extensions. Each has a portable twin of the same result (VNRX_PORTABLE selects the
 * twins on any compiler, for the tests that compare them). */
#ifndef VNRX_COMPILER_H
#define VNRX_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The only functions the library needs from outside; C11 requires them of no freestanding environment, compilers do. */
void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int   memcmp(const void *a, const void *b, size_t n);

#if (defined(__GNUC__) || defined(__clang__)) && !defined(VNRX_PORTABLE) && !defined(__FRAMAC__)
#define VNRX_GNU 1
#endif

#ifdef VNRX_GNU
#define VNRX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define VNRX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define VNRX_PREFETCH(p) __builtin_prefetch(p)
#define VNRX_PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#define VNRX_KEEP()      __asm__ volatile("") /* an effect: GCC drops calls of functions that only prefetch */
#define VNRX_COLD        __attribute__((cold, noinline))
#define VNRX_APART       __attribute__((noinline)) /* its frame is not part of its caller's, nor its code in the way */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define VNRX_INLINE      inline __attribute__((always_inline))
#else
#define VNRX_INLINE      inline
#endif
#else
#define VNRX_LIKELY(x)   (x)
#define VNRX_UNLIKELY(x) (x)
#define VNRX_PREFETCH(p) ((void)(p))
#define VNRX_PREFETCH_WRITE(p) ((void)(p))
#define VNRX_KEEP()      ((void)0)
#define VNRX_COLD
#define VNRX_APART
#define VNRX_INLINE      inline
#endif

/* Small rather than fast; also with the twins, so that what only small builds take is tested. */
#if defined(__OPTIMIZE_SIZE__) || defined(VNRX_PORTABLE)
#define VNRX_SMALL 1
#endif

#define VNRX_CACHE_LINE 64u

/* ThreadSanitizer knows nothing of fences: in its builds (see barrier.h) it is told by way of which word what one
 * thread stored reaches the other. */
#if defined(__SANITIZE_THREAD__)
#define VNRX_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VNRX_TSAN 1
#endif
#endif

#ifdef VNRX_TSAN
void __tsan_acquire(void *word);
void __tsan_release(void *word);
#define VNRX_TSAN_ACQUIRE(p) __tsan_acquire((void *)(uintptr_t)(p))
#define VNRX_TSAN_RELEASE(p) __tsan_release((void *)(uintptr_t)(p))
#else
#define VNRX_TSAN_ACQUIRE(p) ((void)(p))
#define VNRX_TSAN_RELEASE(p) ((void)(p))
#endif

/* Words at any address, in the machine's order. */
#ifdef VNRX_GNU
static VNRX_INLINE uint16_t vnrx_load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static VNRX_INLINE uint32_t vnrx_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static VNRX_INLINE uint64_t vnrx_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static VNRX_INLINE void vnrx_store16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* For descriptors: no compiler breaks a store of one of their words, which ThreadSanitizer cannot know. */
static VNRX_INLINE void vnrx_store64x2(uint8_t *p, uint64_t a, uint64_t b)
{
#ifdef VNRX_TSAN
	__atomic_store_n((uint64_t *)(uintptr_t)p, a, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)(uintptr_t)p + 1, b, __ATOMIC_RELAXED);
#else
	const uint64_t words[2] = { a, b };

	memcpy(p, words, sizeof(words));
#endif
}

/* The last 0..7 bytes as one word, zeros behind them. */
static VNRX_INLINE uint64_t vnrx_load_tail(const uint8_t *p, uint32_t len)
{
	uint64_t w = 0;

	memcpy(&w, p, len);
	return w;
}
#else
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define VNRX_LOW(n, i) ((n) - 1u - (i))
#else
#define VNRX_LOW(n, i) (i)
#endif

/*@ requires \valid_read(p + (0 .. 1));
    assigns \nothing;
*/
static VNRX_INLINE uint16_t vnrx_load16(const uint8_t *p)
{
	return (uint16_t)(p[VNRX_LOW(2u, 0u)] + p[VNRX_LOW(2u, 1u)] * 256u);
}

/*@ requires \valid_read(p + (0 .. 3));
    assigns \nothing;
*/
static VNRX_INLINE uint32_t vnrx_load32(const uint8_t *p)
{
	return p[VNRX_LOW(4u, 0u)] + p[VNRX_LOW(4u, 1u)] * 256u + p[VNRX_LOW(4u, 2u)] * 65536u +
	       p[VNRX_LOW(4u, 3u)] * 16777216u;
}

/*@ requires \valid_read(p + (0 .. 7));
    assigns \nothing;
*/
static VNRX_INLINE uint64_t vnrx_load64(const uint8_t *p)
{
	return (uint64_t)vnrx_load32(p + VNRX_LOW(2u, 0u) * 4u) +
	       (uint64_t)vnrx_load32(p + VNRX_LOW(2u, 1u) * 4u) * 4294967296u;
}

/*@ requires \valid(p + (0 .. 1));
    assigns p[0 .. 1];
*/
static VNRX_INLINE void vnrx_store16(uint8_t *p, uint16_t v)
{
	p[VNRX_LOW(2u, 0u)] = (uint8_t)(v % 256u);
	p[VNRX_LOW(2u, 1u)] = (uint8_t)(v / 256u);
}

/*@ requires \valid(p + (0 .. 7));
    assigns p[0 .. 7];
*/
static VNRX_INLINE void vnrx_store64(uint8_t *p, uint64_t v)
{
	/*@ loop invariant k <= 8;
	    loop assigns k, v, p[0 .. 7];
	    loop variant 8 - k;
	*/
	for (uint32_t k = 0; k < 8u; k++) {
		p[VNRX_LOW(8u, k)] = (uint8_t)(v % 256u);
		v /= 256u;
	}
}

/*@ requires \valid(p + (0 .. 15));
    assigns p[0 .. 15];
*/
static VNRX_INLINE void vnrx_store64x2(uint8_t *p, uint64_t a, uint64_t b)
{
	vnrx_store64(p, a);
	vnrx_store64(p + 8, b);
}

/*@ requires \valid_read(p + (0 .. len - 1)) && len < 8;
    assigns \nothing;
*/
static VNRX_INLINE uint64_t vnrx_load_tail(const uint8_t *p, uint32_t len)
{
	uint64_t w = 0;

	/*@ loop invariant k <= 8;
	    loop assigns k, w;
	    loop variant 8 - k;
	*/
	for (uint32_t k = 0; k < 8u; k++) {
		uint32_t at = 7u - VNRX_LOW(8u, k);

		w = w * 256u + (at < len ? p[at] : 0u);
	}
	return w;
}
#endif

/* at modulo size, a power of two. */
/*@ requires size > 0;
    assigns \nothing;
    ensures \result == at % size;
*/
static VNRX_INLINE uint32_t vnrx_wrap(uint32_t at, uint32_t size)
{
#ifndef __FRAMAC__
	return at & (size - 1u);
#else
	return at % size; /* the provers know nothing of & */
#endif
}

/* Index (0..7) of the lowest byte of x whose top bit is set; x has no other bits than top bits, and is not 0. */
/*@ assigns \nothing;
    ensures \result <= 7;
*/
static VNRX_INLINE unsigned vnrx_low_byte(uint64_t x)
{
#if defined(VNRX_GNU) && (defined(__x86_64__) || defined(__aarch64__))
	return (unsigned)__builtin_ctzll(x) / 8u;
#elif defined(__FRAMAC__)
	unsigned byte = 0;

	/*@ loop invariant byte <= 7;
	    loop assigns byte, x;
	    loop variant 7 - byte;
	*/
	for (; byte < 7u && x % 256u == 0u; byte++)
		x /= 256u;
	return byte;
#else
	/* The lowest bit, moved down to 2^(8k), shifts the byte of value k to the top. */
	return (unsigned)(((x & (0u - x)) / 128u * 0x0001020304050607u) / 0x0100000000000000u);
#endif
}

/* Are len (>= 16) bytes at a and b equal where mask has one bits? Reads nothing past len: the last step overlaps. */
#if defined(VNRX_GNU) && (defined(__SSE2__) || defined(__ARM_NEON))
typedef uint64_t vnrx_vec __attribute__((vector_size(16)));

static VNRX_INLINE vnrx_vec vnrx_masked_differ(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t off)
{
	vnrx_vec va, vb, vm;

	memcpy(&va, a + off, sizeof(va));
	memcpy(&vb, b + off, sizeof(vb));
	memcpy(&vm, mask + off, sizeof(vm));
	return (va ^ vb) & vm;
}

static VNRX_INLINE bool vnrx_masked_equal(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t len)
{
	uint32_t last = len - 16u;
	vnrx_vec differs = vnrx_masked_differ(a, b, mask, last);

	for (uint32_t off = 0; off < last; off += 16u)
		differs |= vnrx_masked_differ(a, b, mask, off);
	return (differs[0] | differs[1]) == 0u;
}
#else
static VNRX_INLINE uint64_t vnrx_masked_differ(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t off)
{
	uint64_t wa, wb, wm;

	memcpy(&wa, a + off, sizeof(wa));
	memcpy(&wb, b + off, sizeof(wb));
	memcpy(&wm, mask + off, sizeof(wm));
	return (wa ^ wb) & wm;
}

static VNRX_INLINE bool vnrx_masked_equal(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t len)
{
	uint32_t last = len - 8u;
	uint64_t differs = vnrx_masked_differ(a, b, mask, last);

	for (uint32_t off = 0; off < last; off += 8u)
		differs |= vnrx_masked_differ(a, b, mask, off);
	return differs == 0u;
}
#endif

/*
 * Atomics, for the return list and the statistics only. Word-sized loads and stores need no library support anywhere;
 * the return list's exchange and compare-and-swap are only compiled in where the target has them inline.
 */
#ifdef VNRX_GNU
#define VNRX_LOAD_RELAXED(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define VNRX_LOAD_ACQUIRE(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define VNRX_STORE_RELAXED(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define VNRX_STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define VNRX_FENCE_ACQUIRE()     __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define VNRX_FENCE_RELEASE()     __atomic_thread_fence(__ATOMIC_RELEASE)
#define VNRX_FENCE_FULL()        __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define VNRX_EXCHANGE_ACQUIRE(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define VNRX_CAS_RELEASE(p, old, v) \
	__atomic_compare_exchange_n((p), (old), (v), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#else
/* One thread only: the twin has no REMOTE_FREE and statistics are read on the queue's thread. */
#define VNRX_LOAD_RELAXED(p)     (*(p))
#define VNRX_LOAD_ACQUIRE(p)     (*(p))
#define VNRX_STORE_RELAXED(p, v) ((void)(*(p) = (v)))
#define VNRX_STORE_RELEASE(p, v) ((void)(*(p) = (v)))
#define VNRX_FENCE_ACQUIRE()     ((void)0)
#define VNRX_FENCE_RELEASE()     ((void)0)
#define VNRX_FENCE_FULL()        ((void)0)
#define VNRX_SINGLE_THREAD 1
#endif

/* The accesses of barrier.h for Frama-C, which knows no word of another type than the one that was stored: byte by
 * byte, and each read may give anything. */
#ifdef __FRAMAC__
#define VNRX_SHARED_LOAD(type, p)     vnrx_any_##type(p)
#define VNRX_SHARED_STORE(type, p, v) vnrx_set_##type(p, v)

/*@ requires \valid_read(p + (0 .. 1));
    assigns \nothing;
*/
static inline uint16_t vnrx_any_uint16_t(const uint8_t *p)
{
	const volatile uint8_t *q = (const volatile uint8_t *)p;
	uint8_t low = q[VNRX_LOW(2u, 0u)], high = q[VNRX_LOW(2u, 1u)];

	return (uint16_t)(low + high * 256u);
}

/*@ requires \valid_read(p + (0 .. 3));
    assigns \nothing;
*/
static inline uint32_t vnrx_any_uint32_t(const uint8_t *p)
{
	return vnrx_any_uint16_t(p + VNRX_LOW(2u, 0u) * 2u) + vnrx_any_uint16_t(p + VNRX_LOW(2u, 1u) * 2u) * 65536u;
}

/*@ requires \valid(p + (0 .. 1));
    assigns p[0 .. 1];
*/
static inline void vnrx_set_uint16_t(uint8_t *p, uint16_t v)
{
	vnrx_store16(p, v);
}

/*@ requires \valid(p + (0 .. 3));
    assigns p[0 .. 3];
*/
static inline void vnrx_set_uint32_t(uint8_t *p, uint32_t v)
{
	vnrx_store16(p + VNRX_LOW(2u, 0u) * 2u, (uint16_t)(v % 65536u));
	vnrx_store16(p + VNRX_LOW(2u, 1u) * 2u, (uint16_t)(v / 65536u));
}
#endif

#endif
