/* SPDX-License-Identifier: BSD-3-Clause */
/* What a core stored and no other sees yet: one store that waits, written back at any time, before the next one and at
 * a fence. Loads go past it, as on every processor. PENDING declares that of one core. */
#define PENDING(core) bool core##_waits; byte core##_what, core##_value

#define STORE(core, what, value) \
	(!core##_waits) -> atomic { core##_what = what; core##_value = value; core##_waits = true }

#define FENCE(core) (!core##_waits)

#define WRITE_BACK(core, memory) \
	atomic { \
		core##_waits -> memory[core##_what] = core##_value; \
		core##_waits = false; core##_what = 0; core##_value = 0 }
