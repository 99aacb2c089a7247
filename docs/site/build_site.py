"""`make docs`: builds the site in build/site, strictly.

    python docs/site/build_site.py

Pages are those of docs/, with those made from the code: commands, JSON schemas. Files of the repository that pages link
to are part of the site. A warning of Sphinx, a link to nothing, a command of a page that fails, or anything that a page
would load from elsewhere ends it with status 1.
"""

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import command_pages
import schema_pages

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"
PROJECT = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
"""Pages beside docs/, and what they are called on the site."""
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""Elements that load what an attribute names."""


def staged(source: Path) -> str:
    """Where the site has a file of the repository, from its root: a page, or a file to download."""
    if source.is_relative_to(DOCS):
        return str(source.relative_to(DOCS))
    inside = source.relative_to(ROOT)
    return PROJECT.get(str(inside), f"files/{inside}")


def with_links(text: str, source: Path) -> str:
    """The Markdown of a page with links that are right on the site. Files that they name are copied."""

    def replaced(match: re.Match[str]) -> str:
        opening, target, anchor, closing = match.groups()
        path = (source.parent / target).resolve()
        if re.match(r"[a-z]+:", target) or not path.is_relative_to(ROOT):
            return match[0]
        place = staged(path)
        if place.startswith("files/"):
            if path.is_dir():
                path, place = path / "README.md", f"{place}/README.md"
            if path.is_file():
                (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
                head = b"---\norphan: true\n---\n" if path.suffix == ".md" else b""
                (PAGES / place).write_bytes(head + path.read_bytes())
        return f"{opening}/{place}{anchor or ''}{closing}"

    return LINK.sub(replaced, text)


def stage() -> None:
    """Bring all pages together."""
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = [path for path in DOCS.rglob("*.md") if not path.is_relative_to(HERE)]
    for source in [*pages, *(ROOT / name for name in PROJECT)]:
        target = PAGES / staged(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_links(source.read_text(encoding="utf-8"), source), encoding="utf-8")
    shutil.copytree(DOCS / "images", PAGES / "images")
    command_pages.write(PAGES / "reference" / "commands")
    schema_pages.write(PAGES / "reference" / "schemas")


class Loads(HTMLParser):
    """What a page loads when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if value and LOADED.get(tag) == name]


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Whatever the site's pages and style sheets load from another server."""
    found = []
    for path in site.rglob("*.html"):
        parser = Loads()
        parser.feed(path.read_text(encoding="utf-8"))
        found += [f"{path}: {one}" for one in parser.addresses if re.match(r"(https?:)?//", one)]
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        found += [f"{path}: {one}" for one in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", text)]
    return found


def main() -> int:
    from sphinx.cmd.build import main as sphinx

    stage()
    shutil.rmtree(SITE, ignore_errors=True)
    doctrees = ROOT / "build" / "doctrees"
    options = ["-b", "html", "-W", "--keep-going", "-n", "-q", "-E", "-a", "-c", str(HERE), "-d", str(doctrees)]
    status = sphinx([*options, str(PAGES), str(SITE)])
    foreign = loaded_from_elsewhere(SITE)
    for one in foreign:
        sys.stderr.write(f"loads from the network: {one}\n")
    if status or foreign:
        return 1
    sys.stdout.write(f"{SITE / 'index.html'}: {len(list(SITE.rglob('*.html')))} pages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
