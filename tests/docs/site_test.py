"""The documentation site: made without a warning, and of nothing from elsewhere; the public interface has documentation."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
MOST_UNDOCUMENTED = 100


@pytest.mark.skipif(shutil.which("doxygen") is None, reason="apt-get install doxygen")
def test_few_public_entities_have_no_documentation(tmp_path: Path) -> None:
    settings = (SITE / "Doxyfile").read_text().replace("build/docs", str(tmp_path))
    (tmp_path / "Doxyfile").write_text(settings)
    subprocess.run(["doxygen", tmp_path / "Doxyfile"], cwd=ROOT, check=True)
    missing = [line for line in (tmp_path / "doxygen.log").read_text().splitlines() if "is not documented" in line]
    assert len(missing) < MOST_UNDOCUMENTED, "\n".join(missing)


def test_what_would_be_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example.org/">a link</a><img src="here.png"><link rel="stylesheet" href="style.css">')
    look = [sys.executable, SITE / "outside.py", tmp_path]
    assert subprocess.run(look, check=False).returncode == 0
    for wrong in ('<script src="https://example.org/x.js">', '<link rel="stylesheet" href="//example.org/x.css">', "<style>a { background: url(http://example.org/x.png) }</style>"):
        page.write_text(wrong)
        assert subprocess.run(look, check=False, capture_output=True).returncode == 1, wrong


@pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="takes a minute: PENSTOCK_LONG=1")
def test_the_site_is_made_without_a_warning() -> None:
    done = subprocess.run([ROOT / "docs" / "build", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
