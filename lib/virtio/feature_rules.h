/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of features and what they require of each other. */
#ifndef VNRX_FEATURE_RULES_H
#define VNRX_FEATURE_RULES_H

#include "vnetrx/virtio_features.h"

#define VNRX_NO_FEATURE (-1)

/* All bits that the public header lists. */
struct vnetrx_features vnrx_features_known(void);

/* Takes out what requires a feature that is not in the set. */
void vnrx_features_settle(struct vnetrx_features *set);

/* A feature that `bit` requires and that is not in the set; VNRX_NO_FEATURE if there is none. */
int vnrx_features_unmet(const struct vnetrx_features *set, unsigned bit);

#endif
