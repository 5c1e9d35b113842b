"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> bool:
    """Write a file whole or not at all; return whether its content is new."""
    if path.is_file() and path.read_bytes() == content:
        return False
    # In the same folder, so that replacing the file is atomic.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True
