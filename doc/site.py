#!/usr/bin/env python3
"""site.py - README.md and all that it links to, as pages that need no network

    site.py             the links of Markdown and of manual pages: those that lead nowhere are named
    site.py FOLDER      pages in FOLDER, by Python-Markdown and mandoc; their links as well
"""
import os
import re
import subprocess
import sys
from glob import glob

HEADER = {"README.md": "kmerhash", "doc/guide.md": "Guide", "doc/faq.md": "FAQ", "doc/databases.md": "Databases",
          "doc/accuracy.md": "Accuracy", "doc/speed.md": "Speed", "man": "Manual pages", "NEWS.md": "NEWS"}
PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title><style>
:root { color-scheme: light dark } body { font: 16px/1.5 sans-serif; max-width: 60em; margin: auto; padding: 1em }
img { max-width: 100%% } pre, table { overflow-x: auto; display: block } td, th { padding-right: 1em; text-align: left }
.permalink { color: inherit; text-decoration: none }
</style><nav>%s</nav>%s</html>
"""


def slug(heading, _=None):
    """The anchor of a heading, as GitHub has it"""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def links(path):
    """What a file links to, and its anchors"""
    text = open(path, encoding="utf-8").read()
    if path.endswith(".html"):
        return re.findall(r'(?:href|src)="([^"]*)"', text), re.findall(r' id="([^"]*)"', text)
    if not path.endswith(".md"):
        return [".".join(x) for x in re.findall(r"^\.Xr (kmerhash\S*) (\d)", text, re.M)], []
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.findall(r"\]\(([^)\s]+)\)", text), [slug(x) for x in re.findall(r"^#+ (.*)", text, re.M)]


def wrong(paths):
    """The links that name no file, or no anchor of it"""
    anchors = {path: links(path)[1] for path in paths}
    for path in paths:
        for link in links(path)[0]:
            name, _, anchor = link.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if ":" not in link and (not os.path.exists(to) or anchor and anchor not in anchors.get(to, anchor)):
                yield "%s: %s" % (path, link)


def page_of(path):
    """The page of a file, which is itself if that is shown as it is"""
    if os.path.isdir(path):
        return path + "/index.html"
    return re.sub("README.md$", "index.md", path).replace(".md", ".html") + ".html" * path.startswith("man/")


def body_of(path):
    """HTML, with links to files of the tree"""
    if os.path.isdir(path):
        return "<h1>Manual pages</h1>" + "".join('<p><a href="%s">%s</a>' % (path + "/" + x, x) for x in sorted(os.listdir(path)))
    if path.endswith(".md"):
        try:
            import markdown
        except ImportError:
            sys.exit("site.py: Python-Markdown is missing: apt-get install python3-markdown mandoc")
        return markdown.markdown(open(path, encoding="utf-8").read(), extensions=["tables", "fenced_code", "toc"],
                                 extension_configs={"toc": {"slugify": slug}})
    body = subprocess.check_output(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S", path], text=True)
    body = re.sub(r'(id="|href="#)([^"]*)', lambda m: m[1] + m[2].replace("-", "_"), body)  # as its .Sx has it
    body = re.sub(r'(href=")(#[^"]*"[^<]*</a>\s+in\s+<a class="Xr" href="([^"]*))', r"\1\3\2", body)  # .Sx, in .Xr
    return re.sub(r'"((?!kmerhash)[a-z0-9]+\.\d)"', r'"https://manpages.debian.org/\1"', body)


def make(folder):
    todo = [path for path in HEADER if os.path.exists(path)]
    header = "".join('<a href="/%s">%s</a> · ' % (path, HEADER[path]) for path in todo)
    for path in todo:
        def to_page(link):
            other = os.path.normpath(os.path.join(os.path.dirname(path), link[2])).lstrip("/")
            todo.extend([other] * (other not in todo))
            return '%s="%s%s"' % (link[1], os.path.relpath(page_of(other), os.path.dirname(page_of(path))),
                                  link[3] or "")
        to = os.path.join(folder, page_of(path))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if page_of(path) == path:
            with open(path, "rb") as source, open(to, "wb") as copy:
                copy.write(source.read())
        else:
            page = PAGE % (path, header, body_of(path))
            with open(to, "w", encoding="utf-8") as f:
                f.write(re.sub(r'(href|src)="([^":#]+)(#[^"]*)?"', to_page, page))


site = os.path.abspath(sys.argv[1]) if sys.argv[1:] else "."
os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if sys.argv[1:]:
    make(site)
    os.chdir(site)
bad = list(wrong(glob("**/*.html", recursive=True) if sys.argv[1:] else
                 glob("*.md") + glob(".github/*.md") + glob("[a-z]*/**/*.md", recursive=True) + glob("man/*")))
print("\n".join(bad + ["%d links lead nowhere" % len(bad)]))
sys.exit(len(bad) > 0)
