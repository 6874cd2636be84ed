from pathlib import Path

from long_running_agents.testing import ScriptedModel, say


class Small(ScriptedModel):
    def __init__(self, path):
        super().__init__([say("I am small.")] * 9)
        self.path = path


def open_model(name, folder):
    return Small(folder / f"{name}.gguf")


def open_engine(name, folder, kind=None):
    if "/" in name:
        return Path(f"{name} by {kind}")
    return folder / f"{name}.gguf"
