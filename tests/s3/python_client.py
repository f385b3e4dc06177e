"""python_client.py - runs S3 clients of Python packages, told by lines of JSON.

    python_client.py boto3|s3fs|pyarrow < requests > replies

The interpreter is that of the client's own environment, so this file needs nothing of
the tests.  One process serves many requests: starting it costs more than all of them.
"""

import json
import os
import sys


class Boto3:
    def __init__(self):
        import boto3
        self.s3 = boto3.client("s3", region_name="us-east-1",
                               endpoint_url=os.environ["AWS_ENDPOINT_URL"])
        self.version = boto3.__version__

    def put(self, path, bucket, key):
        self.s3.upload_file(path, bucket, key)

    def get(self, path, bucket, key):
        self.s3.download_file(bucket, key, path)

    def range(self, path, bucket, key, first, last):
        body = self.s3.get_object(Bucket=bucket, Key=key,
                                  Range=f"bytes={first}-{last}")["Body"]
        with open(path, "wb") as f:
            f.write(body.read())

    def copy(self, bucket, key, to):
        self.s3.copy({"Bucket": bucket, "Key": key}, bucket, to)

    def list(self, bucket, prefix):
        pages = self.s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix)
        return {item["Key"]: item["Size"]
                for page in pages for item in page.get("Contents", [])}

    def delete(self, bucket, keys):
        if len(keys) == 1:
            self.s3.delete_object(Bucket=bucket, Key=keys[0])
            return
        done = self.s3.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": k} for k in keys]})
        assert not done.get("Errors"), done


class S3fs:
    def __init__(self):
        import s3fs
        self.fs = s3fs.S3FileSystem(
            endpoint_url=os.environ["AWS_ENDPOINT_URL"], use_listings_cache=False,
            client_kwargs={"region_name": "us-east-1"})
        self.version = s3fs.__version__

    def put(self, path, bucket, key):
        self.fs.put_file(path, f"{bucket}/{key}")

    def get(self, path, bucket, key):
        self.fs.get_file(f"{bucket}/{key}", path)

    def range(self, path, bucket, key, first, last):
        with open(path, "wb") as f:
            f.write(self.fs.cat_file(f"{bucket}/{key}", start=first,
                                     end=last + 1))

    def copy(self, bucket, key, to):
        self.fs.copy(f"{bucket}/{key}", f"{bucket}/{to}")

    def list(self, bucket, prefix):
        found = self.fs.find(f"{bucket}/{prefix}", detail=True)
        return {name.partition("/")[2]: info["size"]
                for name, info in found.items()}

    def delete(self, bucket, keys):
        self.fs.rm([f"{bucket}/{k}" for k in keys])


class Pyarrow:
    def __init__(self):
        import pyarrow
        import pyarrow.fs
        scheme, _, place = os.environ["AWS_ENDPOINT_URL"].partition("://")
        self.module = pyarrow.fs
        self.fs = pyarrow.fs.S3FileSystem(
            endpoint_override=place, scheme=scheme, region="us-east-1")
        self.version = pyarrow.__version__

    def put(self, path, bucket, key):
        with open(path, "rb") as source, \
                self.fs.open_output_stream(f"{bucket}/{key}") as out:
            while data := source.read(1 << 20):
                out.write(data)

    def get(self, path, bucket, key):
        with open(path, "wb") as out, \
                self.fs.open_input_stream(f"{bucket}/{key}") as source:
            while data := source.read(1 << 20):
                out.write(data)

    def range(self, path, bucket, key, first, last):
        with open(path, "wb") as out, \
                self.fs.open_input_file(f"{bucket}/{key}") as source:
            source.seek(first)
            out.write(source.read(last + 1 - first))

    def copy(self, bucket, key, to):
        self.fs.copy_file(f"{bucket}/{key}", f"{bucket}/{to}")

    def list(self, bucket, prefix):
        selector = self.module.FileSelector(f"{bucket}/{prefix}",
                                            recursive=True)
        return {info.path.partition("/")[2]: info.size
                for info in self.fs.get_file_info(selector) if info.is_file}

    def delete(self, bucket, keys):
        for key in keys:
            self.fs.delete_file(f"{bucket}/{key}")


KINDS = {"boto3": Boto3, "s3fs": S3fs, "pyarrow": Pyarrow}


def main():
    client = KINDS[sys.argv[1]]()
    print(json.dumps({"version": client.version}), flush=True)
    for line in sys.stdin:
        op, words = json.loads(line)
        try:
            reply = {"result": getattr(client, op)(*words)}
        except Exception as error:  # whatever a client thinks of
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
    # pyarrow's threads may outlive the interpreter otherwise.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
