"""Taxa of reads, by libkmerhash: Database classifies files and sequences; tables become frames."""
import ctypes
import ctypes.util
import operator
import os
import shutil
import sys
from collections import namedtuple
from pathlib import Path

__version__ = "0.3.0"
__all__ = ["Call", "Counts", "Database", "Error", "Read", "Taxon", "read_profile", "read_report", "version"]

Read = namedtuple("Read", "name sequence mate")
Call = namedtuple("Call", "taxid features hits found second second_hits")
Taxon = namedtuple("Taxon", "taxid parent name rank")
Counts = namedtuple("Counts", "fragments classified")

_WANT = {None: 0, "second": 2, "sample": 3}


class Error(Exception):
    """What the library says of a failure; `code` is a negative number of kmerhash.h."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


# --- the structs of kmerhash.h ----------------------------------------------------------------
class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 512)]


class _Options(ctypes.Structure):
    _fields_ = [("device", ctypes.c_char_p), ("threads", ctypes.c_uint), ("confidence", ctypes.c_double),
                ("want", ctypes.c_int), ("no_verify", ctypes.c_int)]


class _Read(ctypes.Structure):
    _fields_ = [("sequence", ctypes.c_char_p), ("length", ctypes.c_size_t),
                ("mate", ctypes.c_char_p), ("mate_length", ctypes.c_size_t)]


class _Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in Call._fields]


class _Record(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("read", _Read)]


class _Files(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("reads", "mates", "lines", "report", "profile")]
    _fields_ += [("sample_pass", ctypes.c_int)]


class _Counts(ctypes.Structure):
    _fields_ = [("fragments", ctypes.c_uint64), ("classified", ctypes.c_uint64)]


class _Taxon(ctypes.Structure):
    _fields_ = [("taxid", ctypes.c_uint32), ("parent", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("rank", ctypes.c_char_p)]


# --- the library ------------------------------------------------------------------------------
_SONAME = "libkmerhash.so.1"


def _places():
    """Where the library may be, the likeliest first."""
    if "KMERHASH_LIBRARY" in os.environ:
        yield os.environ["KMERHASH_LIBRARY"]
        return
    program = shutil.which("kmerhash")
    prefixes = [Path(program).resolve().parent.parent] if program else []
    for prefix in prefixes + [Path(sys.prefix)]:
        for folder in [prefix / "lib", prefix / "lib64", *sorted(prefix.glob("lib/*-linux-gnu"))]:
            if (folder / _SONAME).exists():
                yield str(folder / _SONAME)
    yield _SONAME


_functions = {
    "kmerhash_version": ([], ctypes.c_char_p),
    "kmerhash_open_several": ([ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_char_p),
                               ctypes.c_size_t, ctypes.POINTER(_Options), ctypes.POINTER(_Error)],
                              ctypes.c_int),
    "kmerhash_close": ([ctypes.c_void_p], None),
    "kmerhash_classify": ([ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                           ctypes.POINTER(_Error)], ctypes.c_int),
    "kmerhash_reads_open": ([ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_char_p,
                             ctypes.POINTER(_Error)], ctypes.c_int),
    "kmerhash_reads_close": ([ctypes.c_void_p], None),
    "kmerhash_reads_next": ([ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(_Record)),
                             ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(_Error)], ctypes.c_int),
    "kmerhash_classify_files": ([ctypes.c_void_p, ctypes.POINTER(_Files), ctypes.POINTER(_Counts),
                                 ctypes.POINTER(_Error)], ctypes.c_int),
    "kmerhash_taxa": ([ctypes.c_void_p], ctypes.c_uint32),
    "kmerhash_taxon_at": ([ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(_Taxon)], ctypes.c_int),
    "kmerhash_taxon_find": ([ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(_Taxon)], ctypes.c_int),
    "kmerhash_taxon_above": ([ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p], ctypes.c_uint32),
    "kmerhash_taxon_common": ([ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32], ctypes.c_uint32),
}
_loaded = None


def _library():
    global _loaded
    if _loaded is None:
        errors = []
        for place in _places():
            try:
                library = ctypes.CDLL(place)
                break
            except OSError as error:
                errors.append(str(error))
        else:
            raise ImportError("libkmerhash is not found; install kmerhash, or say in KMERHASH_LIBRARY where "
                              "it is (" + "; ".join(errors) + ")")
        for name, (arguments, result) in _functions.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, result
        _loaded = library
    return _loaded


def _check(function, *arguments):
    error = _Error()
    code = function(*arguments, ctypes.byref(error))
    if code:
        raise Error(code, error.message.decode(errors="replace"))


def _path(path):
    name = None if path is None else os.fsencode(path)
    if name is not None and b"\0" in name:
        raise ValueError(f"a path with a null character: {path!r}")
    return name


def _taxid(taxid):
    """A number that ctypes does not cut off; there is no taxon 0."""
    number = operator.index(taxid)
    return number if 0 <= number < 1 << 32 else 0


def version():
    """The version of the library."""
    return _library().kmerhash_version().decode()


def _bytes(sequence):
    return sequence.encode() if isinstance(sequence, str) else sequence


def _pair(item):
    return tuple(map(_bytes, item)) if isinstance(item, (tuple, list)) else (_bytes(item), None)


class Database:
    """An open database, to be closed, or used by `with`.

    path: of a database, or a list of paths: databases that are used as one.
    want: None; "second", for the second-best taxon of a call; "sample", for the sample pass and
    profiles of classify_files.
    """

    def __init__(self, path, device=None, threads=0, confidence=0.0, want=None):
        self._lib, self._open = _library(), ctypes.c_void_p()
        if want not in _WANT:
            raise ValueError(f"want is {want!r}, which is none of {', '.join(map(repr, _WANT))}")
        options = _Options(device.encode() if device else None, threads, confidence, _WANT[want], 0)
        paths = [_path(p) for p in ([path] if isinstance(path, (str, bytes, os.PathLike)) else path)]
        _check(self._lib.kmerhash_open_several, ctypes.byref(self._open),
               (ctypes.c_char_p * len(paths))(*paths), len(paths), ctypes.byref(options))

    def close(self):
        self._lib.kmerhash_close(self._open)
        self._open = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _handle(self):
        if not self._open:
            raise ValueError("the database is closed")
        return self._open

    # --- calls --------------------------------------------------------------------------------
    def _classify(self, reads, n, calls):
        _check(self._lib.kmerhash_classify, self._handle(), reads, n, calls)

    def _reads(self, sequences):
        pairs = [_pair(item) for item in sequences]
        return (_Read * len(pairs))(*[_Read(a, len(a), b, len(b or b"")) for a, b in pairs]), len(pairs)

    def calls(self, sequences):
        """A Call for each of these sequences, each a str or bytes, or a tuple of two."""
        reads, n = self._reads(sequences)
        calls = (_Call * n)()
        self._classify(reads, n, calls)
        return [Call(*(getattr(call, name) for name in Call._fields)) for call in calls]

    def array(self, sequences):
        """The same as an array of numpy, with the fields of Call."""
        import numpy

        reads, n = self._reads(sequences)
        calls = numpy.zeros(n, dtype=[(name, numpy.uint32) for name in Call._fields])
        self._classify(reads, n, calls.ctypes.data)
        return calls

    def classify(self, path, mates=None):
        """(Read, Call) for each read of a file of FASTA or FASTQ, or pair of two; its reads are in
        memory some at a time."""
        reads, records, n = ctypes.c_void_p(), ctypes.POINTER(_Record)(), ctypes.c_size_t()
        _check(self._lib.kmerhash_reads_open, ctypes.byref(reads), _path(path), _path(mates))
        try:
            while True:
                _check(self._lib.kmerhash_reads_next, reads, ctypes.byref(records), ctypes.byref(n))
                if n.value == 0:
                    return
                batch = [records[i] for i in range(n.value)]
                calls = (_Call * n.value)()
                self._classify((_Read * n.value)(*[record.read for record in batch]), n.value, calls)
                made = [Read(record.name.decode(errors="replace"), record.read.sequence.decode(),
                             record.read.mate.decode() if record.read.mate is not None else None)
                        for record in batch]
                for read, call in zip(made, calls):
                    yield read, Call(*(getattr(call, name) for name in Call._fields))
        finally:
            self._lib.kmerhash_reads_close(reads)

    def classify_files(self, reads, mates=None, lines=None, report=None, profile=None, sample_pass=False):
        """Classifies files as the command does, and writes its results; gives Counts."""
        counts = _Counts()
        files = _Files(*map(_path, (reads, mates, lines, report, profile)), int(sample_pass))
        _check(self._lib.kmerhash_classify_files, self._handle(), ctypes.byref(files), ctypes.byref(counts))
        return Counts(counts.fragments, counts.classified)

    # --- taxa ---------------------------------------------------------------------------------
    @staticmethod
    def _taxon(x):
        return Taxon(x.taxid, x.parent, x.name.decode(errors="replace"), x.rank.decode())

    def taxon(self, taxid):
        """The taxon with that number; KeyError if the database has none."""
        found = _Taxon()
        if not self._lib.kmerhash_taxon_find(self._handle(), _taxid(taxid), ctypes.byref(found)):
            raise KeyError(taxid)
        return self._taxon(found)

    def taxa(self):
        """All taxa, parents first."""
        found = _Taxon()
        for i in range(self._lib.kmerhash_taxa(self._handle())):
            self._lib.kmerhash_taxon_at(self._handle(), i, ctypes.byref(found))
            yield self._taxon(found)

    def lineage(self, taxid):
        """The taxa from below the root to this one."""
        line = []
        while taxid > 1:
            line.insert(0, self.taxon(taxid))
            taxid = line[0].parent
        return line

    def above(self, taxid, rank):
        """The number of the nearest of the taxon and those above it with that rank, or 0."""
        return self._lib.kmerhash_taxon_above(self._handle(), _taxid(taxid), rank.encode())

    def common(self, a, b):
        """The number of the lowest common ancestor, or 0."""
        return self._lib.kmerhash_taxon_common(self._handle(), _taxid(a), _taxid(b))


# --- tables -----------------------------------------------------------------------------------
def read_report(path):
    """A report as a frame of pandas; the depth of a taxon is a column, and its name has no blanks
    in front."""
    import pandas

    names = ["percent", "clade", "direct", "found", "distinct", "rank", "taxid", "name"]
    table = pandas.read_csv(path, sep="\t", header=None, quoting=3, keep_default_na=False)
    table.columns = names if table.shape[1] == 8 else names[:3] + names[5:]
    name = table["name"].astype(str)
    table["name"] = name.str.lstrip(" ")
    table["depth"] = (name.str.len() - table["name"].str.len()) // 2
    table["percent"] = table["percent"].astype(float)
    return table


def read_profile(path):
    """A profile, as a table, as a frame of pandas; '-' is no value."""
    import pandas

    return pandas.read_csv(path, sep="\t", quoting=3, na_values="-", keep_default_na=False)
