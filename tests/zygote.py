"""Starts `python -m long_running_agents…` by forking a process that has imported it already.

Starting an interpreter and importing everything takes most of two seconds, several hundred times.
What is forked is a process like any other: it has its own files, environment and terminal, is a
child of whoever asked, can be waited for, and dies of kill -9. The smoke tests, and programs that
are given options of the interpreter, are started the slow way.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import inspect
import io
import json
import os
import pkgutil
import pty
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import warnings
from importlib import import_module
from pathlib import Path

import pexpect
import ptyprocess
from tests.kept import keep

import long_running_agents
from long_running_agents.memory.embedding import bundled

ROOT = Path(__file__).parent.parent
PACKAGE = "long_running_agents"
_FORKED = (PACKAGE, "tests.integration.flooded")
"""Programs that need what is imported already."""
_ALONE = (f"{PACKAGE}.examples", f"{PACKAGE}.sandbox.inside", f"{PACKAGE}.web.inside")
"""Programs of their own, which are not imported."""
_LATER = ("uvicorn", "websockets", "httpx2", "openai", "pydantic_ai.models.openai", "tokenizers")
"""What is imported when it is used, and used by nearly every process."""
_SUBREAPER = 36
_LIBC = ctypes.CDLL(None)


class Zygote:
    """The process that is forked; begun at first use."""

    def __init__(self):
        self._wire = None
        self._alone = threading.Lock()

    def begin(self, program, *, env, cwd, files, terminal=False, session=False):
        """Fork a process, and tell its id."""
        wanted = {
            "program": program,
            "environ": dict(os.environ if env is None else env),
            "folder": str(cwd or Path.cwd()),
            "terminal": terminal,
            "session": session,
        }
        sent = json.dumps(wanted).encode()
        with self._alone:
            wire = self._opened()
            # Only now: orphans of others go to init as ever.
            _LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(wire, [len(sent).to_bytes(8, "big")], files)
                wire.sendall(sent)
                return int.from_bytes(_read(wire, 8), "big")
            finally:
                _LIBC.prctl(_SUBREAPER, 0, 0, 0, 0)

    def end(self):
        """Let it go; it ends when nobody can ask it anymore."""
        if self._wire is not None:
            self._wire.close()
            self._process.wait()

    def _opened(self):
        if self._wire is None:
            self._wire, theirs = socket.socketpair()
            number = str(theirs.fileno())
            self._process = _POPEN(
                [sys.executable, "-m", "tests.zygote", number],
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
        return self._wire


_POPEN = subprocess.Popen
_PLACES = inspect.signature(subprocess.Popen._execute_child)
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def _program(words, env):
    """What comes after `python -m`, where it is ours and the interpreter is as in the zygote."""
    if not isinstance(words, (list, tuple)) or (env and _spoken(env) != _spoken(os.environ)):
        return None
    match [os.fsdecode(word) for word in words]:
        case [sys.executable, "-m", *program] if program[:1] and program[0].startswith(_FORKED):
            return program
    return None


def _spoken(env):
    """What an interpreter looks at when it starts."""
    return {key: env[key] for key in env if key.startswith(("PYTHON", "LC_", "LANG"))}


@contextlib.contextmanager
def forking():
    """While inside, whoever starts our program in this process gets a fork of the zygote."""
    zygote = Zygote()

    class Popen(_POPEN):
        def _execute_child(self, *arguments, **options):
            place = _PLACES.bind(self, *arguments, **options).arguments
            program = _program(place["args"], place["env"])
            if program is None or place["pass_fds"] or place["preexec_fn"] or place["shell"]:
                super()._execute_child(*arguments, **options)
                return
            with open(os.devnull) as nothing:  # noqa: PTH123
                given = [(place["p2cread"], 0), (place["c2pwrite"], 1), (place["errwrite"], 2)]
                files = [own if theirs == -1 else theirs for theirs, own in given]
                files = [file if _is_open(file) else nothing.fileno() for file in files]
                self.pid = zygote.begin(
                    program,
                    env=place["env"],
                    cwd=place["cwd"],
                    files=files,
                    session=place["start_new_session"],
                )
            self._child_created = True
            self._close_pipe_fds(*(place[name] for name in _PIPES))

    spawn_slowly = pexpect.spawn._spawnpty

    def spawn(self, words, *, env=None, cwd=None, echo=True, dimensions=(24, 80), **more):
        program = _program(words, env)
        if program is None or more.get("preexec_fn") or more.get("pass_fds"):
            more |= {"env": env, "cwd": cwd, "echo": echo, "dimensions": dimensions}
            return spawn_slowly(self, words, **more)
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, dimensions)
        pid = zygote.begin(program, env=env, cwd=cwd, files=[theirs] * 3, terminal=True)
        os.close(theirs)
        process = ptyprocess.PtyProcess(pid, ours)
        if not echo:
            process.setecho(state=False)
        return process

    subprocess.Popen = Popen
    pexpect.spawn._spawnpty = spawn
    try:
        yield
    finally:
        subprocess.Popen = _POPEN
        pexpect.spawn._spawnpty = spawn_slowly
        zygote.end()


@contextlib.contextmanager
def cold():
    """While inside, every process begins with an interpreter of its own."""
    quick = subprocess.Popen
    subprocess.Popen = _POPEN
    try:
        yield
    finally:
        subprocess.Popen = quick


def _is_open(file):
    with contextlib.suppress(OSError):
        os.fstat(file)
        return True
    return False


def _read(wire, count):
    got = b""
    while len(got) < count:
        part = wire.recv(count - len(got))
        if not part:
            raise EOFError("The zygote ended; its own words are above.")
        got += part
    return got


def warm_up():
    """Do once what every process would do again: import everything, and read the vectors."""
    for module in pkgutil.walk_packages(long_running_agents.__path__, f"{PACKAGE}."):
        if not module.name.startswith(_ALONE) and not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                import_module(module.name)
    for name in _LATER:
        import_module(name)
    keep()
    bundled._load(bundled._installed())
    # What is not looked at by the collector stays shared with the children.
    gc.collect()
    gc.freeze()


def serve(wire):
    """Fork whoever is asked for, until nobody can ask; returns in the children only."""
    while True:
        head, files = _head(wire)
        if not head:
            os._exit(0)
        wanted = json.loads(_read(wire, int.from_bytes(head, "big")))
        told, tell = os.pipe()
        go, hold = os.pipe()
        middle = os.fork()
        if not middle:
            child = os.fork()
            if child:
                os.write(tell, child.to_bytes(8, "big"))
                # Whoever is left behind goes to the one who asked.
                os._exit(0)
            os.close(hold)
            os.read(go, 1)
            for file in (told, tell, go):
                os.close(file)
            wire.close()
            return wanted, files
        os.waitpid(middle, 0)
        wire.sendall(os.read(told, 8))
        for file in (told, tell, go, hold, *files):
            os.close(file)


def _head(wire):
    head, files, _, _ = socket.recv_fds(wire, 8, 3)
    return head and head + _read(wire, 8 - len(head)), files


def become(wanted, files):
    """Take on the files, the environment and the folder of a process of one's own."""
    if wanted["session"] or wanted["terminal"]:
        os.setsid()
    for place, file in enumerate(files):
        os.dup2(file, place)
    for file in files:
        os.close(file)
    if wanted["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(wanted["environ"])
    time.tzset()
    os.chdir(wanted["folder"])
    sys.path[0] = wanted["folder"]
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        size = 0 if place and at_once else -1
        file = open(place, "wb" if place else "rb", size, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            file,
            encoding=getattr(sys, name).encoding,
            errors=getattr(sys, name).errors,
            line_buffering=place == 2 or file.isatty(),
            write_through=size == 0,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main():
    """Be the zygote, and then whatever a child is wanted for."""
    wire = socket.socket(fileno=int(sys.argv[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up()
    wanted, files = serve(wire)
    become(wanted, files)
    module, *words = wanted["program"]
    sys.argv = [module, *words]
    if module != PACKAGE:
        # It is run, not imported.
        sys.modules.pop(module, None)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # As an interpreter ends, but without taking every module apart.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(end.code)


if __name__ == "__main__":
    main()
