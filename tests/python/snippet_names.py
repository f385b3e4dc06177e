"""What the pages take for granted: the functions of the reader's own program."""


def train(*_):
    pass


def decode(path):
    with open(path, "rb") as f:
        return f.read()


def compute(samples):
    return len(samples)


def apply(_):
    pass


def save(_):
    pass


def save_checkpoint(_):
    pass


def load_checkpoint():
    return {}


NAME = "w-0"


def rebuild_process_group(_rank, _world_size):
    pass
