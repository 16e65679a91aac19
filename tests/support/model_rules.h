/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of model.c: what may be held, and what may join what; without any state. */
#ifndef TEST_MODEL_RULES_H
#define TEST_MODEL_RULES_H

#include "model.h"

/* How the ids of one IPv4 header go on. */
struct ids {
	uint16_t last;
	bool     any;   /* they carry no meaning           */
	bool     known; /* the second segment has come     */
	bool     fixed; /* with known: all equal           */
};

struct held {
	struct view       view; /* of the first segment */
	struct model_meta meta;
	unsigned *members;
	unsigned  n;            /* packets                */
	unsigned  segs;
	size_t    mss;
	size_t    payload;      /* bytes of all segments  */
	size_t    bytes;        /* IP total length of the whole */
	struct ids id, outer_id;
	bool      split;
	uint64_t  first_seen, last_seen;
	uint64_t  joined;       /* when something last joined, in packets */
};

/* A packet that comes in. */
struct seg {
	struct view       view;
	struct model_meta meta;
	unsigned number;
	unsigned count;         /* segments in it */
	size_t   unit;          /* bytes of each but the last */
};

/* Fills count and unit from view and meta. */
void model_measure(struct seg *s);

/* May it ever be held or joined? */
bool model_holdable(const struct model_cfg *cfg, const struct seg *s);

/* Is it the next of what is held, as far as headers say? */
bool model_same(const struct held *h, const struct seg *s);

/* And is there room for it? */
bool model_fits(const struct model_cfg *cfg, const struct held *h, const struct seg *s);

/* PSH or FIN. */
bool model_closes(const struct view *v);

unsigned model_segs_max(const struct model_cfg *cfg, const struct view *v);
size_t   model_first_l3(const struct view *v);

struct ids model_ids_open(const struct model_cfg *cfg, const uint8_t *ip, unsigned count);
void       model_id_join(struct ids *id, const uint8_t *ip, unsigned count);

#endif
