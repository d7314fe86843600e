/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Kernels without this header have no suites that need the symbols. */
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
