"""The command line: each command a few lines that call the library.

Every error that a user can cause is one line on stderr, `mbndt: error: …`, and exit 2.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from mbndt._version import __version__
from mbndt.cli.diff import diff
from mbndt.cli.learn import refine, train, tune
from mbndt.cli.options import option
from mbndt.cli.rules import predict, schema, show
from mbndt.cli.sheet import round_, sheet_template
from mbndt.cli.targets import compile_, verify
from mbndt.cli.validation import points, validate
from mbndt.errors import DataWarning, MbndtError, OptionError
from mbndt.extras import lacking

MESSAGE_LIMIT = 2000

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A compiler for decision rules that people can follow and machines can run.",
)


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 mismatch, 2 an error of the user's, 130 stopped."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    warnings.simplefilter("always", DataWarning)
    warnings.showwarning = _warned(warnings.showwarning)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except MbndtError as error:
        code = _failed(with_dashes(str(error), first=isinstance(error, OptionError)))
    except ModuleNotFoundError as error:
        if (message := lacking(error)) is None:
            raise
        code = _failed(with_dashes(message))
    except typer.Abort:
        code = 130
    except BrokenPipeError:  # the reader of our output went away
        code = _let_go(0)
    except OSError as error:
        code = _let_go(_failed(f"stdout: can't be written: {error.strerror or error}"))
    except Exception as error:
        # What typer raises for wrong options, whichever release of click it stands on.
        if not hasattr(error, "format_message"):
            raise
        message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
        if context and not message.endswith("?"):  # which names the nearest already
            message += f"; see `{context.command_path} --help`"
        code = _failed(message)
    sys.exit(code if isinstance(code, int) else 0)


def with_dashes(message: str, *, first: bool = False) -> str:
    """Return a message of the library with its parameters as the options that they are here.

    These are those in backquotes, and with `first` those before the first colon.
    """
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    options = {
        param.opts[0].removeprefix("--").replace("-", "_"): param.opts[0]
        for command in commands
        for param in command.params
        if param.opts[0].startswith("--")
    }
    start, colon, rest = message.partition(":")
    names = start.split(", ")
    if first and colon and all(name in options for name in names):
        message = f"{', '.join(options[name] for name in names)}:{rest}"
    return re.sub(r"`(\w+)`", lambda found: options.get(found[1], found[0]), message)


def _let_go(code: int) -> int:
    """Keep the interpreter from writing to a broken stdout once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _failed(message: str) -> int:
    _say("error", message)
    return 2


def _say(kind: str, message: str) -> None:
    line = f"mbndt: {kind}: {' '.join(message.split())}"
    if len(line) > MESSAGE_LIMIT:
        line = line[: MESSAGE_LIMIT - 3] + "..."
    print(line, file=sys.stderr)


def _warned(others: Callable[..., None]) -> Callable[..., None]:
    """Return a way to show warnings: our own as lines, once each; `others` as before."""
    told = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, DataWarning):
            others(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            _say("warning", with_dashes(str(message)))

    return show


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mbndt {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


LEARN, USE, SHEET = "Learn rules", "Use rules", "Prepare a decision sheet"
for name, command, panel, example in (
    ("train", train, LEARN, "train visits.csv --target outcome --exclude id -o model.pt"),
    ("tune", tune, LEARN, "tune visits.csv --target outcome --minutes 30"),
    ("refine", refine, LEARN, "refine rules.json new.csv --target outcome -o refined.json"),
    ("compile", compile_, USE, "compile model.pt --target sql --dialect postgres --as view"),
    ("predict", predict, USE, "predict model.pt new.csv -o answers.csv"),
    ("verify", verify, USE, "verify model.pt --data new.csv --target sql --target c"),
    ("points", points, USE, "points model.pt --data new.csv --target outcome"),
    ("validate", validate, USE, "validate model.pt --data other.csv --on 'Hospital B, 2025'"),
    ("show", show, USE, "show model.pt --metrics"),
    ("diff", diff, USE, "diff old.pt new.pt --data visits.csv"),
    ("schema", schema, USE, "schema -o rules.schema.json"),
    ("sheet-template", sheet_template, SHEET, "sheet-template model.pt -o sheet.toml"),
    ("round", round_, SHEET, "round model.pt --sheet sheet.toml --data visits.csv -o round.pt"),
):
    app.command(name, rich_help_panel=panel, epilog=f"Example: mbndt {example}")(command)


if __name__ == "__main__":
    main()
