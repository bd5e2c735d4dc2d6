"""Bad files: one clear message each, with the line of the user's that is at fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from analyzer.core.errors import ExitCode, GraphboundError, UsageError, UserProgramError
from analyzer.core.graphs import SourceLine
from collectors.user_module import import_user_module, user_process


def failure(path: Path) -> GraphboundError:
    with pytest.raises(GraphboundError) as caught:
        import_user_module(path)
    return caught.value


def test_a_missing_file_names_what_lies_near(tmp_path: Path) -> None:
    (tmp_path / "gptlite.py").touch()
    error = failure(tmp_path / "gptlit.py")
    assert isinstance(error, UsageError)
    assert "no such file" in error.message
    assert error.hint == "did you mean gptlite.py?"


def test_a_missing_file_in_an_empty_or_missing_folder_says_so(tmp_path: Path) -> None:
    assert failure(tmp_path / "model.py").hint == "the folder has no Python file"
    assert failure(tmp_path / "nowhere" / "model.py").hint == "the folder has no Python file"


def test_a_folder_names_the_files_in_it(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.py").touch()
    error = failure(tmp_path)
    assert "is a folder" in error.message
    assert error.hint == "its Python files: a.py, b.py, c.py, d.py, e.py, …"


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.ipynb"
    path.touch()
    assert "is no Python file" in failure(path).message


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("x = 1\ndef f(:\n")
    error = failure(path)
    assert error.exit_code is ExitCode.USER_PROGRAM
    assert f"syntax error at {path}:2" in error.message
    assert error.where == SourceLine(str(path), 2)


@pytest.mark.parametrize("source", [b"x = 1\0\n", b"x = '\xff'\n"])
def test_bytes_that_are_no_python_source_are_the_users_error(tmp_path: Path, source: bytes) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(source)
    assert isinstance(failure(path), UserProgramError)


def test_an_import_error_names_the_line_and_the_package_to_install(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("x = 1\nimport cv2_is_not_here\n")
    error = failure(path)
    assert error.exit_code is ExitCode.USER_PROGRAM
    assert f"failed at {path}:2: ModuleNotFoundError: No module named 'cv2_is_not_here'" in error.message
    assert error.hint == "pip install cv2_is_not_here"
    assert not [name for name, module in sys.modules.items() if getattr(module, "__file__", None) == str(path)]


def test_a_package_of_another_name_is_named_by_the_one_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    path = tmp_path / "model.py"
    path.write_text("import sklearn.svm\n")
    assert failure(path).hint == "pip install scikit-learn"


def test_a_package_of_the_same_project_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "myproject").mkdir()
    folder = tmp_path / "scripts"
    folder.mkdir()
    path = folder / "model.py"
    path.write_text("import myproject\n")
    assert failure(path).hint == f"myproject lies in {tmp_path}: run with PYTHONPATH={tmp_path}"


def test_a_relative_import_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("from . import layers\n")
    assert "import sibling" in str(failure(path).hint)


def test_an_exception_in_a_sibling_names_the_sibling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    sibling = tmp_path / "broken_sibling.py"
    sibling.write_text("x = 1\n1 / 0\n")
    path = tmp_path / "model.py"
    path.write_text("import broken_sibling\n")
    assert f"failed at {sibling}:2: ZeroDivisionError: division by zero" in failure(path).message


def test_a_file_that_exits_is_a_failure_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import sys\nsys.exit(5)\n")
    error = failure(path)
    assert f"failed at {path}:2: SystemExit: 5" in error.message


def test_main_blocks_do_not_run_and_no_cache_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("RAN = __name__ == '__main__'\n")
    assert import_user_module(path).RAN is False
    assert list(tmp_path.iterdir()) == [path]


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("X = 1\n")
    assert import_user_module(path).X == 1
    path.write_text("X = 2\n")
    assert import_user_module(path).X == 2


def test_a_file_beside_the_model_does_not_stand_in_for_others_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["/first"])
    with user_process(tmp_path / "model.py"):
        assert sys.path == [str(tmp_path), "/first"]
    assert sys.path == ["/first", str(tmp_path)]
