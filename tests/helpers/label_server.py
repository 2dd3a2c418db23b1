"""The real server of a labelling page, in a process of its own, and a plain client of it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import onlinesvm

PACKAGE = Path(onlinesvm.__file__).resolve().parent.parent

ADDRESS = re.compile(r"http://([^:]+):(\d+)/\?token=(\S+)\n")


def environment():
    """That of a server: this package, one thread."""
    own = {"PYTHONPATH": str(PACKAGE), "NUMBA_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return os.environ | own


class Server:
    """``onlinesvm label`` running; ``kill`` ends it at once, ``stop`` as Ctrl-C does."""

    def __init__(self, folder, *words, database="labels.db"):
        line = [sys.executable, "-m", "onlinesvm", "label", *map(str, words)]
        line += ["-o", str(Path(folder) / database), "--no-open", "--port", "0"]
        self.process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), text=True
        )
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            found = ADDRESS.search(line)
            if found:
                self.host, self.port, self.token = found[1], int(found[2]), found[3]
                self.address = found[0].strip()
                return
        raise AssertionError("".join(self.said))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.communicate(timeout=90)  # a thread may be compiling
            except subprocess.TimeoutExpired:
                self.kill()


FORKING = """
import json, os, signal, sys
import uvicorn
import onlinesvm.label.opening, onlinesvm.label.server
from onlinesvm.__main__ import main

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for request in sys.stdin:
    words, output = json.loads(request)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        sys.argv = ["onlinesvm", *words]
        sys.exit(main())
    print(child, flush=True)
"""


class Forks:
    """A process that has imported everything and forks servers, each a process of its own.

    Two thirds of the time of a start are imports.
    """

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", FORKING], env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def start(self, folder):
        """A server, as ``Server``."""
        return ForkedServer(self.process, Path(folder))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class ForkedServer:
    """A server that another process has forked."""

    def __init__(self, forks, folder):
        output = folder / "said.txt"
        output.write_text("")
        words = ["label", "-o", str(folder / "labels.db"), "--no-open", "--port", "0"]
        forks.stdin.write(json.dumps([words, str(output)]) + "\n")
        forks.stdin.flush()
        self.pid = int(forks.stdout.readline())
        while not (found := ADDRESS.search(output.read_text())):
            if not self._is_alive():
                raise AssertionError(output.read_text())
            time.sleep(0.02)
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def _is_alive(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        while self._is_alive():
            time.sleep(0.002)

    def stop(self):
        with suppress(ProcessLookupError):  # it has ended
            while True:
                os.kill(self.pid, signal.SIGINT)
                time.sleep(0.2)


@contextmanager
def serving(folder, *words, **extra):
    server = Server(folder, *words, **extra)
    try:
        yield server
    finally:
        server.stop()


class Client:
    """A page without a browser."""

    def __init__(self, server, annotator="ann", name="client-1"):
        self.server, self.annotator, self.name = server, annotator, name
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        self.headers = {
            "host": f"{server.host}:{server.port}",
            "origin": f"http://{server.host}:{server.port}",
            "cookie": f"onlinesvm_label_{server.port}={server.token}",
            "content-type": "application/json",
        }

    def raw(self, method, path, body=None, **headers):
        """Status, headers and body; a header given as None is left out."""
        chosen = {**self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        self.connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in chosen.items():
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    self.connection.putheader(name, each)
        if body is not None and "content-length" not in chosen:
            self.connection.putheader("content-length", str(len(body)))
        self.connection.endheaders(body)
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.getheader("connection") == "close":
            self.connection.close()
        return reply.status, dict(reply.getheaders()), data

    def call(self, path, **body):
        given = {"annotator": self.annotator, "client": self.name, **body}
        status, headers, data = self.raw("POST", f"/api/{path}", json.dumps(given).encode())
        self.spent = headers.get("server-timing", "")
        found = json.loads(data)
        if status != 200:
            raise AssertionError(f"{status}: {found}")
        return found

    def change(self, path, **body):
        return self.call(path, **{"key": uuid.uuid4().hex, **body})
