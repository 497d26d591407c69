"""Reading what ``qa-bot fit`` wrote."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from qa_bot.errors import SettingsError


def read_parameters(name: str, folder: Path | None) -> dict[str, Any]:
    """The JSON file ``name`` in ``folder`` if it is there, else the one that ships with the program.

    Raises:
        SettingsError: the folder doesn't exist, or the file isn't a JSON object.
    """
    home = None if folder is None else folder.expanduser()
    if home is not None and not home.is_dir():
        raise SettingsError(f"QA_BOT_LEARNED={folder}: there is no such folder; make it with: qa-bot fit --out {folder}")
    own = home is not None and (home / name).exists()
    file = home / name if home is not None and own else resources.files("qa_bot.learned").joinpath(name)
    try:
        parameters = json.loads(file.read_text("utf-8"))
        if not isinstance(parameters, dict):
            raise ValueError("no object")
        return parameters
    except (OSError, ValueError) as error:
        raise broken(name, folder, error) from None


def broken(name: str, folder: Path | None, error: Exception) -> SettingsError:
    """The error for a file that is there and can't be used."""
    return SettingsError(f"QA_BOT_LEARNED={folder}: {name} can't be used ({type(error).__name__}: {error}); make it anew with: qa-bot fit --out {folder}")
