"""What the pages show beside text: the output of commands, and flame graphs, made from the kept recordings."""

from html import escape
from pathlib import Path

from browse_pictures import picture
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from terminal import commands, drawn, flamegraph, run


class Terminal(SphinxDirective):
    """The commands of the block, each with a picture of what it prints."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for command in commands("\n".join(self.content)):
            try:
                picture = drawn(command, run(command))
            except RuntimeError as error:
                raise self.error(str(error)) from error
            text = nodes.literal_block(command, command, language="sh")
            label = escape(f"Output of {command}", quote=True)
            html = f'<div class="terminal" tabindex="0" role="group" aria-label="{label}">{picture}</div>'
            shown += [text, nodes.raw("", html, format="html")]
        return shown


class Browse(SphinxDirective):
    """The screen of the block's `undwarf browse` after the `keys`, in a terminal of `size` (as in 100x30)."""

    has_content = True
    option_spec = {"keys": str, "size": str}  # noqa: RUF012 - as docutils asks for it

    def run(self) -> list[nodes.Node]:
        (command,) = commands("\n".join(self.content))
        columns, _x, lines = self.options.get("size", "90x26").partition("x")
        keys = self.options.get("keys", "").split()
        try:
            drawing = picture(command, keys, (int(columns), int(lines)))
        except RuntimeError as error:
            raise self.error(str(error)) from error
        label = escape(f"The screen of {command} after the keys {' '.join(keys)}", quote=True)
        html = f'<div class="terminal" tabindex="0" role="group" aria-label="{label}">{drawing}</div>'
        return [nodes.literal_block(command, command, language="sh"), nodes.raw("", html, format="html")]


class FlameGraph(SphinxDirective):
    """The flame graph that the command in the block writes; the option `height` in pixels."""

    has_content = True
    option_spec = {"height": int}  # noqa: RUF012 - as docutils asks for it

    def run(self) -> list[nodes.Node]:
        (command,) = commands("\n".join(self.content))
        arguments = command.removeprefix("undwarf flamegraph ")
        name = f"{self.env.docname.replace('/', '-')}-{self.lineno}.html"
        folder = Path(self.env.app.outdir) / "graphs"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / name).write_text(flamegraph(arguments), encoding="utf-8")
        except RuntimeError as error:
            raise self.error(str(error)) from error
        address = "../" * self.env.docname.count("/") + f"graphs/{name}"
        shown = f"{command} -o flames.html"
        html = (
            f'<iframe class="flamegraph" src="{address}" loading="lazy" title="Flame graph: {escape(arguments)}"'
            f' style="height: {self.options.get("height", 420)}px"></iframe>'
            f'<p class="flamegraph"><a href="{address}">Open the flame graph on a page of its own</a></p>'
        )
        return [nodes.literal_block(shown, shown, language="sh"), nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("terminal", Terminal)
    app.add_directive("flamegraph", FlameGraph)
    app.add_directive("browse", Browse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
