/* SPDX-License-Identifier: BSD-3-Clause */
/* Input: size of the table, key, then a script of operations on it and on a plain list; both must say the same. */
#include "fuzz.h"
#include "support/flow_model.h"

#define OPS_MAX 2000u

static void step(struct flow_model *m, struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);

	m->now += op / 64u;
	switch (op % 8u) {
	case 0:
		if (m->n > 0u)
			flow_model_del(m, fuzz_u8(in) % m->n);
		break;
	case 1:
		if (fuzz_u8(in) % 8u == 0u)
			flow_model_clear(m);
		break;
	case 2:
		(void)flow_model_find(m, fuzz_u16(in));
		break;
	case 3:
		if (m->n > 0u) /* joined */
			flow_model_put(m, m->entry[fuzz_u8(in) % m->n].number, fuzz_below(in, VNRX_WAITS));
		break;
	default:
		flow_model_put(m, fuzz_u8(in), op / 16u % 4u);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint32_t held_max = 1u + fuzz_u8(&in) % 96u;
	uint64_t key[2] = { fuzz_u16(&in), 1u + fuzz_u16(&in) };
	struct flow_model m;
	const char *why;
	unsigned n;

	flow_model_init(&m, held_max, key);
	for (n = 0; n < OPS_MAX && in.left > 0u; n++) {
		step(&m, &in);
		why = flow_model_check(&m);
		if (why != NULL) {
			fprintf(stderr, "operation %u: %s\n", n, why);
			abort();
		}
	}
	flow_model_fini(&m);
	return 0;
}
