"""The programs of tools/, as modules."""

import importlib.machinery
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
TOOLS = os.path.abspath(os.path.join(__file__, "../../../../tools"))


def load(name):
    sys.path.insert(0, TOOLS)
    loader = importlib.machinery.SourceFileLoader(
        name.replace("-", "_"), os.path.join(TOOLS, name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
