"""SIGKILL while a script answers: nothing acknowledged is lost, nothing counts twice, and the next
question is that of an undisturbed run.

    python tests/label/test_killing.py 100
"""

import http.client
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "helpers"))

from label_server import Client, Forks, Server, serving
from labelling import digit


def whole_run(folder, n):
    """Items asked about by an undisturbed run, and the question after them."""
    folder.mkdir(parents=True)
    with serving(folder) as server:
        client, asked = Client(server), []
        reply = client.call("question")
        for k in range(n):
            number = reply["question"]["item"]["number"]
            asked.append(number)
            reply = client.change(
                "answer", item=number, kind="label", label=digit(number), key=f"answer-{k:06d}"
            )
        return asked, reply["question"]


def killed_run(folder, n, kills, rng, start=Server):
    """The same with SIGKILL at random moments; whatever was not acknowledged is sent again."""
    folder.mkdir(parents=True)
    asked, k, done = [], 0, 0
    while k < n:
        server = start(folder)
        stopping, sent = threading.Event(), threading.Semaphore(0)
        number = rng.randrange(n // kills)  # answers before the kill; 0: perhaps while it starts
        moment = rng.uniform(0.0, 0.02 if number else 0.4)

        def shoot(server=server, stopping=stopping, sent=sent, number=number, moment=moment):
            for _ in range(number):
                while not sent.acquire(timeout=0.1):
                    if stopping.is_set():
                        return
            if not stopping.wait(moment):
                server.kill()

        shooter = threading.Thread(target=shoot)
        if done < kills:
            shooter.start()
        try:
            client = Client(server)
            reply = client.call("question")
            acknowledged = reply["panel"]["labelled"]
            assert acknowledged in (k, k + 1), (acknowledged, k)  # the last may not have been told
            if acknowledged == k + 1:  # sent again, it counts once
                reply = client.change(
                    "answer",
                    item=asked[k],
                    kind="label",
                    label=digit(asked[k]),
                    key=f"answer-{k:06d}",
                )
                assert reply["panel"]["labelled"] == k + 1
                k += 1
            while k < n:
                number = reply["question"]["item"]["number"]
                asked[k:] = [number]
                sent.release()
                reply = client.change(
                    "answer", item=number, kind="label", label=digit(number), key=f"answer-{k:06d}"
                )
                k += 1
                assert reply["panel"]["labelled"] == k
            question = reply["question"]
        except (OSError, http.client.HTTPException):
            done += 1
        finally:
            stopping.set()
            if shooter.is_alive():
                shooter.join()
            server.stop()
    return asked, question, done


def compare(folder, n, kills, start=Server, seed=0):
    wanted, last = whole_run(folder / "whole", n)
    asked, question, done = killed_run(folder / "killed", n, kills, random.Random(seed), start)
    assert asked == wanted
    assert question == last
    return done


def test_sigkill_loses_nothing(tmp_path):
    assert compare(tmp_path, 40, 4) == 4


if __name__ == "__main__":
    import tempfile

    count, started, forks = int(sys.argv[1]) if len(sys.argv) > 1 else 100, time.time(), Forks()
    with tempfile.TemporaryDirectory() as name:
        done = compare(Path(name), 5 * count, count, forks.start)
    forks.close()
    print(f"{done} kills, {time.time() - started:.0f} s: equal")
