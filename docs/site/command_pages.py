"""The reference of commands: a page in Markdown for each, from its help."""

from pathlib import Path

from command_help import CommandHelp, Paragraph, all_commands


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see no marks."""
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>#|$" else one for one in text)


def definitions(rows: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for names, text in rows for line in (f"`{names}`", f": {escaped(text) or '&nbsp;'}", "")]


def paragraph(one: Paragraph) -> list[str]:
    head = [f"{escaped(one.title)}:", ""] if one.title else []
    return [*head, *(["```sh", one.text, "```"] if one.verbatim else [escaped(one.text)]), ""]


def page(command: CommandHelp) -> str:
    """The page of one command."""
    name = " ".join(command.names)
    lines = [f"# {name}", "", escaped(command.summary), "", "```sh", f"{name} {command.usage}", "```", ""]
    for one in command.paragraphs:
        lines += paragraph(one)
    for title, members in command.commands:
        lines += [f"## {title}", ""]
        for member, text in members:
            lines += [f"[`{name} {member}`]({command.page}-{member}.md)", f": {escaped(text)}", ""]
    for title, rows in command.option_groups:
        lines += [f"## {title}", "", *definitions(rows)]
    below = [one for _title, members in command.commands for one, _text in members]
    if below:
        pages = [f"{' '.join((*command.names[1:], one))} <{command.page}-{one}>" for one in below]
        lines += ["```{toctree}", ":hidden:", "", *pages, "```"]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in all_commands():
        (folder / f"{command.page}.md").write_text(page(command), encoding="utf-8")
