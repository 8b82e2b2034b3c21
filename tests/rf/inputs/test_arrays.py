"""Arrays of other libraries through scikit-learn's dispatch: the theorems of another file.

scipy reads SCIPY_ARRAY_API when it is loaded, so they are run in a process of their own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_arrays_of_other_libraries_go_in_and_come_out():
    pytest.importorskip("array_api_strict")
    path = Path(__file__).with_name("arrays_under_dispatch.py")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(path)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    # The checks of libraries that are not here are skipped, and say so.
    assert " passed" in run.stdout
