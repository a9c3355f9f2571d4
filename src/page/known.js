// known.js - the taxa of the database, whether or not reads were called them

const known = { name: [], taxid: [], rank: [], genomes: [], others: [], at: new Map(), ready: false };

// Older browsers cannot decompress: then the page knows only what has reads.
async function startKnown() {
	if (!data.known || typeof DecompressionStream === "undefined")
		return;
	const bytes = Uint8Array.from(atob(data.known.list), (c) => c.charCodeAt(0));
	const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	const lines = (await new Response(text).text()).split("\n"), n = data.known.listed;

	known.name = lines.slice(0, n);
	known.taxid = lines.slice(n, 2 * n).map(Number);
	known.rank = lines.slice(2 * n, 3 * n);
	known.genomes = lines.slice(3 * n, 4 * n);
	known.others = lines.slice(4 * n, 5 * n);
	known.taxid.forEach((taxid, k) => known.at.set(taxid, k));
	known.ready = true;
	fillDetails();
}

// "3 genomes, the longest of 5.23 Mbp"
function knownText(k) {
	const [n, bases, part] = known.genomes[k].split(" ");

	if (!n)
		return data.known.genomes ? "no genome" : "yes";
	return whole.format(n) + (n === "1" ? " genome of " : " genomes, the longest of ") +
		basesText(Number(bases)) + (part ? ", part of a genome only" :
		known.rank[k] === "species" ? ", whole by its length" : "");
}

// What the details say of a taxon of the page.
function inDatabase(taxid) {
	const k = known.at.get(taxid);
	return k === undefined ? "" : knownText(k);
}

// The first of its other names that has these words, or "".
function otherName(k, low) {
	const all = known.others[k] || "";
	return all.toLowerCase().includes(low) ?
		all.split("\t").find((name) => name.toLowerCase().includes(low)) || "" : "";
}

// Those that are found but have no reads: whole taxids, then names that begin so, then that have it.
function findKnown(low, n) {
	const found = [[], [], []];

	for (let k = 0; k < known.name.length; k++) {
		const at = Math.max(known.name[k].toLowerCase().indexOf(low), otherName(k, low) ? 1 : -1);
		if (byTaxid.has(known.taxid[k]))
			continue;
		if (String(known.taxid[k]) === low)
			found[0].push(k);
		else if (at >= 0)
			found[at === 0 ? 1 : 2].push(k);
	}
	return found.flat().slice(0, n);
}

function notKnown() {
	return data.known.listed === data.known.all ? "Not in the database" :
		"None of the " + whole.format(data.known.listed) + " genera and higher taxa that this page " +
		"lists of the " + whole.format(data.known.all) + " taxa of the database; " +
		"kmerhash inspect --find looks in all";
}

// A taxon of the database without reads, in place of the one that is shown.
function showKnown(k) {
	const box = get("details"), name = make("h3", "", known.name[k]), list = make("dl");

	name.dir = "auto";
	pair(list, title(unit) + " in clade", "0");
	pair(list, "In the database", knownText(k), "known");
	box.replaceChildren(name, make("p", "rank", known.rank[k] + " · taxid " + known.taxid[k]), list,
		make("p", "note", "It is in the database, and no " + unit + " were called it."));
	get("say").textContent = known.name[k] + ": in the database, no " + unit;
}
