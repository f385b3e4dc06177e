"""Reads shards from an S3 server in turn with a plain download of the same objects, and
prints what each took: one JSON object a round, of seconds by way.

    s3_shards_load.py ENDPOINT ROUNDS URL...

The download is what a program without samples would do: ranges of 8 MiB over 8
connections, read into memory that is used again.  Ours is timed from opening the shards,
whose indexes are kept, to the end of the loop."""

import http.client
import json
import queue
import random
import sys
import threading
import time
import urllib.parse

import roar

RANGE, CONNECTIONS = 8 << 20, 8


def fetch(endpoint, ranges):
    connection = http.client.HTTPConnection(endpoint.netloc)
    room = memoryview(bytearray(RANGE))
    while True:
        try:
            path, first, last = ranges.get_nowait()
        except queue.Empty:
            connection.close()
            return
        connection.request("GET", path, headers={"Range": f"bytes={first}-{last}"})
        reply = connection.getresponse()
        got = 0
        while got < last - first + 1:
            n = reply.readinto(room[got:])
            if not n:
                raise OSError(f"{path} was cut")
            got += n
        reply.read()


def size_of(endpoint, path):
    connection = http.client.HTTPConnection(endpoint.netloc)
    connection.request("HEAD", path)
    size = int(connection.getresponse().getheader("Content-Length"))
    connection.close()
    return size


def by_download(endpoint, urls):
    ranges = queue.SimpleQueue()
    for url in urls:
        path = "/" + url.removeprefix("s3://")
        size = size_of(endpoint, path)
        for first in range(0, size, RANGE):
            ranges.put((path, first, min(first + RANGE, size) - 1))
    threads = [threading.Thread(target=fetch, args=(endpoint, ranges))
               for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_us(urls, **options):
    for _ in roar.shards(urls, **options):
        pass


def main():
    endpoint = urllib.parse.urlsplit(sys.argv[1])
    rounds, urls = int(sys.argv[2]), sys.argv[3:]
    ways = {"download": lambda: by_download(endpoint, urls),
            "in order": lambda: by_us(urls, shuffle=False),
            "shuffled": lambda: by_us(urls, seed=1)}
    by_us(urls, shuffle=False)      # which makes the indexes
    for _ in range(rounds):
        took = {}
        for way in random.sample(sorted(ways), len(ways)):
            start = time.perf_counter()
            ways[way]()
            took[way] = time.perf_counter() - start
        print(json.dumps(took), flush=True)


main()
