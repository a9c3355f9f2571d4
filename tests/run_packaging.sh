# run_packaging.sh - the module for nf-core and the wrapper for Galaxy: the commands that they make run
# here, without either of these; the list of parts; one version in all; speaks TAP
{ [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; } || { echo "1..0 # SKIP no python3"; exit 0; }
build_dir=$PWD
. "${KH_SRCDIR:?}/tests/tap.sh"
packaging=$KH_SRCDIR/packaging
version=$("$real" --version | cut -d ' ' -f 2)
mkdir bin && ln -s "$real" bin/kmerhash && PATH=$t/bin:$PATH
for f in nf-core/kmerhash/classify/main.nf nf-core/kmerhash/classify/environment.yml galaxy/kmerhash_classify.xml conda/recipe.yaml; do
	check "$f: the version" grep -q "kmerhash[=:]$version\|\"@TOOL_VERSION@\">$version<\|version: $version\$" "$packaging/$f"
done
build --db refs.khdb "$data"/genomes/*.gz
cp "$data"/reads/tiny_sim_[12].fq.gz .

# --- nf-core: the script of the process, with what Nextflow would put into it --------------------
cat >script.py <<'END'
import re, sys
text, single, save = open(sys.argv[1]).read(), sys.argv[2] == "single", sys.argv[3] == "save"
script = re.search(r'script:.*?"""\n(.*?)"""', text, re.S).group(1).replace("\\\\\n", "\\\n")
mates, name = "" if single else "#", "x"
fastqs = re.search(r'\? "(--classified-out [^"]*)"', text).group(1).replace("${prefix}", name).replace("${mates}", mates)
lines = re.search(r'save_reads_assignment \? "([^"]*)"', text).group(1).replace("${prefix}", name)
put = {"db": "refs.khdb", "task.cpus": "2", "prefix": name, "lines": lines if save else "-", "fastqs": fastqs if save else "",
       "paired": "" if single else "--paired", "args": "--use-names",
       "reads": "tiny_sim_1.fq.gz" + ("" if single else " tiny_sim_2.fq.gz")}
print(re.sub(r"\$\{([^}]*)\}", lambda m: put[m.group(1)], script))
END
nf=$packaging/nf-core/kmerhash/classify/main.nf
for kind in single pair; do
	"$PYTHON3" script.py "$nf" $kind save >script.sh
	expect 0 "" "nf-core, $kind" sh -e script.sh
	check "nf-core, $kind: the results" test -s x.kmerhash.report.txt -a -s x.kmerhash.json -a -s x.kmerhash.classifiedreads.tsv.gz
	check "nf-core, $kind: a line for each" test "$(gzip -dc x.kmerhash.classifiedreads.tsv.gz | wc -l)" -eq 300
	case $kind in single) set -- x.classified.fastq.gz x.unclassified.fastq.gz ;; *) set -- x.classified_1.fastq.gz x.unclassified_2.fastq.gz ;; esac
	check "nf-core, $kind: the reads" test -e "$1" -a -e "$2"
	rm x.*
done
"$PYTHON3" script.py "$nf" pair no >script.sh
expect 0 "" "nf-core, report only" sh -e script.sh
check "nf-core, report only: no other files" test "$(ls x.* | wc -l)" -eq 2
check "nf-core: its version" test "$(sh -c "$(sed -n 's/.*eval("\(.*\)").*/\1/p' "$nf")")" = "$version"

# --- Galaxy -------------------------------------------------------------------------------------
galaxy=$packaging/galaxy/kmerhash_classify.xml
check "Galaxy: the files are XML" "$PYTHON3" -c 'import sys, xml.dom.minidom as x; [x.parse(f) for f in sys.argv[1:]]' "$galaxy" "$packaging"/galaxy/*.xml.*
"$kmerhash" help classify | grep -o -e '--[a-z-]*' | sort -u >options
grep -o -e '--[a-z][a-z-]*' "$galaxy" | grep -v -e '--version' | sort -u >used
check "Galaxy: its options are those of classify" test -z "$(comm -13 options used)" -a -s used
# the command with all results, as its template makes it
if "$PYTHON3" -c 'import Cheetah' 2>/dev/null; then
	cat >fill.py <<'END'
import sys, xml.etree.ElementTree as tree
from Cheetah.Template import Template
class Words(dict):
    __getattr__ = dict.get
    def __str__(self): return self["text"]
text = tree.parse(sys.argv[1]).find("command").text
print(" ".join(str(Template(text, searchList=[{
    "db": Words(fields=Words(path="refs.khdb")), "confidence": "0.1", "sample_pass": "--sample-pass",
    "reads": Words(kind="pair", pair=Words(forward="tiny_sim_1.fq.gz", reverse="tiny_sim_2.fq.gz")),
    "results": "lines,profile,page", "report": "g.report", "lines": "g.lines", "profile": "g.profile", "page": "g.page"}])).split()))
END
	"$PYTHON3" fill.py "$galaxy" >script.sh
	expect 0 "" "Galaxy: the command" sh -e script.sh
	check "Galaxy: its results" test -s g.report -a -s g.lines -a -s g.profile -a -s g.page
else skip "Galaxy: the command" "no Cheetah"; fi

# --- the list of parts ----------------------------------------------------------------------------
if command -v ldd >/dev/null && [ -z "${KH_SANITIZE:-}" ]; then
	expect 0 "" "the list of parts" "$PYTHON3" "$packaging/sbom" "$build_dir/kmerhash"
	cp .out parts.json
	check "the list of parts: the program and its libraries" "$PYTHON3" -c '
import hashlib, json, sys
parts = {p["name"]: p for p in json.load(open("parts.json"))["packages"]}
assert {"kmerhash", "libjansson", "libxxhash", "libz"} <= set(parts), parts
assert parts["kmerhash"]["checksums"][0]["checksumValue"] == hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()
assert parts["kmerhash"]["versionInfo"] == sys.argv[2]' "$build_dir/kmerhash" "$version"
else skip "the list of parts" "no ldd, or a sanitizer"; fi
plan
