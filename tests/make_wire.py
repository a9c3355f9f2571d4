#!/usr/bin/python3
# make_wire.py DIR - the corpus of fuzz_wire: messages of each kind, and what is wrong with some
import os
import struct
import sys


def job(fragments=1, words=(2, 0), records=None, inter=0, paired=0, cut=0, seq=0, length=40):
    if records is None:
        records = (fragments << inter, fragments if paired else 0)
    n = sum(words)
    head = struct.pack('<8Q', 7, fragments, *words, *records, inter, paired)
    masks = struct.pack('<%dI' % n, *([0] * n)) + bytes(4 * (n % 2))
    places = b''.join(struct.pack('<2Q', seq, length) for _ in range(sum(records) % 100))
    out = head + struct.pack('<%dQ' % n, *range(n)) + masks + places
    return b'j' + (out[:-cut] if cut else out)


def calls(taxon=3, features=9, hits=4, found=5, kind=b'c'):
    return kind + struct.pack('<Q12I', 1, *([taxon, features, hits, found] * 3))


NONE = 2**32 - 1
PLACES = 12                     # KH_CANDIDATES


def cand(species=(2,), drop=(0,), at=7):
    species += (NONE,) * (PLACES - len(species))
    drop += (0,) * (PLACES - len(drop))
    return calls(kind=b'k') + struct.pack('<12I12BI', *species, *drop, at) * 3


BIG = 2**64 - 1
FILES = {
    'job': job(), 'job-two': job(fragments=2), 'job-paired': job(words=(2, 2), paired=1),
    'job-interleaved': job(inter=1), 'job-cut': job(cut=1), 'job-head': job(cut=60), 'job-no': b'j',
    'job-long-record': job(length=65), 'job-far-record': job(seq=64, length=1),
    'job-odd-record': job(seq=1, length=1), 'job-huge-length': job(length=BIG),
    'job-huge-words': b'j' + struct.pack('<8Q', 7, 1, BIG, BIG, 1, 0, 0, 0),
    'job-huge-records': b'j' + struct.pack('<8Q', 7, BIG, 0, 0, BIG, 0, 0, 0),
    'job-none': job(fragments=0), 'job-both': job(words=(2, 2), inter=1, paired=1),
    'job-mates-missing': job(records=(1, 0), paired=1),
    'calls': calls(), 'calls-taxon': calls(taxon=11),
    'calls-hits': calls(hits=10), 'calls-found': calls(found=10),
    'cand': cand(), 'cand-full': cand(species=(2, 5, 9), drop=(3, 0, 1), at=10), 'cand-none': cand((), (), NONE),
    'cand-bin-end': cand(at=2**32 - 2), 'cand-bin-gap': cand(at=11),
    'cand-bin-last': cand(at=7), 'cand-bin-behind': cand(at=8), 'cand-strain': cand(species=(3,)),
    'cand-root': cand(species=(0,)), 'cand-taxon': cand(species=(11,)),
    'cand-order': cand(species=(5, 2)), 'cand-twice': cand(species=(5, 5)),
    'cand-hole': cand(species=(2, NONE, 5)), 'cand-drop': cand(drop=(4,)), 'cand-drop-none': cand(drop=(0, 1)),
    'cand-short': cand()[:-1],
    'calls-short': b'c' + struct.pack('<Q', 1), 'calls-no': b'c' + b'123',
    'counts': b'd' + struct.pack('<2Q', 3, 5) + bytes([0, 1, 53, 2] * 1024),
    'counts-taxon': b'd' + struct.pack('<2Q', 11, 5) + bytes(4096),
    'counts-register': b'd' + struct.pack('<2Q', 3, 5) + bytes([54] * 4096),
    'counts-cut': b'd' + struct.pack('<2Q', 3, 5) + bytes(4095),
}
for name, data in FILES.items():
    with open(os.path.join(sys.argv[1], name), 'wb') as f:
        f.write(data)
