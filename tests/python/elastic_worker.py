"""A worker of a training that others join and leave: ADDRESS NAME FOLDER JOB.

It goes through one epoch of dataset "d".  At three moments it waits for a key that the test
sets.  Its checkpoints are those of a real training: every rank has its state on the disk
before one of them commits it.
"""

import json
import os
import sys

import roar

STEP = 10       # between checkpoints


class Worker:
    def __init__(self, address, name, folder, job):
        self.job = roar.TrainingOrchestrator(address, job=job)
        self.name = name
        self.folder = folder
        self.job.register_worker(name)
        self.data = roar.shards("d", coordinator=self.job, batch=2,
                                audit=f"{folder}/{name}.audit")
        self.first = self.data.state_dict()

    def gate(self, step):
        """Where the test does something to the world."""
        gate = {(2, 10): "join", (3, 7): "kill", (2, 298): "end"}.get(
            (self.data.world_size, step))
        if gate:
            self.job.kv.set(f"at/{gate}/{self.name}", b"")
            self.job.kv.wait(f"gate/{gate}")

    def save(self, members):
        state = self.data.state_dict()
        try:
            self.job.barrier(f"save.{len(members)}.{state['consumed']}",
                             group=members, policy="fail", timeout=60)
        except roar.CoordinatorError:
            return      # somebody is gone: it is not saved
        if self.data.rank == 0:
            path = f"{self.folder}/checkpoint"
            with open(f"{path}.new", "w", encoding="ascii") as f:
                json.dump(state, f)
            os.replace(f"{path}.new", path)

    def load(self):
        try:
            with open(f"{self.folder}/checkpoint", encoding="ascii") as f:
                self.data.load_state_dict(json.load(f))
        except FileNotFoundError:
            self.data.load_state_dict(self.first)

    def loop(self):
        step, members = 0, None
        for _ in self.data:
            if members is None:
                members = sorted(w["worker_id"] for w in self.job.workers()
                                 if not w["reason"])[:self.data.world_size]
            step += 1
            if step % STEP == 0:
                self.save(members)
            self.gate(step)

    def run(self):
        while self.data.epoch == 0:
            try:
                self.loop()
            except roar.WorldChanged as change:
                print("changed", change.came, change.gone,
                      change.position is not None, flush=True)
                if change.position is None:
                    self.load()
            except roar.CoordinatorError as error:
                print("again", error, flush=True)
                self.load()
        self.data.close()
        print("through", flush=True)
        self.job.deregister()


if __name__ == "__main__":
    Worker(*sys.argv[1:]).run()
