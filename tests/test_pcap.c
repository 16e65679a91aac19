/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures are read and written as vnetrx-replay promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pcap.h"

#define LINK_RAW  101u
#define LINK_WIFI 105u
#define LINK_SLL  113u
#define LINK_SLL2 276u

static char path[] = "/tmp/test_pcap.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

/* A little-endian capture of one record, in microseconds, of which the file has only `there` bytes. */
static void write_capture(uint32_t link, const uint8_t *record, uint32_t len, uint32_t there)
{
	uint8_t file[40] = { 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, [18] = 4, [24] = 5, [28] = 6 };
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	file[20] = (uint8_t)link;
	file[21] = (uint8_t)(link >> 8);
	file[32] = file[36] = (uint8_t)len;
	assert_int_equal(fwrite(file, sizeof(file), 1u, f), 1u);
	assert_int_equal(fwrite(record, 1u, there, f), there);
	assert_int_equal(fclose(f), 0);
}

/* The only frame of the capture. */
static void expect_frame(const uint8_t *frame, uint32_t len)
{
	char error[PCAP_ERROR_MAX] = "";
	struct pcap_in *in = pcap_in_open(path, error);
	struct pcap_frame got;

	assert_string_equal(error, "");
	assert_non_null(in);
	assert_int_equal(pcap_in_next(in, &got), 1);
	assert_int_equal(got.len, len);
	assert_memory_equal(got.data, frame, len);
	assert_int_equal(got.ns, 5000006000u);
	assert_int_equal(pcap_in_next(in, &got), 0);
	pcap_in_close(in);
}

static void raw_ip_gets_an_ethernet_header(void **state)
{
	static const uint8_t record[4] = { 0x60, 1, 2, 3 };
	static const uint8_t frame[18] = { [12] = 0x86, 0xdd, 0x60, 1, 2, 3 };

	(void)state;
	write_capture(LINK_RAW, record, sizeof(record), sizeof(record));
	expect_frame(frame, sizeof(frame));
}

static void cooked_packets_get_an_ethernet_header(void **state)
{
	static const uint8_t v1[18] = { [5] = 6, 2, 3, 4, 5, 6, 7, [14] = 8, 0, 0x45, 9 };
	static const uint8_t v2[22] = { 8, 0, [11] = 6, 2, 3, 4, 5, 6, 7, [20] = 0x45, 9 };
	static const uint8_t frame[16] = { [6] = 2, 3, 4, 5, 6, 7, 8, 0, 0x45, 9 };

	(void)state;
	write_capture(LINK_SLL, v1, sizeof(v1), sizeof(v1));
	expect_frame(frame, sizeof(frame));
	write_capture(LINK_SLL2, v2, sizeof(v2), sizeof(v2));
	expect_frame(frame, sizeof(frame));
}

static void a_cooked_header_that_is_cut_counts_as_zero(void **state)
{
	static const uint8_t record[3] = { 0, 1, 2 };
	static const uint8_t frame[14];

	(void)state;
	write_capture(LINK_SLL, record, sizeof(record), sizeof(record));
	expect_frame(frame, sizeof(frame));
}

static void an_unknown_link_type_is_named(void **state)
{
	static const uint8_t record[1];
	char error[PCAP_ERROR_MAX] = "";

	(void)state;
	write_capture(LINK_WIFI, record, sizeof(record), sizeof(record));
	assert_null(pcap_in_open(path, error));
	assert_non_null(strstr(error, "link type 105"));
}

static void a_cut_file_is_reported_at_the_byte_where_its_record_begins(void **state)
{
	static const uint8_t record[20];
	char error[PCAP_ERROR_MAX] = "";
	struct pcap_frame got;
	struct pcap_in *in;

	(void)state;
	write_capture(1u, record, sizeof(record), 7u);
	in = pcap_in_open(path, error);
	assert_non_null(in);
	assert_int_equal(pcap_in_next(in, &got), -1);
	assert_non_null(strstr(pcap_in_error(in), "byte 24:"));
	pcap_in_close(in);
}

static void a_written_packet_reads_back_with_all_fragments_and_nanoseconds(void **state)
{
	uint8_t bytes[80];
	struct vnetrx_pkt tail = { .data = bytes + 50, .frag_len = 30u };
	struct vnetrx_pkt head = { .data = bytes, .frag_len = 50u, .len = 80u, .chain = &tail, .nfrags = 2u };
	struct pcap_out *out = pcap_out_open(path);
	char error[PCAP_ERROR_MAX] = "";
	struct pcap_frame got;
	struct pcap_in *in;

	(void)state;
	for (unsigned i = 0u; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(3u * i);
	assert_non_null(out);
	assert_true(pcap_out_write(out, &head, 1700000000123456789u));
	assert_true(pcap_out_close(out));
	in = pcap_in_open(path, error);
	assert_non_null(in);
	assert_int_equal(pcap_in_next(in, &got), 1);
	assert_int_equal(got.len, sizeof(bytes));
	assert_memory_equal(got.data, bytes, sizeof(bytes));
	assert_true(got.ns == 1700000000123456789u);
	pcap_in_close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_ip_gets_an_ethernet_header),
		cmocka_unit_test(cooked_packets_get_an_ethernet_header),
		cmocka_unit_test(a_cooked_header_that_is_cut_counts_as_zero),
		cmocka_unit_test(an_unknown_link_type_is_named),
		cmocka_unit_test(a_cut_file_is_reported_at_the_byte_where_its_record_begins),
		cmocka_unit_test(a_written_packet_reads_back_with_all_fragments_and_nanoseconds),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
