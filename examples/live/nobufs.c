/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: a kernel short of memory. From the NOBUFS_FROM-th writev() on, NOBUFS_RUN of NOBUFS_EVERY fail. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

ssize_t writev(int fd, const struct iovec *iov, int n);

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	static ssize_t (*real)(int fd, const struct iovec *iov, int n);
	static unsigned long calls, from, every, run;

	if (real == NULL) {
		*(void **)&real = dlsym(RTLD_NEXT, "writev");
		from = setting("NOBUFS_FROM", 0ul);
		every = setting("NOBUFS_EVERY", 100ul);
		run = setting("NOBUFS_RUN", 1ul);
	}
	calls++;
	if (calls >= from && calls % every < run) {
		errno = ENOBUFS;
		return -1;
	}
	return real(fd, iov, n);
}
