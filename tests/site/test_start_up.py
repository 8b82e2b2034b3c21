"""What an import and a command load before anything is done, in fresh processes.

What that costs in time is not asked here: it would depend on the machine and on what else it does.
"""

import subprocess
import sys

import pytest

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


@pytest.fixture(scope="module")
def bare():
    """What an interpreter loads that is asked for nothing."""
    return packages("pass")


@pytest.mark.parametrize("package", ["rf", "spectra"])
def test_an_import_loads_no_other_package(package, bare):
    assert packages(f"import {package}") - bare == {package}


@pytest.mark.parametrize("package", ["rf", "spectra"])
def test_a_command_explains_itself_before_it_loads_anything(package, bare):
    help_text = f"import sys; sys.argv = ['{package}', '--help']\ntry:\n import {package}.cli; "
    loaded = packages(help_text + f"{package}.cli.main()\nexcept SystemExit: pass")
    assert loaded - bare == {package, "spectra"}


def test_features_load_what_those_of_scikit_learn_load_and_themselves():
    ours = packages("from rf import KreinRidge, SpectralFeatures")
    base = packages("from sklearn.kernel_approximation import RBFSampler")
    assert ours - base == {"rf", "spectra"}
