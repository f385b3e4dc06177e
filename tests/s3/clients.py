"""clients.py - S3 clients that people have, with one face for the tests.

Each runs unmodified as a process of its own and finds the server by the variables and
options that its users have: AWS_ENDPOINT_URL, --endpoint-url, --host.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import witness
from server import KEY_ID, SECRET

PATIENCE_S = 120


class Failed(Exception):
    """A client reported an error."""


def environment(endpoint: str, folder: Path, key_id: str = KEY_ID,
                secret: str = SECRET) -> dict[str, str]:
    """What a client may know of the machine."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "no_proxy": "*",
            "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key_id,
            "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true", "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8"}


class Client:
    """What every client can do; `ranges` is False where it has no such thing."""

    name = ""
    program = ""  # for witness.have()
    ranges = True

    def __init__(self, endpoint: str, folder: Path,
                 env: Mapping[str, str] | None = None) -> None:
        self.endpoint = endpoint
        self.folder = folder
        self.found = witness.have(self.program)
        self.env = {**environment(endpoint, folder), **(env or {})}

    def run(self, *argv: str) -> bytes:
        done = subprocess.run(
            argv, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            timeout=PATIENCE_S)
        if done.returncode:
            raise Failed(f"{' '.join(argv)}: exit {done.returncode}: "
                         f"{done.stderr.decode('utf-8', 'replace')[-2000:]}")
        return done.stdout

    def put(self, path: Path, bucket: str, key: str) -> None:
        raise NotImplementedError

    def get(self, path: Path, bucket: str, key: str) -> None:
        raise NotImplementedError

    def range(self, path: Path, bucket: str, key: str, first: int,
              last: int) -> None:
        raise NotImplementedError

    def copy(self, bucket: str, key: str, to: str) -> None:
        raise NotImplementedError

    def list(self, bucket: str, prefix: str) -> dict[str, int]:
        raise NotImplementedError

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Aws(Client):
    """Debian's awscli; it knows --endpoint-url only."""

    name = "awscli"
    program = "aws"

    def aws(self, *words: str) -> bytes:
        return self.run(self.found, "--endpoint-url", self.endpoint, *words)

    def put(self, path: Path, bucket: str, key: str) -> None:
        self.aws("s3", "cp", "--only-show-errors", str(path),
                 f"s3://{bucket}/{key}")

    def get(self, path: Path, bucket: str, key: str) -> None:
        self.aws("s3", "cp", "--only-show-errors", f"s3://{bucket}/{key}",
                 str(path))

    def range(self, path: Path, bucket: str, key: str, first: int,
              last: int) -> None:
        self.aws("s3api", "get-object", "--bucket", bucket, "--key", key,
                 "--range", f"bytes={first}-{last}", str(path))

    def copy(self, bucket: str, key: str, to: str) -> None:
        self.aws("s3", "cp", "--only-show-errors", f"s3://{bucket}/{key}",
                 f"s3://{bucket}/{to}")

    def list(self, bucket: str, prefix: str) -> dict[str, int]:
        out = self.aws("s3api", "list-objects-v2", "--bucket", bucket,
                       "--prefix", prefix, "--output", "json")
        items = json.loads(out or b"{}").get("Contents") or []
        return {item["Key"]: item["Size"] for item in items}

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        items = {"Objects": [{"Key": k} for k in keys]}
        self.aws("s3api", "delete-objects", "--bucket", bucket, "--delete",
                 json.dumps(items))


class S3cmd(Client):
    name = "s3cmd"
    program = "s3cmd"
    ranges = False

    def s3cmd(self, *words: str) -> bytes:
        place = self.endpoint.partition("://")[2]
        return self.run(
            self.found, "--config=/dev/null", f"--host={place}",
            f"--host-bucket={place}", "--no-ssl", "--region=us-east-1",
            "--no-progress", f"--access_key={KEY_ID}",
            f"--secret_key={SECRET}", *words)

    def put(self, path: Path, bucket: str, key: str) -> None:
        self.s3cmd("put", str(path), f"s3://{bucket}/{key}")

    def get(self, path: Path, bucket: str, key: str) -> None:
        self.s3cmd("get", "--force", f"s3://{bucket}/{key}", str(path))

    def copy(self, bucket: str, key: str, to: str) -> None:
        self.s3cmd("cp", f"s3://{bucket}/{key}", f"s3://{bucket}/{to}")

    def list(self, bucket: str, prefix: str) -> dict[str, int]:
        out = self.s3cmd("ls", "--recursive", f"s3://{bucket}/{prefix}")
        found = {}
        for line in out.decode().splitlines():
            _, _, size, url = line.split(None, 3)
            found[url.removeprefix(f"s3://{bucket}/")] = int(size)
        return found

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        self.s3cmd("del", *(f"s3://{bucket}/{k}" for k in keys))


class Rclone(Client):
    name = "rclone"
    program = "rclone"

    def rclone(self, *words: str) -> bytes:
        self.env.update({
            "RCLONE_CONFIG": "", "RCLONE_S3_PROVIDER": "Other",
            "RCLONE_S3_ENV_AUTH": "true", "RCLONE_S3_ENDPOINT": self.endpoint,
            "RCLONE_S3_REGION": "us-east-1",
            "RCLONE_S3_NO_CHECK_BUCKET": "true", "RCLONE_RETRIES": "1",
            "RCLONE_S3_UPLOAD_CUTOFF": "16M"})
        return self.run(self.found, *words)

    def put(self, path: Path, bucket: str, key: str) -> None:
        self.rclone("copyto", str(path), f":s3:{bucket}/{key}")

    def get(self, path: Path, bucket: str, key: str) -> None:
        self.rclone("copyto", f":s3:{bucket}/{key}", str(path))

    def range(self, path: Path, bucket: str, key: str, first: int,
              last: int) -> None:
        path.write_bytes(self.rclone(
            "cat", "--offset", str(first), "--count", str(last + 1 - first),
            f":s3:{bucket}/{key}"))

    def copy(self, bucket: str, key: str, to: str) -> None:
        self.rclone("copyto", f":s3:{bucket}/{key}", f":s3:{bucket}/{to}")

    def list(self, bucket: str, prefix: str) -> dict[str, int]:
        out = self.rclone("lsf", "--recursive", "--files-only", "--format",
                          "sp", "--separator", "\t", f":s3:{bucket}/{prefix}")
        found = {}
        for line in out.decode().splitlines():
            size, _, name = line.partition("\t")
            found[prefix + name] = int(size)
        return found

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        for key in keys:
            self.rclone("deletefile", f":s3:{bucket}/{key}")


class PythonClient(Client):
    """A package of Python, in the environment that has it."""

    kind = ""

    def __init__(self, endpoint: str, folder: Path,
                 env: Mapping[str, str] | None = None) -> None:
        super().__init__(endpoint, folder, env)
        script = Path(__file__).with_name("python_client.py")
        self.errors = (folder / f"{self.name}.stderr").open("w+b")
        self.process = subprocess.Popen(
            [self.found, str(script), self.kind], env=self.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self.version = str(self.reply().get("version", ""))

    def reply(self) -> dict[str, object]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise Failed(self.errors.read().decode("utf-8", "replace")[-2000:])
        answer = json.loads(line)
        assert isinstance(answer, dict)
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, op: str, *words: object) -> object:
        assert self.process.stdin
        text = json.dumps([op, [str(w) if isinstance(w, Path) else w
                                for w in words]])
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return self.reply().get("result")

    def put(self, path: Path, bucket: str, key: str) -> None:
        self.ask("put", path, bucket, key)

    def get(self, path: Path, bucket: str, key: str) -> None:
        self.ask("get", path, bucket, key)

    def range(self, path: Path, bucket: str, key: str, first: int,
              last: int) -> None:
        self.ask("range", path, bucket, key, first, last)

    def copy(self, bucket: str, key: str, to: str) -> None:
        self.ask("copy", bucket, key, to)

    def list(self, bucket: str, prefix: str) -> dict[str, int]:
        found = self.ask("list", bucket, prefix)
        assert isinstance(found, dict)
        return found

    def delete(self, bucket: str, keys: Sequence[str]) -> None:
        self.ask("delete", bucket, [*keys])

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.errors.close()


class DebianBoto3(PythonClient):
    """boto3 before checksums by default: bodies signed as a whole.  It reads no
    AWS_ENDPOINT_URL, which the driver passes on."""

    name = "debian-boto3"
    program = "debian-boto3"
    kind = "boto3"


class Boto3(PythonClient):
    """Signed bodies with a CRC in a field; over TLS in a trailer."""

    name = "boto3"
    program = "boto3"
    kind = "boto3"


class S3fs(PythonClient):
    name = "s3fs"
    program = "s3fs"
    kind = "s3fs"


class Pyarrow(PythonClient):
    """Its parts are STREAMING-UNSIGNED-PAYLOAD-TRAILER in chunks of HTTP."""

    name = "pyarrow"
    program = "pyarrow"
    kind = "pyarrow"


CLIENTS: dict[str, type[Client]] = {
    c.name: c for c in (Aws, S3cmd, Rclone, DebianBoto3, Boto3, S3fs, Pyarrow)}
