#!/usr/bin/env python3
"""Puts the modules of src/page/html as they stand into a page that `render` wrote: to try a change without a build.

    rejoin.py plan.html -o changed.html
"""
import argparse
import pathlib
import re
import sys

HTML = pathlib.Path(__file__).resolve().parents[2] / "src/page/html"


def join(main):
    """As JoinModules (src/page/modules.h): each module after those that it imports."""
    parts, done = [], set()

    def add(name):
        if name in done:
            return
        done.add(name)
        body, importing = [], False
        for line in (HTML / name).read_text().split("\n"):
            importing = importing or line.startswith("import ")
            if importing:
                other = re.search(r'from "\./([^"]*)"', line)
                if other:
                    add(other.group(1))
                    importing = False
                continue
            body.append(line.removeprefix("export "))
        parts.append(f"// {name}\n" + "\n".join(body))

    add(main)
    return "\n".join(parts)


def rejoin(source, target):
    page = source.read_text()
    document = re.search(r'id="document">([^<]*)</script>', page).group(1)
    title = re.search(r"<title>(.*?)</title>", page, re.S).group(1)
    out = (HTML / "page.html").read_text()
    for mark, text in (("title", title), ("style", (HTML / "style.css").read_text()), ("document", document),
                       ("script", join("main.js"))):
        out = out.replace("{{" + mark + "}}", text)
    target.write_text(out)


def main():
    parser = argparse.ArgumentParser(description="Puts the modules as they stand into a page.")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    rejoin(flags.page, flags.output)


if __name__ == "__main__":
    sys.exit(main())
