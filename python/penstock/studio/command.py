"""The command `penstock studio`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from penstock import visits
from penstock.errors import UsageError
from penstock.studio.files import Workbench
from penstock.studio.server import Studio
from penstock.terminal import console
from penstock.written import Allow, Library, is_file, load_libraries


def studio(
    what: Annotated[str | None, typer.Argument(help="The name of a running graph, or an application.xml; without one, the graph that runs.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: one that is free.")] = 0,
    address: Annotated[str, typer.Option(help="Where it listens: 127.0.0.1, or the address under which other machines reach this one, which lets in whoever knows the token.")] = "127.0.0.1",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    allow: Allow = None,
    library: Library = None,
) -> None:
    """Shows a running graph in the browser, and lets it be changed while it runs; or an application, to be written, checked and run. It opens files and loads
    libraries only from the folders named here. Ctrl-C ends it; the graph goes on."""
    if address in ("", "0.0.0.0"):  # a page is asked for by the name of its host, and no host is called so
        raise UsageError(f"--address '{address}' is the address of no machine: name the one under which others reach this one")
    load_libraries(library)
    workbench, run = None, what or ""
    if what is not None and is_file(what):
        workbench, run = Workbench(Path(what), allow or [], library or []), ""
        if not workbench.path.parent.is_dir():
            raise UsageError(f"{workbench.path.parent} is no folder")
    elif what is None:
        names = visits.running()
        if len(names) != 1:
            raise UsageError(f"which graph? There are {', '.join(names)}" if names else "no graph runs under a name, and no application.xml was named")
        (run,) = names
    else:
        visits.ask(run, "graph")  # raises where there is none
    with Studio(address, port, run, workbench) as server:
        console.print(f"studio: {server.url}", soft_wrap=True)
        console.print("Ctrl-C ends it. Whoever has this address may change what runs.", style="dim")
        if open_page:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            if workbench is not None:
                workbench.halt()
