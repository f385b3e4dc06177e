"""Packets of video and audio: demuxed, moved without a copy, decoded."""

import copy
import gc
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import threading
import weakref
from fractions import Fraction

import pytest

numpy = pytest.importorskip("numpy")

from roar import media  # noqa: E402

CLIP = os.environ["CLIP"]
# A sanitizer's library that is preloaded for Python's sake; clip has its own.
FOR_CLIP = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}

# name of the file, encoder, what is asked for beyond that
VIDEOS = [("b.mp4", "libx264", ["--b-frames", "2"]),
          ("a.ts", "libx264", []),
          ("r.h264", "libx264", []),
          ("m.mkv", "mpeg4", []),
          ("j.avi", "mjpeg", []),
          # Packets too large to be gathered.
          ("large.mp4", "libx264",
           ["--width", "640", "--height", "360", "--bytes", "2000000"])]
AUDIOS = [("a.m4a", "aac", []),
          ("a.flac", "flac", []),
          ("o.mkv", "libopus", []),
          ("l.mp3", "libmp3lame", []),
          ("a.wav", "pcm_s16le", []),
          ("f.wav", "pcm_f32le", [])]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Makes a clip when it is asked for, once."""
    folder = tmp_path_factory.mktemp("clips")

    def make(name):
        path = folder / name
        if not path.exists():
            codec, more = next((c, m) for n, c, m in VIDEOS + AUDIOS
                               if n == name)
            subprocess.run([CLIP, path, "--codec", codec, "--seconds", "1",
                            *more], check=True, env=FOR_CLIP)
        return path

    return make


def moved(packets):
    """The packets again, over memory that is nobody else's."""
    meta, buffers = media.to_buffers(packets)
    return media.from_buffers(meta, [bytes(b) for b in buffers])


def same(a, b):
    assert type(a) is type(b)
    assert len(a) == len(b)
    assert list(a) == list(b)
    assert all(a.data(i) == b.data(i) for i in range(len(a)))
    for name in ("codec", "time_base", "nbytes", "bit_rate", "extradata"):
        assert getattr(a, name) == getattr(b, name)


def address(buffer):
    return numpy.frombuffer(buffer, numpy.uint8).ctypes.data


# ---- what comes out of a file ----

def test_a_video_tells_about_itself(clips):
    p = media.demux_video(clips("b.mp4"))
    assert isinstance(p, media.VideoPackets)
    assert (p.codec, p.width, p.height) == ("h264", 320, 240)
    assert p.pixel_format == "yuv420p"
    assert p.frame_rate == Fraction(30)
    assert len(p) == 30
    assert sum(p[i].size for i in range(30)) == p.nbytes
    assert p[0].is_key and p[0].pts * p.time_base == 0
    assert p[-1] == p[29]
    assert sorted(q.pts for q in p) != [q.pts for q in p]  # B-frames
    assert len(p.data(0)) == p[0].size
    assert repr(p) == f"<VideoPackets: 30 of h264, 320x240, {p.nbytes} bytes>"


def test_audio_tells_about_itself(clips):
    p = media.demux_audio(clips("a.m4a"))
    assert isinstance(p, media.AudioPackets)
    assert (p.codec, p.sample_rate, p.n_channels) == ("aac", 48000, 2)
    assert p.sample_format == "fltp"
    assert p.extradata
    assert "aac, 48000 Hz" in repr(p)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_content_and_path_give_the_same(clips, kind):
    path = clips("b.mp4")
    content = kind(path.read_bytes())
    same(media.demux_video(path), media.demux_video(content))
    same(media.demux_video(path), media.demux_video(str(path)))


def test_an_index_out_of_range_is_an_error(clips):
    p = media.demux_video(clips("b.mp4"))
    for i in (30, -31, 10 ** 30):
        with pytest.raises(IndexError):
            p[i]
        with pytest.raises(IndexError):
            p.data(i)
    with pytest.raises(TypeError):
        p.data("0")


def test_packets_are_only_made_by_demuxing():
    for kind in (media.VideoPackets, media.AudioPackets):
        with pytest.raises(TypeError):
            kind()


# ---- moving ----

@pytest.mark.parametrize("name", [v[0] for v in VIDEOS])
def test_video_frames_are_the_same_bit_by_bit(clips, name):
    p = media.demux_video(clips(name))
    q = moved(p)
    same(p, q)
    for pixels in ("rgb24", "native"):
        a = media.decode_packets(p, format=pixels)
        b = media.decode_packets(q, format=pixels)
        assert a.shape[0] == 30
        assert numpy.array_equal(a, b)


SIZES = [(320, 240), (322, 242), (70, 50)]


def clip_of(tmp_path, size):
    path = tmp_path / "clip.mp4"
    subprocess.run([CLIP, path, "--codec", "libx264", "--seconds", "1",
                    "--width", str(size[0]), "--height", str(size[1])],
                   check=True, env=FOR_CLIP)
    return path


def ffmpeg(*arguments):
    """What the program prints."""
    program = shutil.which("ffmpeg")
    if program is None:
        pytest.skip("needs the program ffmpeg")
    return subprocess.run([program, "-v", "error", *arguments], check=True,
                          env=FOR_CLIP, capture_output=True).stdout


def same_as_ffmpeg(path, pixels):
    raw = ffmpeg("-i", path, "-pix_fmt", pixels, "-f", "rawvideo", "-")
    frames = media.decode_packets(media.demux_video(path), format=pixels)
    return frames.tobytes() == raw


PIXELS = ["rgb24", "bgr24", "rgba", "gray"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pixels", PIXELS)
def test_pixels_are_those_of_the_program_ffmpeg(tmp_path, size, pixels):
    assert same_as_ffmpeg(clip_of(tmp_path, size), pixels)


# Colour spaces by their number in H.264: BT.709, BT.2020; and 10 bits, which have no
# pixel format of their own for the full range.
TAGGED = {
    "bt709": ["-c", "copy", "-bsf:v", "h264_metadata=matrix_coefficients=1"],
    "bt2020-full": ["-c", "copy", "-bsf:v", "h264_metadata=matrix_coefficients=9:"
                    "video_full_range_flag=1"],
    "10-bit-full": ["-vf", "scale=out_range=pc", "-c:v", "libx264",
                    "-pix_fmt", "yuv420p10le", "-color_range", "pc"],
}


@pytest.mark.parametrize("tag", TAGGED)
def test_pixels_of_tagged_streams_are_those_of_the_program_ffmpeg(tmp_path, tag):
    tagged = tmp_path / "tagged.mp4"
    ffmpeg("-i", clip_of(tmp_path, SIZES[0]), *TAGGED[tag], tagged)
    assert [p for p in PIXELS if not same_as_ffmpeg(tagged, p)] == []


@pytest.mark.parametrize("size", SIZES)
def test_accurate_pixels_are_near_the_others(tmp_path, size):
    """In every column: rows without a gap must not lose their last block."""
    packets = media.demux_video(clip_of(tmp_path, size))
    fast = media.decode_packets(packets).astype(int)
    accurate = media.decode_packets(packets, accurate=True).astype(int)
    assert not numpy.array_equal(fast, accurate)
    assert numpy.abs(fast - accurate).mean(axis=(0, 1, 3)).max() < 16


@pytest.mark.parametrize("name", [a[0] for a in AUDIOS])
def test_audio_samples_are_the_same_bit_by_bit(clips, name):
    p = media.demux_audio(clips(name))
    q = moved(p)
    same(p, q)
    a = media.decode_packets(p)
    assert a.shape[0] >= 47000 and a.shape[1] == 2
    assert numpy.array_equal(a, media.decode_packets(q))


def test_restoring_copies_nothing(clips):
    meta, buffers = media.to_buffers(media.demux_video(clips("large.mp4")))
    memory = [bytearray(b) for b in buffers]
    q = media.from_buffers(meta, memory)
    for i in range(len(q)):
        at = address(q.data(i))
        assert any(address(m) <= at <= address(m) + len(m) - q[i].size - 64
                   for m in memory)
    first = q.data(0)[0]
    hit = [m for m in memory if address(m) == address(q.data(0))]
    hit[0][0] ^= 255
    assert q.data(0)[0] == first ^ 255


def test_large_packets_are_not_copied_on_the_way_out(clips):
    p = media.demux_video(clips("large.mp4"))
    _, buffers = media.to_buffers(p)
    at = {address(b) for b in buffers}
    large = [i for i in range(len(p)) if p[i].size >= 16384]
    assert large
    assert all(address(p.data(i)) in at for i in large)


def test_small_packets_share_a_buffer(clips):
    _, buffers = media.to_buffers(media.demux_audio(clips("a.m4a")))
    assert len(buffers) == 1


def test_memory_is_kept_while_packets_or_views_of_them_live(clips):
    meta, buffers = media.to_buffers(media.demux_audio(clips("a.m4a")))
    memory = bytearray(buffers[0])
    q = media.from_buffers(meta, [memory])
    view = q.data(3)  # noqa: F841
    for holder in ("packets", "view", None):
        if holder is None:
            memory.append(0)  # nobody is left
            break
        with pytest.raises(BufferError):
            memory.append(0)
        if holder == "packets":
            del q
        else:
            del view
        gc.collect()


def test_data_of_packets_cannot_be_written(clips):
    view = media.demux_video(clips("b.mp4")).data(0)
    assert view.readonly
    with pytest.raises(TypeError):
        view[0] = 0


def test_packets_can_be_referred_to_weakly(clips):
    p = media.demux_video(clips("b.mp4"))
    w = weakref.ref(p)
    del p
    assert w() is None


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_packets_pickle(clips, protocol):
    p = media.demux_video(clips("b.mp4"))
    q = pickle.loads(pickle.dumps(p, protocol))
    same(p, q)
    same(p, pickle.loads(pickle.dumps(q, protocol)))


def test_pickle_5_takes_the_data_out_of_band(clips):
    p = media.demux_video(clips("large.mp4"))
    out = []
    data = pickle.dumps(p, 5, buffer_callback=out.append)
    assert len(data) < 10000
    same(p, pickle.loads(data, buffers=out))


def test_the_state_of_packets_is_as_long_as_what_is_carried(clips):
    p = media.demux_video(clips("b.mp4"))
    state = p.__getstate__()
    assert type(state) is bytes
    assert p.nbytes < len(state) < p.nbytes + 256 * len(p) + 1024
    assert all(bytes(p.data(i)) in state for i in range(len(p)))


def test_packets_can_be_copied(clips):
    p = media.demux_audio(clips("a.m4a"))
    same(p, copy.copy(p))
    same(p, copy.deepcopy(p))


# ---- decoding ----

def test_formats_have_their_shapes(clips):
    p = media.demux_video(clips("b.mp4"))
    rgb = media.decode_packets(p)
    assert rgb.shape == (30, 240, 320, 3) and rgb.dtype == numpy.uint8
    assert numpy.array_equal(media.decode_packets(p, format="bgr24"),
                             rgb[..., ::-1])
    assert media.decode_packets(p, format="rgba").shape == (30, 240, 320, 4)
    assert media.decode_packets(p, format="gray").shape == (30, 240, 320)
    assert media.decode_packets(p, format="native").shape == (30, 115200)
    rgb[0, 0, 0, 0] = 1  # it is the caller's


def test_samples_have_the_type_of_the_stream(clips):
    assert media.decode_packets(
        media.demux_audio(clips("a.wav"))).dtype == numpy.int16
    assert media.decode_packets(
        media.demux_audio(clips("f.wav"))).dtype == numpy.float32


@pytest.mark.parametrize("threads", [0, 2, 8])
def test_threads_change_nothing(clips, threads):
    p = media.demux_video(clips("b.mp4"))
    assert numpy.array_equal(
        media.decode_packets(p),
        media.decode_packets(moved(p), threads=threads))


def test_many_python_threads_decode_and_drop_at_once(clips):
    p = media.demux_video(clips("b.mp4"))
    expected = media.decode_packets(p)
    wrong = []

    def work():
        for _ in range(3):
            q = moved(p)
            if not numpy.array_equal(media.decode_packets(q, threads=2),
                                     expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_arguments_of_decoding_are_checked(clips):
    p = media.demux_video(clips("b.mp4"))
    for wrong in ({"format": "rgb25"}, {"format": "yuv420p"}, {"threads": -1},
                  {"threads": 10 ** 9}, {"max_bytes": 0}, {"max_bytes": -5}):
        with pytest.raises(ValueError):
            media.decode_packets(p, **wrong)
    for wrong in ({"format": 3}, {"threads": 1.5}, {"max_bytes": "1"}):
        with pytest.raises(TypeError):
            media.decode_packets(p, **wrong)
    for wrong in (None, b"", [p], "b.mp4"):
        with pytest.raises(TypeError):
            media.decode_packets(wrong)


def test_frames_are_bounded(clips):
    p = media.demux_video(clips("b.mp4"))
    with pytest.raises(media.MediaError, match="max_bytes"):
        media.decode_packets(p, max_bytes=1000000)


# ---- what others wrote ----

def test_what_is_no_media_file_is_refused(tmp_path):
    rng = random.Random(5)
    for content in (b"", b"\0" * 100000, rng.randbytes(50000), b"RIFF",
                    b"hello, world\n", bytes(range(256)) * 40):
        for demux in (media.demux_video, media.demux_audio):
            with pytest.raises(media.MediaError, match="the data of"):
                demux(content)
    path = tmp_path / "no media.bin"
    path.write_bytes(b"hello, world\n")
    with pytest.raises(media.MediaError, match='no media.bin" is not a media'):
        media.demux_video(path)


def test_a_kind_that_is_not_there_is_named(clips):
    with pytest.raises(media.MediaError, match="no video stream"):
        media.demux_video(clips("a.m4a"))
    with pytest.raises(media.MediaError, match="no audio stream"):
        media.demux_audio(clips("b.mp4"))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        media.demux_video(tmp_path / "none.mp4")
    with pytest.raises(IsADirectoryError):
        media.demux_video(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(media.MediaError, match="regular file"):
        media.demux_video(tmp_path / "fifo")
    with pytest.raises(FileNotFoundError):
        media.demux_video("http://localhost/clip.mp4")
    with pytest.raises(ValueError):
        media.demux_video("a\0b")


def test_wrong_types_are_refused():
    for wrong in (None, 5, 1.5, [], {}, object()):
        with pytest.raises(TypeError):
            media.demux_video(wrong)
        with pytest.raises(TypeError):
            media.to_buffers(wrong)
    for wrong in ((), (b"",), (b"", 5), (5, []), ("", []), (b"", None)):
        with pytest.raises(TypeError):
            media.from_buffers(*wrong)


def test_a_cut_file_is_refused_or_shorter(clips):
    content = clips("b.mp4").read_bytes()
    for cut in range(0, len(content), len(content) // 40):
        with pytest.raises(media.MediaError):
            media.demux_video(content[:cut])
    with pytest.raises(media.MediaError, match="truncated"):
        media.demux_video(content[:-1])
    content = clips("a.ts").read_bytes()
    assert 5 < len(media.demux_video(content[:len(content) // 2])) < 30


def test_damaged_files_never_do_more_than_raise(clips):
    rng = random.Random(11)
    for name in ("b.mp4", "m.mkv", "j.avi", "a.ts"):
        content = clips(name).read_bytes()
        for _ in range(40):
            damaged = bytearray(content)
            for _ in range(rng.randrange(1, 200)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            try:
                p = media.demux_video(damaged)
                media.decode_packets(moved(p), format="native",
                                     max_bytes=1 << 26)
            except media.MediaError:
                pass


def boxes_replaced(data, new):
    """An MP4 in which `new` has the content of some boxes."""
    made = b""
    while data:
        size, name = struct.unpack(">I4s", data[:8])
        content, data = data[8:size], data[size:]
        if name in (b"moov", b"trak", b"mdia", b"minf", b"stbl"):
            content = boxes_replaced(content, new)
        content = new.get(name, content)
        made += struct.pack(">I4s", 8 + len(content), name) + content
    return made


def test_tables_cannot_make_more_than_the_file_has(clips):
    """Thousands of packets that all are the same half of the file."""
    content = clips("large.mp4").read_bytes()
    n, size = 5000, len(content) // 2
    tables = {
        b"stts": struct.pack(">IIII", 0, 1, n, 512),
        b"stsz": struct.pack(">III", 0, size, n),
        b"stsc": struct.pack(">IIIII", 0, 1, 1, 1, 1),
        b"stco": struct.pack(f">II{n}I", 0, n, *[size] * n),
        b"stss": struct.pack(">III", 0, 1, 1),
    }
    with pytest.raises(media.MediaError, match="declares more packets"):
        media.demux_video(boxes_replaced(content, tables))


def test_a_huge_declared_size_is_refused(clips):
    """A picture of 65535 x 65535, in the header of the codec itself."""
    meta, buffers = media.to_buffers(media.demux_video(clips("j.avi")))
    memory = [bytearray(b) for b in buffers]
    for m in memory:
        at = m.find(b"\xff\xc0")
        while at >= 0:
            m[at + 5:at + 9] = b"\xff\xff\xff\xff"
            at = m.find(b"\xff\xc0", at + 9)
    with pytest.raises(media.MediaError):
        media.decode_packets(media.from_buffers(meta, memory))


def test_parts_that_do_not_belong_together_are_refused(clips):
    meta, buffers = media.to_buffers(media.demux_video(clips("large.mp4")))
    other, _ = media.to_buffers(media.demux_audio(clips("a.m4a")))
    for m, b in ((meta, buffers[:-1]), (meta, []), (meta, buffers * 2),
                 (other, buffers), (meta[:-1], buffers), (b"", buffers),
                 (meta + b"\0", buffers), (meta, [b""] * len(buffers)),
                 (meta, [bytes(x)[:-1] for x in buffers]),
                 (meta, [b"\1" * len(x) for x in buffers])):
        with pytest.raises(media.MediaError):
            media.from_buffers(m, b)
    with pytest.raises(BufferError):
        media.from_buffers(meta, [memoryview(bytes(len(b) * 2))[::2]
                                  for b in buffers])


def test_a_refused_restore_gives_the_memory_back():
    memory = bytearray(100)
    with pytest.raises(media.MediaError):
        media.from_buffers(b"garbage", [memory])
    memory.append(0)
    with pytest.raises(TypeError):
        media.from_buffers(b"garbage", [memory, 5])
    memory.append(0)


def test_damaged_descriptions_never_do_more_than_raise(clips):
    rng = random.Random(3)
    meta, buffers = media.to_buffers(media.demux_video(clips("b.mp4")))
    for _ in range(300):
        damaged = bytearray(meta)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            p = media.from_buffers(damaged, buffers)
            media.decode_packets(p, format="native", max_bytes=1 << 26)
        except media.MediaError:
            pass


# ---- the process around it ----

def run_python(script, *args):
    done = subprocess.run([sys.executable, "-c", script, *args], timeout=120,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_nothing_is_printed(clips):
    run_python("""
import sys
from roar import media
for content in (b"", b"x" * 1000, open(sys.argv[1], "rb").read()[:9000]):
    try:
        media.demux_video(content)
    except media.MediaError:
        pass
""", clips("b.mp4"))


def test_without_numpy_frames_are_a_memoryview(clips):
    assert run_python("""
import sys
sys.modules["numpy"] = None
from roar import media
frames = media.decode_packets(media.demux_video(sys.argv[1]))
print(type(frames).__name__, frames.shape, frames.format)
""", clips("b.mp4")) == "memoryview (30, 240, 320, 3) B\n"


def test_packets_that_live_to_the_end_of_the_interpreter(clips):
    run_python("""
import sys
from roar import media
p = media.demux_video(sys.argv[1])
meta, buffers = media.to_buffers(p)
q = media.from_buffers(meta, [bytearray(b) for b in buffers])
view = q.data(0)
sys.kept = [p, q, view, buffers]
""", clips("b.mp4"))


def test_a_forked_child_can_decode(clips):
    p = moved(media.demux_video(clips("b.mp4")))
    child = os.fork()
    if child == 0:
        ok = media.decode_packets(p).shape == (30, 240, 320, 3)
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_memory_does_not_grow(clips):
    content = clips("b.mp4").read_bytes()

    def rounds(n):
        for _ in range(n):
            p = moved(media.demux_video(content))
            media.decode_packets(p, format="native")
            with pytest.raises(media.MediaError):
                media.demux_video(content[:5000])
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * 4096

    before = rounds(10)
    assert rounds(30) - before < 4 << 20
