/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The MPA policy of a device, as files.
 */
#ifndef _XIW_CONFIG_H
#define _XIW_CONFIG_H

struct attribute_group;

extern const struct attribute_group xiw_config_group;

#endif /* _XIW_CONFIG_H */
