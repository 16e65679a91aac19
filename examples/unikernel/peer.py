# SPDX-License-Identifier: BSD-3-Clause
"""The other end of the unikernel's wire, frame by frame; prints "ok" and "not ok" lines.

peer.py OURS THEIRS   paths of the two Unix datagram sockets of QEMU's -netdev dgram

It asks and pings, then opens two TCP connections, sends what no well-behaved sender would, and closes the first in the
usual way and the second by RST. The last line is the Adler-32 of what the first one carried. Exit: 0 all was right.
"""
import os
import socket
import struct
import sys
import zlib

OUR_MAC, OUR_IP = bytes.fromhex('020000000001'), bytes([10, 0, 2, 2])
MAC, IP = bytes.fromhex('020000000902'), bytes([10, 0, 2, 15])
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
PORT, MSS = 5001, 1460
QUIET = 0.3  # seconds without an answer that count as none

failed = 0


def check(right, text):
    """One line of the result."""
    global failed
    failed += not right
    print(('ok' if right else 'not ok') + ' - ' + text, flush=True)


def checksum(data):
    """RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(proto, payload, spoil=0):
    """A frame to the unikernel."""
    head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 1, 0x4000, 64, proto, 0, OUR_IP, IP)
    head = head[:10] + struct.pack('!H', checksum(head) ^ spoil) + head[12:]
    return MAC + OUR_MAC + b'\x08\x00' + head + payload


def arp_request(address):
    """Who has it?"""
    return (b'\xff' * 6 + OUR_MAC + b'\x08\x06' + struct.pack('!HHBBH', 1, 0x800, 6, 4, 1) + OUR_MAC + OUR_IP +
            bytes(6) + address)


def echo(kind, data, spoil=0):
    """ICMP echo request (8) or reply (0)."""
    head = struct.pack('!BBHHH', kind, 0, 0, 77, 1)
    return head[:2] + struct.pack('!H', checksum(head + data) ^ spoil) + head[4:] + data


class Wire:
    """The socket."""

    def __init__(self, ours, theirs):
        self.theirs = theirs
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(ours)

    def send(self, frame):
        """One frame."""
        self.sock.sendto(frame, self.theirs)

    def answer(self, wait=3.0):
        """The next frame; None = none came."""
        self.sock.settimeout(wait)
        try:
            return self.sock.recv(65536)
        except socket.timeout:
            return None

    def silent(self):
        """Whether nothing comes."""
        return self.answer(QUIET) is None


class Connection:
    """Our end of a TCP connection."""

    def __init__(self, wire, port):
        self.wire, self.port, self.seq, self.ack = wire, port, 0xfffffc00, 0  # wraps soon
        self.peer_seq = 0

    def segment(self, flags, data=b'', options=b'', ahead=0, spoil=0, to=PORT):
        """A frame; `ahead`: sequence numbers past the next."""
        head = struct.pack('!HHIIBBHHH', self.port, to, (self.seq + ahead) & 0xffffffff, self.ack,
                           (20 + len(options)) // 4 << 4, flags, 0xffff, 0, 0) + options
        pseudo = OUR_IP + IP + struct.pack('!BBH', 0, 6, len(head) + len(data))
        right = checksum(pseudo + head + data) ^ spoil
        return ipv4(6, head[:16] + struct.pack('!H', right) + head[18:] + data)

    def send(self, flags, data=b'', **more):
        """One segment."""
        self.wire.send(self.segment(flags, data, **more))

    def answer(self, wait=3.0):
        """Flags and acknowledged number of the next answer, (None, None) without one; wrong checksums count as none."""
        frame = self.wire.answer(wait)
        if frame is None or frame[23] != 6:
            return None, None
        end = 14 + struct.unpack('!H', frame[16:18])[0]
        tcp = frame[34:end]
        if checksum(frame[14:34]) or checksum(IP + OUR_IP + struct.pack('!BBH', 0, 6, len(tcp)) + tcp):
            return None, None
        self.peer_seq, acked = struct.unpack('!II', tcp[4:12])
        self.options = tcp[20:(tcp[12] >> 4) * 4]
        return tcp[13], acked

    def acked(self, number):
        """Reads answers until this number is acknowledged; the number of answers, 0 = it never was."""
        for answers in range(1, 1000):
            flags, acked = self.answer()
            if flags is None:
                return 0
            if acked == number & 0xffffffff:
                return answers
        return 0

    def open(self):
        """The handshake."""
        self.send(SYN, options=struct.pack('!BBHBBBB', 2, 4, MSS, 1, 3, 3, 7))
        flags, acked = self.answer()
        self.seq = (self.seq + 1) & 0xffffffff
        self.ack = (self.peer_seq + 1) & 0xffffffff
        self.send(ACK)
        return flags == SYN | ACK and acked == self.seq


def lower_layers(wire):
    """ARP and ping."""
    wire.send(arp_request(IP))
    answer = wire.answer()
    check(answer is not None and answer[:14] == OUR_MAC + MAC + b'\x08\x06' and
          answer[20:42] == struct.pack('!H', 2) + MAC + IP + OUR_MAC + OUR_IP, 'ARP: our address is answered')
    wire.send(arp_request(bytes([10, 0, 2, 99])))
    check(wire.silent(), 'ARP: another address is not')
    for length in (0, 1, 56, 1001, 1472):
        data = os.urandom(length)
        wire.send(ipv4(1, echo(8, data)))
        answer = wire.answer()
        check(answer is not None and not checksum(answer[14:34]) and answer[34:42 + length] == echo(0, data),
              'ping: %d bytes come back' % length)
    wire.send(ipv4(1, echo(8, b'abcd', spoil=0x100)))
    check(wire.silent(), 'ping: a wrong checksum is not answered')
    wire.send(ipv4(1, echo(8, b'abcd'), spoil=0x100))
    check(wire.silent(), 'IPv4: a wrong header checksum is not answered')


def data_in_order(con, data):
    """Segments, the last with PSH; GRO has something to join."""
    for at in range(0, len(data), MSS):
        piece = data[at:at + MSS]
        con.send(ACK | (PSH if at + MSS >= len(data) else 0), piece)
        con.seq = (con.seq + len(piece)) & 0xffffffff
    return con.acked(con.seq)


def first_connection(wire):
    """Data in order and otherwise, then FIN; returns what was received."""
    con = Connection(wire, 40001)
    con.send(SYN, to=PORT + 1)
    flags, acked = con.answer()
    check(flags == RST | ACK and acked == con.seq + 1, 'TCP: SYN to a port where nobody listens is refused')
    check(con.open(), 'TCP: a connection opens')
    check(con.options[:4] == struct.pack('!BBH', 2, 4, MSS) and b'\x03\x03\x07' in con.options,
          'TCP: MSS and window scale are offered')
    data = os.urandom(40 * MSS + 100)
    check(data_in_order(con, data) > 0, 'TCP: 40 segments and a short one are acknowledged, past sequence number 2^32')
    con.send(ACK, b'x' * 100, ahead=MSS)
    check(con.answer() == (ACK, con.seq), 'TCP: what is not the next is answered with an ACK for the next')
    con.send(ACK, b'y' * 100, ahead=-100)
    check(con.answer() == (ACK, con.seq), 'TCP: what is known already is answered with an ACK')
    con.send(ACK, ahead=-1)
    check(con.answer() == (ACK, con.seq), 'TCP: a keep-alive is answered')
    con.send(ACK, b'z' * 100, spoil=0x100)
    check(wire.silent(), 'TCP: a wrong checksum is not answered')
    more = data[-50:] + os.urandom(150)
    con.send(ACK | PSH, more, ahead=-50)
    con.seq = (con.seq + 150) & 0xffffffff
    check(con.acked(con.seq) > 0, 'TCP: of a segment that overlaps the new part is taken')
    con.send(FIN | ACK)
    con.seq = (con.seq + 1) & 0xffffffff
    flags, acked = con.answer()
    check(flags == FIN | ACK and acked == con.seq, 'TCP: FIN is answered with FIN')
    flags, acked = con.answer()
    check(flags == FIN | ACK and acked == con.seq, 'TCP: ... which comes again when it is not acknowledged')
    con.ack = (con.ack + 1) & 0xffffffff
    con.send(ACK)
    return data + more[50:]


def second_connection(wire):
    """Ends by RST."""
    con = Connection(wire, 40002)
    check(con.open(), 'TCP: a second connection opens')
    con.send(RST | ACK, ahead=1 << 30)
    con.send(ACK | PSH, b'still there?')
    con.seq += 12
    check(con.acked(con.seq) > 0, 'TCP: a RST outside of the window changes nothing')
    con.send(RST | ACK)


def main():
    """All of it."""
    wire = Wire(*sys.argv[1:3])
    lower_layers(wire)
    received = first_connection(wire)
    second_connection(wire)
    print('Adler-32 %x' % zlib.adler32(received))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
