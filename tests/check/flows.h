/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Law 2: who must not overtake whom.
 *
 * A flow is outer addresses, innermost addresses, protocol and ports: its packets leave as they came. A packet whose
 * ports cannot be read keeps its place among all packets of its address pair, those in tunnels between them included.
 * What is no IP packet counts as one more flow.
 */
#ifndef CHECK_FLOWS_H
#define CHECK_FLOWS_H

#include <stddef.h>

#include "layout.h"

#define FLOWS_NONE ((size_t)-1)

struct flows;

/* For num packets that come; NULL: out of memory. */
struct flows *flows_new(size_t num);
void flows_free(struct flows *flows);

/* Packet number `index` comes, in turn from 0 on; false: out of memory. */
bool flows_come(struct flows *flows, const struct layout *lay, const uint8_t *data, size_t index);

/* Which packet of this flow must leave next; FLOWS_NONE = all have left. */
size_t flows_next(struct flows *flows, const struct layout *lay, const uint8_t *data);

/* It leaves. FLOWS_NONE, or the number of a packet with which it has changed places. */
size_t flows_leave(struct flows *flows, const struct layout *lay, const uint8_t *data, size_t index);

/* A packet that has not left; FLOWS_NONE = all have. */
size_t flows_left(const struct flows *flows);

#endif
