/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The MPA policy of a device, as files.
 */
#ifndef _XIW_CONFIG_H
#define _XIW_CONFIG_H

struct attribute_group;
struct xiw_dev;

extern const struct attribute_group xiw_config_group;

void xiw_config_debug_add(struct xiw_dev *dev);
void xiw_config_debug_remove(struct xiw_dev *dev);
void xiw_config_module_init(void);
void xiw_config_module_exit(void);

#endif /* _XIW_CONFIG_H */
