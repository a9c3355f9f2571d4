"""Sizes that src/README.md sets limits to, counted in the C files of src/ and cuda/.

	sizes.py           prints what is over its limit: files over 500 lines, functions over 60, structs over 30
	                   fields, folders over 40 files (but for the study in cuda/tables), more than two
	                   C files of a folder whose calls go in a circle; and what share of the
	                   functions of src/ is called once
	sizes.py --check   prints what is over its limit: of these functions, 55 %
	sizes.py --once    prints the functions that are called once, with their lines

Of a struct, what is declared at its top level counts; a struct inside is one field.
A use of a function is its name in the code of src/ and cuda/: of a static function, in its own
file, unless that is a header.  It is called once if its only use is a call; what a pointer leads to
may be called any number of times, and needs a function.
"""
import pathlib
import re
import sys
from collections import Counter

TOP = pathlib.Path(__file__).resolve().parent.parent
LINES, FUNCTION, FIELDS, FILES, ONCE = 500, 60, 30, 40, 55
TOKEN = re.compile(r"[A-Za-z_]\w*|->|\S")


def bare(text):
    """The text without comments, and with empty strings; lines stay where they are."""
    def blank(match):
        return "\n" * match[0].count("\n") if match[0][0] == "/" else '""'

    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text,
                  flags=re.S)


def files():
    for folder in ("src", "cuda"):
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inc", ".cu", ".cuh"):
                yield str(path.relative_to(TOP)), path.read_text()


def closing(text, at):
    """Behind the brace that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def structs(code):
    """(name, fields) of each struct."""
    code = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", "", code, flags=re.M)
    code = re.sub(r"alignas\([^)]*\)|__attribute__\(\(.*?\)\)", "", code)
    for match in re.finditer(r"\bstruct\s*(\w*)[^{};()=]*\{", code):
        body = code[match.end():closing(code, match.end()) - 1]
        while re.search(r"[{(\[][^{}()\[\]]*[})\]]", body):
            body = re.sub(r"[{(\[][^{}()\[\]]*[})\]]", " ", body)
        yield match[1] or "(none)", len(re.findall(r"[,;]", body))


def functions(code):
    """(name, static?, lines) of each function that is defined."""
    for match in re.finditer(r"^(\w[\w \t*]*?)\b(\w+)\(([^;{}]|\n)*?\)\s*\n\{\n", code, re.M):
        if not re.match(r"struct|enum|typedef|extern", match[0]) or "static" in match[1]:
            yield (match[2], "static" in match[1].split(),
                   code.count("\n", match.start(), closing(code, match.end())) + 1)


def uses(code):
    """How often each name is in code, and how often it is called; not declared, no member."""
    depth, last, name, count, called = 0, "", "", Counter(), Counter()
    for line in code.replace('extern "" {', "").replace("\\\n", " ").splitlines():
        for token in TOKEN.findall(line):
            depth += {"{": 1, "}": -1}.get(token, 0)
            called[name] += token == "("
            name = ""
            if (token[0].isalpha() or token[0] == "_") and last not in (".", "->") and \
                    (depth > 0 or line.startswith("#")):
                count[token] += 1
                name = token
            last = token
    return count, called


def called_once(codes):
    """(file, function, lines) of each function of src/, and of those that are called once."""
    known, used = {}, {name: uses(code) for name, code in codes.items()}
    everywhere = [sum((u[i] for u in used.values()), Counter()) for i in (0, 1)]
    for file, code in codes.items():
        for f, static, lines in functions(code) if file.startswith("src/") else ():
            count, called = used[file] if static and file.endswith(".c") else everywhere
            known[file, f] = (file, f, lines), count[f] == 1 and called[f] == 1
    return len(known), [row for row, once in known.values() if once]


def reached(after, name):
    """All that a chain of calls leads to from a file."""
    seen, left = set(), [name]
    while left:
        new = after[left.pop()] - seen
        seen |= new
        left += new
    return seen


def circles(codes):
    """The circles of more than two C files of a folder, each of which calls another one."""
    sources = {name: code for name, code in codes.items() if name.endswith(".c")}
    home = {f: name for name, code in sources.items() for f, static, _ in functions(code) if not static}
    after = {name: {home[f] for f in re.findall(r"\b(\w+)\(", code) if f in home and
                    home[f].rpartition("/")[0] == name.rpartition("/")[0]} - {name} for name, code in sources.items()}
    after = {name: reached(after, name) for name in after}
    groups = {frozenset(other for other in after[name] if name in after[other]) for name in after}
    for group in sorted(map(sorted, groups)):
        if len(group) > 2:
            yield "a circle: " + ", ".join(group)


def too_large(texts, codes):
    for name, text in texts.items():
        if (n := text.count("\n")) > LINES:
            yield f"{name}: {n} lines"
    for name, code in codes.items():
        for struct, n in structs(code):
            if n > FIELDS:
                yield f"{name}: struct {struct}: {n} fields"
        for function, _, n in functions(code):
            if n > FUNCTION:
                yield f"{name}: {function}: {n} lines"
    for folder, n in Counter(name.rpartition("/")[0] for name in texts).items():
        if n > FILES and folder != "cuda/tables":
            yield f"{folder}: {n} files"


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    texts = dict(files())
    codes = {name: bare(text) for name, text in texts.items()}
    n, once = called_once(codes)
    share = 100 * len(once) / n
    lines = list(too_large(texts, codes)) + list(circles(codes))
    if mode == "--once":
        lines = [f"{size} {file} {f}" for file, f, size in once]
    elif mode != "--check" or share >= ONCE:
        lines.append(f"{len(once)} of {n} functions of src/ are called once: {share:.1f} %")
    for line in lines:
        print(line)


main()
