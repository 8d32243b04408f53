"""Who may ask a studio, and what it answers: without a browser."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from penstock.studio.files import Workbench


def ask(studio: Any, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(method, path, None if body is None else json.dumps(body), given)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    kind = answer.headers["Content-Type"]
    return answer.status, json.loads(text) if kind == "application/json" else text.decode()


def test_without_the_token_there_is_nothing(studio: Any) -> None:
    for path in ("/", "/api/runs", "/index.html", "/studio.js", f"/{studio.token[:-1]}/", f"/{studio.token}x/api/runs", "/../" + studio.token):
        for method in ("GET", "POST"):
            assert ask(studio, method, path, {} if method == "POST" else None)[0] == 403, path


def test_with_the_token_there_are_the_page_and_the_run(studio: Any, pipeline: Any) -> None:
    status, page = ask(studio, "GET", f"/{studio.token}/")
    assert status == 200 and "<title>Penstock studio</title>" in page
    assert ask(studio, "GET", f"/{studio.token}/api/runs")[1]["runs"].count(pipeline.name) == 1
    status, graph = ask(studio, "GET", f"/{studio.token}/api/run/{pipeline.name}/graph")
    assert status == 200 and [each["name"] for each in graph["filters"]] == ["numbers", "scale", "check"]


def test_a_page_of_another_origin_cannot_act(studio: Any, pipeline: Any) -> None:
    edits = {"edits": [{"do": "set", "filter": "scale", "setting": "factor", "value": 5}]}
    path = f"/{studio.token}/api/run/{pipeline.name}/edits"
    assert ask(studio, "POST", path, edits, Origin="http://elsewhere.example")[0] == 403
    assert ask(studio, "POST", path, edits, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(studio, "POST", path, edits, Host=f"elsewhere.example:{studio.port}")[0] == 403  # a name that leads here
    assert ask(studio, "POST", path, edits, Content_Type="text/plain")[0] == 415  # what a page may send without being asked
    (scale,) = [each for each in ask(studio, "GET", f"/{studio.token}/api/run/{pipeline.name}/graph")[1]["filters"] if each["name"] == "scale"]
    assert scale["settings"][0]["value"] == 1
    assert ask(studio, "POST", path, edits, Origin=f"http://127.0.0.1:{studio.port}") == (200, {"made": 1})


def test_no_file_outside_the_page_is_served(studio: Any) -> None:
    for path in ("../server.py", "..%2fserver.py", "vendor/../../server.py", "%2e%2e/server.py", "/etc/passwd", "vendor/", "nothing.js"):
        assert ask(studio, "GET", f"/{studio.token}/{path}")[0] in (403, 404), path


def test_the_page_loads_nothing_from_elsewhere(studio: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.request("GET", f"/{studio.token}/")
    answer = connection.getresponse()
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "http://" not in (text := answer.read().decode()) and "https://" not in text
    connection.close()


def test_what_is_wrong_is_told(studio: Any, pipeline: Any) -> None:
    here = f"/{studio.token}/api"
    assert ask(studio, "GET", f"{here}/run/no-such-run/graph")[0] == 410
    assert ask(studio, "GET", f"{here}/run/no-such-run/watch")[0] == 410
    assert ask(studio, "GET", f"{here}/run/{pipeline.name}/watch?every=0")[0] == 400
    assert ask(studio, "POST", f"{here}/run/{pipeline.name}/dance", {})[0] == 404
    status, refused = ask(studio, "POST", f"{here}/run/{pipeline.name}/edits", {"edits": [{"do": "remove", "filter": "nobody"}]})
    assert status == 409 and "nobody" in refused["problems"][0]
    assert ask(studio, "POST", f"{here}/check", {"text": ""})[0] == 404  # there is no file
    assert ask(studio, "POST", f"{here}/run/{pipeline.name}/edits", [1])[0] == 400


@pytest.mark.file("<application/>")
def test_only_the_named_file_is_read_and_written(studio: Any, tmp_path: Any) -> None:
    here = f"/{studio.token}/api"
    assert ask(studio, "GET", f"{here}/start")[1]["text"] == "<application/>"
    assert ask(studio, "POST", f"{here}/save", {"text": "<x/>", "path": "/tmp/elsewhere"})[0] == 200
    assert studio.workbench.path.read_text() == "<x/>"
    assert [path.name for path in tmp_path.iterdir()] == ["application.xml"]
    findings = ask(studio, "POST", f"{here}/check", {"text": "<application"})[1]["findings"]
    assert findings and findings[0]["line"] == 1
    include = '<application xmlns="urn:penstock:application:1" name="a"><include file="/etc/passwd"/></application>'
    assert any("lies outside" in each["message"] for each in ask(studio, "POST", f"{here}/check", {"text": include})[1]["findings"])


@pytest.mark.file("<application/>")
def test_what_is_typed_includes_what_lies_beside_the_file(studio: Any, tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text('<library xmlns="urn:penstock:application:1"><group name="pair"><component name="numbers" class="numbers"/></group></library>')
    text = '<application xmlns="urn:penstock:application:1" name="a"><include file="part.xml"/><include file="none.xml"/></application>'
    messages = [each["message"] for each in ask(studio, "POST", f"/{studio.token}/api/check", {"text": text})[1]["findings"]]
    assert any("none.xml" in each for each in messages) and not any("part.xml" in each for each in messages)


def test_a_file_of_any_name_is_run_under_a_name_that_a_run_may_have(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / ("zwölf Bilder " + "ä" * 60 + ".xml"), [], [])
    numbers = '<component name="numbers" class="numbers"><set name="count" value="3"/></component><component name="print" class="print"/>'
    bench.save(f'<application xmlns="urn:penstock:application:1" name="a">{numbers}<stream from="numbers.out" to="print.in"/></application>')
    name = bench.start({})
    assert name.isascii() and " " not in name and len(name) <= 64
    assert bench._process is not None and bench._process.wait(60) == 0, bench.state()["output"]


def test_an_address_of_no_machine_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock.cli", "studio", tmp_path / "new.xml", "--no-open", "--address", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "0.0.0.0" in done.stderr


def test_the_command_refuses_what_it_cannot_show() -> None:
    for what in ("no-such-run", "/no/such/folder/application.xml"):
        done = subprocess.run([sys.executable, "-m", "penstock.cli", "studio", what, "--no-open"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2, done.stdout
