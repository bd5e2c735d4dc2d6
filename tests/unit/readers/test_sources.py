"""What a path means, and that nothing of an archive is ever written."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import MissingExtraError, UnreadableFileError
from collectors.readers.kineto import read_trace
from collectors.readers.sources import Source, list_sources, source_of
from tests.traces import Recording


def _content(name: str = "k") -> bytes:
    run = Recording()
    run.launch(name, us=5)
    return json.dumps(run.kineto()).encode()


def _tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def _labels(path: Path | str) -> list[str]:
    return [s.label for s in list_sources(path).sources]


def test_a_folder_gives_its_traces_in_natural_order(tmp_path: Path) -> None:
    for name in ("rank10.json", "rank2.json.gz", "notes.txt", ".hidden.json"):
        (tmp_path / name).write_bytes(_content())
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rank1.json").write_bytes(_content())
    assert _labels(tmp_path) == ["rank1.json", "rank2.json.gz", "rank10.json"]


def test_traces_that_say_so_by_name_hide_the_reports_beside_them(tmp_path: Path) -> None:
    for name in ("w0.1700.pt.trace.json", "w1.1700.pt.trace.json.gz", "report.json", "plan.json"):
        (tmp_path / name).write_bytes(_content())
    assert _labels(tmp_path) == ["w0.1700.pt.trace.json", "w1.1700.pt.trace.json.gz"]


def test_a_glob_and_a_single_file_are_what_they_name(tmp_path: Path) -> None:
    for name in ("a1.json", "a2.json", "b.json"):
        (tmp_path / name).write_bytes(_content())
    assert _labels(str(tmp_path / "a*.json")) == ["a1.json", "a2.json"]
    assert _labels(tmp_path / "b.json") == ["b.json"]


@pytest.mark.parametrize(("mode", "suffix"), [("w", ".tar"), ("w:gz", ".tar.gz"), ("w:gz", ".tgz")])
def test_members_of_a_tar_are_read_in_place(tmp_path: Path, mode: str, suffix: str) -> None:
    members = {
        "run/rank1.json": _content("one"),
        "run/rank0.json.gz": gzip.compress(_content("zero")),
        "run/a.txt": b"",
    }
    listing = list_sources(_tar(tmp_path / f"ranks{suffix}", members, mode))
    assert [s.member for s in listing.sources] == ["run/rank0.json.gz", "run/rank1.json"]
    assert [s.rank_hint for s in listing.sources] == [0, 1]
    assert ["one" in read_trace(s).names for s in listing.sources] == [False, True]
    assert {p.name for p in tmp_path.iterdir()} == {f"ranks{suffix}"}


def test_a_tar_in_zstd_is_read_too(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    plain = _tar(tmp_path / "r.tar", {"rank0.json": _content("zero")})
    packed = tmp_path / "ranks.tar.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    (source,) = list_sources(packed).sources
    assert "zero" in read_trace(source).names


def test_members_of_a_zip_are_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "ranks.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rank0.json", _content("zero"))
        archive.writestr("../evil.json", _content())
    listing = list_sources(path)
    assert [s.member for s in listing.sources] == ["rank0.json"]
    assert [r.reason for r in listing.refused] == ["a path that leaves the archive"]
    assert "zero" in read_trace(listing.sources[0]).names


@pytest.mark.parametrize("name", ["../../evil.json", "/etc/evil.json", "a/../../evil.json", "C:\\evil.json"])
def test_a_member_that_leaves_the_archive_is_refused_and_written_nowhere(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    listing = list_sources(_tar(inner / "r.tar", {name: _content(), "good.json": _content()}))
    assert [s.member for s in listing.sources] == ["good.json"]
    assert [(r.name, r.reason) for r in listing.refused] == [(name, "a path that leaves the archive")]
    assert [p.name for p in tmp_path.rglob("*.json")] == []


def test_links_are_refused_in_a_tar_and_out_of_a_folder(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "r.tar", "w") as archive:
        info = tarfile.TarInfo("rank0.json")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(UnreadableFileError, match="a link or device"):
        list_sources(tmp_path / "r.tar")
    (tmp_path / "folder").mkdir()
    (tmp_path / "outside.json").write_bytes(_content())
    (tmp_path / "folder" / "rank0.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(UnreadableFileError, match="leaves the folder"):
        list_sources(tmp_path / "folder")


def test_a_source_reads_back_from_its_own_name(tmp_path: Path) -> None:
    path = _tar(tmp_path / "r.tar", {"rank0.json": _content("zero")})
    (source,) = list_sources(path).sources
    assert source_of(str(source)) == Source(str(path), "rank0.json")
    assert "zero" in read_trace(str(source)).names


def test_a_member_that_is_not_there_says_so(tmp_path: Path) -> None:
    path = _tar(tmp_path / "r.tar", {"rank0.json": _content()})
    with pytest.raises(UnreadableFileError, match="no such file in the archive"):
        read_trace(f"{path}!rank9.json")


@pytest.mark.parametrize("content", [b"", b"not a tar", b"\x1f\x8b broken"])
def test_a_broken_archive_says_so(tmp_path: Path, content: bytes) -> None:
    for suffix in (".tar", ".tar.gz"):
        path = tmp_path / f"r{suffix}"
        path.write_bytes(content)
        with pytest.raises(UnreadableFileError):
            list_sources(path)


@pytest.mark.parametrize("path", ["absent.json", "absent*.json"])
def test_a_path_of_nothing_says_so(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnreadableFileError):
        list_sources(tmp_path / path)


def test_a_url_is_read_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name in ("rank0.json", "rank1.json.gz"):
        data = _content(name)
        with files.open(f"/run/{name}", "wb") as file:
            file.write(gzip.compress(data) if name.endswith("gz") else data)
    listing = list_sources("memory://run/*.json*")
    assert [s.rank_hint for s in listing.sources] == [0, 1]
    assert ["rank0.json" in read_trace(s).names for s in listing.sources] == [True, False]
    with pytest.raises(UnreadableFileError):
        read_trace("memory://run/absent.json")
    with pytest.raises(UnreadableFileError):
        read_trace("noprotocol://run/absent.json")


@pytest.mark.parametrize(
    ("package", "line"), [("fsspec", "pip install fsspec"), ("zstandard", "pip install zstandard")]
)
def test_a_missing_package_is_named_with_its_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, line: str
) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    path = tmp_path / "trace.json.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(MissingExtraError) as caught:
        read_trace("s3://bucket/trace.json" if package == "fsspec" else path)
    assert caught.value.hint == line


def test_what_a_protocol_lacks_is_said_once_and_then_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")

    def absent(*_: Any, **__: Any) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "open", absent)
    with pytest.raises(MissingExtraError, match="Install s3fs") as caught:
        read_trace("s3://bucket/trace.json")
    assert caught.value.hint is not None
    assert "download it" in caught.value.hint


def test_an_archive_is_known_by_its_content_whatever_it_is_called(tmp_path: Path) -> None:
    tar = _tar(tmp_path / "ranks.json", {"rank0.json": _content(), "rank1.json": _content()})
    assert _labels(tar) == ["rank0.json", "rank1.json"]
    path = tmp_path / "download.txt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/rank0.json.gz", gzip.compress(_content()))
    (source,) = list_sources(path).sources
    assert len(read_trace(source)) == len(read_trace(source_of(str(source)))) == 2


@pytest.mark.parametrize("mode", ["w:bz2", "w:xz", "w:gz"])
def test_a_tar_is_read_in_each_packing_that_its_name_may_say(tmp_path: Path, mode: str) -> None:
    path = _tar(tmp_path / f"ranks.tar.{mode[2:]}", {"rank0.json": _content(), "rank1.json": _content()}, mode)
    assert [len(read_trace(source)) for source in list_sources(path).sources] == [2, 2]


def test_of_a_cut_tar_the_members_before_are_read_and_the_rest_is_named(tmp_path: Path) -> None:
    run = Recording()
    for number in range(400):
        run.launch(f"kernel {number}", us=5)
    text = json.dumps(run.kineto()).encode()
    path = _tar(tmp_path / "ranks.tar", {"rank0.json": _content(), "rank1.json": text, "rank2.json": text})
    at = path.read_bytes().index(b"rank1.json")
    path.write_bytes(path.read_bytes()[: at + 512 + len(text) * 3 // 4])
    listing = list_sources(path)
    assert [source.label for source in listing.sources] == ["rank0.json", "rank1.json"]
    assert ["rest of the archive" in refused.name for refused in listing.refused] == [True]
    assert "rank1.json" in listing.refused[0].reason
    whole, cut = (read_trace(source) for source in listing.sources)
    assert not whole.facts.lacks_rows
    assert cut.facts.lacks_rows
    assert len(cut) > 100


def test_a_cut_zip_is_called_an_archive_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ranks.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rank0.json", _content())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableFileError, match="not a readable archive"):
        list_sources(path)
