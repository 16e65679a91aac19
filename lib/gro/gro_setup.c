/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of the engine, and what is asked of it beside packets. */
#include "engine.h"

#include "../mem.h"
#include "wait.h"

#define MS_NS       1000000u
#define PORT_VXLAN  4789u /* RFC 7348 */
#define PORT_GPE    4790u /* draft-ietf-nvo3-vxlan-gpe */
#define PORT_GENEVE 6081u /* RFC 8926 */
#define BYTES_MAX   524280u /* 8 * 65535: as far as hosts go today */
#define PRIOR_NS    65536u /* adaptive: for the first flow of all */

#define FLAGS_KNOWN \
	(VNETRX_GRO_RFC6864 | VNETRX_GRO_CSUM_BYTES | VNETRX_GRO_UDP_ZERO | VNETRX_GRO_ADAPTIVE | \
	 VNETRX_GRO_PROFILE_VIRTIO)
#define BYTES_AND_PROFILE (VNETRX_GRO_CSUM_BYTES | VNETRX_GRO_PROFILE_VIRTIO)
#define PROTOS_ALL   (VNETRX_GRO_TCP | VNETRX_GRO_UDP | VNETRX_GRO_TUNNEL)
#define PROTOS_KNOWN (VNRX_TCP_ALONE ? VNETRX_GRO_TCP : PROTOS_ALL)

static void default_port(uint16_t *port, uint32_t number)
{
	if (*port == 0u)
		*port = (uint16_t)number;
}

static void defaults(struct vnetrx_gro_config *cfg)
{
	bool is_virtio = (cfg->flags & VNETRX_GRO_PROFILE_VIRTIO) != 0u;

	if (cfg->flows == 0u)
		cfg->flows = 64u;
	if (cfg->bytes_max == 0u)
		cfg->bytes_max = 65535u;
	if (is_virtio && cfg->bytes_max > 65535u && cfg->bytes_max <= BYTES_MAX)
		cfg->bytes_max = 65535u; /* what a virtio-net header can say */
	if (cfg->segs_max == 0u)
		cfg->segs_max = 128u;
	if (cfg->protos == 0u)
		cfg->protos = is_virtio ? VNETRX_GRO_TCP : PROTOS_KNOWN & (VNETRX_GRO_TCP | VNETRX_GRO_TUNNEL);
	if (cfg->hold_max_ns == 0u)
		cfg->hold_max_ns = cfg->timeout_ns > MS_NS / 64u ? cfg->timeout_ns * 64u : MS_NS;
	default_port(&cfg->vxlan_port, PORT_VXLAN);
	default_port(&cfg->vxlan_gpe_port, PORT_GPE);
	default_port(&cfg->geneve_port, PORT_GENEVE);
}

/* The configuration with its defaults filled in; NULL, or what is wrong, as vnrx_gro_wrong() says it. */
static const char *complete(const struct vnetrx_gro_config *cfg, struct vnetrx_gro_config *full)
{
	*full = *cfg;
	if (cfg->timeout_ns > VNETRX_NEVER / 128u)
		return "gro_timeout_ns: must be below 2^57";
	if (cfg->hold_max_ns > VNETRX_NEVER / 2u)
		return "gro_hold_max_ns: must be below 2^63";
	defaults(full);
	if (full->hash_key[0] == 0u && full->hash_key[1] == 0u)
		return "hash_key: must be random, both words are zero";
	if (full->flows > VNRX_FLOWS_MAX)
		return "gro_flows: must be 1..65536";
	if (full->bytes_max < 1280u || full->bytes_max > BYTES_MAX)
		return "gro_bytes_max: must be 1280..524280";
	if (full->segs_max < 2u || full->segs_max > 65535u)
		return "gro_segs_max: must be 2..65535";
	if ((full->flags & ~FLAGS_KNOWN) != 0u)
		return "gro_flags: only VNETRX_GRO_RFC6864, CSUM_BYTES, UDP_ZERO, ADAPTIVE, PROFILE_VIRTIO";
	if ((full->flags & BYTES_AND_PROFILE) == BYTES_AND_PROFILE)
		return "gro_flags: with PROFILE_VIRTIO checksums are left to complete, not CSUM_BYTES";
	if ((full->protos & ~PROTOS_ALL) != 0u)
		return "gro_protos: only VNETRX_GRO_TCP, UDP, TUNNEL";
	if ((full->protos & ~PROTOS_KNOWN) != 0u)
		return "gro_protos: only VNETRX_GRO_TCP in a library built with -Dgro=tcp";
	return NULL;
}

const char *vnrx_gro_wrong(const struct vnetrx_gro_config *cfg)
{
	struct vnetrx_gro_config full;

	return complete(cfg, &full);
}

/* The same under the names that the engine's own fields have. */
static const char *own_name(const char *error)
{
	return error != NULL && memcmp(error, "gro_", 4) == 0 ? error + 4 : error;
}

/* Places everything in mem; with mem->base == NULL only measures. */
static VNRX_APART struct vnetrx_gro *place(const struct vnetrx_gro_config *cfg, struct vnrx_mem *mem)
{
	struct vnrx_flows flows;
	struct vnetrx_gro *gro = vnrx_mem_take(mem, 1, sizeof(*gro));
	struct vnrx_gap *gaps = NULL;

	vnrx_flows_init(&flows, mem, cfg->flows, cfg->hash_key);
	if ((cfg->flags & VNETRX_GRO_ADAPTIVE) != 0u)
		gaps = vnrx_gaps_init(mem, vnrx_flows_sets(cfg->flows));
	if (mem->base == NULL)
		return NULL;
	memset(gro, 0, sizeof(*gro));
	gro->flows = flows;
	gro->gaps = gaps;
	return gro;
}

static size_t measure(const struct vnetrx_gro_config *full)
{
	struct vnrx_mem mem = { .base = NULL };

	(void)place(full, &mem);
	return vnrx_mem_total(&mem);
}

size_t vnetrx_gro_footprint(const struct vnetrx_gro_config *cfg, const char **why)
{
	struct vnetrx_gro_config full;
	const char *error = complete(cfg, &full);

	if (why != NULL)
		*why = own_name(error);
	return error == NULL ? measure(&full) : 0u;
}

static uint16_t port_of(uint16_t port)
{
	return port == VNETRX_PORT_OFF ? 0u : port;
}

static void use_protos(struct vnetrx_gro *gro, const struct vnrx_tunnels *tunnels, uint32_t protos)
{
	gro->protos = protos;
	gro->tunnels = (struct vnrx_tunnels){ 0 };
	if ((protos & VNETRX_GRO_TUNNEL) != 0u)
		gro->tunnels = *tunnels;
	gro->guess = 0;
}

int vnetrx_gro_init(struct vnetrx_gro **gro_out, const struct vnetrx_gro_config *cfg, void *mem, size_t mem_size)
{
	struct vnetrx_gro_config full;
	struct vnrx_mem m = { .base = mem, .size = mem_size };
	struct vnetrx_gro *gro;
	size_t need;

	if (complete(cfg, &full) != NULL)
		return VNETRX_ERR_INVALID;
	need = measure(&full);
	if (need == 0u)
		return VNETRX_ERR_INVALID;
	if (mem_size < need || !vnrx_mem_usable(mem))
		return VNETRX_ERR_NOMEM;
	gro = place(&full, &m);
	gro->bytes_max = full.bytes_max;
	gro->segs_max = full.segs_max;
	gro->payload_min = full.payload_min;
	gro->flags = full.flags;
	gro->timeout_ns = full.timeout_ns;
	gro->hold_max_ns = full.hold_max_ns;
	gro->prior_ns = PRIOR_NS;
	gro->tunnels_known = (struct vnrx_tunnels){
		.vxlan_port = port_of(full.vxlan_port),
		.gpe_port = port_of(full.vxlan_gpe_port),
		.geneve_port = port_of(full.geneve_port),
		.ip = true,
	};
	use_protos(gro, &gro->tunnels_known, full.protos);
	vnrx_shapes_init(gro);
	*gro_out = gro;
	return VNETRX_OK;
}

void vnetrx_gro_set_protos(struct vnetrx_gro *gro, uint32_t protos, struct vnetrx_pktq *out)
{
	vnetrx_gro_flush(gro, out);
	use_protos(gro, &gro->tunnels_known, protos & PROTOS_KNOWN);
}

unsigned vnetrx_gro_held(const struct vnetrx_gro *gro)
{
	return gro->flows.held;
}

void vnetrx_gro_read_stats(const struct vnetrx_gro *gro, struct vnetrx_gro_stats *stats)
{
	*stats = gro->stats;
	stats->held = gro->flows.held;
}
