"""coordinator.py - starts the program under test and talks to it by grpcio."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.environ["MESSAGES"])

import grpc  # noqa: E402
import coordinator_pb2 as pb  # noqa: E402
import health_pb2  # noqa: E402
import reflection_pb2  # noqa: E402
import roar_coordinator_pb2 as control  # noqa: E402
import roar_shards_pb2 as shards  # noqa: E402

PROGRAM = os.environ["COORDINATOR_PROGRAM"]
PATIENCE_S = 60  # until something is taken for broken

# One try: a test wants the first answer, not that of gRPC's retries.
OPTIONS = (("grpc.enable_retries", 0),
           ("grpc.max_send_message_length", -1),
           ("grpc.max_receive_message_length", -1),
           ("grpc.use_local_subchannel_pool", 1),
           ("grpc.initial_reconnect_backoff_ms", 50),
           ("grpc.max_reconnect_backoff_ms", 200))


class Stub:
    """The methods of a service, made from its description."""

    def __init__(self, channel, service):
        for method in service.methods:
            kind = (("stream" if method.client_streaming else "unary") + "_" +
                    ("stream" if method.server_streaming else "unary"))
            # pylint: disable=protected-access
            setattr(self, method.name, getattr(channel, kind)(
                f"/{service.full_name}/{method.name}",
                request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=(
                    method.output_type._concrete_class.FromString)))


class Client:
    """Both services over one connection."""

    def __init__(self, target, credentials=None, options=()):
        options = OPTIONS + tuple(options)
        self.channel = (
            grpc.secure_channel(target, credentials, options=options)
            if credentials else
            grpc.insecure_channel(target, options=options))
        services = {}
        for module in (pb, control, shards, health_pb2, reflection_pb2):
            services.update(module.DESCRIPTOR.services_by_name)
        self.coordinator = Stub(self.channel, services["Coordinator"])
        self.control = Stub(self.channel, services["Control"])
        self.shards = Stub(self.channel, services["Shards"])
        self.health = Stub(self.channel, services["Health"])
        self.reflection = Stub(self.channel, services["ServerReflection"])

    def close(self):
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def register(self, worker_id, job="", metadata=None, **more):
        return self.coordinator.RegisterWorker(
            pb.WorkerInfo(worker_id=worker_id, hostname="h", job_id=job,
                          **more), metadata=metadata, timeout=PATIENCE_S)

    def heartbeat(self, worker_id, job="", step=0, metadata=None):
        return self.coordinator.Heartbeat(
            pb.HeartbeatRequest(
                worker_id=worker_id, job_id=job,
                status=pb.WorkerStatus(state=4, current_step=step)),
            metadata=metadata, timeout=PATIENCE_S)

    def arrive(self, worker_id, barrier="b", job="", generation=0,
               timeout=PATIENCE_S, metadata=None):
        """A wait that is under way."""
        return self.coordinator.WaitBarrier.future(
            pb.BarrierRequest(worker_id=worker_id, barrier_id=barrier,
                              job_id=job, generation=generation),
            timeout=timeout, metadata=metadata)

    def barriers(self, job="", metadata=None):
        return list(self.control.ListBarriers(
            control.ListBarriersRequest(job_id=job), metadata=metadata,
            timeout=PATIENCE_S).barriers)

    def wait_for_arrivals(self, n, job=""):
        wait_until(lambda: sum(b.arrived for b in self.barriers(job)) == n)


def wait_until(condition, what="the condition"):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} never came true"
        time.sleep(0.002)


class Coordinator:
    """A running program with a folder of its own."""

    def __init__(self, *arguments, data=None, listen=("127.0.0.1:0",),
                 env=None):
        self.folder = None if data else tempfile.mkdtemp(prefix="roar-server-")
        self.data = data or os.path.join(self.folder, "data")
        self.begin(["--data-dir", self.data, *arguments], listen, env)

    def begin(self, arguments, listen, env=None):
        self.arguments = [PROGRAM, *arguments]
        for address in listen:
            self.arguments += ["--listen", address]
        self.env = dict(os.environ, **(env or {}))
        self.process = None
        self.clients = []
        self.start()

    def start(self):
        self.started = time.monotonic()
        self.log = []
        self.process = subprocess.Popen(
            self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.env)
        line = self.process.stdout.readline()
        self.start_s = time.monotonic() - self.started
        if not line:
            self.remove_folder()
            raise AssertionError(self.process.communicate()[1])
        words = line.split()
        assert words[0] == "serving", line
        self.addresses = [w for w in words[1:] if "://" not in w]
        self.address = self.addresses[0]
        self.http = next((w for w in words if w.startswith("http://")), None)
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))

    def logged(self, text):
        return any(text in line for line in self.log)

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    @property
    def pid(self):
        return self.process.pid

    def client(self, address=None, **more):
        client = Client(address or self.address, **more)
        self.clients.append(client)
        return client

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port),
                                        timeout=PATIENCE_S)

    def frames(self, **more):
        return Frames(self.connect(), **more)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        status = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.wait()

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def peak_bytes(self):
        """The most that was resident since the start."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f
                        if line.startswith("VmHWM"))

    def close(self):
        for client in self.clients:
            client.close()
        if self.process.returncode is None:
            status = self.stop()
            assert status == 0, "\n".join(self.log)
        self.remove_folder()

    def remove_folder(self):
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Agent(Coordinator):
    """The agent of a host."""

    def __init__(self, upstream, *arguments, listen=("127.0.0.1:0",)):
        self.folder = None
        self.begin(["--agent", "--upstream", upstream, *arguments], listen)


class Frames:
    """The fast path, by hand."""

    def __init__(self, sock, token="", job=""):
        self.sock = sock
        self.sock.sendall(b"ROARFR1\n")
        if token or job:
            self.send(0xff00, f"{token}\0{job}".encode())

    def send(self, method, message=b"", call=0, flags=0, number=0):
        self.sock.sendall(struct.pack("<IHHII", len(message), method, flags,
                                      call, number) + message)

    def read(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(n - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self):
        """(method, flags, call, status, message)"""
        length, method, flags, call, status = struct.unpack("<IHHII",
                                                            self.read(16))
        return method, flags, call, status, self.read(length)

    def close(self):
        self.sock.close()


@contextlib.contextmanager
def raises(code, text=""):
    """The call must end with that status."""
    try:
        yield
    except grpc.RpcError as e:
        assert e.code() == code, f"{e.code()}: {e.details()}"
        assert text in (e.details() or ""), e.details()
        return
    raise AssertionError(f"the call ended well, not with {code}")
