# run_python.sh - the Python module of packaging/python: its wheel in an environment of its own, its
# README, its calls beside those of the command; speaks TAP
{ [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; } || { echo "1..0 # SKIP no python3"; exit 0; }
[ -z "${KH_SANITIZE:-}" ] || { echo "1..0 # SKIP the library has a sanitizer, and python3 has none"; exit 0; }
build_dir=$PWD
. "${KH_SRCDIR:?}/tests/tap.sh"
KMERHASH_LIBRARY=$build_dir/libkmerhash.so.1; export KMERHASH_LIBRARY
module=$KH_SRCDIR/packaging/python
MAKEFLAGS=; export MAKEFLAGS
check "its version is that of the program" grep -q "^__version__ = \"$("$real" --version | cut -d ' ' -f 2)\"\$" "$module/kmerhash/__init__.py"

# --- an environment: by pip from a package index; without one, the module where it is ----------
cp -R "$module" package && chmod -R u+w package
if "$PYTHON3" -m venv venv >.err 2>&1 && venv/bin/pip -q wheel --no-deps -w wheels ./package >>.err 2>&1; then
	ok "a wheel"
	check "it is pure Python" test -e wheels/kmerhash_classifier-*-py3-none-any.whl
	expect 0 "" "pip install" venv/bin/pip -q install wheels/*.whl
	python=$t/venv/bin/python
	venv/bin/pip -q install numpy pandas >.err 2>&1
else
	skip "a wheel" "no venv, or no package index"
	PYTHONPATH=$module; export PYTHONPATH
	python=$PYTHON3
fi
has() { "$python" -c "import $1" 2>/dev/null; }

# --- its README -------------------------------------------------------------------------------
build --db tour.khdb "$data"/genomes/*.gz
ln -s "$data" data
cp "$data/reads/tiny_sim_1.fq.gz" sim_1.fq.gz; cp "$data/reads/tiny_sim_2.fq.gz" sim_2.fq.gz
part() { awk -v what="$1" '$0 ~ "^<!-- (" what ")" { on = 1; next } /^<!-- end/ { on = 0 } on' "$module/README.md" | sed 's/^    //'; }
part python >python.py; part "python|pandas" >all.py
sed '/^with .*want=/,$d' python.py >first.py
expect 0 "" "README: calls" "$python" first.py
cp .out got
classify --db tour.khdb --paired --output lines.tsv sim_1.fq.gz sim_2.fq.gz
check "README: as many lines as are classified" test "$(wc -l <got)" -eq "$(grep -c '^C' lines.tsv)"
check "README: names, taxa, hits" sh -c 'cut -d " " -f 1,2 got >a; grep "^C" lines.tsv | cut -f 2,3 | tr "\t" " " >b; cmp a b'
expect 0 "" "README: files, without pandas" "$python" -c 'import sys; sys.modules["pandas"] = None; exec(open("python.py").read())'
if has pandas; then
	expect 0 "" "README: files and frames" "$python" all.py
else skip "README: files and frames" "no pandas"; fi

# --- calls and files beside the command -----------------------------------------------------------
cat >calls.py <<'END'
import sys
import kmerhash
want, *files = sys.argv[1:]
with kmerhash.Database("tour.khdb", device="cpu", want=want or None) as db:
    for read, call in db.classify(*files):
        print("C" if call.taxid else "U", read.name, call.taxid,
              f"{len(read.sequence)}|{len(read.mate)}" if read.mate is not None else len(read.sequence),
              *([f"{call.second}:{call.second_hits}" if call.second else "-"] if want == "second" else []), sep="\t")
END
real1=$data/reads/sarscov2_real_1.fq.gz real2=$data/reads/sarscov2_real_2.fq.gz
printf '>a\nACGTNNacgtu\nRYACGT\n>b x\n\n>c\n' >odd.fa; gzip -dc "$data"/genomes/*.gz >>odd.fa
for what in "sim_1.fq.gz" "sim_1.fq.gz sim_2.fq.gz" "$real1 $real2" odd.fa; do
	set -- $what
	# shellcheck disable=SC2086
	classify --db tour.khdb ${2:+--paired} --output want.tsv --set second-best $what
	expect 0 "" "${1##*/} ${2:+and mates}: read" "$python" calls.py second $what
	cut -f 1-4,6 want.tsv >want; cp .out got
	same want got "${1##*/} ${2:+and mates}: calls and the second-best of the command"
done
for i in 1 2 3 4 5 6 7 8 9 10; do gzip -dc sim_1.fq.gz; done >ten_1.fq
for i in 1 2 3 4 5 6 7 8 9 10; do gzip -dc sim_2.fq.gz; done >ten_2.fq
cat >files.py <<'END'
import kmerhash
with kmerhash.Database("tour.khdb", device="cpu", threads=3, want="sample") as db:
    print(db.classify_files("ten_1.fq", "ten_2.fq", lines="l.tsv", report="r.kreport", profile="p.tsv", sample_pass=True))
    again = db.calls(["ACGT" * 40])
    assert len(again) == 1 and again[0].taxid == 0
END
expect 0 "" "classify_files" "$python" files.py
check "classify_files: counts" grep -q "^Counts(fragments=3000, classified=3000)" .out
"$kmerhash" classify -q --device cpu --db tour.khdb --paired --sample-pass --output l.want --report r.want --profile p.want ten_1.fq ten_2.fq 2>.err
same l.want l.tsv "classify_files: lines"; same r.want r.kreport "classify_files: report"; same p.want p.tsv "classify_files: profile"

# --- tables, errors --------------------------------------------------------------------------------
if has numpy && has pandas; then
	cat >tables.py <<'END'
import kmerhash
with kmerhash.Database("tour.khdb") as db:
    texts = [read.sequence for read, _ in db.classify("sim_1.fq.gz")]
    array, calls = db.array(texts), db.calls(texts)
    assert array.shape == (300,) and [tuple(map(int, row)) for row in array] == [tuple(call) for call in calls]
frame = kmerhash.read_report("r.kreport")
rows = [line.rstrip("\n").split("\t") for line in open("r.kreport")]
assert list(frame["taxid"]) == [int(row[4]) for row in rows]
assert list(frame["name"]) == [row[5].strip() for row in rows] and frame["depth"].max() > 3
assert frame.loc[frame["rank"] == "R", "clade"].item() == 3000
profile = kmerhash.read_profile("p.tsv")
rows = [line.rstrip("\n").split("\t") for line in open("p.tsv")]
assert list(profile.columns) == rows[0] and list(map(str, profile["taxid"])) == [row[rows[0].index("taxid")] for row in rows[1:]]
END
	expect 0 "" "arrays and frames" "$python" tables.py
else skip "arrays and frames" "no numpy or no pandas"; fi
cat >errors.py <<'END'
import kmerhash
def fails(kind, text, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
fails(kmerhash.Error, "nowhere.khdb", kmerhash.Database, "nowhere.khdb")
fails(ValueError, "which is none of", kmerhash.Database, "tour.khdb", want="all")
db = kmerhash.Database("tour.khdb")
fails(kmerhash.Error, "expected a nucleotide", db.calls, ["ACGT", "AC!T"])
fails(kmerhash.Error, "KMERHASH_SAMPLE", db.classify_files, "sim_1.fq.gz", sample_pass=True)
fails(kmerhash.Error, "has more reads than", lambda: list(db.classify("sim_1.fq.gz", "odd.fa")))
fails(kmerhash.Error, "nothing.fq", lambda: list(db.classify("nothing.fq")))
open("bad.fq", "w").write("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII\n")
seen = []
fails(kmerhash.Error, "bad.fq", lambda: seen.extend(iter(db.classify("bad.fq"))))
def each():
    for read, _ in db.classify("bad.fq"):
        seen.append(read.name)
fails(kmerhash.Error, "bad.fq", each)
assert seen[-1] == "a"
fails(KeyError, "4", db.taxon, 4)
for taxid in (2**32 + 10847, 10847 - 2**32, -1, 2**64 + 10847):
    fails(KeyError, str(taxid), db.taxon, taxid)
    assert db.above(taxid, "species") == 0 and db.common(taxid, 10847) == 0 and db.common(10847, taxid) == 0
for path in ("sim_1.fq.gz\0x", b"sim_1.fq.gz\0"):
    fails(ValueError, "null character", db.classify_files, path)
    fails(ValueError, "null character", db.classify_files, "sim_1.fq.gz", lines=path)
    fails(ValueError, "null character", lambda: list(db.classify(path)))
    fails(ValueError, "null character", kmerhash.Database, path)
assert [x.name for x in db.lineage(10847)][-1] == "Escherichia virus phiX174"
assert db.common(10847, 10710) == 10239 and db.above(2697049, "species") == 694009
assert len(list(db.taxa())) == 41
db.close()
fails(ValueError, "closed", db.calls, ["ACGT"])
END
expect 0 "" "errors and taxa" "$python" errors.py
check "nothing is printed" test ! -s .err
KMERHASH_LIBRARY=/nowhere.so; export KMERHASH_LIBRARY
expect 1 "ImportError: libkmerhash is not found; install kmerhash" "no library" "$python" -c 'import kmerhash; kmerhash.version()'
plan
