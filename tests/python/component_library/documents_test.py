"""The pages of all classes and of the examples."""

import html
import re

import pytest

import penstock as ps
from command_line import ROOT


def test_the_page_of_all_classes_says_what_the_classes_say():
    import importlib.util

    spec = importlib.util.spec_from_file_location("components_page", ROOT / "tools" / "components_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {each["name"] for each in ps._core.components()}
    if not {"read-slide", "read-film", "decode-picture"} <= names:
        pytest.skip("built without some of the libraries")
    assert (ROOT / "docs" / "components.md").read_text() == module.page()


def test_the_documents_name_and_draw_every_example():
    page = (ROOT / "docs" / "examples.md").read_text()
    for example in sorted((ROOT / "examples").glob("*.xml")):
        assert 10 <= len(example.read_text().splitlines()) <= 40, example.name
        assert f"(../examples/{example.name})" in page and f"(examples/{example.stem}.svg)" in page
        drawing = html.unescape((ROOT / "docs" / "examples" / f"{example.stem}.svg").read_text())
        assert all(name in drawing for name in set(re.findall(r'class="([a-z:0-9-]+)"', example.read_text())))
