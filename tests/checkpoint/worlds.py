"""Several ranks in one process."""

import roar.checkpoint as ckpt


def save_world(url, states, step=1, **more):
    """Saves the state of each rank; rank 0 comes last and commits."""
    save_id, parts = ckpt.new_save_id(), []
    for rank, state in reversed(list(enumerate(states))):
        parts.append(ckpt.save(state, url, step, rank=rank, world_size=len(states),
                               save_id=save_id, commit=rank == 0, timeout=0, **more))
