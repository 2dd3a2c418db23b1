"""The real server: hostile requests are refused, and change nothing."""

import gc
import json
import signal
import socket
import struct
import threading
import zlib

import pytest
from finalized import Finalized
from label_server import Client, Server, serving
from labelling import digit, write_images

from onlinesvm.label.opening import Settings, open_session
from onlinesvm.label.running import bind, run
from onlinesvm.label.server import Config

GOOD = {"annotator": "ann", "client": "client-1", "key": "k" * 16}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    write_images(folder / "images", 40)
    (folder / "secret.txt").write_text("secret")
    with serving(folder, folder / "images", "--classes", "a,b") as running:
        running.folder = folder
        yield running


@pytest.fixture
def client(server):
    return Client(server)


def labelled(client):
    return client.call("question")["panel"]["labelled"]


def test_after_ctrl_c_it_says_where_the_answers_are(tmp_path):
    """The page was told that nothing is lost."""
    table = tmp_path / "t.csv"
    table.write_text("body\n" + "".join(f"text {k}\n" for k in range(20)))
    running = Server(tmp_path, table, "--text", "body")
    try:
        running.process.send_signal(signal.SIGINT)
        said = next(line for line in running.process.stdout if line.startswith("Stopped"))
    finally:
        running.kill()  # a thread may be compiling
    where = tmp_path / "labels.db"
    assert said == f"Stopped; every answer is in '{where}', and the same command continues.\n"


def test_the_token_becomes_a_cookie(server):
    client = Client(server)
    status, headers, _ = client.raw("GET", f"/?token={server.token}", cookie=None, origin=None)
    assert status == 303
    assert headers["location"] == "/"
    cookie = headers["set-cookie"]
    assert cookie.startswith(f"onlinesvm_label_{server.port}={server.token};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.raw("GET", "/", cookie=None)[0] == 403
    assert client.raw("GET", "/")[0] == 200


def test_every_reply_has_the_headers(client):
    for path in ("/", "/static/app.js", "/item/0/image", "/none", "/export/labels.csv"):
        _, headers, _ = client.raw("GET", path)
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
    _, headers, _ = client.raw("GET", "/item/0/image")
    assert "sandbox" in headers["content-security-policy"]
    _, headers, _ = client.raw("GET", "/", cookie=None)
    assert headers["x-content-type-options"] == "nosniff"


def post(**more):
    return (
        "POST",
        "/api/answer",
        json.dumps({**GOOD, "item": 3, "kind": "label", "label": "a"}).encode(),
        more,
    )


def body(**given):
    return (
        "POST",
        "/api/answer",
        json.dumps({**GOOD, "item": 3, "kind": "label", "label": "a", **given}).encode(),
        {},
    )


def raw(data, path="/api/answer", **more):
    return "POST", path, data, more


def get(path, **more):
    return "GET", path, None, more


HOSTILE = {
    "no token": post(cookie=None),
    "wrong token": post(cookie="onlinesvm_label_{port}=wrong"),
    "empty token": post(cookie="onlinesvm_label_{port}="),
    "cookie of another port": post(cookie="onlinesvm_label_1={token}"),
    "token in the address of a call": get("/api/answer?token={token}", cookie=None),
    "page without token": get("/", cookie=None),
    "page with a wrong token": get("/?token=wrong", cookie=None),
    "image without token": get("/item/0/image", cookie=None),
    "export without token": get("/export/labels.csv", cookie=None),
    "script without token": get("/static/app.js", cookie=None),
    "other host": post(host="evil.com"),
    "other host, same port": post(host="evil.com:{port}"),
    "prefix of the host": post(host="127.0.0.1.evil.com:{port}"),
    "host at the end": post(host="evil.com.127.0.0.1:{port}"),
    "user in the host": post(host="127.0.0.1:{port}@evil.com"),
    "user before the host": post(host="evil.com@127.0.0.1:{port}"),
    "other port": post(host="127.0.0.1:1"),
    "no port": post(host="127.0.0.1"),
    "bad port": post(host="127.0.0.1:abc"),
    "no host": post(host=None),
    "two hosts": post(host=["127.0.0.1:{port}", "evil.com"]),
    "path in the host": post(host="127.0.0.1:{port}/x"),
    "rebinding: equal host and origin": post(host="evil.com:{port}", origin="http://evil.com:{port}"),
    "get with another host": get("/", host="evil.com:{port}"),
    "other origin": post(origin="http://evil.com"),
    "origin with the right port": post(origin="http://evil.com:{port}"),
    "prefix of the origin": post(origin="http://127.0.0.1:{port}.evil.com"),
    "null origin": post(origin="null"),
    "https origin": post(origin="https://127.0.0.1:{port}"),
    "no origin": post(origin=None),
    "two origins": post(origin=["http://127.0.0.1:{port}", "http://evil.com"]),
    "get from another origin": get("/item/0/image", origin="http://evil.com"),
    "form": post(content_type="application/x-www-form-urlencoded"),
    "plain text": post(content_type="text/plain"),
    "no content type": post(content_type=None),
    "too large": raw(b"{" + b" " * (1 << 20) + b"}"),
    "length that is no number": post(content_length="-5"),
    "no json": raw(b"{"),
    "half a character": raw(b'{"a": "\xff"}'),
    "deep": raw(b"[" * 100_000),
    "a list": raw(b"[]"),
    "a number": raw(b"5"),
    "nothing": raw(b""),
    "unknown item": body(item=10**9),
    "negative item": body(item=-1),
    "item that is text": body(item="3"),
    "item that is a list": body(item=[3]),
    "item that is not": body(item=None),
    "true item": body(item=True),
    "no annotator": body(annotator=""),
    "long annotator": body(annotator="x" * 5000),
    "annotator that is an object": body(annotator={"a": 1}),
    "no key": body(key=None),
    "long class": body(label="x" * 10_000),
    "empty class": body(label="  "),
    "class with a control character": body(label="a\x00b"),
    "class that is a list": body(label=["a"]),
    "unknown kind": body(kind="guess"),
    "long note": body(note="x" * 5000),
    "traversal": get("/static/../../../../../../etc/passwd"),
    "traversal, encoded": get("/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd"),
    "traversal, encoded slash": get("/static/..%2f..%2f..%2fserver.py"),
    "traversal, twice": get("/static/%252e%252e/%252e%252e/server.py"),
    "traversal, backslash": get("/static/..%5c..%5cserver.py"),
    "traversal, overlong": get("/static/%c0%ae%c0%ae/server.py"),
    "absolute path": get("/static//etc/passwd"),
    "template": get("/static/../index.html"),
    "image by path": get("/item/..%2f..%2fsecret.txt/image"),
    "image that is not": get("/item/99999/image"),
    "image with a sign": get("/item/-1/image"),
    "export by path": get("/export/..%2f..%2fsecret.txt"),
    "put": ("PUT", "/api/answer", b"{}", {}),
    "delete": ("DELETE", "/", None, {}),
    "trace": ("TRACE", "/", None, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_requests_are_refused(client, server, name):
    before = labelled(client)
    method, path, data, headers = HOSTILE[name]
    fill = {"port": server.port, "token": server.token}

    def filled(value):
        if isinstance(value, list):
            return [filled(each) for each in value]
        return value.format(**fill) if isinstance(value, str) else value

    hostile = Client(server)
    status, _, said = hostile.raw(
        method, filled(path), data, **{key: filled(value) for key, value in headers.items()}
    )
    assert 400 <= status < 500, (status, said)
    assert b"secret" not in said
    assert b"root:" not in said
    assert labelled(client) == before
    assert server.process.poll() is None


def test_there_are_sixty_of_them():
    assert len(HOSTILE) >= 60


def bomb(side):
    """A PNG of black pixels, as Pillow would write it in ten times as long: 450 MB in 2 MB."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    packer, lines = zlib.compressobj(1), bytes(1000 * (1 + side // 8))
    data = b"".join(packer.compress(lines) for _ in range(side // 1000)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", data), chunk(b"IEND", b"")]
    )


def test_the_bomb_is_a_valid_picture(tmp_path):
    from PIL import Image

    (tmp_path / "small.png").write_bytes(bomb(2000))
    with Image.open(tmp_path / "small.png") as picture:
        picture.load()
        assert (picture.size, picture.mode, picture.getextrema()) == ((2000, 2000), "1", (0, 0))


def test_an_image_that_became_a_link_or_a_bomb_is_not_served(tmp_path):
    write_images(tmp_path / "images", 5)
    (tmp_path / "secret.txt").write_text("secret")
    with serving(tmp_path, tmp_path / "images") as server:
        client = Client(server)
        for name, change in (
            ("000.png", lambda p: p.symlink_to(tmp_path / "secret.txt")),
            (
                "001.png",
                lambda p: p.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"),
            ),
            ("002.png", lambda p: p.write_bytes(bomb(60_000))),
            ("003.png", lambda p: p.mkdir()),
        ):
            (tmp_path / "images" / name).unlink()
            change(tmp_path / "images" / name)
        for number in range(4):
            status, _, said = client.raw("GET", f"/item/{number}/image")
            assert status == 404, number
            assert b"secret" not in said
        assert client.raw("GET", "/item/4/image")[0] == 200


def test_markup_stays_text(client):
    name = "<img src=x onerror=alert(1)>"
    reply = client.change("classes", kind="add", name=name)
    assert name in [each["name"] for each in reply["panel"]["classes"]]
    _, headers, data = client.raw("GET", "/")
    assert name.encode() not in data
    assert "script-src 'self'" in headers["content-security-policy"]


def test_two_annotators_at_once_never_get_the_same_item(tmp_path):
    """1,000 answers from two threads."""
    with serving(tmp_path) as server:
        asked, failures = {"ann": [], "bob": []}, []

        def work(name):
            try:
                client = Client(server, name, f"page-{name}")
                reply = client.call("question")
                for _ in range(500):
                    number = reply["question"]["item"]["number"]
                    asked[name].append(number)
                    reply = client.change("answer", item=number, kind="label", label=digit(number))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(name,)) for name in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        both = asked["ann"] + asked["bob"]
        assert len(both) == len(set(both)) == 1000
        assert labelled(Client(server)) == 1000


def test_a_port_in_use_is_said(tmp_path):
    from onlinesvm.label.running import bind

    taken = bind("127.0.0.1", 0)
    other = bind("127.0.0.1", taken.port)
    assert other.is_other
    assert other.port > taken.port
    taken.socket.close()
    other.socket.close()


def test_replies_are_sent_at_once():
    """asyncio switches Nagle's algorithm off for sockets whose protocol is named, and for no others."""
    from onlinesvm.label.running import bind

    place = bind("127.0.0.1", 0)
    with place.socket, socket.create_connection((place.host, place.port)):
        accepted, _ = place.socket.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_exports_over_http(tmp_path):
    with serving(tmp_path) as server:
        client = Client(server)
        assert client.raw("GET", "/export/model.safetensors")[0] == 409
        reply = client.call("question")
        for _ in range(30):
            number = reply["question"]["item"]["number"]
            reply = client.change("answer", item=number, kind="label", label=digit(number))
        for name, least in (
            ("labels.csv", 31), ("labels.jsonl", 30), ("label-studio.json", 30), ("predictions.csv", 1798),
            ("predictions.jsonl", 1797),
        ):  # fmt: skip
            status, headers, data = client.raw("GET", f"/export/{name}")
            assert status == 200
            assert len(data.splitlines()) >= least
            assert "attachment" in headers["content-disposition"]
        assert client.raw("GET", "/export/model.safetensors")[0] == 200
        assert client.raw("GET", "/export/labels.parquet")[2][:4] == b"PAR1"


def test_ctrl_c_in_a_finalizer_is_not_lost(tmp_path):
    """An exception that is raised there is printed and dropped: the server ran on."""
    session = open_session(Settings(None, tmp_path / "labels.db")).session
    late = []

    def end():
        late.append(True)
        signal.raise_signal(signal.SIGINT)

    def say(line):
        if "Ctrl-C" in line:
            Finalized()

    watch = threading.Timer(20, end)
    watch.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(session, Config("digits", "n", None, "ann", ""), bind("127.0.0.1", 0), False, say)
    finally:
        watch.cancel()
        gc.unfreeze()
        session.journal.close()
    assert not late


def test_the_server_ends_by_ctrl_c(tmp_path):
    server = Server(tmp_path)
    server.stop()
    assert server.process.returncode in (0, -2, 130)
