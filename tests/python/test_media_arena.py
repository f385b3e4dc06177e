"""Packets through an arena: their data is in it afterwards, and nowhere else."""

import gc
import os
import subprocess
import weakref

import pytest

numpy = pytest.importorskip("numpy")
media = pytest.importorskip("roar.media")

import roar  # noqa: E402
from arena_helpers import both, start, through, used  # noqa: E402

CLIP = os.environ["CLIP"]
# A sanitizer's library that is preloaded for Python's sake; clip has its own.
FOR_CLIP = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """Large packets and small ones, with pictures out of order."""
    path = tmp_path_factory.mktemp("clips") / "video.mp4"
    subprocess.run([CLIP, path, "--width", "640", "--height", "360",
                    "--bytes", "1500000", "--b-frames", "2",
                    "--seconds", "1", "--fps", "10"], check=True, env=FOR_CLIP)
    return str(path)


@pytest.fixture(scope="module")
def audio(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "audio.m4a"
    subprocess.run([CLIP, path, "--codec", "aac"], check=True,
                   env=FOR_CLIP)
    return str(path)


def mapped(packets):
    """Does the data of every packet lie in a mapping of an arena?"""
    with open("/proc/self/maps", encoding="ascii") as f:
        spans = [[int(x, 16) for x in line.split()[0].split("-")]
                 for line in f if "memfd:roar-arena" in line]
    at = [numpy.frombuffer(packets.data(i), numpy.uint8).ctypes.data
          for i in range(len(packets))]
    return all(any(a <= x < b for a, b in spans) for x in at)


def decoded(packets, threads=1):
    return media.decode_packets(packets, format="native", threads=threads)


def same_frames(a, b, threads=1):
    return numpy.array_equal(decoded(a, threads), decoded(b))


def test_received_packets_lie_in_the_arena(video, audio):
    for packets in (media.demux_video(video), media.demux_audio(audio)):
        arena = both()
        got = through(arena, {"data": packets, "id": 7})
        assert got["id"] == 7
        assert type(got["data"]) is type(packets)
        assert list(got["data"]) == list(packets)
        assert mapped(got["data"]) and not mapped(packets)
        assert same_frames(got["data"], packets)


def test_copied_out_packets_do_not(video):
    arena = both(copy=True)
    packets = media.demux_video(video)
    got = through(arena, packets)
    assert not mapped(got)
    assert used(arena) == 0
    assert same_frames(got, packets)


def test_room_is_taken_until_the_last_view_of_a_packet_is_gone(video):
    arena = both()
    got = through(arena, media.demux_video(video))
    view = got.data(5)
    content = bytes(view)
    assert used(arena) == 1
    gone = weakref.ref(got)
    del got
    assert gone() is None
    assert used(arena) == 1 and view == content
    arena.send(bytes(1 << 20))  # somebody else's room
    assert view == content
    arena.receive(timeout=2)
    del view
    assert used(arena) == 0


def test_threads_of_a_decoder_do_not_keep_the_room(video):
    arena = both()
    packets = media.demux_video(video)
    for _ in range(5):
        got = through(arena, packets)
        assert same_frames(got, packets, threads=4)
        del got
        assert used(arena) == 0


def test_packets_outlive_the_arena(video):
    arena = both()
    packets = media.demux_video(video)
    got = through(arena, packets)
    arena.shutdown()
    arena.close()
    del arena
    gc.collect()
    assert same_frames(got, packets)


def test_packets_twice_in_an_item_stay_one_object(video):
    arena = both()
    packets = media.demux_video(video)
    got = through(arena, [packets, {"again": packets}])
    assert got[0] is got[1]["again"]


def test_received_packets_can_be_sent_on(video):
    first, second = both(), both()
    packets = media.demux_video(video)
    got = through(second, through(first, packets))
    assert used(first) == 0 and used(second) == 1
    assert same_frames(got, packets)


def test_packets_larger_than_the_arena_arrive(video):
    packets = media.demux_video(video)
    arena = roar.Arena(1 << 20, timeout=10)
    process = start("fork", send, arena, video, 1)
    arena.join("consumer")
    got = arena.receive(timeout=20)
    process.join()
    assert packets.nbytes > 1 << 20
    assert same_frames(got, packets)


def send(arena, path, n):
    """The other side: demuxes and sends."""
    arena.join("producer")
    for _ in range(n):
        arena.send(media.demux_video(path))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_another_process_demuxes_and_this_one_decodes(video, method):
    arena = roar.SharedMemorySegmentPool(8 << 20, 4, acquire_timeout=10)
    process = start(method, send, arena, video, 6)
    arena.join("consumer")
    expected = decoded(media.demux_video(video))
    kept = []
    for _ in range(6):
        got = arena.receive(timeout=30)
        assert mapped(got)
        assert numpy.array_equal(decoded(got), expected)
        kept = kept[-1:] + [got]  # out of order: the last two stay
    process.join()
    assert process.exitcode == 0
    assert numpy.array_equal(decoded(kept[0]), expected)


def test_a_dead_sender_takes_nothing_back(video):
    arena = roar.Arena(16 << 20, timeout=10)
    process = start("fork", send, arena, video, 1)
    arena.join("consumer")
    got = arena.receive(timeout=20)
    process.kill()
    process.join()
    assert same_frames(got, media.demux_video(video))
