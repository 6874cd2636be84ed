"""A server of the protocol's first generation, written by hand: `plain.py SCRIPT.json`.

It knows no method that came later, and starts in no time. The script is a list of tools, each with
what a call of it does: an answer, or a misdeed.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, *, failed=False):
    return {"content": [{"type": "text", "text": words}], "isError": failed}


def child():
    return str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)


def grow():
    script["tools"].append({"name": "grown"})
    say({"method": "notifications/tools/list_changed"})
    return "grown"


def ask(tool):
    say({"id": "q", "method": tool["method"], "params": tool.get("params", {})})
    return sys.stdin.readline()


def called(tool, arguments):
    deeds = {
        "echo": lambda: json.dumps(arguments),
        "say": lambda: tool["says"],
        "fail": lambda: tool["says"],
        "pid": lambda: str(os.getpid()),
        "die": lambda: os._exit(3),
        "hang": lambda: time.sleep(600),
        "flood": lambda: sys.stdout.write("x" * (20 << 20)),
        "child": child,
        "grow": grow,
        "ask": lambda: ask(tool),
    }
    does = tool.get("does", "echo")
    return text(str(deeds[does]()), failed=does == "fail")


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
    if method == "tools/list":
        return {
            "tools": [
                {
                    "name": tool["name"],
                    "description": tool.get("description", ""),
                    "inputSchema": tool.get("schema", {"type": "object"}),
                    **tool.get("more", {}),
                }
                for tool in script["tools"]
            ]
        }
    if method == "tools/call":
        wanted = message["params"]["name"]
        [tool] = [tool for tool in script["tools"] if tool["name"] == wanted]
        return called(tool, message["params"].get("arguments"))
    return None


script = json.loads(Path(sys.argv[1]).read_text())
with Path(f"{sys.argv[1]}.starts").open("a") as starts:
    starts.write(f"{os.getpid()}\n")
if script.get("mute"):
    time.sleep(600)
if script.get("crash"):
    sys.exit("plain: sk-ant-0123456789abcdefghij is not my key")
sys.stdout.write("Welcome to the plain server!\n")
sys.stderr.write("ready\n")
for line in sys.stdin:
    message = json.loads(line)
    if script.pop("strict", False) and message.get("method") != "initialize":
        sys.exit("expected a greeting")
    if "id" not in message or "method" not in message:
        continue
    found = answer(message)
    if found is None:
        say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    else:
        say({"id": message["id"], "result": found})
