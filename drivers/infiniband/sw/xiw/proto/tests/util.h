/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Helpers of several suites: bytes from hex, a sender and a receiver of FPDUs
 * based on the functions under test and the kernel's CRC32c, and the message
 * vectors.
 */
#ifndef _XIW_TESTS_UTIL_H
#define _XIW_TESTS_UTIL_H

#include <kunit/test.h>

#include "../mpa.h"

/* Room for the largest FPDU with all its Markers */
#define XIW_TEST_FPDU_MAX	(70 * 1024)

/* Why a received FPDU was refused */
enum xiw_test_rx {
	XIW_TEST_RX_OK,
	XIW_TEST_RX_LENGTH,
	XIW_TEST_RX_CRC,
	XIW_TEST_RX_MARKER,
};

/*
 * One ULPDU in hex, blanks allowed, and the CRC field of its FPDU without
 * Markers; the name is for failure messages, too.
 */
struct xiw_test_vector {
	const char *name;
	const char *hex;
	const char *crc;
};

/* Valid messages first, Terminates behind them */
extern const struct xiw_test_vector xiw_test_vectors[];
extern const unsigned int xiw_test_vector_count;

const struct xiw_test_vector *xiw_test_vector(struct kunit *test,
					      const char *name);
u32 xiw_test_hex(struct kunit *test, const char *hex, u8 *buf, u32 size);
u32 xiw_test_tx_fpdu(struct xiw_mpa_tx *tx, const u8 *ulpdu, u32 len, u8 *out);
enum xiw_test_rx xiw_test_rx_fpdu(struct xiw_mpa_rx *rx, u8 *buf, u32 len,
				  u32 *ulpdu_len);

#endif /* _XIW_TESTS_UTIL_H */
