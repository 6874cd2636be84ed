"""Lets a spare user see folders that lie behind closed ones, and nothing else of what is there.

The superuser's home is closed to everybody. What a sandbox needs from it is mounted somewhere open,
in a mount namespace of its own, before the rights to do so are given up.
"""

import shlex
from collections.abc import Iterable
from pathlib import Path

_ENTER = 0o001


def is_open(path: Path) -> bool:
    """Whether anybody may walk to a path."""
    return all(folder.stat().st_mode & _ENTER for folder in path.resolve().parents)


def opened(paths: Iterable[Path], folder: Path) -> dict[Path, Path]:
    """For each path that is not open, a place in an open folder to mount it on."""
    places: dict[Path, Path] = {}
    for number, path in enumerate(paths):
        if not is_open(path):
            place = folder / f"seen-{number}"
            if path.is_dir():
                place.mkdir()
            else:
                place.touch()
            places[path] = place
    return places


def command(words: list[str], places: dict[Path, Path], user: int) -> list[str]:
    """A command that mounts the places, becomes the user, and goes on as the other command."""
    mounts = [
        f"mount --bind {shlex.quote(str(path))} {shlex.quote(str(place))}"
        for path, place in places.items()
    ]
    become = f"exec setpriv --reuid {user} --regid {user} --clear-groups"
    script = " && ".join([*mounts, f'{become} --inh-caps=-all -- "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *words]
