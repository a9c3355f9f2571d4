"""Random histories of classify --samples --resume: what counts as done is what a new run makes.

	resume_states.py KMERHASH DB PRELOAD FOLDER HISTORIES [SEED]

A history edits the sheet, the files of reads, the parameters and the outputs, copies the folder of
outputs, and runs --resume, sometimes killed before a call of rename.  Then --resume is run to its end,
and each result must have the bytes of a run into an empty folder; of the summary, all but "run".  Files
are given back their size and time of change at times: what was read is known by its digest.
"""
import json
import os
import random
import shutil
import subprocess
import sys

from oracle_sampling import records

KMERHASH, DB, PRELOAD, FOLDER = (os.path.abspath(p) for p in sys.argv[1:5])
HISTORIES = int(sys.argv[5])
SEED = int(sys.argv[6]) if len(sys.argv) > 6 else 1
PARAMETERS = [[], ["--confidence", "0.5"], ["--use-names"], ["--set", "distinct"],
              ["--classified-out", "c#.fq"], ["--write", "report,json"], ["--write", "lines.gz,report,json"]]
RENAMES = 14


def reads(number):
    """Twelve reads; half of them are of the database, given as its text."""
    rng = random.Random(number)
    out = []
    for i in range(12):
        at = rng.randrange(len(GENOME) - 100)
        text = GENOME[at:at + 100] if rng.random() < 0.7 else "".join(rng.choices("ACGT", k=100))
        out.append(f"@r{i:02}\n{text}\n+\n{'F' * 100}\n")
    return "".join(out)


class History:
    def __init__(self, number):
        self.rng = random.Random(f"{SEED} {number}")
        shutil.rmtree("h", ignore_errors=True)
        os.makedirs("h/out")
        os.chdir("h")
        self.parameters = PARAMETERS[0]
        self.log = []
        self.content = {}
        for name in "abcdef":
            self.write(name)
        self.rows = {"s1": [("a", "b")], "s2": [("c", "")], "s3": [("d", "e"), ("f", "")]}

    def write(self, name, keep_time=False):
        path = name + ".fq"
        was = os.stat(path) if os.path.exists(path) else None
        number = self.rng.randrange(1000)
        self.content[name] = reads(number)
        with open(path, "w") as f:
            f.write(self.content[name])
        if was and keep_time:
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def write_sheet(self):
        with open("sheet", "w") as f:
            f.write("sample\treads1\treads2\n")
            for sample, rows in self.rows.items():
                for one, two in rows:
                    f.write(f"{sample}\t{one}.fq\t{two + '.fq' if two else ''}\n")

    # --- steps
    def edit_sheet(self):
        sample = self.rng.choice(list(self.rows))
        names = [n for row in self.rows[sample] for n in row if n]
        how = self.rng.randrange(4)
        if how == 0 and len(names) % 2 == 0:
            self.rows[sample] = list(zip(names[::2], names[1::2]))
        elif how == 1:
            self.rows[sample] = [(n, "") for n in names]
        elif how == 2:
            self.rng.shuffle(names)
            self.rows[sample] = [(n, "") for n in names[:2]]
        else:
            self.rows[sample] = [tuple(self.rng.sample("abcdef", 2))]

    def swap_samples(self):
        one, two = self.rng.sample(list(self.rows), 2)
        self.rows[one], self.rows[two] = self.rows[two], self.rows[one]

    def edit_reads(self):
        self.write(self.rng.choice("abcdef"), self.rng.random() < 0.5)

    def touch_reads(self):
        os.utime(self.rng.choice("abcdef") + ".fq")

    def edit_parameters(self):
        self.parameters = self.rng.choice(PARAMETERS)

    def some_output(self):
        names = sorted(n for n in os.listdir("out") if not n.startswith("."))
        return os.path.join("out", self.rng.choice(names)) if names else None

    def remove_output(self):
        path = self.some_output()
        if path:
            os.unlink(path)

    def edit_output(self):
        path = self.some_output()
        if not path or path.endswith(".json") or os.path.getsize(path) == 0:
            return
        was = os.stat(path)
        with open(path, "r+b") as f:
            at = self.rng.randrange(was.st_size)
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 1]))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def swap_outputs(self):
        names = sorted(n for n in os.listdir("out") if n.endswith((".tsv", ".report", ".json")))
        if len(names) < 2:
            return
        one, two = (os.path.join("out", n) for n in self.rng.sample(names, 2))
        os.rename(one, "x")
        os.rename(two, one)
        os.rename("x", two)

    def copy_folder(self):
        shutil.copytree("out", "copy", dirs_exist_ok=True)
        shutil.rmtree("out")
        os.rename("copy", "out")
        if self.rng.random() < 0.5:
            self.remove_output()

    def killed(self):
        self.run("out", {"LD_PRELOAD": PRELOAD, "KH_FAIL_HOW": "kill",
                         "KH_FAIL": f"rename:{self.rng.randrange(1, RENAMES)}"})

    def done(self):
        self.run("out", {})

    STEPS = [edit_sheet, edit_sheet, swap_samples, edit_reads, touch_reads, edit_parameters,
             edit_parameters, remove_output, edit_output, swap_outputs, copy_folder, killed, killed,
             killed, done, done]

    # --- runs
    def run(self, out, env, resume=True):
        self.write_sheet()
        words = [KMERHASH, "classify", "-q", "--threads", "2", "--db", DB, "--samples", "sheet",
                 "--outdir", out] + ["--resume"] * resume + self.parameters
        return subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True)

    def results(self, folder):
        found = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                found[name] = f.read()
            if name.endswith(".json"):
                summary = json.loads(found[name])
                del summary["run"]
                found[name] = summary
        return found

    def go(self):
        for _ in range(self.rng.randrange(2, 9)):
            step = self.rng.choice(self.STEPS)
            self.log.append(step.__name__)
            step(self)
        last = self.run("out", {})
        shutil.rmtree("new", ignore_errors=True)
        new = self.run("new", {}, resume=False)
        assert last.returncode == 0 and new.returncode == 0, last.stderr + new.stderr
        want, got = self.results("new"), self.results("out")
        wrong = [n for n in want if got.get(n) != want[n]]
        os.chdir("..")
        return wrong


(_, GENOME), = records(os.environ["KH_GENOME"])
os.makedirs(FOLDER, exist_ok=True)
os.chdir(FOLDER)
for number in range(HISTORIES):
    history = History(number)
    wrong = history.go()
    if wrong:
        sys.exit(f"seed {SEED}, history {number}: {', '.join(history.log)}: wrong: {', '.join(wrong)}")
print(f"{HISTORIES} histories")
