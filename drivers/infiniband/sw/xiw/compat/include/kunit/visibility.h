/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* KUnit has no macros for symbols exported to tests before Linux 6.3. */
#if IS_ENABLED(CONFIG_KUNIT)
#define EXPORT_SYMBOL_IF_KUNIT(symbol) \
	EXPORT_SYMBOL_NS(symbol, EXPORTED_FOR_KUNIT_TESTING)
#else
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#endif
