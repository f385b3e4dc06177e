"""A barrier of Python threads, by torch's TCPStore or by roar's own client.

    coordinator_threads.py serve                      TCPStore's server: prints its port
    coordinator_threads.py store ADDRESS N ROUNDS     prints one JSON object
    coordinator_threads.py roar ADDRESS N ROUNDS
    coordinator_threads.py bare ADDRESS N ROUNDS      sockets alone, of coord_floor

Both are asked in the same way: N threads of one process, each with a connection of its
own, that meet ROUNDS times.  A round takes from when the last thread came to when the
last was let go; the next one begins when all have gone.  What Python's threads cost is in
both, so their ratio is fair, and the figures are no match for those of coord_load, which
has no threads.  The least they can cost is that of one send and one receive each."""

import json
import socket
import statistics
import struct
import sys
import threading
import time

WARM = 3
TIMEOUT_S = 120


class Store:
    """The usual barrier over a store: who comes last sets what the others wait for."""

    def __init__(self, address, _index, n):
        from datetime import timedelta
        from torch.distributed import TCPStore
        host, port = address.rsplit(":", 1)
        self.n = n
        self.store = TCPStore(host, int(port), None, False,
                              timedelta(seconds=TIMEOUT_S),
                              wait_for_workers=False)

    def barrier(self, i):
        if self.store.add(f"arrived/{i}", 1) == self.n:
            self.store.set(f"go/{i}", "1")
        else:
            self.store.wait([f"go/{i}"])

    def close(self):
        pass


class Torch(Store):
    """As torch.distributed does it before a process group is used
    (_store_based_barrier): who came first asks every 10 ms whether all are there."""

    def barrier(self, i):
        n = self.store.add(f"there/{i}", 1)
        while n != self.n:
            time.sleep(0.01)
            n = self.store.add(f"there/{i}", 0)


class Roar:
    """roar's client as a user has it."""

    def __init__(self, address, index, _n):
        import roar
        self.client = roar.TrainingOrchestrator(address, job="threads")
        self.client.connect()
        self.client.register_worker(f"worker-{index}", "localhost", 1)

    def barrier(self, i):
        self.client.barrier("bench", step=i + 1, timeout=TIMEOUT_S)

    def close(self):
        self.client.deregister()


class Bare:
    """What no client is without: a byte sent, a reply received."""

    ARRIVAL = struct.pack("<IHHII", 1, 8, 0, 1, 0) + b"x"   # lib/net/frames/frames.h

    def __init__(self, address, _index, _n):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"ROARFR1\n")

    def barrier(self, _i):
        self.socket.sendall(self.ARRIVAL)
        self.socket.recv(4096)

    def close(self):
        self.socket.close()


class Worker(threading.Thread):
    """Comes to one barrier after the other, each time when it is let through its gate:
    nobody comes to the next one while others are still on their way out of this."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client = client
        self.gate = threading.Lock()
        self.gate.acquire()
        self.came = self.went = 0.0
        self.failure = None
        self.n_met = 0

    def run(self):
        try:
            while True:
                self.gate.acquire()
                self.came = time.perf_counter()
                self.client.barrier(self.n_met)
                self.went = time.perf_counter()
                self.n_met += 1
        except Exception as e:  # told by the main thread
            self.failure = e


def meet_once(workers, i):
    """From when the last came to when the last was let go, in ms."""
    for w in workers:
        w.gate.release()
    while any(w.n_met <= i for w in workers):
        failed = [w.failure for w in workers if w.failure]
        if failed:
            sys.exit(f"a barrier failed: {failed[0]}")
        time.sleep(0.005)
    return 1000 * (max(w.went for w in workers) - max(w.came for w in workers))


def measure(clients, rounds):
    workers = [Worker(c) for c in clients]
    for w in workers:
        w.start()
    return [meet_once(workers, i) for i in range(WARM + rounds)][WARM:]


def run(kind, address, n, rounds):
    threading.stack_size(256 << 10)
    clients = [kind(address, i, n) for i in range(n)]
    ms = sorted(measure(clients, rounds))
    print(json.dumps({"n": len(ms), "p50_us": 1000 * statistics.median(ms),
                      "p99_us": 1000 * ms[min(len(ms) - 1,
                                              int(0.99 * len(ms)))],
                      "max_us": 1000 * ms[-1]}), flush=True)
    for client in clients:
        client.close()


def serve():
    from datetime import timedelta
    from torch.distributed import TCPStore
    store = TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=TIMEOUT_S),
                     wait_for_workers=False)
    print(f"127.0.0.1:{store.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        run({"store": Store, "torch": Torch, "roar": Roar, "bare": Bare}[sys.argv[1]],
            sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
