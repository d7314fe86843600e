// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MPA policy of a device in /sys/class/infiniband/<device>/mpa. New values
 * apply to later connections. Values that only tests change are in debugfs.
 */
#include "device.h"

#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "oob/oob.h"

/* Limit for timeouts of the connection setup: an hour */
#define CFG_MAX_MS		(3600 * MSEC_PER_SEC)

/*
 * Minimum of the silence timeout: time for three probes at intervals of a
 * second, and for retransmissions on a path that loses packets
 */
#define CFG_MIN_SILENCE		(6 * MSEC_PER_SEC)

/* TCP segments of the largest FPDU at an MTU of 1500 */
#define CFG_MAX_SEGMENTS	46

enum config_field {
	CFG_CRC,
	CFG_REPLY_MS,
	CFG_SILENCE_MS,
	CFG_FPDU_SEGMENTS,
	CFG_SCTP_RTO_MS,
	/* In debugfs: */
	CFG_MARKERS,
	CFG_REQUEST_MS,
	CFG_RTR_MS,
	CFG_CLOSE_MS,
};

/**
 * struct config_attr - file for a number in struct xiw_mpa_policy
 * @attr: attribute
 * @field: member
 * @min: minimum
 * @max: maximum
 */
struct config_attr {
	struct device_attribute attr;
	enum config_field field;
	u32 min;
	u32 max;
};

static u32 config_get(const struct xiw_mpa_policy *p, enum config_field field)
{
	switch (field) {
	case CFG_CRC:
		return p->crc;
	case CFG_REPLY_MS:
		return p->reply_ms;
	case CFG_SILENCE_MS:
		return p->silence_ms;
	case CFG_FPDU_SEGMENTS:
		return p->fpdu_segments;
	case CFG_SCTP_RTO_MS:
		return p->sctp_rto_ms;
	case CFG_MARKERS:
		return p->markers;
	case CFG_REQUEST_MS:
		return p->request_ms;
	case CFG_RTR_MS:
		return p->rtr_ms;
	case CFG_CLOSE_MS:
		return p->close_ms;
	}
	return 0;
}

static void config_set(struct xiw_mpa_policy *p, enum config_field field,
		       u32 value)
{
	switch (field) {
	case CFG_CRC:
		p->crc = value;
		break;
	case CFG_REPLY_MS:
		p->reply_ms = value;
		break;
	case CFG_SILENCE_MS:
		p->silence_ms = value;
		break;
	case CFG_FPDU_SEGMENTS:
		p->fpdu_segments = value;
		break;
	case CFG_SCTP_RTO_MS:
		p->sctp_rto_ms = value;
		break;
	case CFG_MARKERS:
		p->markers = value;
		break;
	case CFG_REQUEST_MS:
		p->request_ms = value;
		break;
	case CFG_RTR_MS:
		p->rtr_ms = value;
		break;
	case CFG_CLOSE_MS:
		p->close_ms = value;
		break;
	}
}

static struct xiw_dev *config_to_xdev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct xiw_dev, ibdev);
}

static ssize_t config_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	const struct config_attr *pa = container_of(attr, struct config_attr,
						    attr);
	struct xiw_mpa_policy policy;

	xiw_dev_get_policy(config_to_xdev(device), &policy);
	return sysfs_emit(buf, "%u\n", config_get(&policy, pa->field));
}

/* Replaces the policy of a device, unless @policy is not a valid one. */
static int config_replace_locked(struct xiw_dev *dev,
				 const struct xiw_mpa_policy *policy)
{
	int ret = xiw_nego_policy_check(policy);

	lockdep_assert_held(&dev->policy_lock);

	if (!ret)
		dev->policy = *policy;
	return ret;
}

static ssize_t config_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t count)
{
	const struct config_attr *pa = container_of(attr, struct config_attr,
						    attr);
	struct xiw_dev *dev = config_to_xdev(device);
	struct xiw_mpa_policy policy;
	u32 value;
	int ret;

	if (kstrtou32(buf, 0, &value) || value < pa->min || value > pa->max)
		return -EINVAL;

	spin_lock(&dev->policy_lock);
	policy = dev->policy;
	config_set(&policy, pa->field, value);
	ret = config_replace_locked(dev, &policy);
	spin_unlock(&dev->policy_lock);
	return ret ?: count;
}

#define CFG_FILE(_name)		__ATTR(_name, 0644, config_show, config_store)

static struct config_attr config_files[] = {
	{ CFG_FILE(crc), CFG_CRC, 0, 1 },
	{ CFG_FILE(reply_timeout_ms), CFG_REPLY_MS, 1, CFG_MAX_MS },
	{ CFG_FILE(silence_timeout_ms), CFG_SILENCE_MS,
	  CFG_MIN_SILENCE, CFG_MAX_MS },
	{ CFG_FILE(fpdu_segments), CFG_FPDU_SEGMENTS, 0,
	  CFG_MAX_SEGMENTS },
	{ CFG_FILE(sctp_rto_ms), CFG_SCTP_RTO_MS, 10, 1000 },
};

/* Revisions of own Requests, in the order in which they are tried */
static const struct {
	const char *list;
	u8 rev;
	bool fallback;
} config_revisions[] = {
	{ "1", 1, false },
	{ "2", 2, false },
	{ "2 1", 2, true },
};

static ssize_t revision_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	struct xiw_mpa_policy policy;

	xiw_dev_get_policy(config_to_xdev(device), &policy);
	return sysfs_emit(buf, "%u%s\n", policy.rev,
			  policy.fallback ? " 1" : "");
}

static ssize_t revision_store(struct device *device,
			      struct device_attribute *attr, const char *buf,
			      size_t count)
{
	struct xiw_dev *dev = config_to_xdev(device);
	int i;

	for (i = 0; i < ARRAY_SIZE(config_revisions); i++)
		if (sysfs_streq(buf, config_revisions[i].list))
			break;
	if (i == ARRAY_SIZE(config_revisions))
		return -EINVAL;
	spin_lock(&dev->policy_lock);
	dev->policy.rev = config_revisions[i].rev;
	dev->policy.fallback = config_revisions[i].fallback;
	spin_unlock(&dev->policy_lock);
	return count;
}
static DEVICE_ATTR_RW(revision);

static const struct {
	const char *name;
	u8 type;
} rtr_names[] = {
	{ "write", XIW_RTR_WRITE },
	{ "read", XIW_RTR_READ },
	{ "send", XIW_RTR_SEND },
};

static ssize_t rtr_types_show(struct device *device,
			      struct device_attribute *attr, char *buf)
{
	struct xiw_mpa_policy policy;
	int len = 0;
	int i;

	xiw_dev_get_policy(config_to_xdev(device), &policy);
	if (!policy.p2p)
		return sysfs_emit(buf, "none\n");
	for (i = 0; i < ARRAY_SIZE(rtr_names); i++)
		if (policy.rtr & rtr_names[i].type)
			len += sysfs_emit_at(buf, len, "%s%s", len ? " " : "",
					     rtr_names[i].name);
	return len + sysfs_emit_at(buf, len, "\n");
}

/*
 * Converts a list: @parse converts each word to an element of @out, of @size
 * bytes. Returns the number of words, or -EINVAL if there are more than @max or
 * @parse returns false.
 */
static int config_list_parse(const char *buf, int max, void *out, size_t size,
			     bool (*parse)(const char *word, void *out))
{
	char list[192];
	char *next = list;
	char *word;
	int n = 0;

	if (strscpy(list, buf) < 0)
		return -EINVAL;
	while ((word = strsep(&next, " ,\n"))) {
		if (!*word)
			continue;
		if (n == max || !parse(word, out + n * size))
			return -EINVAL;
		n++;
	}
	return n;
}

/* Adds a type to the mask @out. */
static bool config_rtr_parse(const char *word, void *out)
{
	u8 *rtr = out;
	int i;

	for (i = 0; i < ARRAY_SIZE(rtr_names); i++) {
		if (!strcmp(word, rtr_names[i].name)) {
			*rtr |= rtr_names[i].type;
			return true;
		}
	}
	return false;
}

static ssize_t rtr_types_store(struct device *device,
			       struct device_attribute *attr, const char *buf,
			       size_t count)
{
	struct xiw_dev *dev = config_to_xdev(device);
	bool p2p = !sysfs_streq(buf, "none");
	struct xiw_mpa_policy policy;
	u8 rtr = 0;
	int ret;

	if (p2p && config_list_parse(buf, ARRAY_SIZE(rtr_names), &rtr, 0,
				     config_rtr_parse) < 0)
		return -EINVAL;

	spin_lock(&dev->policy_lock);
	policy = dev->policy;
	policy.p2p = p2p;
	/*
	 * With "none" keep the RTR types, which are for peers that ask for the
	 * peer-to-peer model.
	 */
	if (p2p)
		policy.rtr = rtr;
	ret = config_replace_locked(dev, &policy);
	spin_unlock(&dev->policy_lock);
	return ret ?: count;
}
static DEVICE_ATTR_RW(rtr_types);

static ssize_t rnr_timeout_ms_show(struct device *device,
				   struct device_attribute *attr, char *buf)
{
	const struct xiw_dev *dev = config_to_xdev(device);

	return sysfs_emit(buf, "%u\n", READ_ONCE(dev->env.rnr_timeout_ms));
}

static ssize_t rnr_timeout_ms_store(struct device *device,
				    struct device_attribute *attr,
				    const char *buf, size_t count)
{
	u32 value;

	if (kstrtou32(buf, 0, &value) || value > CFG_MAX_MS)
		return -EINVAL;
	WRITE_ONCE(config_to_xdev(device)->env.rnr_timeout_ms, value);
	return count;
}
static DEVICE_ATTR_RW(rnr_timeout_ms);

static ssize_t oob_port_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(config_to_xdev(device)->oob_port));
}

static ssize_t oob_port_store(struct device *device,
			      struct device_attribute *attr,
			      const char *buf, size_t count)
{
	u16 value;

	if (kstrtou16(buf, 0, &value))
		return -EINVAL;
	xiw_oob_set_port(config_to_xdev(device), value);
	/* Tries again if another program has the port. */
	xiw_dev_update_gids(config_to_xdev(device));
	return count;
}
static DEVICE_ATTR_RW(oob_port);

static ssize_t sctp_ports_show(struct device *device,
			       struct device_attribute *attr, char *buf)
{
	struct xiw_dev *dev = config_to_xdev(device);
	int len = 0;
	u32 i;

	spin_lock(&dev->policy_lock);
	for (i = 0; i < dev->sctp_count; i++)
		len += sysfs_emit_at(buf, len, "%s%u", len ? " " : "",
				     dev->sctp_ports[i]);
	spin_unlock(&dev->policy_lock);
	return len + sysfs_emit_at(buf, len, "\n");
}

static bool config_port_parse(const char *word, void *out)
{
	u16 *port = out;

	return !kstrtou16(word, 0, port) && *port;
}

static ssize_t sctp_ports_store(struct device *device,
				struct device_attribute *attr, const char *buf,
				size_t count)
{
	struct xiw_dev *dev = config_to_xdev(device);
	u16 ports[XIW_SCTP_PORTS] = {};
	int n = config_list_parse(buf, XIW_SCTP_PORTS, ports, sizeof(*ports),
				  config_port_parse);

	if (n < 0)
		return n;
	spin_lock(&dev->policy_lock);
	memcpy(dev->sctp_ports, ports, sizeof(ports));
	dev->sctp_count = n;
	spin_unlock(&dev->policy_lock);
	return count;
}
static DEVICE_ATTR_RW(sctp_ports);

static ssize_t sctp_addresses_show(struct device *device,
				   struct device_attribute *attr, char *buf)
{
	struct xiw_dev *dev = config_to_xdev(device);
	const struct in6_addr *addr;
	int len = 0;
	u32 i;

	spin_lock(&dev->policy_lock);
	for (i = 0; i < dev->sctp_naddrs; i++) {
		addr = &dev->sctp_addrs[i];
		len += sysfs_emit_at(buf, len, "%s", i ? " " : "");
		if (ipv6_addr_v4mapped(addr))
			len += sysfs_emit_at(buf, len, "%pI4",
					     &addr->s6_addr32[3]);
		else
			len += sysfs_emit_at(buf, len, "%pI6c", addr);
	}
	spin_unlock(&dev->policy_lock);
	return len + sysfs_emit_at(buf, len, "\n");
}

/* Converts an address without a scope; an IPv4 address becomes a mapped one. */
static bool config_addr_parse(const char *word, void *out)
{
	struct in6_addr *addr = out;
	__be32 v4;

	if (in4_pton(word, -1, (u8 *)&v4, -1, NULL)) {
		ipv6_addr_set_v4mapped(v4, addr);
		return v4 && !ipv4_is_multicast(v4);
	}
	return in6_pton(word, -1, addr->s6_addr, -1, NULL) &&
	       !ipv6_addr_v4mapped(addr) &&
	       (ipv6_addr_type(addr) & IPV6_ADDR_UNICAST) &&
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static ssize_t sctp_addresses_store(struct device *device,
				    struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct xiw_dev *dev = config_to_xdev(device);
	struct in6_addr addrs[XIW_SCTP_ADDRS] = {};
	int n = config_list_parse(buf, XIW_SCTP_ADDRS, addrs, sizeof(*addrs),
				  config_addr_parse);

	if (n < 0)
		return n;
	spin_lock(&dev->policy_lock);
	memcpy(dev->sctp_addrs, addrs, sizeof(addrs));
	dev->sctp_naddrs = n;
	spin_unlock(&dev->policy_lock);
	return count;
}
static DEVICE_ATTR_RW(sctp_addresses);

static struct attribute *config_attrs[] = {
	&config_files[0].attr.attr,
	&config_files[1].attr.attr,
	&config_files[2].attr.attr,
	&config_files[3].attr.attr,
	&config_files[4].attr.attr,
	&dev_attr_revision.attr,
	&dev_attr_rtr_types.attr,
	&dev_attr_rnr_timeout_ms.attr,
	&dev_attr_oob_port.attr,
	&dev_attr_sctp_ports.attr,
	&dev_attr_sctp_addresses.attr,
	NULL
};

const struct attribute_group xiw_config_group = {
	.name = "mpa",
	.attrs = config_attrs,
};

/* Directory xiw in debugfs; it has a directory per device, named by index. */
static struct dentry *config_debug_root;

static int config_debug_get(struct xiw_dev *dev, enum config_field field,
			    u64 *value)
{
	struct xiw_mpa_policy policy;

	xiw_dev_get_policy(dev, &policy);
	*value = config_get(&policy, field);
	return 0;
}

static int config_debug_set(struct xiw_dev *dev, enum config_field field,
			    u64 value)
{
	if (value > U32_MAX)
		return -EINVAL;
	spin_lock(&dev->policy_lock);
	config_set(&dev->policy, field, value);
	spin_unlock(&dev->policy_lock);
	return 0;
}

#define CFG_DEBUG_FILE(_name, _field)					\
static int _name##_get(void *dev, u64 *value)				\
{									\
	return config_debug_get(dev, CFG_##_field, value);		\
}									\
static int _name##_set(void *dev, u64 value)				\
{									\
	return config_debug_set(dev, CFG_##_field, value);		\
}									\
DEFINE_DEBUGFS_ATTRIBUTE(_name##_fops, _name##_get, _name##_set, "%llu\n")

CFG_DEBUG_FILE(config_markers, MARKERS);
CFG_DEBUG_FILE(config_request_ms, REQUEST_MS);
CFG_DEBUG_FILE(config_rtr_ms, RTR_MS);
CFG_DEBUG_FILE(config_close_ms, CLOSE_MS);

/*
 * Add the files of a device in debugfs. Values are numbers that are not
 * checked, and apply to later connections. A device can be renamed, but keeps
 * its index.
 */
void xiw_config_debug_add(struct xiw_dev *dev)
{
	char name[16];

	if (dev->debugfs)
		return;
	snprintf(name, sizeof(name), "%u", dev->ibdev.index);
	dev->debugfs = debugfs_create_dir(name, config_debug_root);
	debugfs_create_file_unsafe("markers", 0600, dev->debugfs, dev,
				   &config_markers_fops);
	debugfs_create_file_unsafe("request_timeout_ms", 0600, dev->debugfs,
				   dev, &config_request_ms_fops);
	debugfs_create_file_unsafe("rtr_timeout_ms", 0600, dev->debugfs, dev,
				   &config_rtr_ms_fops);
	debugfs_create_file_unsafe("close_timeout_ms", 0600, dev->debugfs, dev,
				   &config_close_ms_fops);
}

void xiw_config_debug_remove(struct xiw_dev *dev)
{
	debugfs_remove(dev->debugfs);
}

/* Create the directory in debugfs. */
void __init xiw_config_module_init(void)
{
	config_debug_root = debugfs_create_dir("xiw", NULL);
}

/* Remove the directory in debugfs, after the last device. */
void xiw_config_module_exit(void)
{
	debugfs_remove(config_debug_root);
}
