/* SPDX-License-Identifier: BSD-3-Clause */
/* A frame of LEN bytes of any value, at the end of its object: what lies behind it cannot be read. */
#include "__fc_builtin.h"

#include "gro/dissect.h"

int main(void)
{
	uint8_t object[LEN + 1];
	struct vnrx_frame frame = { object + 1, LEN, 0 };
	struct vnrx_tunnels tunnels;
	struct vnrx_dissect d;

	Frama_C_make_unknown((char *)object, sizeof(object));
	frame.len = Frama_C_unsigned_int_interval(LEN, 0xffffffffu);
	tunnels.vxlan_port = (uint16_t)Frama_C_interval(0, 65535);
	tunnels.gpe_port = (uint16_t)Frama_C_interval(0, 65535);
	tunnels.geneve_port = (uint16_t)Frama_C_interval(0, 65535);
	tunnels.ip = Frama_C_interval(0, 1) != 0;
	vnrx_dissect(&frame, &tunnels, &d);
	return d.ip.l3 + d.ip.l4 + d.ip.end + d.ip.proto + d.outer.version + d.l4 + d.payload + d.reach + d.pass +
	       d.proto + d.pppoe + d.udp_tunnel != 0u;
}
