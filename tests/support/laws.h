/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks laws 1 and 2 of the library from outside: what went in, what came out, nothing else.
 *
 * Every packet that goes in is copied and numbered from 0; one that the device merged counts as its segments. Every
 * packet that comes out is cut into its segments; each must be, byte for byte, the oldest one of its flow that has not
 * come out yet. A packet without ports must come out behind everything older, and before everything younger, of its
 * address pair and of what is in tunnels between the two.
 */
#ifndef TEST_LAWS_H
#define TEST_LAWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct laws;

#define LAW_CSUM_OK   1u /* the device verified the TCP checksum                                */
#define LAW_PARTIAL   2u /* the checksum field holds the pseudo-header sum                      */
#define LAW_VLAN      4u /* the device took off a tag: vlan_tci, vlan_proto                     */
#define LAW_MERGED    8u /* out: segments were joined                                           */
#define LAW_ID_FIXED 16u /* out: see struct reseg                                               */
#define LAW_CSUM_ANY 32u /* out: say nothing about the checksum field of a merged packet        */
#define LAW_SYNTH    64u /* in: the Ethernet header is not known; compare from the IP header on */
#define LAW_CSUM_INNER    128u /* the device verified the checksum inside a UDP tunnel          */
#define LAW_OUTER_ID_FIXED 256u /* out: see struct reseg                                        */

struct law_pkt {
	const uint8_t *bytes;
	size_t   len;
	unsigned flags;       /* LAW_* */
	unsigned gso_size, segs;
	uint16_t vlan_tci, vlan_proto;
};

struct laws *laws_new(void);

struct view_rules;

/* What the engine looks into (NULL: the usual tunnels), and whether IPv4 ids with DF carry no meaning. May change when
 * nothing is missing. */
void laws_rules(struct laws *laws, const struct view_rules *rules, bool rfc6864);

void laws_free(struct laws *laws);

/* A packet goes in; returns its number. */
unsigned laws_in(struct laws *laws, const struct law_pkt *pkt);

/* A packet comes out: NULL, or which law it breaks, and how. *first, if not NULL: the number of its first segment. */
const char *laws_out(struct laws *laws, const struct law_pkt *pkt, unsigned *first);

/* Packets that went in and have not come out. */
unsigned laws_missing(const struct laws *laws);

/* Number of the oldest of them. */
unsigned laws_oldest(const struct laws *laws);

/* Gives up the packets that have not come out: they were dropped for a known reason. */
void laws_forget(struct laws *laws);

/* Segments that came out joined to one before. */
unsigned laws_joined(const struct laws *laws);

#endif
