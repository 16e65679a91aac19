/* SPDX-License-Identifier: BSD-3-Clause */
/* The four functions that the library, and any compiler, wants. Words where both sides are aligned alike. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((may_alias)) word;

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* Right where dst lies below src, too. */
static void forwards(uint8_t *d, const uint8_t *s, size_t n)
{
	if (((uintptr_t)d ^ (uintptr_t)s) % sizeof(word) == 0u) {
		for (; n > 0u && (uintptr_t)d % sizeof(word) != 0u; n--)
			*d++ = *s++;
		for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word), s += sizeof(word))
			*(word *)(void *)d = *(const word *)(const void *)s;
	}
	while (n-- > 0u)
		*d++ = *s++;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	forwards(dst, src, n);
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	if (d <= s || d >= s + n)
		forwards(d, s, n);
	else
		while (n-- > 0u)
			d[n] = s[n];
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	uint8_t *d = dst;
	const word all = 0x0101010101010101u * (uint8_t)c;

	for (; n > 0u && (uintptr_t)d % sizeof(word) != 0u; n--)
		*d++ = (uint8_t)c;
	for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word))
		*(word *)(void *)d = all;
	while (n-- > 0u)
		*d++ = (uint8_t)c;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;

	for (; n > 0u; n--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}
