"""How libkmerhash is used from Python, by ctypes: prints what library_example.c prints.

	library_example.py LIBRARY DATABASE [DEVICE] <SEQUENCES
"""
import ctypes
import sys


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 512)]


class Options(ctypes.Structure):
    _fields_ = [("device", ctypes.c_char_p), ("threads", ctypes.c_uint),
                ("confidence", ctypes.c_double), ("reserved", ctypes.c_int),
                ("no_verify", ctypes.c_int)]


class Read(ctypes.Structure):
    _fields_ = [("sequence", ctypes.c_char_p), ("length", ctypes.c_size_t),
                ("mate", ctypes.c_char_p), ("mate_length", ctypes.c_size_t)]


class Call(ctypes.Structure):
    _fields_ = [("taxid", ctypes.c_uint32), ("features", ctypes.c_uint32),
                ("hits", ctypes.c_uint32), ("found", ctypes.c_uint32)]


class Taxon(ctypes.Structure):
    _fields_ = [("taxid", ctypes.c_uint32), ("parent", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("rank", ctypes.c_char_p)]


class Kmerhash:
    """A database: `with Kmerhash(library, path) as k: calls = k.classify(sequences)`."""

    def __init__(self, library, path, device=None):
        self.lib = ctypes.CDLL(library)
        self.lib.kmerhash_close.argtypes = [ctypes.c_void_p]
        self.lib.kmerhash_close.restype = None
        self.open = ctypes.c_void_p()
        options = Options(device=device.encode() if device else None)
        self._check(self.lib.kmerhash_open, ctypes.byref(self.open), path.encode(),
                    ctypes.byref(options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.kmerhash_close(self.open)

    @staticmethod
    def _check(function, *arguments):
        error = Error()
        if function(*arguments, ctypes.byref(error)):
            raise RuntimeError(error.message.decode())

    def classify(self, sequences):
        """Calls of sequences, each bytes, or two bytes of a pair."""
        pairs = [s if isinstance(s, tuple) else (s, None) for s in sequences]
        reads = (Read * len(pairs))(*[Read(a, len(a), b, len(b or b"")) for a, b in pairs])
        calls = (Call * len(pairs))()
        self._check(self.lib.kmerhash_classify, self.open, reads, ctypes.c_size_t(len(pairs)),
                    calls)
        return calls

    def taxon(self, taxid):
        found = Taxon()
        if not self.lib.kmerhash_taxon_find(self.open, ctypes.c_uint32(taxid),
                                            ctypes.byref(found)):
            raise KeyError(taxid)
        return found


def main(library, database, device=None):
    rows = [line.rstrip(b"\n").split(b"\t") for line in sys.stdin.buffer]
    with Kmerhash(library, database, device) as k:
        calls = k.classify([tuple(row[1:]) if len(row) > 2 else row[1] for row in rows])
        for row, call in zip(rows, calls):
            print("C" if call.taxid else "U", row[0].decode(), call.taxid, call.hits,
                  call.features, sep="\t")
        print("root is", k.taxon(1).name.decode(), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
