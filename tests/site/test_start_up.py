"""What an import and a command load before anything is done, in fresh processes.

What that costs in time is not asked here: it would depend on the machine and on what else it does.
"""

import subprocess
import sys

import pytest

from spectra import derive, radial

LOADED = """
{statement}
import sys
print(*sorted({{name.partition(".")[0] for name in sys.modules}} - sys.stdlib_module_names))
"""


def packages(statement):
    """The packages outside the standard library that are loaded after a statement."""
    command = [sys.executable, "-c", LOADED.format(statement=statement)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return {*run.stdout.splitlines()[-1].split()}


def test_an_import_and_the_help_of_a_command_load_no_other_package():
    for package in ("rf", "spectra"):
        code = (
            f"import sys, {package}; sys.argv = ['{package}', '--help']\ntry:\n "
            f"import {package}.cli; {package}.cli.main()\nexcept SystemExit: pass"
        )
        assert packages(code) - packages("pass") == {package, "spectra"}


@pytest.mark.slow
def test_features_and_saved_tables_load_what_those_of_scikit_learn_load_and_themselves(tmp_path):
    derive(radial("exp(-z**2/2)"), 2).save(tmp_path / "k.npz")
    base = packages("from sklearn.kernel_approximation import RBFSampler")
    code = "from rf import KreinRidge, SpectralFeatures; from spectra.table import SpectralTable;"
    code += f"t = SpectralTable.load({str(tmp_path / 'k.npz')!r}); t.sample(9, rng=0)"
    assert packages(f"{code}; t.expected_kernel(1.0)") - base == {"rf", "spectra"}
