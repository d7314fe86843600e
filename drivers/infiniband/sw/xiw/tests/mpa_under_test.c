// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA's lengths for suites in a module of their own: the driver does not export
 * the protocol files.
 */
#include "proto/mpa.c"
