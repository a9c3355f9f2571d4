"""Builds and classifies with kraken2 and with kmerhash, and says what it cost."""
import argparse
import importlib.machinery
import importlib.util
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing

from reads import open_text, table_rows
from score import Taxonomy


def load_bench(name):
    """A program beside this file, as a module; `accuracy` knows the reference set."""
    path = str(pathlib.Path(__file__).with_name(name))
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


PATHS = {"data": "folder of the reference set: manifest.tsv, refset/, taxonomy/, and reads/ with truth.tsv",
         "work": "folder for all files made", "kmerhash": "the program",
         "kraken2_cache": "folder for what Kraken 2 makes", "simgen": "the program", "ties": "the program that makes worlds"}


def command_line(doc, *needed, **others):
    """The command line.  `needed` are paths.  Each other option has its default, or that and a help: False makes it
    a flag, [] lets it be given more than once, None makes it a path, and a type says that it must be given."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)

    def path(text):
        return pathlib.Path(text).resolve()
    for name, of in ({name: path for name in needed} | others).items():
        default, text = of if isinstance(of, tuple) else (of, PATHS.get(name))
        how = {"default": default, "type": path if default is None else type(default), "help": text}
        if default is False:
            how = {"action": "store_true", "help": text}
        elif default == []:
            how = {"action": "append", "default": [], "help": text}
        elif callable(default):
            how = {"type": default, "required": True, "help": text}
        elif default:
            how["help"] = (text or "") + " [%(default)s]"
        parser.add_argument("--" + name.replace("_", "-"), **how)
    return parser.parse_args()


class Cost(typing.NamedTuple):
    cpu: float  # user and system seconds of the command and what it waited for
    rss: int  # bytes, the greatest of its processes


class Library(typing.NamedTuple):
    """Reference sequences of one database, and where their taxa stand."""

    name: str
    fasta: tuple
    taxonomy: pathlib.Path
    accessions: pathlib.Path


class Genome:
    """A row of manifest.tsv, and what its taxon is below."""

    def __init__(self, row, data, taxonomy):
        self.path, self.name, self.taxid = data / row["path"], row["accession"], int(row["taxid"])
        self.length, self.category = int(row["length"]), row["category"]
        self.ranked = taxonomy.ranked(self.taxid)
        self.species, self.genus = self.ranked.get("species", self.taxid), self.ranked.get("genus")


class Refset:
    """The genomes of DATA, and their taxonomy."""

    def __init__(self, data):
        self.folder, self.taxonomy = data, Taxonomy(data / "taxonomy")
        self.genomes = [Genome(row, data, self.taxonomy) for row in table_rows(data / "manifest.tsv")]

    def library(self, name="refset", genomes=None):
        """Of all genomes, or of these."""
        paths = tuple(genome.path for genome in (self.genomes if genomes is None else genomes))
        return Library(name, paths, self.folder / "taxonomy", self.folder / "taxonomy" / "accession2taxid.tsv")


def run(argv, out=None):
    """Runs a command, its output into a file; what else it says is shown only if it fails, which ends the bench."""
    argv = [str(arg) for arg in argv]
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(argv, stdout=out or log, stderr=log, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            log.seek(0)
            sys.exit(f"{' '.join(argv)}\n{log.read()[-4000:]}status {child.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def load_accessions(path):
    """accession.version -> taxid of a file of NCBI's accession2taxid form."""
    return {row["accession.version"]: row["taxid"] for row in table_rows(path)}


def write_tagged(library, path):
    """All sequences in one file, plain, with headers that name their taxid."""
    taxids = load_accessions(library.accessions)
    with open(path, "w") as out:
        for source in library.fasta:
            with open_text(source) as lines:
                for line in lines:
                    if line.startswith(">"):
                        accession = line[1:].split()[0]
                        line = f">kraken:taxid|{taxids[accession]}|{accession}\n"
                    out.write(line)


def write_genomes(library, folder):
    """The sequences of each taxon as one file in the folder; taxid -> file."""
    taxids, files = load_accessions(library.accessions), {}
    for source in library.fasta:
        with open_text(source) as lines:
            for line in lines:
                if line.startswith(">"):
                    taxid = taxids[line[1:].split()[0]]
                    if taxid not in files:
                        files[taxid] = open(folder / f"{taxid}.fa", "w")
                files[taxid].write(line)
    for file in files.values():
        file.close()
    return {taxid: folder / f"{taxid}.fa" for taxid in files}


class Kraken2:
    """kraken2 of $PATH with its defaults; databases and calls are kept in the cache."""

    name = "kraken2"
    kind = []   # options of a database

    def __init__(self, cache, threads=1):
        self.cache, self.threads = cache, threads
        self.build_options, self.classify_options = [], []

    def folder(self, library):
        return self.cache / self.name / library.name

    def write_library(self, library, path):
        write_tagged(library, path)

    def build(self, library):
        """Costs of adding to the library and of building, or None if it was there."""
        final = self.folder(library)
        if final.exists():
            return None
        draft = final.with_name(f"{final.name}.{os.getpid()}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        (draft / "taxonomy").mkdir(parents=True)
        for dump in ("nodes.dmp", "names.dmp"):
            shutil.copy(library.taxonomy / dump, draft / "taxonomy")
        tagged = draft / "tagged.fa"
        self.write_library(library, tagged)
        command = ["kraken2-build", *self.kind, "--db", draft, "--threads", self.threads]
        add = run(command + ["--no-masking", "--add-to-library", tagged])
        build = run(command + ["--build"] + self.build_options)
        tagged.unlink()
        shutil.rmtree(draft / "library")
        if final.exists():  # another bench made it meanwhile
            shutil.rmtree(draft)
        else:
            draft.rename(final)
        return add, build

    def classify(self, library, files, output, options=()):
        command = ["kraken2", "--db", self.folder(library), "--threads", self.threads]
        command += ["--output", output] + ["--paired"] * (len(files) == 2)
        return run(command + self.classify_options + list(options) + list(files))

    def calls(self, library, reads):
        how = "".join(self.classify_options)
        path = self.cache / f"{self.name}-calls" / library.name / f"{reads.name}{how}.tsv"
        if not path.exists():
            self.build(library)
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.draft")
            self.classify(library, reads.files, draft)
            draft.rename(path)
        return path


class Tagged(Kraken2):
    """A program whose database is made of one file of sequences that name their taxa."""

    def build(self, library):
        folder = self.folder(library)
        tagged = folder / "tagged.fa"   # it is there until the database is complete
        if folder.exists() and not tagged.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        write_tagged(library, tagged)
        self.index(library, folder, tagged)
        tagged.unlink()

    @staticmethod
    def write_calls(output, calls):
        """Read and taxid, as lines of Kraken's."""
        with open(output, "w") as out:
            for name, taxid in calls:
                out.write(f"{'C' if taxid else 'U'}\t{name}\t{taxid}\t0\n")


class MetaCache(Tagged):
    """metacache of $PATH; no calls below species"""

    name = "metacache"

    def index(self, library, folder, tagged):
        run(["metacache", "build", folder / "db", tagged, "-taxonomy", library.taxonomy])

    def classify(self, library, files, output, options=()):
        lines = output.with_suffix(".lines")
        command = ["metacache", "query", self.folder(library) / "db", *files, "-taxids-only"]
        command += ["-threads", self.threads, "-lowest", "species"]
        run(command + ["-pairfiles"] * (len(files) == 2) + ["-out", lines])
        with open(lines) as rows:
            calls = ((row.split("\t")[0], row.rstrip().rpartition(":")[2]) for row in rows
                     if "\t" in row and not row.startswith("#"))
            self.write_calls(output, ((name, int(call) if call.isdigit() else 0) for name, call in calls))


class Centrifuger(Tagged):
    """centrifuger of $PATH; of several taxa with equal scores their lowest common ancestor (-k 1)"""

    name = "centrifuger"

    def index(self, library, folder, tagged):
        with open(tagged) as lines, open(folder / "table", "w") as out:
            for line in lines:
                if line.startswith(">"):
                    out.write(f"{line[1:].split()[0]}\t{line.split('|')[1]}\n")
        run(["centrifuger-build", "-r", tagged, "--taxonomy-tree", library.taxonomy / "nodes.dmp",
             "--name-table", library.taxonomy / "names.dmp", "--conversion-table", folder / "table",
             "-t", self.threads, "-o", folder / "db"])

    def classify(self, library, files, output, options=()):
        command = ["centrifuger", "-x", self.folder(library) / "db", "-t", self.threads]
        command += ["-1", files[0], "-2", files[1]] if len(files) == 2 else ["-u", files[0]]
        lines = output.with_suffix(".lines")
        with open(lines, "w") as out:
            run(command, out)
        with open(lines) as rows:
            self.write_calls(output, ((row.split("\t")[0], int(row.split("\t")[2])) for row in list(rows)[1:]))


class Ganon(Tagged):
    """ganon of $PATH with its options for reads (--binning), by Bloom filters that need no other program.

    Of several taxa that fit a read it reports the one that the sample makes most likely, or, by --kraken2-options,
    their lowest common ancestor (--multiple-matches lca)."""

    name = "ganon"

    def index(self, library, folder, tagged):
        files = write_genomes(library, folder)
        with open(folder / "table", "w") as out:
            out.writelines(f"{path}\t{taxid}\t{taxid}\n" for taxid, path in files.items())
        nodes = folder / "nodes.dmp"   # it wants a fourth column
        nodes.write_text((library.taxonomy / nodes.name).read_text().replace("\t|\n", "\t|\t\t|\n"))
        run(["ganon", "build-custom", "--input-file", folder / "table", "--level", "leaves", "--taxonomy-files",
             nodes, library.taxonomy / "names.dmp", "--skip-genome-size",
             "--filter-type", "ibf", "--max-fp", 0.001, "--threads", self.threads, "--db-prefix", folder / "db"])
        for path in files.values():
            path.unlink()

    def classify(self, library, files, output, options=()):
        command = ["ganon", "classify", "--db-prefix", self.folder(library) / "db", "--threads", self.threads, "--binning"]
        command += ["--skip-report", "--output-one", "--output-prefix", output]
        run(command + self.classify_options + list(options) + ["--paired-reads" if len(files) == 2 else "--single-reads", *files])
        one, calls = pathlib.Path(f"{output}.one"), {}
        for row in one.read_text().splitlines() if one.exists() else ():    # none if no read has a match
            name, taxid, _ = row.split("\t")
            calls[self.read(name)] = int(taxid)
        with open_text(files[0]) as lines:   # in the order of the reads, as score.py takes neighbours together
            names = [self.read(line[1:]) for line in itertools.islice(lines, 0, None, 4)]
        if not calls.keys() <= set(names):
            sys.exit(f"{one} names reads that {files[0]} does not have")
        self.write_calls(output, ((name, calls.get(name, 0)) for name in names))

    @staticmethod
    def read(header):
        return header.split()[0].removesuffix("/1")


class Sylph:
    """sylph of $PATH: profiles, and no calls of reads.  One k-mer in a hundred, for the smallest genomes."""

    def __init__(self, folder, threads=1):
        self.folder, self.threads = folder, threads

    def database(self, library):
        path = self.folder / library.name
        if not path.with_suffix(".syldb").exists():
            path.mkdir(parents=True, exist_ok=True)
            files = write_genomes(library, path)
            run(["sylph", "sketch", "-c", 100, "-t", self.threads, "-o", path, "-g", *files.values()])
            shutil.rmtree(path)
        return path.with_suffix(".syldb")

    def profile(self, library, files):
        """Of each taxon the shares of the reads and of the genomes, in per cent."""
        reads = ["-1", files[0], "-2", files[1]] if len(files) == 2 else ["-r", *files]
        table = self.folder / "profile.tsv"
        run(["sylph", "profile", "-u", "-c", 100, "-t", self.threads, "-o", table, self.database(library), *reads])
        return {int(pathlib.Path(row["Genome_file"]).stem): (float(row["Sequence_abundance"]), float(row["Taxonomic_abundance"]))
                for row in table_rows(table)}


PEERS = {program.name: program for program in (Kraken2, MetaCache, Centrifuger, Ganon)}


class Kmerhash:
    """The kmerhash under test; what it makes lies in `work` and is made anew.

    `reuse` keeps databases of an earlier run, for work on classify alone."""

    name = "kmerhash"

    def __init__(self, program, work, threads=1, reuse=False):
        self.program, self.work, self.threads = program, work, threads
        self.build_options, self.classify_options = [], []
        self.reuse, self.built = reuse, set()

    def database(self, library):
        return self.work / f"{library.name}.khdb"

    def build(self, library):
        self.work.mkdir(parents=True, exist_ok=True)
        command = [self.program, "build", "--db", self.database(library)]
        command += ["--taxonomy", library.taxonomy, "--threads", self.threads]
        command += ["--accession2taxid", library.accessions] + self.build_options
        return run(command + list(library.fasta))

    def classify(self, library, files, output, options=()):
        command = [self.program, "classify", "--db", self.database(library)]
        command += ["--threads", self.threads, "--output", output]
        command += ["--paired"] * (len(files) == 2)
        return run(command + self.classify_options + list(options) + list(files))

    def calls(self, library, reads, options=()):
        if library.name not in self.built:
            if not (self.reuse and self.database(library).exists()):
                self.build(library)
            self.built.add(library.name)
        path = self.work / "calls.tsv"
        self.classify(library, reads.files, path, options)
        return path
