"""Commands that a text shows, and whether the command line takes them as they stand."""

import html
import re
import shlex
from collections.abc import Iterator
from typing import Any

import typer.main

from watchkeeper.cli.main import app

ROOT = typer.main.get_command(app)
PROGRAM = "watchkeeper"
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
CODE = re.compile(r"<code[^>]*>(.*?)</code>", re.DOTALL)


def in_markdown(text: str) -> Iterator[str]:
    """What is shown as a line of a block, and what stands in the text as code."""
    for block in FENCED.findall(text):
        for line in block.splitlines():
            yield from _command(line.removeprefix("$ "))
    for code in INLINE.findall(FENCED.sub("", text)):
        yield from _command(" ".join(code.split()))


def in_page(text: str) -> Iterator[str]:
    for code in CODE.findall(text):
        yield from _command(html.unescape(code))


def _command(text: str) -> Iterator[str]:
    if text.startswith(f"{PROGRAM} "):
        yield re.split(r" +# | > ", text)[0].strip()


def mistake_in(command: str) -> str | None:
    """How the command line objects to the words; None where it takes them.

    The name of a command or of a group, without anything behind it, is only mentioned.
    """
    _, *words = shlex.split(command)
    node: Any = ROOT
    parent = None
    while words and hasattr(node, "commands"):
        if words[0] not in node.commands:
            return f"no such command: {words[0]}"
        parent = node.make_context(PROGRAM, [], parent=parent, resilient_parsing=True)
        node = node.commands[words.pop(0)]
    if not words:
        return None
    try:
        node.make_context(node.name, list(words), parent=parent)
    except Exception as error:
        return getattr(error, "message", "") or str(error)
    return None
