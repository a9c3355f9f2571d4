"""Sizes that src/README.md sets limits to, counted in the C files of src/ and cuda/.

	sizes.py           prints what is over its limit: files over 500 lines, structs over 30
	                   fields, folders over 40 files (but for the study in cuda/tables); and how
	                   many functions of src/ are called once
	sizes.py --check   prints what is over its limit alone
	sizes.py --once    prints the functions that are called once, with their lines

Of a struct, what is declared at its top level counts; a struct inside is one field.
A use of a function is its name in the code of src/ and cuda/, as a call or as a pointer; of a
static function, in its own file, unless that is a header.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
LINES, FIELDS, FILES = 500, 30, 40
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
    """Names in code: not where they are declared or members."""
    code = code.replace('extern "" {', "")
    depth, last, count = 0, "", {}
    for line in code.replace("\\\n", " ").splitlines():
        for token in TOKEN.findall(line):
            if token in "{}":
                depth += 1 if token == "{" else -1
            elif token[0].isalpha() or token[0] == "_":
                if last not in (".", "->") and (depth > 0 or line.startswith("#")):
                    count[token] = count.get(token, 0) + 1
            last = token
    return count


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    over, fields, folders, known, by_file, total = [], [], {}, [], {}, {}
    for name, text in files():
        folder = name.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0) + 1
        n = text.count("\n")
        code = bare(text)
        if n > LINES:
            over.append(f"{name}: {n} lines")
        fields += [(n, f"{name}: struct {s}: {n} fields") for s, n in structs(code)]
        if name.startswith("src/"):
            known += [(name, *f) for f in functions(code)]
        by_file[name] = uses(code)
        for token, n in by_file[name].items():
            total[token] = total.get(token, 0) + n
    once = [(file, f, lines) for file, f, static, lines in known
            if (by_file[file] if static and file.endswith(".c") else total).get(f, 0) == 1]
    over += [line for n, line in sorted(fields, reverse=True) if n > FIELDS]
    over += [f"{folder}: {n} files" for folder, n in folders.items()
             if n > FILES and folder != "cuda/tables"]
    if mode == "--once":
        over = [f"{lines} {file} {f}" for file, f, lines in once]
    elif mode != "--check":
        over.append(f"{len(once)} of {len(known)} functions of src/ are called once: "
                    f"{100 * len(once) / len(known):.1f} %")
    for line in over:
        print(line)


main()
