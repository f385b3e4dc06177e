"""Programs that take minutes: a Debian source package, a training in PyTorch.

Part of `make stress`.  The source is fetched by apt-get into a folder of its
own, with lists of its own; without a network the test is skipped."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from real import Case, compare
from test_real import check, needs

SOURCES = "deb-src http://deb.debian.org/debian stable main\n"
TRAINING = """
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
os.mkdir("shards")
for i in range(8):
    torch.save(torch.randn(16, 9), f"shards/{i}.pt")

class Shards(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, i):
        return torch.load(f"shards/{i % 8}.pt")

if __name__ == "__main__":
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(Shards(), batch_size=4, num_workers=2):
        batch = batch.reshape(-1, 9)
        loss = ((model(batch[:, :8]) - batch[:, 8:]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
    print(f"{loss.item():.6f}")
"""


def source_of(package, folder):
    """Fetches the package's tarball; its path."""
    entry = os.path.join(folder, "sources.list")
    with open(entry, "w", encoding="utf-8") as f:
        f.write(SOURCES)
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"))
    options = ["-q", "-o", f"Dir::Etc::SourceList={entry}", "-o",
               "Dir::Etc::SourceParts=/dev/null", "-o",
               f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    for words in (["update"], ["source", "--download-only", package]):
        done = subprocess.run(["apt-get", *options, *words], cwd=folder,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, timeout=300)
        if done.returncode:
            pytest.skip(f"apt-get {words[0]}: no source package here: "
                        f"{done.stdout[-200:]!r}")
    return glob.glob(os.path.join(folder, "*.orig.tar.*"))[0]


@pytest.mark.parametrize("package", ["zlib"])
def test_make_builds_a_debian_source_package(package):
    needs("apt-get", "gcc", "make", "tar")
    folder = tempfile.mkdtemp(prefix="roar-source-")

    def setup(place):
        subprocess.run(["tar", "-xf", tarball, "-C", place.root,
                        "--strip-components=1"], check=True)
        subprocess.run(["./configure"], cwd=place.root, env=place.env,
                       check=True, stdout=subprocess.DEVNULL)
    try:
        tarball = source_of(package, folder)
        # Two jobs at a time print in any order.
        compare(os.path.abspath(os.environ["ROAR"]),
                Case(["make", "-s", "-j2"], setup, varies=r"configure\.log$"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_training_with_workers():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import torch"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            break
    else:
        pytest.skip("python3-torch is not installed")
    check(setup=lambda place: place.write("train.py", TRAINING),
          env={"PYTHONDONTWRITEBYTECODE": "1"}, command=[python, "train.py"])
