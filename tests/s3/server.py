#!/usr/bin/env python3
"""server.py - a small S3 server that checks everything a client sends.

It verifies signatures in all payload modes, checksums, and the envelope of chunks; it
keeps objects in memory, and does wrong what a test asks for (wire.Fault).  `log` has
one entry for each request (call.Seen).  From a shell:

    tests/s3/server.py --port 9000 --bucket data
"""

import argparse
import contextlib
import secrets
import socket
import sys
import threading
from collections.abc import Callable

import bucket_calls
import object_calls
from call import Call, Reply, Seen, World, element, http_date, text
from signature import Credential, Refused
from wire import Fault, Gone, Wire

KEY_ID = "AKIAROARTEST"
SECRET = "s3cr3t/of+the=test"  # noqa: S105
MAX_KEY = 1024


def other(call: Call) -> Reply:
    call.bucket()
    raise Refused(501, "NotImplemented",
                  "A header you provided implies functionality that is not "
                  "implemented.")


OPERATIONS: dict[str, Callable[[Call], Reply]] = {
    "put": object_calls.put, "get": object_calls.get,
    "head": object_calls.get, "delete": object_calls.delete,
    "copy": object_calls.copy, "get-tagging": object_calls.get_tagging,
    "multi-delete": object_calls.multi_delete,
    "create-upload": object_calls.create_upload,
    "upload-part": object_calls.upload_part,
    "upload-part-copy": object_calls.upload_part_copy,
    "complete-upload": object_calls.complete_upload,
    "abort-upload": object_calls.abort_upload,
    "list-parts": object_calls.list_parts,
    "get-uploads": object_calls.list_uploads,
    "list": bucket_calls.list_objects,
    "get-versions": bucket_calls.list_versions,
    "list-buckets": bucket_calls.list_buckets,
    "create-bucket": bucket_calls.create_bucket,
    "delete-bucket": bucket_calls.delete_bucket,
    "head-bucket": bucket_calls.head_bucket,
    "get-location": bucket_calls.get_location,
    "get-versioning": bucket_calls.get_versioning,
    "put-versioning": bucket_calls.put_versioning,
}


def error_reply(refused: Refused, resource: str, request_id: str) -> Reply:
    if refused.status == 304:
        return Reply(304, refused.fields)
    inner = [text("Code", refused.code), text("Message", refused.message)]
    inner += [text(name, value) for name, value in refused.more.items()]
    inner += [text("Resource", resource), text("RequestId", request_id)]
    body = ('<?xml version="1.0" encoding="UTF-8"?>\n' +
            element("Error", *inner)).encode("utf-8", "surrogateescape")
    return Reply(refused.status,
                 {"Content-Type": "application/xml", **refused.fields}, body)


class Server(World):
    """Listens on both loopback addresses with one port."""

    def __init__(self, port: int = 0) -> None:
        super().__init__()
        self.credentials[KEY_ID] = Credential(SECRET)
        self.log: list[Seen] = []
        self.faults: list[Fault] = []
        self.connections: set[socket.socket] = set()
        self.accepted = 0
        self.ended = False
        self.listeners = [listener(socket.AF_INET, "127.0.0.1", port)]
        self.port = self.listeners[0].getsockname()[1]
        with contextlib.suppress(OSError):  # a machine without IPv6
            self.listeners.append(
                listener(socket.AF_INET6, "::1", self.port))
        for sock in self.listeners:
            threading.Thread(target=self.accept, args=(sock,),
                             daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint6(self) -> str:
        return f"http://[::1]:{self.port}"

    def fault(self, kind: str, **more: object) -> Fault:
        """Spoils the next request that matches; see wire.Fault."""
        fault = Fault(kind, **more)  # type: ignore[arg-type]
        with self.lock:
            self.faults.append(fault)
        return fault

    def seen(self, op: str = "", key: str = "") -> list[Seen]:
        """The requests so far, of one operation or of one key."""
        with self.lock:
            return [s for s in self.log
                    if op in ("", s.op) and key in ("", s.key)]

    def forget(self) -> None:
        """Empties the log and ends all faults."""
        with self.lock:
            self.log.clear()
            for fault in self.faults:
                fault.released.set()
            self.faults.clear()

    def stop(self) -> None:
        self.ended = True
        self.forget()
        with self.lock:
            sockets = [*self.listeners, *self.connections]
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for sock in self.listeners:
            sock.close()

    def accept(self, sock: socket.socket) -> None:
        while not self.ended:
            try:
                connection, _ = sock.accept()
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                self.connections.add(connection)
                wire = Wire(connection, self.accepted)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(wire,),
                             daemon=True).start()

    def serve(self, wire: Wire) -> None:
        try:
            while self.serve_one(wire):
                pass
        except Gone:
            pass
        finally:
            with self.lock:
                self.connections.discard(wire.sock)
            wire.sock.close()

    def serve_one(self, wire: Wire) -> bool:
        """One request and its answer.  False: the connection ends."""
        wire.fault = None
        call: Call | None = None
        resource = "/"
        request_id = secrets.token_hex(8)
        try:
            head = wire.read_head()
            resource = head.target
            call = Call(self, wire, head)
            self.begin(call)
            reply = self.perform(call)
        except Refused as refused:
            reply = error_reply(refused, resource, request_id)
            if call:
                call.seen.code = refused.code
        except Gone:
            if call:
                call.seen.cut = True
            raise
        if call:
            call.seen.status = reply.status
        keep = (call is not None and not wire.has_unread_body() and
                (call.field("connection") or "").lower() != "close")
        fields = [("x-amz-request-id", request_id), ("Server", "roar-test"),
                  ("Date", http_date(self.now())), *reply.fields.items()]
        if call and call.head.method == "HEAD":
            wire.answer(reply.status, fields, b"", len(reply.body), keep)
        else:
            wire.answer(reply.status, fields, reply.body, None, keep)
        if not keep:
            finish(wire.sock)
        return keep

    def begin(self, call: Call) -> None:
        """Puts the request into the log and finds its fault."""
        with self.lock:
            self.log.append(call.seen)
            for fault in self.faults:
                if fault.matches(call.seen.op, call.key, call.head.method):
                    fault.times -= 1
                    call.wire.fault = fault
                    break
        call.wire.spoil_before()

    def perform(self, call: Call) -> Reply:
        fault = call.wire.fault
        if len(call.key.encode()) > MAX_KEY:
            raise Refused(400, "KeyTooLongError", "Your key is too long")
        call.authorize()
        if fault and fault.kind == "error" and not fault.late:
            raise fault.error()
        if fault and fault.kind == "error":
            call.body()
            raise fault.error()
        reply = OPERATIONS.get(call.seen.op, other)(call)
        if call.wire.has_unread_body():  # of a GET, for example
            call.body()
        if fault and fault.kind == "lost":
            raise fault.error()
        return reply


def finish(sock: socket.socket) -> None:
    """Ends a connection so that the client can still read the answer: a close
    with unread bytes would be an RST."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(2)
        while sock.recv(65536):
            pass


def listener(family: int, address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    sock.listen(1024)
    return sock


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bucket", action="append", default=[])
    options = parser.parse_args()
    server = Server(options.port)
    for name in options.bucket:
        server.add_bucket(name)
    print(f"export AWS_ENDPOINT_URL={server.endpoint} "
          f"AWS_ACCESS_KEY_ID={KEY_ID} AWS_SECRET_ACCESS_KEY='{SECRET}' "
          "AWS_REGION=us-east-1", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
