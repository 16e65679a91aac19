/* SPDX-License-Identifier: BSD-3-Clause */
#include "mmio.h"

#include "machine.h"
#include "print.h"

/* Registers (4.2.2); all are little-endian, as the machines are. */
enum {
	MAGIC = 0x000,
	VERSION = 0x004,
	DEVICE_ID = 0x008,
	DEVICE_FEATURES = 0x010,
	DEVICE_FEATURES_SEL = 0x014,
	DRIVER_FEATURES = 0x020,
	DRIVER_FEATURES_SEL = 0x024,
	QUEUE_SEL = 0x030,
	QUEUE_NUM_MAX = 0x034,
	QUEUE_NUM = 0x038,
	QUEUE_READY = 0x044,
	QUEUE_NOTIFY = 0x050,
	STATUS = 0x070,
	QUEUE_DESC = 0x080, /* of each address the low half, then the high one */
	QUEUE_DRIVER = 0x090,
	QUEUE_DEVICE = 0x0a0,
	CONFIG_MAC = 0x100,
};

#define MAGIC_VALUE 0x74726976u /* "virt" */
#define VERSION_2   2u
#define ID_NETWORK  1u

/* Device status (2.1). */
#define ACKNOWLEDGE 1u
#define DRIVER      2u
#define DRIVER_OK   4u
#define FEATURES_OK 8u
#define FAILED      128u

static uint32_t get(const struct mmio *dev, unsigned reg)
{
	return *(volatile uint32_t *)(dev->regs + reg);
}

static void put(struct mmio *dev, unsigned reg, uint32_t value)
{
	*(volatile uint32_t *)(dev->regs + reg) = value;
}

bool mmio_find(struct mmio *dev)
{
	uint32_t i;

	for (i = 0u; i < machine.mmio_slots; i++) {
		dev->regs = (volatile uint8_t *)(machine.mmio + i * machine.mmio_step);
		if (get(dev, MAGIC) == MAGIC_VALUE && get(dev, VERSION) == VERSION_2 &&
		    get(dev, DEVICE_ID) == ID_NETWORK) {
			put(dev, STATUS, 0u);
			return true;
		}
	}
	return false;
}

/* Features from 64 on are not asked for, and not written: QEMU 7.2 takes every selector but 0 for 1. */
static struct vnetrx_features offered(struct mmio *dev)
{
	uint32_t word[2];
	unsigned i;

	for (i = 0u; i < 2u; i++) {
		put(dev, DEVICE_FEATURES_SEL, i);
		word[i] = get(dev, DEVICE_FEATURES);
	}
	return (struct vnetrx_features){ .word = { (uint64_t)word[1] << 32 | word[0], 0u } };
}

static void accept(struct mmio *dev, const struct vnetrx_features *features)
{
	unsigned i;

	for (i = 0u; i < 2u; i++) {
		put(dev, DRIVER_FEATURES_SEL, i);
		put(dev, DRIVER_FEATURES, (uint32_t)(features->word[0] >> i * 32u));
	}
}

bool mmio_negotiate(struct mmio *dev, const struct vnetrx_virtio_wants *wants)
{
	struct vnetrx_features offer;
	unsigned i;

	put(dev, STATUS, ACKNOWLEDGE);
	put(dev, STATUS, ACKNOWLEDGE | DRIVER);
	offer = offered(dev);
	if (vnetrx_virtio_negotiate(&offer, wants, &dev->plan) != VNETRX_OK) {
		print("the device lacks %s, which %s needs\n", vnetrx_feature_name((unsigned)dev->plan.missing),
		      vnetrx_feature_name((unsigned)dev->plan.needed_by));
		put(dev, STATUS, FAILED);
		return false;
	}
	accept(dev, &dev->plan.accept);
	put(dev, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
	if ((get(dev, STATUS) & FEATURES_OK) == 0u) {
		print("the device does not accept the features\n");
		put(dev, STATUS, FAILED);
		return false;
	}
	for (i = 0u; i < sizeof(dev->mac); i++)
		dev->mac[i] = dev->regs[CONFIG_MAC + i];
	return true;
}

uint32_t mmio_queue_max(struct mmio *dev, unsigned index)
{
	put(dev, QUEUE_SEL, index);
	return get(dev, QUEUE_READY) == 0u ? get(dev, QUEUE_NUM_MAX) : 0u;
}

static void put_address(struct mmio *dev, unsigned reg, uint64_t address)
{
	put(dev, reg, (uint32_t)address);
	put(dev, reg + 4u, (uint32_t)(address >> 32));
}

void mmio_queue(struct mmio *dev, unsigned index, const struct vnetrx_virtq *vq, uint32_t size)
{
	struct vnetrx_virtq_areas areas;

	vnetrx_virtq_read_areas(vq, &areas);
	put(dev, QUEUE_SEL, index);
	put(dev, QUEUE_NUM, size);
	put_address(dev, QUEUE_DESC, areas.desc);
	put_address(dev, QUEUE_DRIVER, areas.driver);
	put_address(dev, QUEUE_DEVICE, areas.device);
	machine_barrier();
	put(dev, QUEUE_READY, 1u);
}

void mmio_start(struct mmio *dev)
{
	machine_barrier();
	put(dev, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
}

void mmio_notify(void *arg, uint32_t data)
{
	struct mmio *dev = arg;

	machine_barrier();
	put(dev, QUEUE_NOTIFY, data & 0xffffu);
}
