// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MPA policy of a device in /sys/class/infiniband/<device>/mpa. New values
 * apply to later connections.
 */
#include "policy.h"

#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "rdv.h"

/* Limit for timeouts of the connection setup: an hour */
#define POLICY_MAX_MS		(3600 * MSEC_PER_SEC)

/* One probe per second, and retransmissions on a path that loses packets */
#define POLICY_MIN_SILENCE	(6 * MSEC_PER_SEC)

/* TCP segments of the largest FPDU at an MTU of 1500 */
#define POLICY_MAX_SEGMENTS	46

enum policy_field {
	POLICY_REV,
	POLICY_CRC,
	POLICY_MARKERS,
	POLICY_P2P,
	POLICY_FALLBACK,
	POLICY_REQUEST_MS,
	POLICY_REPLY_MS,
	POLICY_RTR_MS,
	POLICY_CLOSE_MS,
	POLICY_SILENCE_MS,
	POLICY_FPDU_SEGMENTS,
};

/**
 * struct policy_attr - file for a number in struct xiw_mpa_policy
 * @attr: attribute
 * @field: member
 * @min: minimum
 * @max: maximum
 */
struct policy_attr {
	struct device_attribute attr;
	enum policy_field field;
	u32 min;
	u32 max;
};

static u32 policy_get(const struct xiw_mpa_policy *p, enum policy_field field)
{
	switch (field) {
	case POLICY_REV:
		return p->rev;
	case POLICY_CRC:
		return p->crc;
	case POLICY_MARKERS:
		return p->markers;
	case POLICY_P2P:
		return p->p2p;
	case POLICY_FALLBACK:
		return p->fallback;
	case POLICY_REQUEST_MS:
		return p->request_ms;
	case POLICY_REPLY_MS:
		return p->reply_ms;
	case POLICY_RTR_MS:
		return p->rtr_ms;
	case POLICY_CLOSE_MS:
		return p->close_ms;
	case POLICY_SILENCE_MS:
		return p->silence_ms;
	case POLICY_FPDU_SEGMENTS:
		return p->fpdu_segments;
	}
	return 0;
}

static void policy_set(struct xiw_mpa_policy *p, enum policy_field field,
		       u32 value)
{
	switch (field) {
	case POLICY_REV:
		p->rev = value;
		break;
	case POLICY_CRC:
		p->crc = value;
		break;
	case POLICY_MARKERS:
		p->markers = value;
		break;
	case POLICY_P2P:
		p->p2p = value;
		break;
	case POLICY_FALLBACK:
		p->fallback = value;
		break;
	case POLICY_REQUEST_MS:
		p->request_ms = value;
		break;
	case POLICY_REPLY_MS:
		p->reply_ms = value;
		break;
	case POLICY_RTR_MS:
		p->rtr_ms = value;
		break;
	case POLICY_CLOSE_MS:
		p->close_ms = value;
		break;
	case POLICY_SILENCE_MS:
		p->silence_ms = value;
		break;
	case POLICY_FPDU_SEGMENTS:
		p->fpdu_segments = value;
		break;
	}
}

static struct xiw_dev *policy_from_device(struct device *device)
{
	return rdma_device_to_drv_device(device, struct xiw_dev, ibdev);
}

static ssize_t policy_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	const struct policy_attr *pa = container_of(attr, struct policy_attr,
						    attr);
	struct xiw_mpa_policy policy;

	xiw_dev_get_policy(policy_from_device(device), &policy);
	return sysfs_emit(buf, "%u\n", policy_get(&policy, pa->field));
}

static ssize_t policy_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t count)
{
	const struct policy_attr *pa = container_of(attr, struct policy_attr,
						    attr);
	struct xiw_dev *dev = policy_from_device(device);
	struct xiw_mpa_policy policy;
	u32 value;
	int ret;

	if (kstrtou32(buf, 0, &value) || value < pa->min || value > pa->max)
		return -EINVAL;

	spin_lock(&dev->policy_lock);
	policy = dev->policy;
	policy_set(&policy, pa->field, value);
	ret = xiw_nego_policy_check(&policy);
	if (!ret)
		dev->policy = policy;
	spin_unlock(&dev->policy_lock);
	return ret ?: count;
}

#define POLICY_FILE(_name)	__ATTR(_name, 0644, policy_show, policy_store)

static struct policy_attr policy_files[] = {
	{ POLICY_FILE(revision), POLICY_REV, 1, 2 },
	{ POLICY_FILE(crc), POLICY_CRC, 0, 1 },
	{ POLICY_FILE(markers), POLICY_MARKERS, 0, 1 },
	{ POLICY_FILE(peer_to_peer), POLICY_P2P, 0, 1 },
	{ POLICY_FILE(fallback), POLICY_FALLBACK, 0, 1 },
	{ POLICY_FILE(request_timeout_ms), POLICY_REQUEST_MS, 1,
	  POLICY_MAX_MS },
	{ POLICY_FILE(reply_timeout_ms), POLICY_REPLY_MS, 1, POLICY_MAX_MS },
	{ POLICY_FILE(rtr_timeout_ms), POLICY_RTR_MS, 1, POLICY_MAX_MS },
	{ POLICY_FILE(close_timeout_ms), POLICY_CLOSE_MS, 1, POLICY_MAX_MS },
	{ POLICY_FILE(silence_timeout_ms), POLICY_SILENCE_MS,
	  POLICY_MIN_SILENCE, POLICY_MAX_MS },
	{ POLICY_FILE(fpdu_segments), POLICY_FPDU_SEGMENTS, 0,
	  POLICY_MAX_SEGMENTS },
};

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

	xiw_dev_get_policy(policy_from_device(device), &policy);
	for (i = 0; i < ARRAY_SIZE(rtr_names); i++)
		if (policy.rtr & rtr_names[i].type)
			len += sysfs_emit_at(buf, len, "%s%s", len ? " " : "",
					     rtr_names[i].name);
	return len + sysfs_emit_at(buf, len, "\n");
}

/* Converts a list of names to a mask; 0 if a name is unknown. */
static u8 policy_rtr_parse(char *list)
{
	char *word;
	u8 rtr = 0;
	int i;

	while ((word = strsep(&list, " ,\n"))) {
		if (!*word)
			continue;
		for (i = 0; i < ARRAY_SIZE(rtr_names); i++)
			if (!strcmp(word, rtr_names[i].name))
				break;
		if (i == ARRAY_SIZE(rtr_names))
			return 0;
		rtr |= rtr_names[i].type;
	}
	return rtr;
}

static ssize_t rtr_types_store(struct device *device,
			       struct device_attribute *attr, const char *buf,
			       size_t count)
{
	struct xiw_dev *dev = policy_from_device(device);
	struct xiw_mpa_policy policy;
	char list[32];
	int ret;

	if (strscpy(list, buf) < 0)
		return -EINVAL;

	spin_lock(&dev->policy_lock);
	policy = dev->policy;
	policy.rtr = policy_rtr_parse(list);
	ret = xiw_nego_policy_check(&policy);
	if (!ret)
		dev->policy = policy;
	spin_unlock(&dev->policy_lock);
	return ret ?: count;
}
static DEVICE_ATTR_RW(rtr_types);

static ssize_t late_receive_ms_show(struct device *device,
				    struct device_attribute *attr, char *buf)
{
	const struct xiw_dev *dev = policy_from_device(device);

	return sysfs_emit(buf, "%u\n", READ_ONCE(dev->env.late_recv_ms));
}

static ssize_t late_receive_ms_store(struct device *device,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	u32 value;

	if (kstrtou32(buf, 0, &value) || value > POLICY_MAX_MS)
		return -EINVAL;
	WRITE_ONCE(policy_from_device(device)->env.late_recv_ms, value);
	return count;
}
static DEVICE_ATTR_RW(late_receive_ms);

static ssize_t rendezvous_port_show(struct device *device,
				    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(policy_from_device(device)->rdv_port));
}

static ssize_t rendezvous_port_store(struct device *device,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	u16 value;

	if (kstrtou16(buf, 0, &value))
		return -EINVAL;
	xiw_rdv_set_port(policy_from_device(device), value);
	return count;
}
static DEVICE_ATTR_RW(rendezvous_port);

static struct attribute *policy_attrs[] = {
	&policy_files[0].attr.attr,
	&policy_files[1].attr.attr,
	&policy_files[2].attr.attr,
	&policy_files[3].attr.attr,
	&policy_files[4].attr.attr,
	&policy_files[5].attr.attr,
	&policy_files[6].attr.attr,
	&policy_files[7].attr.attr,
	&policy_files[8].attr.attr,
	&policy_files[9].attr.attr,
	&policy_files[10].attr.attr,
	&dev_attr_rtr_types.attr,
	&dev_attr_late_receive_ms.attr,
	&dev_attr_rendezvous_port.attr,
	NULL
};

const struct attribute_group xiw_policy_group = {
	.name = "mpa",
	.attrs = policy_attrs,
};
