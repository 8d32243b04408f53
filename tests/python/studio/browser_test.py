"""The studio in a real browser: what a person does there, and what comes of it in the run."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest



PICTURES = os.environ.get("PENSTOCK_PICTURES")  # a folder for screenshots: docs/site/take_pictures sets it


class Page:
    def __init__(self, browser: Any, url: str) -> None:
        self.browser = browser
        browser.get(url)

    def js(self, code: str) -> Any:
        return self.browser.execute_script(f"return {code}")

    def until(self, what: str | Callable[[], Any], seconds: float = 30) -> Any:
        """Waits for an expression of the page, or a function here, to be true."""
        limit = time.monotonic() + seconds
        while not (value := self.js(what) if isinstance(what, str) else what()):
            assert time.monotonic() < limit, f"{what}; the page says: {self.js('document.body.innerText')[:2000]}"
            time.sleep(0.05)
        return value

    def find(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def type(self, selector: str, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.find(selector).send_keys(Keys.CONTROL, "a")
        self.find(selector).send_keys(text, Keys.ENTER)

    def picture(self, name: str) -> None:
        if PICTURES is not None:
            self.browser.save_screenshot(str(Path(PICTURES) / f"{name}.png"))


@pytest.fixture
def page(browser: Any, studio: Any) -> Page:
    made = Page(browser, studio.url)
    made.until("window.studio !== undefined")
    return made


def test_figures_move_and_a_setting_that_is_changed_shows_in_what_the_graph_computes(page: Page, pipeline: Any) -> None:
    page.until("studio.drawing.cy.nodes().length === 3")
    first = page.until("studio.graph.filters.find((each) => each.name === 'check').statistics.firings")
    page.until(f"studio.graph.filters.find((each) => each.name === 'check').statistics.firings > {first}")
    assert pipeline.last == 1
    page.js("studio.drawing.select('scale')")
    page.until("document.getElementById('setting-factor') !== null")
    page.type("#setting-factor", "3")
    page.until(lambda: pipeline.last == 3)
    page.until("studio.rates.times.length > 3")
    page.picture("studio")
    page.find("#undo").click()
    page.until(lambda: pipeline.last == 1)
    assert pipeline.missing == 0


def test_a_filter_is_put_into_a_stream_and_taken_out_again(page: Page, pipeline: Any) -> None:
    page.until("studio.drawing.cy.nodes().length === 3")
    page.js("studio.drawing.select('scale.out check.in')")
    page.find("#search").send_keys("raise")
    page.until("document.querySelectorAll('#classes li').length === 1")
    page.find("#classes li[data-name=raise]").click()
    page.until(lambda: pipeline.last == 11)
    page.until("document.getElementById('setting-by') !== null")
    page.picture("studio-edit")
    page.find("#undo").click()
    page.until(lambda: pipeline.last == 1)
    page.until("studio.drawing.cy.nodes().length === 3")
    assert pipeline.missing == 0


def test_an_edit_that_is_wrong_is_refused_whole_with_its_reason_beside_the_place(page: Page, pipeline: Any) -> None:
    page.until("studio.drawing.cy.nodes().length === 3")
    page.js("studio.drawing.select('scale')")
    page.until("document.getElementById('setting-factor') !== null")
    page.type("#setting-factor", "many")
    page.until("!document.getElementById('trouble').hidden")
    assert "factor" in page.find("#trouble").text
    page.until("studio.drawing.cy.$('.wrong').map((each) => each.id()).join() === 'scale'")
    page.picture("studio-refused")
    failed = page.browser.execute_async_script(
        "const done = arguments[0]; studio.edit([{do: 'set', filter: 'scale', setting: 'factor', value: 7}, {do: 'remove', filter: 'nobody'}])"
        ".then(() => done(''), (error) => done(error.message))"
    )
    assert failed
    assert pipeline.last == 1
    assert page.js("studio.undo.length") == 0


def test_many_edits_from_the_page_lose_no_buffer(page: Page, pipeline: Any) -> None:
    page.until("studio.drawing.cy.nodes().length === 3")
    made = page.browser.execute_async_script(
        """
        const done = arguments[0];
        (async () => {
          for (let i = 0; i < 100; ++i) {
            await studio.edit([{do: 'disconnect', from: 'scale.out', to: 'check.in'}, {do: 'add', name: 'more', class: 'raise'},
                               {do: 'connect', from: 'scale.out', to: 'more.in'}, {do: 'connect', from: 'more.out', to: 'check.in'}]);
            await studio.edit([{do: 'remove', filter: 'more'}, {do: 'connect', from: 'scale.out', to: 'check.in'}]);
          }
          done(studio.undo.length);
        })().catch((error) => done(error.message));
        """
    )
    assert made == 200
    before = pipeline.count
    page.until(lambda: pipeline.count > before + 10)
    assert pipeline.missing == 0
    assert pipeline.run.statistics().lost == 0


def test_an_event_reaches_nobody_that_does_not_take_it_and_the_page_says_so(page: Page) -> None:
    page.until("document.querySelectorAll('#event-to option').length === 4")
    page.find("#event-name").send_keys("zoom")
    page.find("#event button").click()
    page.until("document.getElementById('trouble').textContent.includes('reaches nobody')")


APPLICATION = """<application xmlns="urn:penstock:application:1" name="sums">
  <component name="numbers" class="numbers"><set name="count" value="1000000000"/></component>
  <component name="scale" class="scale"><set name="factor" value="2"/></component>
  <component name="sum" class="sum"/>
  <component name="print" class="print"/>
  <stream from="numbers.out" to="scale.in"/>
  <stream from="scale.out" to="sum.in"/>
  <stream from="sum.out" to="print.in"/>
</application>
"""


@pytest.mark.file(APPLICATION)
def test_a_file_is_checked_as_one_types_saved_run_and_there_again_after_a_reload(page: Page, studio: Any) -> None:
    page.until("document.getElementById('findings').textContent === 'Nothing is wrong.'")
    if shutil.which("dot"):
        page.until("!document.getElementById('sketch').hidden && document.getElementById('sketch').naturalWidth > 100")
    page.js("(document.getElementById('file-text').value = document.getElementById('file-text').value.replace('class=\"sum\"', 'class=\"som\"'), document.getElementById('file-text').oninput())")
    page.until("document.querySelector('#findings .error')?.textContent.includes('som')")
    page.picture("studio-file")
    page.js("(document.getElementById('file-text').value = document.getElementById('file-text').value.replace('som', 'sum').replace('value=\"2\"', 'value=\"5\"'), document.getElementById('file-text').oninput())")
    page.until("document.getElementById('findings').textContent === 'Nothing is wrong.'")
    page.find("#file-save").click()
    page.until(lambda: 'value="5"' in studio.workbench.path.read_text())
    page.browser.refresh()
    page.until("window.studio !== undefined && document.getElementById('file-text').value.includes('value=\"5\"')")
    page.find("#file-run").click()
    page.until("studio.graph !== null && studio.drawing.cy.nodes().length === 4", 60)
    page.find("#xml").click()
    page.until("document.getElementById('shown-text').textContent.includes('class=\"scale\"')")
    page.find("#shown button").click()
    page.find("#file-halt").click()
    page.until("document.getElementById('file-run').disabled === false")


@pytest.mark.file(APPLICATION)
def test_a_file_is_transformed_and_compiled(page: Page) -> None:
    page.until("document.querySelectorAll('#file-pass option').length > 3")
    page.js("document.getElementById('file-pass').value = 'expand'")
    page.find("#file-transform").click()
    page.until("document.getElementById('file-state').textContent === 'not saved'")
    page.find("#file-compile").click()
    page.until("document.getElementById('shown-text').textContent.includes('int main')")
