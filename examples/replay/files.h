/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run: IN, OUT and META, none of which is another one. */
#ifndef REPLAY_FILES_H
#define REPLAY_FILES_H

#include <stdio.h>

#include "options.h"
#include "pcap.h"

struct replay_files {
	struct pcap_in  *in;
	struct pcap_out *out;
	FILE            *meta; /* NULL = not asked for */
};

/* Opens all, or says what is wrong and returns the code to exit with: then nothing was written or created. */
int replay_files_open(struct replay_files *files, const struct replay_options *opts);

#endif
