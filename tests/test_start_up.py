"""What an import and a command cost before anything is done: processor time, in fresh processes."""

import subprocess
import sys

import pytest

MEASURED = """
import resource
{statement}
spent = resource.getrusage(resource.RUSAGE_SELF)
print(spent.ru_utime + spent.ru_stime)
"""


def seconds(statement, repeats=5):
    """Processor time of a process that does no more: the least of several, as others use it too."""
    command = [sys.executable, "-c", MEASURED.format(statement=statement)]
    runs = [
        subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(repeats)
    ]
    return min(float(run.stdout.split()[-1]) for run in runs)


@pytest.mark.parametrize("package", ["rf", "spectra"])
def test_an_import_loads_no_other_package(package):
    code = (
        f"import {package}, sys\nprint({{'numpy', 'scipy', 'sympy', 'sklearn'}} & {{*sys.modules}})"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize("package", ["rf", "spectra"])
def test_a_command_explains_itself_at_once(package):
    help_text = f"import sys; sys.argv = ['{package}', '--help']\ntry:\n import {package}.cli; "
    assert seconds(help_text + f"{package}.cli.main()\nexcept SystemExit: pass", 3) < 0.5


@pytest.mark.slow
def test_features_cost_little_more_than_those_of_scikit_learn():
    ours = seconds("from rf import KreinRidge, SpectralFeatures")
    base = seconds("from sklearn.kernel_approximation import RBFSampler")
    # A busy machine is slower with both.
    assert 0.0 < ours - base <= 0.3 * max(base, 1.0)
