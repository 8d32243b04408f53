"""Passes over applications that users write in Python."""

import pytest

import penstock as ps
from penstock import _core
from penstock.passes import Element

SUMS = """<application xmlns="urn:penstock:application:1" name="sums">
  <!-- The source. -->
  <component name="numbers" class="numbers"/>
  <component name="double" class="scale"/>
  <component name="result" class="print"/>
  <stream from="numbers.out" to="double.in"/>
  <stream from="double.out" to="result.in"/>
</application>
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sums.xml"
    path.write_text(SUMS)
    return path


@ps.register_pass("test-gentle", "Every component goes on behind a failure.")
def gentle(application: Element) -> None:
    for element in application.walk():
        if element.name == "component":
            element.attributes["on-failure"] = "go-on"


@ps.register_pass("test-copies", "Gives what may be copied copies.", "how many")
def copies(application: Element, number: int = 2) -> None:
    for element in application.walk():
        if element.attributes.get("class") == "scale":
            element.attributes["copies"] = str(number)


@ps.register_pass("test-broken", "Leaves what cannot be.")
def broken(application: Element) -> None:
    application.children.append(Element("component", {"name": "extra", "class": "no-such-class"}))


def test_a_pass_changes_the_tree_and_comments_stay(file):
    text = ps.transform(file, ["test-gentle", "test-copies=3"])
    assert text.count('on-failure="go-on"') == 3
    assert '<component name="double" class="scale" on-failure="go-on" copies="3"/>' in text
    assert "<!-- The source. -->" in text
    assert ps.Application.parse(text).name == "sums"


def test_it_stands_among_the_others(file):
    assert ("test-copies", "Gives what may be copied copies.", "how many") in _core.passes()
    assert ps.transform(file, ["expand", "test-copies", "inline"]).count('copies="2"') == 1


def test_what_it_breaks_is_refused_with_its_name(file):
    with pytest.raises(ps.UsageError, match="(?s)pass 'test-broken' leaves.*no-such-class"):
        ps.transform(file, ["test-broken"])


def test_what_it_raises_is_raised(file):
    @ps.register_pass("test-raises")
    def raises(application: Element) -> None:
        raise KeyError("mine")

    with pytest.raises(Exception, match="mine"):
        ps.transform(file, ["test-raises"])


@pytest.mark.parametrize(("name", "words"), [("expand", "already"), ("test-gentle", "already"), ("1st", "no name")])
def test_names_that_are_taken_or_none_are_refused(name, words):
    with pytest.raises(ps.UsageError, match=words):
        ps.register_pass(name)(lambda application: None)


def test_an_argument_that_it_does_not_take_is_refused(file):
    with pytest.raises(ps.UsageError, match="takes nothing"):
        ps.transform(file, ["test-gentle=3"])
