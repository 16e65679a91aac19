# SPDX-License-Identifier: BSD-3-Clause
"""send.py HOST PORT MIB: sends so many MiB of random bytes over TCP and prints their Adler-32."""
import os
import socket
import sys
import zlib

total, adler = int(sys.argv[3]) << 20, 1
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as sock:
    while total > 0:
        data = os.urandom(1 << 18)
        adler = zlib.adler32(data, adler)
        sock.sendall(data)
        total -= len(data)
    sock.shutdown(socket.SHUT_WR)
    sock.recv(1)  # until the other side has closed, and so received all
print('%x' % adler)
