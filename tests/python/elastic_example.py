"""A worker that runs the loop of docs/readers.md as it stands there: ADDRESS NAME FOLDER.

What the page leaves to its reader is here: a checkpoint is a file of the folder, training
notes the samples.  Ranks work in lockstep, as those that add up gradients do.  A file NAME.leave makes the worker leave in the middle of a step, a file
"hurry" makes steps short.
"""

import json
import os
import sys
import time

import roar
from doc_helpers import snippet

ADDRESS, NAME, FOLDER = sys.argv[1:]
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


def together(barrier_id):
    """Whether all ranks of the loop came here.  The page handles BarrierBroken."""
    return job.barrier(barrier_id, timeout=60).participants == data.world_size


def save_checkpoint(checkpoint):
    if together("save") and data.rank == 0:
        with open(CHECKPOINT + ".new", "w", encoding="ascii") as f:
            json.dump(checkpoint, f)
        os.replace(CHECKPOINT + ".new", CHECKPOINT)


def rebuild_process_group():
    note("changed")


def train(batch):
    note("train", data.world_size,
         *(int.from_bytes(sample, "little") for sample in batch))
    together("step")
    if not os.path.exists(os.path.join(FOLDER, "hurry")):
        time.sleep(0.01)
    if os.path.exists(os.path.join(FOLDER, NAME + ".leave")):
        job.deregister()
        sys.exit(0)


data = None     # the page makes it
with roar.TrainingOrchestrator(ADDRESS, job="example") as job:
    job.register_worker(NAME)
    exec(snippet("docs/readers.md", "except roar.WorldChanged"))
