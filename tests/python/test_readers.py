"""Samples of shards: roar.readers, compared with tarfile, json and os.walk."""

import array
import gc
import io
import json
import os
import random
import re
import tarfile
import threading
import time

import pytest

import roar
from arena_helpers import both, descriptors, used
from roar import readers
from roar.readers import ShardChanged, ShardError, open_shard

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT,
           "pax": tarfile.PAX_FORMAT}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """The user's cache folder, for each test its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


# ---- tar

def write_tar(path, members, form="pax", **options):
    with tarfile.open(path, "w", format=FORMATS[form], **options) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def by_tarfile(path):
    """The samples as WebDataset would group them, by Python's tarfile."""
    found = []
    with tarfile.open(path) as tar:
        for member in tar:
            if not member.isfile():
                continue
            # Of webdataset's tariterators.py, but for "a/.b".
            match = re.match(r"^((?:.*/|)[^./]+)[.]([^/]*)$", member.name)
            if match is None or re.match(r"__[^/]*__($|/)", member.name):
                continue
            key, name = match[1], match[2].lower()
            data = tar.extractfile(member).read()
            if not found or found[-1]["__key__"] != key:
                found.append({"__key__": key})
            found[-1][name] = data
    return found


def random_members(rng, form):
    members = []
    for i in range(rng.randrange(1, 60)):
        folder = rng.choice(["", "a/", "deep/er/", "f" * 90 + "/",
                             "" if form == "ustar" else "g" * 200 + "/"])
        folder = rng.choice(["", "", "./", "__meta__/"]) + folder
        name = f"{folder}{i:05d}"
        if rng.random() < .1:
            members.append((f"{name}-without-a-dot", b"no part of a sample"))
        if form != "ustar" and rng.random() < .1:
            name = f"{folder}{i:05d}é漢"
        for extension in rng.sample(["jpg", "cls", "json", "seg.png", "TXT"],
                                    rng.randrange(1, 4)):
            size = rng.choice([0, 1, 511, 512, 513, rng.randrange(70000)])
            members.append((f"{name}.{extension}", rng.randbytes(size)))
    return members


@pytest.mark.parametrize("form", FORMATS)
def test_tars_are_read_as_tarfile_reads_them(tmp_path, form):
    for seed in range(8):
        path = tmp_path / f"{seed}.tar"
        write_tar(path, random_members(random.Random(seed), form), form)
        want = by_tarfile(path)
        with open_shard(path) as shard:
            assert shard.kind == "tar"
            assert len(shard) == len(want)
            assert list(shard) == want
            assert [shard[i] for i in range(len(want))] == want
            order = list(range(len(want)))
            random.Random(seed).shuffle(order)
            assert list(shard.samples(order)) == [want[i] for i in order]


def test_views_are_the_same_bytes(tmp_path):
    path = tmp_path / "a.tar"
    write_tar(path, random_members(random.Random(5), "gnu"), "gnu")
    plain = list(open_shard(path))
    found = list(open_shard(path, views=True))
    assert len(found) == len(plain)
    for view, sample in zip(found, plain):
        assert {name: value if name == "__key__" else bytes(value)
                for name, value in view.items()} == sample
        assert all(isinstance(value, memoryview)
                   for name, value in view.items() if name != "__key__")


def test_large_and_small_samples_come_in_turn(tmp_path):
    rng = random.Random(6)
    path = tmp_path / "a.tar"
    write_tar(path, [(f"{i:03d}.{name}", rng.randbytes(size))
                     for i in range(60) for name, size in
                     (("jpg", rng.choice([10, 70000, 300000])), ("cls", 2))])
    want = by_tarfile(path)
    for threads in (0, 2):
        shard = open_shard(path, threads=threads)
        assert list(shard) == want
        assert list(shard.samples(range(59, -1, -1))) == want[::-1]
    folder = tmp_path / "folder"
    folder.mkdir()
    for i in range(5):
        (folder / f"{i}").write_bytes(bytes([i]) * 100000)
    assert [data for _, data in open_shard(folder)] == [
        bytes([i]) * 100000 for i in range(5)]
    whole = path.read_bytes()
    raw = open_shard(path, "raw", record_bytes=len(whole) // 4, views=False) \
        if len(whole) % 4 == 0 else None
    assert raw is None or b"".join(raw) == whole


def test_views_outlive_shard_and_stream(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(256)) * 8192)
    shard = open_shard(path, record_bytes=256, views=True)
    kept = next(iter(shard))
    assert sum(len(record) for record in shard) == 1 << 21
    shard.close()
    del shard
    gc.collect()
    assert bytes(kept) == bytes(range(256))


@pytest.mark.parametrize("name, kind, words", [
    ("link", tarfile.SYMTYPE, "is a link"),
    ("hard", tarfile.LNKTYPE, "is a link"),
    ("tty", tarfile.CHRTYPE, "is a device"),
    ("disk", tarfile.BLKTYPE, "is a device"),
    ("fifo", tarfile.FIFOTYPE, "fifo"),
    ("../up.txt", tarfile.REGTYPE, "'..' in its name"),
    ("/etc/passwd", tarfile.REGTYPE, "absolute name")])
def test_what_no_shard_should_hold_is_refused(tmp_path, name, kind, words):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("good.txt"))
        info = tarfile.TarInfo(name)
        info.type = kind
        info.linkname = "good.txt"
        tar.addfile(info)
    with pytest.raises(ShardError, match=re.escape(words)) as caught:
        open_shard(path)
    assert str(path) in str(caught.value)


def test_a_truncated_tar_is_refused(tmp_path):
    path = tmp_path / "a.tar"
    write_tar(path, [(f"{i}.txt", b"x" * 700) for i in range(4)])
    whole = path.read_bytes().rstrip(b"\0")
    for size in (512 + 700, 512 + 1024, 2000, len(whole) - 100):
        path.write_bytes(whole[:size])
        with pytest.raises(ShardError, match="truncated"):
            open_shard(path)


def test_a_packed_tar_says_by_what(tmp_path):
    for mode, name in (("gz", "gzip"), ("xz", "xz"), ("bz2", "bzip2")):
        for path in (tmp_path / f"{mode}.tar", tmp_path / f"a.tar.{mode}"):
            with tarfile.open(path, f"w:{mode}") as tar:
                tar.addfile(tarfile.TarInfo("a.txt"))
            with pytest.raises(ShardError, match=f"compressed with {name}"):
                open_shard(path)
    path = tmp_path / "a.tar.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(ShardError, match="compressed with zstd"):
        open_shard(path)


def test_samples_are_those_of_webdataset(tmp_path):
    webdataset = pytest.importorskip("webdataset")
    rng = random.Random(11)
    for form in FORMATS:
        path = tmp_path / f"{form}.tar"
        write_tar(path, random_members(rng, form), form)
        theirs = [{name: value for name, value in sample.items()
                   if name not in ("__url__", "__local_path__")}
                  for sample in webdataset.WebDataset(
                      str(path), shardshuffle=False, empty_check=False)]
        assert list(open_shard(path)) == theirs


# ---- jsonl

def test_lines_are_read_as_json_reads_them(tmp_path):
    rng = random.Random(3)
    values = [{"id": i, "text": "é" * rng.randrange(3000), "x": rng.random()}
              for i in range(2000)]
    path = tmp_path / "a.jsonl"
    end = ["\n", "\r\n", "\n\n", "\n \t\r\n"]
    path.write_bytes("".join(
        json.dumps(value, ensure_ascii=rng.random() < .5) + rng.choice(end)
        for value in values).encode())
    with open_shard(path) as shard:
        assert list(shard) == values
        assert shard[-1] == values[-1]
        assert list(shard.samples([7, 3, 7])) == [values[7], values[3],
                                                  values[7]]
    raw = list(open_shard(path, parse=False))
    assert [json.loads(line) for line in raw] == values


def test_what_is_no_json_is_told_with_its_number(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'1\n{"a": }\n')
    with pytest.raises(ShardError, match="sample 1 of '.*a.jsonl' is not JSON"):
        list(open_shard(path))


def test_other_bytes_than_utf_8_are_told_with_their_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'1\n\n"\xff"\n4\n')
    shard = open_shard(path)
    with pytest.raises(ShardError, match="line 3 of '.*a.jsonl' is not UTF-8"):
        list(shard)
    assert shard[0] == 1 and shard[2] == 4


def test_a_long_line_is_refused_and_the_others_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'1\n"' + b"x" * 5000 + b'"\n3\n')
    shard = open_shard(path, max_sample=1000)
    assert (shard[0], shard[2]) == (1, 3)
    with pytest.raises(ShardError, match="max_sample"):
        shard[1]


# ---- files and records

def test_files_are_those_of_os_walk(tmp_path):
    rng = random.Random(4)
    want = {}
    for i in range(200):
        folder = tmp_path / rng.choice(["", "a", "a/b", "c.d"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{rng.randrange(10**6)}.bin"
        path.write_bytes(rng.randbytes(rng.randrange(3000)))
        want[str(path.relative_to(tmp_path))] = path.read_bytes()
    (tmp_path / ".hidden").write_bytes(b"")
    found = list(open_shard(tmp_path))
    assert [path for path, _ in found] == sorted(want)
    assert dict(found) == want


def test_records_can_have_a_header(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"HEAD" + bytes(range(30)))
    shard = open_shard(path, record_bytes=10, header_bytes=4)
    assert list(shard) == [bytes(range(10)), bytes(range(10, 20)),
                           bytes(range(20, 30))]
    assert {type(record) for record in shard} == {memoryview}
    copied = open_shard(path, record_bytes=10, header_bytes=4, views=False)
    assert {type(record) for record in copied} == {bytes}
    with pytest.raises(ShardError, match="not a multiple"):
        open_shard(path, record_bytes=7)


# ---- bounds and failures

def test_a_file_that_shrinks_is_an_exception(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(8 << 20))
    shard = open_shard(path, record_bytes=1 << 20, prefetch=1 << 20, threads=1)
    stream = iter(shard)
    next(stream)
    os.truncate(path, 1 << 20)
    with pytest.raises(ShardChanged, match="became shorter"):
        list(stream)


def test_content_must_be_that_of_its_digest(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"12345678")
    digest = roar.hash_file(path)
    assert len(open_shard(path, record_bytes=4, blake3=digest)) == 2
    assert len(open_shard(path, record_bytes=4,
                          blake3=bytes.fromhex(digest))) == 2
    path.write_bytes(b"12345679")
    with pytest.raises(ShardChanged, match="is not the expected one"):
        open_shard(path, record_bytes=4, blake3=digest)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        open_shard(path, record_bytes=4, blake3="12")


def long_tar(path, n):
    with tarfile.open(path, "w") as tar:
        for i in range(n):
            info = tarfile.TarInfo(f"{i:04}.txt")
            info.size = 4
            tar.addfile(info, io.BytesIO(b"%04d" % i))
    return path


def test_a_loop_begins_without_a_scan_of_the_whole_file(tmp_path):
    path = long_tar(tmp_path / "a.tar", 300)
    wanted = [b"%04d" % i for i in range(300)]
    with open_shard(path, index="none") as shard:
        assert "not counted yet" in repr(shard)
        iterator = iter(shard)
        first = next(iterator)["txt"]
        assert "not counted yet" in repr(shard)
        assert [first] + [s["txt"] for s in iterator] == wanted
        assert "300 samples" in repr(shard)
    for use in (len, lambda s: s[299], lambda s: list(s.samples([299])),
                lambda s: s.read_into(299, bytearray(4))):
        shard = open_shard(path, index="none")
        use(shard)
        assert "300 samples" in repr(shard)
        assert [s["txt"] for s in shard] == wanted
    iterator = iter(shard := open_shard(path, index="none"))
    shard.close()
    assert [s["txt"] for s in iterator] == wanted


def test_the_first_lines_come_without_the_rest(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'"{i:0100}"\n' for i in range(30_000)))
    shard = open_shard(path, index="none")
    iterator = iter(shard)
    assert next(iterator) == f"{0:0100}" and "not counted yet" in repr(shard)
    assert [int(line) for line in iterator] == list(range(1, 30_000))


def test_samples_before_damage_come_and_then_the_error(tmp_path):
    path = long_tar(tmp_path / "a.tar", 300)
    with open(path, "r+b") as file:
        file.truncate(200 * 1024)
    shard, seen = open_shard(path), []
    with pytest.raises(ShardError, match="truncated"):
        for sample in shard:
            seen.append(sample["txt"])
    assert seen == [b"%04d" % i for i in range(63)]
    with pytest.raises(ShardError, match="truncated"):
        len(shard)


def test_the_index_is_kept_where_it_is_asked_for(tmp_path, cache):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n2\n")
    old = path.stat().st_ctime
    end = time.monotonic() + 60     # a file that changed only now has none
    assert not open_shard(path).index_was_kept
    while not open_shard(path).index_was_kept:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert path.stat().st_ctime == old
    assert os.listdir(cache / "roar" / "shards")
    assert list(open_shard(path)) == [1, 2]
    assert not open_shard(path, index="none").index_was_kept
    open_shard(path, index="beside")
    assert open_shard(path, index="beside").index_was_kept
    assert (tmp_path / "a.jsonl.roar-index").exists()
    open_shard(path, index=str(tmp_path))
    assert open_shard(path, index=str(tmp_path)).index_was_kept


def test_wrong_words_get_a_sentence(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"1234")
    with pytest.raises(ValueError, match="kind must be one of files, tar"):
        open_shard(path, "zip")
    with pytest.raises(ShardError, match="name the kind"):
        open_shard(path)
    with pytest.raises(FileNotFoundError, match="cannot open"):
        open_shard(tmp_path / "no.tar")
    with pytest.raises(ShardError, match="object storage, where kind files"):
        open_shard("s3://bucket/folder", "files")
    with pytest.raises(ShardError, match="no index is written beside"):
        open_shard("gs://bucket/a.tar", index="beside")
    shard = open_shard(path, record_bytes=2)
    with pytest.raises(IndexError, match="has 2 samples"):
        shard[2]
    with pytest.raises(IndexError, match="no number 9"):
        shard.samples([9])
    with pytest.raises(ValueError, match="number of a sample"):
        shard.samples([-1])
    shard.close()
    with pytest.raises(ValueError, match="is closed"):
        len(shard)


def test_a_stream_is_for_one_thread_and_nothing_is_lost(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(os.urandom(4 << 20))
    shard = open_shard(path, record_bytes=4096, views=False)
    found, errors = [], []

    def read(stream):
        while True:
            try:
                found.append(next(stream))
            except StopIteration:
                return
            except RuntimeError as error:
                errors.append(str(error))

    stream = iter(shard)
    threads = [threading.Thread(target=read, args=(stream,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(shard)
    assert all("give each thread its own" in text for text in errors)


def test_nothing_stays_open(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(1 << 20))
    gc.collect()
    before = descriptors()
    threads = threading.active_count()
    for _ in range(20):
        stream = iter(open_shard(path, record_bytes=1024))
        next(stream)
        del stream
    gc.collect()
    assert descriptors() == before
    assert threading.active_count() == threads


# ---- the arena

def test_samples_go_straight_into_an_arena(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(os.urandom(64 * 4096))
    shard = open_shard(path, record_bytes=4096)
    arena = both()
    batch = arena.empty((3, 4096), "uint8", like="memoryview")
    shard.fill([5, 0, 63], batch)
    arena.send(batch)
    del batch
    got = arena.receive(timeout=2)
    assert bytes(got) == b"".join([shard[5], shard[0], shard[63]])
    del got
    assert used(arena) == 0
    one = arena.empty(5000, "uint8", like="memoryview")
    assert shard.read_into(7, one) == 4096
    assert bytes(one[:4096]) == shard[7]
    with pytest.raises(ShardError, match="room for 100"):
        shard.read_into(7, memoryview(bytearray(100)))
    with pytest.raises(ShardError):
        shard.fill([1, 2], memoryview(bytearray(10000)))


def test_several_shards_are_one_stream(tmp_path):
    shards = []
    for n in range(3):
        path = tmp_path / f"{n}.bin"
        path.write_bytes(bytes([n]) * 10)
        shards.append(open_shard(path, record_bytes=2).reader)
    import _roar_reader
    found = _roar_reader.stream(
        tuple(shards), array.array("I", [2, 0, 1]), array.array("Q", [0, 4, 1]),
        0, 0, readers.PREFETCH, 1, False)
    assert list(found) == [b"\2\2", b"\0\0", b"\1\1"]
    with pytest.raises(IndexError, match="3 shards"):
        _roar_reader.stream(tuple(shards), array.array("I", [3]),
                            array.array("Q", [0]), 0, 0, 1, 0, False)
