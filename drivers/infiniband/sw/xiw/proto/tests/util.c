// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Helpers of the KUnit suites.  The FPDU sender and receiver walk a buffer in
 * the order of RFC 5044, so that the Marker functions are called as in the
 * driver and the result can be compared byte by byte.
 */
#include <linux/crc32c.h>
#include <linux/hex.h>
#include <linux/module.h>
#include <linux/unaligned.h>

#include "util.h"

/*
 * Returns the bytes written. Blanks between bytes are allowed; a malformed
 * string fails the test.
 */
u32 xiw_test_hex(struct kunit *test, const char *hex, u8 *buf, u32 size)
{
	u32 len = 0;

	while (*hex) {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		KUNIT_ASSERT_LT(test, len, size);
		KUNIT_ASSERT_GE(test, hex_to_bin(hex[0]), 0);
		KUNIT_ASSERT_GE(test, hex_to_bin(hex[1]), 0);
		buf[len++] = hex_to_bin(hex[0]) << 4 | hex_to_bin(hex[1]);
		hex += 2;
	}
	return len;
}

/* Aborts the test if there is no such vector. */
const struct xiw_test_vector *xiw_test_vector(struct kunit *test,
					      const char *name)
{
	unsigned int i;

	for (i = 0; i < xiw_test_vector_count; i++)
		if (!strcmp(xiw_test_vectors[i].name, name))
			return &xiw_test_vectors[i];
	KUNIT_FAIL_AND_ABORT(test, "no vector %s", name);
	return NULL;
}

/* Write one part of an FPDU, with the Markers due in it. */
static u8 *put_part(struct xiw_mpa_tx *tx, const u8 *part, u32 len, u8 *out)
{
	while (len) {
		u32 run = min(xiw_mpa_tx_room(tx), len);

		if (!run) {
			xiw_mpa_tx_marker(tx, out);
			out += XIW_MPA_MARKER_LEN;
			continue;
		}
		memcpy(out, part, run);
		xiw_mpa_tx_advance(tx, run);
		part += run;
		out += run;
		len -= run;
	}
	return out;
}

/*
 * Frames one ULPDU of @len bytes; XIW_TEST_FPDU_MAX bytes at @out suffice.
 * Returns the bytes written, 0 if xiw_mpa_tx_begin() returned another length.
 */
u32 xiw_test_tx_fpdu(struct xiw_mpa_tx *tx, const u8 *ulpdu, u32 len, u8 *out)
{
	static const u8 zero[4];
	u32 total = xiw_mpa_tx_begin(tx, len);
	u8 field[4];
	u8 *p = out;

	put_unaligned_be16(len, field);
	p = put_part(tx, field, 2, p);
	p = put_part(tx, ulpdu, len, p);
	p = put_part(tx, zero, xiw_mpa_pad(len), p);
	/* The CRC covers a Marker in front of the CRC field. */
	if (!xiw_mpa_tx_room(tx)) {
		xiw_mpa_tx_marker(tx, p);
		p += XIW_MPA_MARKER_LEN;
	}
	put_unaligned_le32(~crc32c(~0, out, p - out), field);
	p = put_part(tx, field, 4, p);
	return p - out == total ? total : 0;
}

/*
 * Verifies and unframes one FPDU of @len bytes at @buf, where its length field,
 * ULPDU, padding and CRC field then follow each other. @ulpdu_len: set on
 * success
 */
enum xiw_test_rx xiw_test_rx_fpdu(struct xiw_mpa_rx *rx, u8 *buf, u32 len,
				  u32 *ulpdu_len)
{
	u32 head = xiw_mpa_rx_begin(rx);
	u32 n;

	if (len < head)
		return XIW_TEST_RX_LENGTH;
	n = get_unaligned_be16(buf + head - 2);
	if (xiw_mpa_rx_fpdu_len(rx, n) != len)
		return XIW_TEST_RX_LENGTH;
	if (get_unaligned_le32(buf + len - 4) != ~crc32c(~0, buf, len - 4))
		return XIW_TEST_RX_CRC;
	if (xiw_mpa_rx_strip(rx, buf, len) != xiw_mpa_fpdu_len(n))
		return XIW_TEST_RX_LENGTH;
	if (rx->mismatch)
		return XIW_TEST_RX_MARKER;
	*ulpdu_len = n;
	return XIW_TEST_RX_OK;
}

MODULE_DESCRIPTION("KUnit tests of the soft-iWARP protocol core");
MODULE_LICENSE("Dual BSD/GPL");
