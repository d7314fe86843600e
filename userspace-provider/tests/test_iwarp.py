# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Test module for iWARP: where its verbs differ from those of InfiniBand.
"""
import sys
import time
import unittest

from pyverbs.cmid import CMEvent, CMEventChannel, CMID, AddrInfo, ConnParam
from pyverbs.cq import CQ
from pyverbs.device import get_device_list
from pyverbs.libibverbs_enums import ibv_access_flags, ibv_atomic_cap, \
    ibv_event_type, ibv_mw_type, ibv_node_type, ibv_qp_type, \
    ibv_transport_type, ibv_wc_flags, ibv_wc_opcode, ibv_wc_status, \
    ibv_wr_opcode, IBV_LINK_LAYER_ETHERNET
from pyverbs.librdmacm_enums import rdma_cm_event_type, RAI_PASSIVE
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR
from tests.base import PyverbsAPITestCase, RDMACMBaseTest
from tests.base_rdmacm import AsyncCMResources
from tests.rdmacm_utils import CMAsyncConnection

LOCAL = ibv_access_flags.IBV_ACCESS_LOCAL_WRITE
REMOTE_READ = ibv_access_flags.IBV_ACCESS_REMOTE_READ
REMOTE_WRITE = ibv_access_flags.IBV_ACCESS_REMOTE_WRITE
REMOTE_ATOMIC = ibv_access_flags.IBV_ACCESS_REMOTE_ATOMIC
MW_BIND = ibv_access_flags.IBV_ACCESS_MW_BIND
SUCCESS = ibv_wc_status.IBV_WC_SUCCESS
FLUSHED = ibv_wc_status.IBV_WC_WR_FLUSH_ERR
ASK = b'connect'
ANSWER = b'accept, of another length'


def skip_if_not_iwarp(dev_name):
    for dev in get_device_list():
        if dev.name.decode() == dev_name and \
           dev.transport_type == ibv_transport_type.IBV_TRANSPORT_IWARP:
            return
    raise unittest.SkipTest(f'{dev_name} is not an iWARP device')


class IwarpResources(AsyncCMResources):
    """
    Resources of a connection with a QP that is not the CM ID's, so that all
    work requests can be posted.
    """
    def create_qp_init_attr(self, rcq=None, scq=None):
        cap = QPCap(max_send_wr=self.num_msgs, max_recv_wr=self.num_msgs)
        return QPInitAttr(qp_type=self.qp_type, rcq=rcq, scq=scq, cap=cap)

    def create_cq(self, cmid):
        if not self.cq:
            self.cq = CQ(cmid.context, 2 * self.num_msgs)

    def create_qp(self, conn_idx=0):
        cmid = self.child_id if self.passive else self.cmid
        self.create_cq(cmid)
        attr = self.create_qp_init_attr(rcq=self.cq, scq=self.cq)
        # iw_cm changes the QP to RTS.
        self.qps[conn_idx] = QP(cmid.pd, attr)

    def create_mr(self):
        self.mr = self.register(LOCAL)

    def register(self, access):
        cmid = self.child_id if self.passive else self.cmid
        return MR(cmid.pd, self.msg_size, access)

    def create_conn_param(self, qp_num=0, conn_idx=0):
        data = ANSWER if self.passive else ASK
        param = ConnParam(qp_num=self.qp.qp_num, data_len=len(data))
        param.set_private_data(data)
        return param


class IwarpConnection(CMAsyncConnection):
    """
    A connection whose test is in the methods server() and client(). The QPs
    are connected by rdma_cm alone: iWARP has no response that the active side
    would have to answer.
    """
    TIMEOUT = 10

    def create_cm_res(self, ip_addr, passive, **kwargs):
        res = IwarpResources(passive=passive, with_ext_qp=True, **kwargs)
        res.create_cmid()
        if passive:
            res.ai = AddrInfo(src=ip_addr, src_service=res.port,
                              port_space=res.port_space, flags=RAI_PASSIVE)
        else:
            res.ai = AddrInfo(src=ip_addr, dst=ip_addr, dst_service=res.port,
                              port_space=res.port_space)
        self.cm_res = res

    def expect(self, event_type):
        """
        :return: The private data of the next event of rdma_cm
        """
        event = CMEvent(self.cm_res.cmid.event_channel)
        if event.event_type != event_type:
            raise PyverbsError(f'Got the event {event.event_str()}')
        if event_type == rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_REQUEST:
            self.cm_res.create_child_id(event)
        data = event.private_data
        event.ack_cm_event()
        return data

    def establish_connection(self):
        res = self.cm_res
        if res.passive:
            res.cmid.bind_addr(res.ai)
            res.cmid.listen()
            self.syncer.wait()
            self.private_data = self.expect(
                rdma_cm_event_type.RDMA_CM_EVENT_CONNECT_REQUEST)
            res.create_qp()
            res.create_mr()
            self.prepare()
            res.child_id.accept(res.create_conn_param())
            self.expect(rdma_cm_event_type.RDMA_CM_EVENT_ESTABLISHED)
        else:
            self.syncer.wait()
            res.cmid.resolve_addr(res.ai)
            self.expect(rdma_cm_event_type.RDMA_CM_EVENT_ADDR_RESOLVED)
            res.cmid.resolve_route()
            self.expect(rdma_cm_event_type.RDMA_CM_EVENT_ROUTE_RESOLVED)
            res.create_qp()
            res.create_mr()
            res.cmid.connect(res.create_conn_param())
            self.private_data = self.expect(
                rdma_cm_event_type.RDMA_CM_EVENT_ESTABLISHED)

    def prepare(self):
        """
        What the passive side posts before it accepts.
        """

    def rdmacm_traffic(self, server=None, multicast=False):
        if self.cm_res.passive:
            self.server()
        else:
            self.client()

    def server(self):
        """
        The test of the passive side.
        """

    def client(self):
        """
        The test of the active side.
        """

    def disconnect(self):
        """
        The active side begins.
        """
        res = self.cm_res
        if not res.passive:
            res.cmid.disconnect()
        self.expect(rdma_cm_event_type.RDMA_CM_EVENT_DISCONNECTED)

    def post_recv(self):
        mr = self.cm_res.mr
        sge = SGE(mr.buf, self.cm_res.msg_size, mr.lkey)
        self.cm_res.qp.post_recv(RecvWR(num_sge=1, sg=[sge]))

    def post_send(self, opcode, mr=None, length=None, remote=None, **kwargs):
        """
        :param mr: The local buffer, that of the resources by default
        :param length: Of the message, the whole buffer by default
        :param remote: (rkey, address) of an RDMA operation
        """
        mr = mr or self.cm_res.mr
        sge = SGE(mr.buf, length or self.cm_res.msg_size, mr.lkey)
        wr = SendWR(opcode=opcode, num_sge=1, sg=[sge], **kwargs)
        if remote:
            wr.set_wr_rdma(*remote)
        self.cm_res.qp.post_send(wr)

    def complete(self, status=SUCCESS):
        """
        :return: The next completion, which has that status
        """
        end = time.monotonic() + self.TIMEOUT
        while time.monotonic() < end:
            _, wcs = self.cm_res.cq.poll()
            if wcs:
                if wcs[0].status != status:
                    raise PyverbsError(f'Completion status {wcs[0].status}')
                return wcs[0]
        raise PyverbsError('Got no completion')

    def bind(self, mr, access):
        """
        :return: A type 2 memory window of the region, and its key
        """
        window = MW(self.cm_res.child_id.pd, ibv_mw_type.IBV_MW_TYPE_2)
        wr = SendWR(opcode=ibv_wr_opcode.IBV_WR_BIND_MW)
        wr.set_bind_wr(window, MWBindInfo(mr, mr.buf, self.cm_res.msg_size,
                                          access))
        self.cm_res.qp.post_send(wr)
        self.complete()
        return window, wr.rkey

    def wait_for_access_error(self):
        while True:
            event = self.cm_res.child_id.context.get_async_event()
            event.ack()
            if event.event_type == ibv_event_type.IBV_EVENT_QP_ACCESS_ERR:
                return

    def fill(self, mr, char):
        mr.write(char * self.cm_res.msg_size, self.cm_res.msg_size)

    def holds(self, mr, char):
        size = self.cm_res.msg_size
        if mr.read(size, 0) != char.encode() * size:
            raise PyverbsError(f'The buffer does not hold {char}')


class PrivateData(IwarpConnection):
    """
    MPA frames have the length of the private data (RFC 5044), so that nothing
    is padded.
    """
    def server(self):
        if self.private_data != ASK:
            raise PyverbsError(f'Got {self.private_data}')

    def client(self):
        if self.private_data != ANSWER:
            raise PyverbsError(f'Got {self.private_data}')


class WriteThenSend(IwarpConnection):
    """
    A Write completes when its buffer can be reused, which says nothing of the
    peer. The peer has the data when it receives a Send that was posted behind
    the Write.
    """
    def prepare(self):
        self.post_recv()

    def server(self):
        mr = self.cm_res.register(LOCAL | REMOTE_WRITE)
        for i in range(self.cm_res.num_msgs):
            char = chr(ord('a') + i)
            self.notifier.put((mr.rkey, mr.buf))
            self.complete()
            self.holds(mr, char)
            self.post_recv()

    def client(self):
        mr = self.cm_res.register(LOCAL)
        for i in range(self.cm_res.num_msgs):
            self.fill(mr, chr(ord('a') + i))
            remote = self.notifier.get()
            self.post_send(ibv_wr_opcode.IBV_WR_RDMA_WRITE, mr=mr,
                           remote=remote)
            self.post_send(ibv_wr_opcode.IBV_WR_SEND, length=1)
            self.complete()
            self.complete()


class ReadSink(IwarpConnection):
    """
    The wire has a key of the buffer of a Read. That needs no rights of the
    peer's.
    """
    def server(self):
        mr = self.cm_res.register(LOCAL | REMOTE_READ)
        self.fill(mr, 'r')
        self.notifier.put((mr.rkey, mr.buf))
        self.syncer.wait()

    def client(self):
        self.fill(self.cm_res.mr, 'l')
        self.post_send(ibv_wr_opcode.IBV_WR_RDMA_READ,
                       remote=self.notifier.get())
        self.complete()
        self.holds(self.cm_res.mr, 'r')
        self.syncer.wait()


class FetchAdd(IwarpConnection):
    """
    Atomics of RFC 7306.
    """
    def server(self):
        mr = self.cm_res.register(LOCAL | REMOTE_ATOMIC)
        mr.write((41).to_bytes(8, sys.byteorder).decode(), 8)
        self.notifier.put((mr.rkey, mr.buf))
        self.syncer.wait()

    def client(self):
        caps = self.cm_res.cmid.context.query_device().atomic_caps
        remote = self.notifier.get()
        if caps == ibv_atomic_cap.IBV_ATOMIC_NONE:
            self.syncer.abort()
            raise unittest.SkipTest('The device has no atomics')
        mr = self.cm_res.mr
        for value in 41, 42:
            wr = SendWR(opcode=ibv_wr_opcode.IBV_WR_ATOMIC_FETCH_AND_ADD,
                        num_sge=1, sg=[SGE(mr.buf, 8, mr.lkey)])
            wr.set_wr_atomic(*remote, 1)
            self.cm_res.qp.post_send(wr)
            if self.complete().opcode != ibv_wc_opcode.IBV_WC_FETCH_ADD or \
               mr.read(8, 0) != value.to_bytes(8, sys.byteorder):
                raise PyverbsError(f'Got {mr.read(8, 0)}')
        self.syncer.wait()


class BrokenConnection(IwarpConnection):
    """
    A connection that the passive side ends because of an invalid message. The
    active side gets no completion with that error: the peer's Terminate flushes
    all posted requests.
    """
    def disconnect(self):
        self.expect(rdma_cm_event_type.RDMA_CM_EVENT_DISCONNECTED)


class NoRight(BrokenConnection):
    """
    A Write to memory without the right to do so.
    """
    def server(self):
        self.fill(self.cm_res.mr, 's')
        self.post_recv()
        self.notifier.put((self.cm_res.mr.rkey, self.cm_res.mr.buf))
        # The queue's thread does not run while this one waits for an event.
        self.syncer.wait()
        self.wait_for_access_error()
        self.complete(FLUSHED)
        self.holds(self.cm_res.mr, 's')

    def client(self):
        self.post_recv()
        remote = self.notifier.get()
        self.syncer.wait()
        self.post_send(ibv_wr_opcode.IBV_WR_RDMA_WRITE, remote=remote)
        self.complete()
        self.complete(FLUSHED)


class Invalidate(BrokenConnection):
    """
    A Send with Invalidate invalidates a window of the peer.
    """
    def server(self):
        mr = self.cm_res.register(LOCAL | MW_BIND)
        window, key = self.bind(mr, REMOTE_WRITE)
        self.post_recv()
        self.notifier.put((key, mr.buf))
        wc = self.complete()
        if not wc.wc_flags & ibv_wc_flags.IBV_WC_WITH_INV or \
           wc.imm_data != key:
            raise PyverbsError(f'{wc.imm_data} was invalidated, not {key}')
        self.holds(mr, 'w')
        self.post_recv()
        self.syncer.wait()
        self.wait_for_access_error()
        self.complete(FLUSHED)
        self.holds(mr, 'w')
        window.close()

    def client(self):
        remote = self.notifier.get()
        self.fill(self.cm_res.mr, 'w')
        self.post_send(ibv_wr_opcode.IBV_WR_RDMA_WRITE, remote=remote)
        self.post_send(ibv_wr_opcode.IBV_WR_SEND_WITH_INV, length=1,
                       imm_data=remote[0])
        self.complete()
        self.complete()
        self.syncer.wait()
        self.fill(self.cm_res.mr, 'x')
        self.post_recv()
        self.post_send(ibv_wr_opcode.IBV_WR_RDMA_WRITE, remote=remote)
        self.complete()
        self.complete(FLUSHED)


class Flush(IwarpConnection):
    """
    The end of the connection completes all receives that are posted, before
    rdma_cm reports it or soon after.
    """
    def prepare(self):
        for _ in range(self.cm_res.num_msgs):
            self.post_recv()

    def disconnect(self):
        super().disconnect()
        if self.cm_res.passive:
            for _ in range(self.cm_res.num_msgs):
                self.complete(FLUSHED)


class IwarpDeviceTest(PyverbsAPITestCase):
    """
    What a device says of itself.
    """
    def setUp(self):
        super().setUp()
        skip_if_not_iwarp(self.dev_name)

    def test_iwarp_device(self):
        dev = next(dev for dev in get_device_list()
                   if dev.name.decode() == self.dev_name)
        self.assertEqual(dev.node_type, ibv_node_type.IBV_NODE_RNIC)
        self.assertEqual(self.ctx.query_port(self.ib_port).link_layer,
                         IBV_LINK_LAYER_ETHERNET)
        self.assertGreater(self.attr.max_sge_rd, 0)


class IwarpCMTest(RDMACMBaseTest):
    """
    Tests over connections of rdma_cm.
    """
    def setUp(self):
        super().setUp()
        skip_if_not_iwarp(self.dev_name)

    def test_rdmacm_iwarp_private_data(self):
        self.two_nodes_rdmacm_traffic(PrivateData, self.rdmacm_traffic)

    def test_rdmacm_iwarp_write_then_send(self):
        self.two_nodes_rdmacm_traffic(WriteThenSend, self.rdmacm_traffic)

    def test_rdmacm_iwarp_read_sink(self):
        self.two_nodes_rdmacm_traffic(ReadSink, self.rdmacm_traffic)

    def test_rdmacm_iwarp_fetch_add(self):
        self.two_nodes_rdmacm_traffic(FetchAdd, self.rdmacm_traffic)

    def test_rdmacm_iwarp_no_right(self):
        self.two_nodes_rdmacm_traffic(NoRight, self.rdmacm_traffic)

    def test_rdmacm_iwarp_invalidate(self):
        self.two_nodes_rdmacm_traffic(Invalidate, self.rdmacm_traffic)

    def test_rdmacm_iwarp_flush(self):
        self.two_nodes_rdmacm_traffic(Flush, self.rdmacm_traffic)

    def test_rdmacm_iwarp_no_listener(self):
        """
        TCP refuses the connection, which rdma_cm reports like a reject.
        """
        channel = CMEventChannel()
        cmid = CMID(creator=channel)
        attr = QPInitAttr(qp_type=ibv_qp_type.IBV_QPT_RC, cap=QPCap())
        addr = AddrInfo(src=self.ip_addr, dst=self.ip_addr, dst_service='7470')
        for step, event_type in [
                (lambda: cmid.resolve_addr(addr),
                 rdma_cm_event_type.RDMA_CM_EVENT_ADDR_RESOLVED),
                (cmid.resolve_route,
                 rdma_cm_event_type.RDMA_CM_EVENT_ROUTE_RESOLVED),
                (lambda: cmid.create_qp(attr) or
                 cmid.connect(ConnParam()),
                 rdma_cm_event_type.RDMA_CM_EVENT_REJECTED)]:
            step()
            event = CMEvent(channel)
            self.assertEqual(event.event_type, event_type)
            event.ack_cm_event()
        cmid.close()
