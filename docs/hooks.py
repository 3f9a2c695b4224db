"""What mkdocs generates as it builds: the reference of the command line, from the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference in the place of its mark; called by mkdocs for each page."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """Return the reference of all commands, as Markdown."""
    from typer.main import get_command

    from mbndt.cli.main import app

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return "\n\n".join("\n".join(_command(name, it)) for name, it in commands.items())


def _command(name: str, command: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=f"mbndt {name}")
    given = [it for it in command.params if it.param_type_name == "argument"]
    records = [it.get_help_record(context) for it in command.params if it not in given]
    words = " ".join(it.name.upper() for it in given)
    yield f"## mbndt {name}\n"
    yield f"```text\nmbndt {name} {words} [OPTIONS]\n```\n".replace("  ", " ")
    yield f"{_escaped(command.help)}\n"
    yield f"`{command.epilog}`\n"
    yield "| argument or option | what it is for |\n|---|---|"
    for it in given:
        yield f"| `{it.name.upper()}` | {_cell(it.help)} |"
    for names, text in filter(None, records):
        yield f"| `{names}` | {_cell(text)} |"


def _cell(text: str | None) -> str:
    """Return a text as it stands in a table."""
    return " ".join(_escaped(text).split()).replace("|", "\\|")


def _escaped(text: str | None) -> str:
    from rich.markup import render

    said = render((text or "").strip()).plain
    return said.replace("<", "&lt;").replace("[", "\\[")
