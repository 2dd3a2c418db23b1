"""Check the internal links of the site that was built: ``python docs/_ext/links.py build/site``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SKIPPED = {"_static", "_sources", "_modules"}


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.links, self.anchors, self.loads = path, [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag points to, and what may point to it."""
        found = dict(attrs)
        self.anchors |= {v for k in ("id", "name") if (v := found.get(k))}
        target = found.get("href") if tag in ("a", "link") else found.get("src")
        if target:
            self.links.append(target)
        if target and tag in ("script", "img", "iframe", "link"):
            self.loads.append(target)


def pages(site: Path) -> dict[Path, Page]:
    """All pages of the site, by path."""
    files = (p for p in site.rglob("*.html") if not SKIPPED & set(p.relative_to(site).parts))
    return {path: Page(path) for path in files}


def broken(site: Path) -> Iterator[str]:
    """Links to files or anchors that do not exist."""
    known = pages(site.resolve())
    for page in known.values():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            if target.is_dir():
                target /= "index.html"
            here = page.path.relative_to(site.resolve())
            if not target.exists():
                yield f"{here}: {link} is not there"
            elif parts.fragment and target in known:
                anchor = unquote(parts.fragment)
                if anchor not in known[target].anchors:
                    yield f"{here}: {link} has no such anchor"


def fetched(site: Path) -> Iterator[str]:
    """Scripts, styles and pictures that a reader's browser would fetch from elsewhere."""
    for page in pages(site).values():
        for link in page.loads:
            if urlsplit(link).netloc:
                yield f"{page.path.relative_to(site)}: {link}"


if __name__ == "__main__":
    site = Path(sys.argv[1])
    found = sorted({*broken(site), *fetched(site)})
    print("\n".join(found) or "all internal links are right, and nothing is fetched from elsewhere")
    sys.exit(bool(found))
