// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Build the protocol files into the test module, so that it loads without the
 * driver, the RDMA core or a network.
 */
#include "../atomic.c"
#include "../ddp.c"
#include "../epstate.c"
#include "../mpa.c"
#include "../nego.c"
#include "../oob.c"
#include "../oobstate.c"
#include "../opcode.c"
#include "../qpstate.c"
#include "../rdmap.c"
#include "../segment.c"
#include "../session.c"
#include "../term.c"
