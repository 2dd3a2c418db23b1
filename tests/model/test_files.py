"""Files that are whole, the same every time, and refused where they are not what they should be."""

import errno
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzzing_models import joined, outcome, samples, split
from model_cases import CASES, X, Y, fitted, learn, make
from processes import PACKAGE
from sklearn.exceptions import NotFittedError

from onlinesvm import ActiveLearner, LASVMClassifier, SimpleSVMClassifier, load_model
from onlinesvm.model.atomic import atomic_write
from onlinesvm.model.container import KEY
from onlinesvm.model.errors import ModelFileError
from onlinesvm.model.files import FORMAT_VERSION, model_bytes, read_header, read_model, write_model

pytestmark = pytest.mark.filterwarnings("ignore")

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def model():
    return make("LASVM").fit(X, Y)


# -- the format ---------------------------------------------------------------------------


def test_safetensors_reads_the_file(model, tmp_path):
    from safetensors import safe_open

    model.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        said = json.loads(file.metadata()[KEY])
        alpha = file.get_tensor("state.learner.state.support.alpha")
    assert said["algorithm"] == "LASVMClassifier"
    assert said["format_version"] == FORMAT_VERSION
    assert said["classes"] == [0, 1, 2]
    assert said["parameters"]["gamma"] == "scale"
    assert said["state"]["kernel"]["gamma"] == model.gamma_
    np.testing.assert_array_equal(alpha, model._trained.learner.support.alpha())


@pytest.mark.parametrize("name", ["LASVM", "Huller", "NORMA", "SimpleSVM", "StreamSVM rbf"])
def test_the_same_model_is_the_same_file(name):
    """Made twice, in this process and in another one with other hashes of text."""
    code = (
        "import sys, warnings; warnings.simplefilter('ignore'); sys.path[:0] = sys.argv[1:]\n"
        "from model_cases import fitted\nfrom onlinesvm.model.files import model_bytes\n"
        f"import hashlib\nprint(hashlib.sha256(model_bytes(fitted({name!r}))).hexdigest())"
    )
    first, second = model_bytes(fitted(name)), model_bytes(fitted(name))
    assert first == second
    if name != "LASVM":
        return
    folder = str(Path(__file__).parent.parent / "helpers")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", code, folder], env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    import hashlib

    assert done.stdout.strip() == hashlib.sha256(first).hexdigest()


def test_a_prediction_does_not_change_the_file(model):
    before = model_bytes(model)
    model.predict(X)
    model.support_vectors_
    assert model_bytes(model) == before


@pytest.mark.parametrize("name", [p.stem for p in sorted(GOLDEN.glob("*.safetensors"))])
def test_files_of_this_version_stay_loadable(name):
    """Written by version 0.1.0; the numbers are those of that version on that day."""
    path = GOLDEN / f"{name}.safetensors"
    assert path.stat().st_size < 30_000
    stored = json.loads((GOLDEN / "decisions.json").read_text())[name]
    model = load_model(path)
    rows = np.array(stored["rows"])
    decide = getattr(model, "decision_function", model.predict)
    np.testing.assert_allclose(decide(rows), stored["values"], rtol=1e-6, atol=1e-6)
    assert [str(v) for v in model.predict(rows)] == stored["predictions"] or name == "svr"
    learn(model, stored["case"], 60, 70)  # and learns on


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("*.safetensors"))) >= 6


def test_the_header_alone(model, tmp_path):
    path = tmp_path / "model"
    write_model(path, model, summary={"error": 0.1}, preprocessing={"mean": np.zeros(6)})
    found = read_header(path)
    assert found["algorithm"] == "LASVMClassifier"
    assert found["parameters"] == model.get_params()
    assert found["classes"] == [0, 1, 2]
    assert found["n_features"] == 6
    assert found["summary"] == {"error": 0.1}
    assert found["preprocessing"]["mean"].shape == (6,)
    assert found["tensors"]["state.centre"] == ("<f8", (6,))
    assert found["file_size"] == path.stat().st_size
    with path.open("r+b") as file:  # the arrays are not looked at
        file.seek(8 + struct.unpack("<Q", file.read(8))[0])
        first = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([first[0] ^ 1]))
    assert read_header(path) == {**found, "preprocessing": read_header(path)["preprocessing"]}
    with pytest.raises(ModelFileError, match="checksum is wrong, so some bytes have changed"):
        read_model(path)


# -- what is refused ----------------------------------------------------------------------


def changed(data, **entries):
    """The file with other entries in its description."""
    header, arrays = split(data)
    said = json.loads(header["__metadata__"][KEY])
    header["__metadata__"][KEY] = json.dumps({**said, **entries})
    return joined(header, arrays)


def refusal(path):
    """The one sentence for a file that is refused, by both readers."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    return str(caught.value)


def test_a_newer_version_says_to_upgrade(model, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(changed(model_bytes(model), format_version=2, library_version="9.9"))
    for read in (load_model, read_header):
        with pytest.raises(ModelFileError, match=r"written by onlinesvm 9\.9.*Upgrade onlinesvm"):
            read(path)


def test_files_that_are_no_models(model, tmp_path):
    data = model_bytes(model)
    path = tmp_path / "model"
    cases = {
        b"": "too short",
        b"\0" * 7: "too short",
        data[:-1]: "bytes follow the header",
        data + b"\0": "bytes follow the header",
        data[: len(data) // 2]: "follow the header|too short",
        b"label,a,b\n1,2,3\n" * 50: "too short or not in safetensors format",
        struct.pack("<Q", 2) + b"{}": "not written by onlinesvm",
        struct.pack("<Q", 2) + b"[]": "not a JSON object",
        struct.pack("<Q", 2) + b"{{": "not JSON",
        struct.pack("<Q", 2**63) + data[8:]: "too short or not",
        struct.pack("<Q", 9 * 2**20) + b" " * (9 * 2**20): "header has 9437184 bytes",
        changed(data, algorithm="os.system"): "algorithm 'os.system' is unknown",
        changed(data, format_version=0): "no format version 0",
    }
    for content, problem in cases.items():
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=problem):
            load_model(path)
        assert refusal(path).startswith(f"{path} is not a valid model file: ")
        assert refusal(path).endswith("restore the file from a backup.")


def test_missing_files_and_folders(tmp_path):
    assert refusal(tmp_path / "none") == (
        f"{tmp_path / 'none'} does not exist; give the path of a file that was saved."
    )
    assert "cannot be read: it is a folder" in refusal(tmp_path)
    with pytest.raises(ModelFileError, match="does not exist"):
        read_header(tmp_path / "none")


def deep_header(depth):
    text = b"[" * depth
    return struct.pack("<Q", len(text)) + text


def test_no_deep_recursion(model, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(deep_header(100_000))
    assert "not JSON" in refusal(path)
    nested = []
    for _ in range(500):
        nested = [nested]
    path.write_bytes(changed(model_bytes(model), summary=nested))
    assert "checksum" in refusal(path) or "nested" in refusal(path)


def test_a_file_takes_no_more_memory_than_it_has_bytes(model, tmp_path):
    """Shapes are checked against the file's size before anything is allocated."""
    header, arrays = split(model_bytes(model))
    header["state.learner.state.support.alpha"]["shape"] = [2**20, 2**27]
    path = tmp_path / "model"
    path.write_bytes(joined(header, arrays))
    assert "does not match its length in bytes" in refusal(path)
    entry = header["state.learner.state.support.alpha"]
    entry["data_offsets"] = [0, 2**50]
    path.write_bytes(joined(header, arrays))
    assert "malformed shape or place" in refusal(path)
    begin = 8 * 10**6
    entry |= {"shape": [1, begin], "data_offsets": [0, 8 * begin]}
    path.write_bytes(joined(header, arrays))
    assert "overlap" in refusal(path) or "bytes follow" in refusal(path)


def test_functions_are_not_saved(tmp_path):
    model = LASVMClassifier(kernel=lambda A, B: A @ B.T).fit(X, Y)
    with pytest.raises(
        ModelFileError, match="kernel is a Python function, and model files contain no"
    ):
        model.save(tmp_path / "model")
    model.set_params(kernel="rbf")  # but it was learned with the function
    with pytest.raises(ModelFileError, match="kernel is a Python function"):
        model.save(tmp_path / "model")
    model = SimpleSVMClassifier(kernel="linear", low_rank=lambda A: A).fit(X, Y)
    with pytest.raises(ModelFileError, match="low_rank is a Python function"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model(tmp_path):
    with pytest.raises(NotFittedError):
        LASVMClassifier().save(tmp_path / "model")

    class Mine(LASVMClassifier):
        pass

    with pytest.raises(ModelFileError, match="Mine cannot be saved as a model file: it is not one"):
        Mine().fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"summary\.x is of type object"):
        make("LASVM").fit(X, Y).save(tmp_path / "model", extra={"x": object()})
    assert not hasattr(ActiveLearner, "save")
    assert not list(tmp_path.iterdir())


# -- writing ------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError) as caught:
        fitted("SVR").save(path)
    assert str(caught.value).startswith(
        f"{path} was not written: No space left on device. An existing file "
    )
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_places_that_cannot_be_written(model, tmp_path):
    with pytest.raises(ModelFileError, match="was not written: No such file or directory"):
        model.save(tmp_path / "none" / "model")
    with pytest.raises(ModelFileError, match="was not written: Is a directory"):
        model.save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="was not written: Not a directory"):
        model.save(tmp_path / "file" / "model")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk(tmp_path):
    """The error comes from the system, while bytes are written."""
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def write():
        with atomic_write(path) as file:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, file.fileno())
            os.close(full)
            file.write(b"new")

    with pytest.raises(OSError, match="No space left"):
        write()
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_left_behind_when_the_block_raises(tmp_path):
    (tmp_path / "x").write_bytes(b"old")

    def write():
        with atomic_write(tmp_path / "x") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"old"]


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    with atomic_write(tmp_path / "y") as file:
        file.write(b"")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "y").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_reader_never_sees_half_a_file(tmp_path):
    """While one file is written again and again, every read gives one of the two contents."""
    import threading

    path, contents = tmp_path / "x", {b"a" * 200_000, b"b" * 300_000}
    path.write_bytes(min(contents))

    def write():
        for _ in range(30):
            for content in contents:
                with atomic_write(path) as file:
                    file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        assert path.read_bytes() in contents
    writer.join()


# -- mutated files ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files():
    return samples()


def test_the_fuzzer_has_a_file_of_every_case(files):
    assert len(files) == len(CASES)


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_mutated_files_are_refused_or_work(first, files, tmp_path):
    """Some of the files of ``tests/helpers/fuzzing_models.py``."""
    found = [outcome(seed, files, tmp_path / "model") for seed in range(first, first + 30)]
    assert {result for result in found if result.startswith("FAILED")} == set()
    assert "error" in found


def test_a_ball_whose_square_is_no_number_is_refused():
    from onlinesvm.model.fields import Fields, InvalidState
    from onlinesvm.model.records.streamsvm import _balls_of

    values = {"gram": np.eye(3), "slack": np.zeros(3), "radius": np.ones(3), "n": 2, "merges": 0}
    assert _balls_of(Fields(dict(values), "balls"), 2).radius[0] == 1.0
    for name in ("gram", "slack", "radius"):
        large = np.where(values[name] >= 0, 3e300, 0.0)
        with pytest.raises(InvalidState, match=f"balls.{name} has values outside"):
            _balls_of(Fields(values | {name: large}, "balls"), 2)


def test_parameters_that_could_not_be_read_again_are_not_saved(tmp_path):
    path = tmp_path / "model.safetensors"
    model = fitted("LASVM", 60)
    model.save(path)
    whole = path.read_bytes()
    model.set_params(kernel="gauss")
    with pytest.raises(ModelFileError, match="cannot be saved: The 'kernel' parameter"):
        model.save(path)
    assert path.read_bytes() == whole
