"""Imports the user's file as if it had been started by itself, and says clearly why when that fails."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.graphs import SourceLine
from collectors.model_file import display_path, require_model_file
from collectors.user_errors import user_error

_DISTRIBUTIONS: Final = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Modules whose distribution on PyPI has another name."""

_PARENTS_SEARCHED: Final = 4
"""Folders above the file in which a missing module is looked for: src/project/models/model.py needs three."""


@contextlib.contextmanager
def user_process(path: Path) -> Iterator[None]:
    """`sys.argv` and `sys.path` as `python path` has them.

    Afterwards the folder stays last on the path: what the model imports in its first call is still found, and no
    file beside it can stand in for a module of torch's that is imported later.
    """
    folder = str(path.resolve().parent)
    argv = sys.argv
    sys.argv = [str(path)]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv = argv
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def import_user_module(path: Path) -> ModuleType:
    """The module of the file at `path`, freshly executed and registered in `sys.modules` before that.

    Its name is unique to the path and the same in every process. Raises UsageError where there is no such Python
    file, UserProgramError where it does not compile or raises.
    """
    source = _read(path)
    resolved = path.resolve()
    name = f"_user_{resolved.stem}_{hashlib.sha256(str(resolved).encode()).hexdigest()[:8]}"
    try:
        code = compile(source, str(resolved), "exec", dont_inherit=True)
    except SyntaxError as exc:
        file, line = Path(exc.filename or resolved), exc.lineno or 1
        where = SourceLine(str(file), line)
        raise UserProgramError(f"syntax error at {display_path(file)}:{line}: {exc.msg}", where=where) from exc
    except ValueError as exc:  # a null byte, before Python 3.12
        raise UserProgramError(f"{display_path(resolved)} is no Python source: {exc}") from exc
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None:
        raise UsageError(f"{display_path(resolved)} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Not spec.loader.exec_module: it may write a .pyc beside the user's file, and take a stale one for it.
        exec(code, module.__dict__)
    except ImportError as exc:
        del sys.modules[name]
        error = user_error(exc, root=resolved, doing=f"importing {display_path(resolved)}")
        raise UserProgramError(error.message, hint=_import_hint(exc, resolved), where=error.where) from exc
    except (Exception, SystemExit) as exc:
        del sys.modules[name]
        raise user_error(exc, root=resolved, doing=f"importing {display_path(resolved)}") from exc
    return module


def _read(path: Path) -> bytes:
    require_model_file(path)
    try:
        return path.read_bytes()
    except OSError as exc:
        raise UsageError(f"{display_path(path)} cannot be read: {exc.strerror}") from exc


def _import_hint(exc: ImportError, path: Path) -> str:
    missing = (exc.name or "").partition(".")[0]
    if not isinstance(exc, ModuleNotFoundError) or not missing:
        if "relative import" in str(exc):
            return "the file is imported by itself: write `import sibling` in place of `from . import sibling`"
        return f"is the installed version the one that {path.name} was written for?"
    for folder in path.parents[1 : 1 + _PARENTS_SEARCHED]:
        if (folder / missing).is_dir() or (folder / f"{missing}.py").is_file():
            return f"{missing} lies in {folder}: run with PYTHONPATH={folder}"
    return f"pip install {_DISTRIBUTIONS.get(missing, missing)}"
