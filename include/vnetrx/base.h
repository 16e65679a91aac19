/* SPDX-License-Identifier: BSD-3-Clause */
/* Version, time, errors: what every other header of the library builds on. */
#ifndef VNETRX_BASE_H
#define VNETRX_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VNETRX_VERSION_MAJOR 0
#define VNETRX_VERSION_MINOR 1
#define VNETRX_VERSION_PATCH 0

/* Nanoseconds of any monotonic clock of the host's choice. */
typedef uint64_t vnetrx_ns;

/* "No deadline", and nothing else. */
#define VNETRX_NEVER UINT64_MAX

#if defined(__GNUC__) || defined(__clang__)
#define VNETRX_MUST_USE __attribute__((warn_unused_result))
#else
#define VNETRX_MUST_USE
#endif

/* Errors are negative; codes of a driver or host pass through unchanged where a function says so. */
enum vnetrx_err {
	VNETRX_OK          = 0,
	VNETRX_ERR_INVALID = -1, /* an argument or a configuration field is out of its range */
	VNETRX_ERR_NOMEM   = -2, /* the memory handed in is NULL, too small or not aligned   */
	VNETRX_ERR_BUSY    = -3, /* something lent is still out; try again later             */
	VNETRX_ERR_CANNOT  = -4, /* the target format cannot say what is asked               */
	VNETRX_ERR_BAD     = -5, /* a device header contradicts itself or its packet         */
};

/* A short English text for one of the codes above; for any other value "unknown error". Never NULL. */
const char *vnetrx_strerror(int err);

#ifdef __cplusplus
}
#endif

#endif
