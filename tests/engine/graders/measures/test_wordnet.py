from collections.abc import Iterator
from pathlib import Path

import pytest

from evals_app.engine.graders.measures import wordnet
from evals_app.engine.graders.measures.wordnet import DEBIAN_FOLDER, WordNet
from tests.engine.graders.measures.small_wordnet import LICENCE, write_wordnet

needs_wordnet = pytest.mark.skipif(
    not DEBIAN_FOLDER.is_dir(), reason=f"no WordNet in {DEBIAN_FOLDER} (Debian: wordnet-base)"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "wordnet")


@pytest.fixture
def _own_folder() -> Iterator[None]:
    yield
    wordnet.set_folder(DEBIAN_FOLDER)


@pytest.mark.parametrize(
    ("word", "others"),
    [
        pytest.param("task", {"job", "task", "chore"}, id="noun"),
        pytest.param("begin", {"begin", "start"}, id="phrases are left out"),
        pytest.param("children", {"child", "kid"}, id="irregular plural"),
        pytest.param("began", {"begin", "start"}, id="irregular past"),
        pytest.param("tasks", {"job", "task", "chore"}, id="regular plural"),
        pytest.param("leaving", {"leave"}, id="an e comes back"),
        pytest.param("quick", {"quick", "fast", "rapid", "speedy"}, id="all its meanings"),
        pytest.param("quickest", {"quick", "fast", "rapid", "speedy"}, id="comparison"),
        pytest.param("quickly", {"quickly", "rapidly"}, id="adverb"),
        pytest.param("paris", {"Paris"}, id="names keep their capitals"),
        pytest.param("s", set(), id="nothing but an ending"),
        pytest.param("tas", set(), id="the beginning of a word"),
        pytest.param("zzz", set(), id="behind the last word"),
        pytest.param("1", set(), id="in the licence"),
        pytest.param("", set(), id="empty"),
        pytest.param("\ud800", set(), id="half of a character"),
        pytest.param("job" * 50_000, set(), id="very long"),
    ],
)
def test_synonyms_share_a_meaning(folder: Path, word: str, others: set[str]) -> None:
    assert WordNet(folder).synonyms(word) == others


@pytest.mark.parametrize(
    ("licence", "variant"),
    [
        pytest.param(LICENCE, "wordnet3.0", id="3.0"),
        pytest.param(LICENCE.replace("3.0", "3.1"), "wordnet3.1", id="3.1"),
        pytest.param("  1 Of another kind.  \n", "wordnet", id="unknown"),
    ],
)
def test_the_version_is_that_of_the_files(tmp_path: Path, licence: str, variant: str) -> None:
    assert WordNet(write_wordnet(tmp_path / "wordnet", licence=licence)).variant == variant


@pytest.mark.parametrize("name", ["index.verb", "data.noun", "adj.exc"])
def test_a_file_that_is_missing_is_no_silent_loss(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(FileNotFoundError, match=name):
        WordNet(folder)


@pytest.mark.usefixtures("_own_folder")
def test_the_folder_of_the_process_is_opened_once(folder: Path) -> None:
    wordnet.set_folder(folder)

    first, second = wordnet.find_wordnet(), wordnet.find_wordnet()

    assert first is second
    assert first is not None
    assert first.synonyms("kid") == {"child", "kid"}


@pytest.mark.usefixtures("_own_folder")
def test_no_folder_means_no_synonyms(tmp_path: Path) -> None:
    wordnet.set_folder(tmp_path / "nowhere")

    assert wordnet.find_wordnet() is None


@needs_wordnet
def test_the_real_files_are_read() -> None:
    real = WordNet(DEBIAN_FOLDER)

    assert real.variant == "wordnet3.0"
    assert {"start", "commence"} <= real.synonyms("began")
    assert "car" in real.synonyms("automobile")
    assert real.synonyms("automobil") == frozenset()
