/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells Valgrind and AddressSanitizer which bytes of a run may be touched. Nothing in a release build. */
#ifndef VNRX_TRACK_H
#define VNRX_TRACK_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VNRX_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VNRX_ASAN 1
#endif

#if defined(VNRX_ASAN)
void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
#define VNRX_TRACK_NOACCESS(p, n)  __asan_poison_memory_region((p), (n))
#define VNRX_TRACK_UNDEFINED(p, n) __asan_unpoison_memory_region((p), (n))
#define VNRX_TRACK_DEFINED(p, n)   __asan_unpoison_memory_region((p), (n))
#elif defined(VNRX_VALGRIND)
#include <valgrind/memcheck.h>
#define VNRX_TRACK_NOACCESS(p, n)  ((void)VALGRIND_MAKE_MEM_NOACCESS((p), (n)))
#define VNRX_TRACK_UNDEFINED(p, n) ((void)VALGRIND_MAKE_MEM_UNDEFINED((p), (n)))
#define VNRX_TRACK_DEFINED(p, n)   ((void)VALGRIND_MAKE_MEM_DEFINED((p), (n)))
#else
#define VNRX_TRACK_NOACCESS(p, n)  ((void)(p), (void)(n))
#define VNRX_TRACK_UNDEFINED(p, n) ((void)(p), (void)(n))
#define VNRX_TRACK_DEFINED(p, n)   ((void)(p), (void)(n))
#endif

#endif
