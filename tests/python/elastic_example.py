"""A worker that runs the loop of docs/readers.md as it stands there: ADDRESS JOB NAME FOLDER.

What the page leaves to its reader is here: a checkpoint is a file of the folder, training
notes the samples.  Ranks work in lockstep, as those that add up gradients do, unless there
is a file "apart".  A file NAME.leave makes the worker leave in the middle of a step, a file
"hurry" makes steps short.
"""

import json
import os
import sys
import time

import roar
from doc_helpers import snippet

ADDRESS, JOB, NAME, FOLDER = sys.argv[1:]
EPOCHS = 1
CHECKPOINT = os.path.join(FOLDER, "checkpoint")


def note(*words):
    with open(os.path.join(FOLDER, NAME + ".log"), "a",
              encoding="ascii") as log:
        print(*words, file=log)


def load_checkpoint():
    note("load")
    try:
        with open(CHECKPOINT, encoding="ascii") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def save_checkpoint(checkpoint):
    if data.rank == 0:
        with open(CHECKPOINT + ".new", "w", encoding="ascii") as f:
            json.dump(checkpoint, f)
        os.replace(CHECKPOINT + ".new", CHECKPOINT)


def rebuild_process_group(rank, world_size):
    note("group", rank, world_size)


def train(batch):
    note("train", data.world_size,
         *(int.from_bytes(sample, "little") for sample in batch))
    if not os.path.exists(os.path.join(FOLDER, "apart")):
        job.barrier("step", timeout=60)     # the page handles BarrierBroken
    if not os.path.exists(os.path.join(FOLDER, "hurry")):
        time.sleep(0.01)
    if os.path.exists(os.path.join(FOLDER, NAME + ".leave")):
        job.deregister()
        sys.exit(0)


data = None     # the page makes it
with roar.TrainingOrchestrator(ADDRESS, job=JOB) as job:
    exec(snippet("docs/readers.md", "except roar.WorldChanged"))
