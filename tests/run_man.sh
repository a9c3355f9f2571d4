# run_man.sh - manual pages: lint, options as -h has them, one version; speaks TAP
: "${KH_SRCDIR:?}"
set -- "$KH_SRCDIR"/man/*.[157]
commands=$(./kmerhash -h | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
n=0
ok() { n=$((n + 1)); if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

# Long options and letters of a command, from its -h and from its page.
from_help() {
	./kmerhash "$1" -h | sed -n '/^Options:/,$p' |
		grep -Eo '^  (-.,|   ) --[a-z0-9-]+' | grep -Eo -- '-(-[a-z0-9-]+|[A-Za-z])' | sort -u
}
from_page() {
	sed -n 's/^\.It Fl //p' "$KH_SRCDIR/man/kmerhash-$1.1" | sed 's/ Ar .*//; s/ , Fl /\
/g' | sed 's/^/-/' | sort -u
}

# In the text, too, a page may name only options that there are (of any command).
unknown_options() {
	for c in $commands; do from_help "$c"; done | sort -u >"$t/all"
	echo '--version' >>"$t/all"
	printf '%s\n' --to-hdf5 --table-type --process-obs-metadata \
		--cflags --libs --with-tables >>"$t/all"        # of biom, pkg-config, configure
	printf '%s\n' --quick --minimum-hit-groups --minimum-base-quality --report-minimizer-data \
		--report-zero-counts --use-mpa-style --gzip-compressed --bzip2-compressed --memory-mapping \
		--only-classified-output --fasta-input --fastq-input --log --use-daemon >>"$t/all" # of kraken2 and k2
	grep -hEo '(^|[^a-z0-9-])Fl -[a-z][a-z0-9-]+| --[a-z][a-z0-9-]+' "$@" |
		sed 's/.*Fl -/--/; s/^ //' | sort -u | grep -vxFf "$t/all"
}

# The same of settings: `--set help`, and the items of the page's section.
settings_from_help() { ./kmerhash "$1" --set help | sed -n 's/^  \([a-z0-9-]*\).*/\1/p' | sort; }
settings_from_page() {
	sed -n '/^\.Ss Settings/,/^\.El/s/^\.It Cm \([a-z0-9-]*\).*/\1/p' "$KH_SRCDIR/man/kmerhash-$1.1" | sort
}

version_of() { sed -n "s/$1/\\1/p" "$KH_SRCDIR/$2" | head -n 1; }

t=${TMPDIR:-/tmp}/kh-man.$$
mkdir "$t" || exit 1
trap 'rm -rf "$t"' EXIT
echo "1..$(($# + 3 * $(echo "$commands" | wc -w) + 5))"

for page; do
	name=${page##*/}
	if ! command -v mandoc >"$t/out" 2>&1; then
		skip "$name: lint" "no mandoc"
		continue
	fi
	mandoc -Tlint -Wwarning "$page" >"$t/out" 2>&1
	rc=$?
	sed 's/^/# /' "$t/out"
	ok $rc "$name: lint"
done

for c in $commands; do
	if [ -f "$KH_SRCDIR/man/kmerhash-$c.1" ]; then
		from_help "$c" >"$t/help"
		from_page "$c" >"$t/page"
		[ -s "$t/help" ] && diff "$t/help" "$t/page" >"$t/diff"
		rc=$?
		sed 's/^/# /' "$t/diff"
		ok $rc "kmerhash-$c.1 has the options of kmerhash $c -h, and no others"
	else
		ok 1 "kmerhash-$c.1 has the options of kmerhash $c -h, and no others"
	fi
	settings_from_help "$c" >"$t/help"
	settings_from_page "$c" >"$t/page"
	[ -s "$t/help" ] && diff "$t/help" "$t/page" >"$t/diff"
	rc=$?
	sed 's/^/# /' "$t/diff"
	ok $rc "kmerhash-$c.1 has the settings of kmerhash $c --set help, and no others"
	grep -q "^\.Xr kmerhash-$c 1" "$KH_SRCDIR/man/kmerhash.1"
	ok $? "kmerhash.1 refers to kmerhash-$c.1"
done

unknown=$(unknown_options "$@")
[ -z "$unknown" ] || echo "$unknown" | sed 's/^/# unknown: /'
[ -z "$unknown" ]
ok $? "pages name only options that there are"

want="kmerhash $(version_of '^AC_INIT(\[kmerhash\], \[\([0-9.]*\)\]).*' configure.ac)"
[ "$(./kmerhash --version)" = "$want" ]
ok $? "kmerhash --version is that of AC_INIT"
[ "kmerhash $(version_of '^## \([0-9][0-9.]*\).*' NEWS.md)" = "$want" ]
ok $? "so is the newest release of NEWS.md"
[ "kmerhash $(version_of '^This page describes version \([0-9.]*\)\.$' man/kmerhash.1)" = "$want" ]
ok $? "and kmerhash.1"
# Each line has the version behind these words.
others() {
	for found in "CITATION.cff:version: " "packaging/conda/recipe.yaml:  version: " \
		"packaging/kmerhash.def:    VERSION=" "workflow/envs/kmerhash.yaml:  - kmerhash =" \
		"workflow/wrappers/bio/kmerhash/build/environment.yaml:  - kmerhash =" \
		"workflow/wrappers/bio/kmerhash/bracken-distrib/environment.yaml:  - kmerhash =" \
		"workflow/wrappers/bio/kmerhash/classify/environment.yaml:  - kmerhash =" \
		"workflow/wrappers/bio/kmerhash/merge/environment.yaml:  - kmerhash ="; do
		grep -qxF "${found#*:}${want#kmerhash }" "$KH_SRCDIR/${found%%:*}" || echo "$found"
	done
}
others=$(others)
[ -z "$others" ] || echo "$others" | sed 's/^/# another version: /'
[ -z "$others" ]
ok $? "and the packages, the workflow, its wrappers and CITATION.cff"
