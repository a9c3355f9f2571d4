// model.js - the data of the page: taxa in preorder, samples, and what follows from them

const data = JSON.parse(document.getElementById("data").textContent);
const taxa = data.taxa, samples = data.samples, columns = data.columns || [];
const unit = data.unit || "reads";
const N = taxa.taxid.length;

/* --- ranks ------------------------------------------------------------------------ */

// The ranks that the chart has a column for, root-most first, and how reports abbreviate them.
const LEVELS = [
	["root"], ["domain", "superkingdom", "D"], ["kingdom", "K"],
	["phylum", "division", "P"], ["class", "C"], ["order", "O"], ["family", "F"],
	["genus", "G"], ["species", "S"], ["below species"],
];
const SPECIES = 8, BELOW = 9;
const levelOfRank = new Map();
LEVELS.forEach((names, level) => names.forEach((name) => levelOfRank.set(name, level)));

const rankNames = data.ranks.map((name) => name.length === 1 && levelOfRank.has(name) ?
	LEVELS[levelOfRank.get(name)][0] : name);
function rankName(i) {
	return rankNames[taxa.rank[i]];
}

// A taxon is shown if its rank has a column of its own behind that of the one it is shown under.  A
// narrow screen has room for few columns.
const FOR_NARROW = [0, 3, 7, 8, 9], isNarrow = matchMedia("(max-width: 600px)").matches;
const level = new Int8Array(N), shown = new Uint8Array(N), above = new Int32Array(N);

for (let i = 0; i < N; i++) {
	const up = i === 0 ? 0 : (shown[taxa.parent[i]] ? taxa.parent[i] : above[taxa.parent[i]]);
	let own = i === 0 ? 0 : levelOfRank.get(data.ranks[taxa.rank[i]]);

	if (own === undefined && level[up] === SPECIES)
		own = BELOW;
	if (isNarrow && !FOR_NARROW.includes(own))
		own = undefined;
	above[i] = up;
	shown[i] = i === 0 || (own !== undefined && own > level[up]);
	level[i] = shown[i] ? own : level[up];
}

/* --- counts ----------------------------------------------------------------------- */

// One past the last taxon of each clade.
const end = new Int32Array(N);
for (let i = N - 1; i >= 0; i--) {
	end[i] = Math.max(end[i], i + 1);
	if (i > 0)
		end[taxa.parent[i]] = Math.max(end[taxa.parent[i]], end[i]);
}

for (const s of samples) {
	s.clade = Float64Array.from(s.direct);
	for (let i = N - 1; i > 0; i--)
		s.clade[taxa.parent[i]] += s.clade[i];
	s.classified = N ? s.clade[0] : 0;
	s.all = s.classified + s.unclassified;
	s.values = s.values || {};
}

// What a profile says of a taxon in a column.
function valueOf(key) {
	const k = columns.findIndex((c) => c.key === key);
	return (i, s) => (s.values[i] || [])[k];
}
// "yes", "low", "no", or nothing.
const detected = valueOf("detected");

// Is the taxon judged not to be there?  Without a verdict of its own it is as what it is in, or else not
// there if something in it was judged and nothing of that is.
function isRefuted(i, s) {
	if (!s.refuted) {
		const judged = new Uint8Array(N), there = new Uint8Array(N);
		for (let k = N - 1; k >= 0; k--) {
			there[k] |= /yes|low/.test(detected(k, s));
			judged[k] |= there[k] || detected(k, s) === "no";
			there[taxa.parent[k]] |= there[k];
			judged[taxa.parent[k]] |= judged[k];
		}
		s.refuted = new Uint8Array(N);
		for (let k = 0; k < N; k++)
			s.refuted[k] = detected(k, s) ? detected(k, s) === "no" :
				s.refuted[taxa.parent[k]] || (judged[k] && !there[k]);
	}
	return s.refuted[i] === 1;
}

function hasValues(s) {
	return Object.keys(s.values).length > 0;
}

// What orders siblings in every sample: the sum of the clade's shares.
const weight = new Float64Array(N);
for (const s of samples)
	for (let i = 0; i < N; i++)
		weight[i] += s.clade[i] / (s.classified || 1);

/* --- the tree that is shown ------------------------------------------------------- */

// The children of i are kids[first[i]] up to kids[first[i + 1]], the heavier first.
const first = new Int32Array(N + 1), kids = new Int32Array(N);
for (let i = 1; i < N; i++)
	if (shown[i])
		first[above[i] + 1]++;
for (let i = 0; i < N; i++)
	first[i + 1] += first[i];
{
	const at = first.slice();
	for (let i = 1; i < N; i++)
		if (shown[i])
			kids[at[above[i]]++] = i;
	for (let i = 0; i < N; i++)
		if (first[i + 1] - first[i] > 1)
			kids.subarray(first[i], first[i + 1]).sort((a, b) => weight[b] - weight[a] || a - b);
}

// A taxon without a column is drawn as the run of what it holds; here it stands where its
// nearest shown ancestor does.
function standIn(i) {
	return shown[i] ? i : above[i];
}

// Columns of the chart: levels that occur.
const columnOf = new Int8Array(LEVELS.length), levelAt = [];
for (let l = 0; l < LEVELS.length; l++) {
	let occurs = l === 0;
	for (let i = 0; i < N && !occurs; i++)
		occurs = shown[i] && level[i] === l;
	columnOf[l] = levelAt.length;
	if (occurs)
		levelAt.push(l);
}
function columnName(c) {
	return LEVELS[levelAt[c]][0];
}
function columnAt(i) {
	return columnOf[level[i]];
}

// Where each clade begins, counted in reads from the top of the root.
function layout(s) {
	if (s.top)
		return s.top;
	s.top = new Float64Array(N);
	for (let i = 0; i < N; i++)
		if (shown[i])
			for (let k = first[i], at = s.top[i]; k < first[i + 1]; k++) {
				s.top[kids[k]] = at;
				at += s.clade[kids[k]];
			}
	return s.top;
}

// Colour groups: the clades that one gets by dividing the heaviest, down to phyla; where that gives
// few, further down, so that colours tell something of any sample.  -1: above them all, or too
// small for a colour.
const GROUPS = 8, FEW = 4, PHYLUM = 3, group = new Int8Array(N).fill(-1);

function divide() {
	let list = N ? [0] : [];

	for (;;) {
		const free = GROUPS - list.length + 1;
		const lowest = list.length < FEW ? SPECIES - 1 : PHYLUM;
		const at = list.filter((i) => level[i] < lowest && first[i + 1] > first[i])
			.sort((a, b) => weight[b] - weight[a])[0];
		if (at === undefined || (free < 2 && list.length > 1))
			return list;
		const held = Array.from(kids.subarray(first[at], first[at + 1]))
			.filter((k) => weight[k] > weight[0] * 0.01).slice(0, free);
		if (held.length === 0)
			return list;
		list = list.filter((i) => i !== at).concat(held);
	}
}

{
	const list = divide(), place = N ? layout(samples[0]) : [];

	list.sort((a, b) => place[a] - place[b]).forEach((i, k) => { group[i] = k % GROUPS; });
	for (let i = 1; i < N; i++)
		if (group[i] < 0)
			group[i] = group[taxa.parent[i]];
}

/* --- text ------------------------------------------------------------------------- */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function percent(part, all) {
	const p = all > 0 ? 100 * part / all : 0;
	return (p === 0 ? "0" : p < 0.001 ? "< 0.001" : p < 0.1 ? p.toFixed(3) :
		p < 10 ? p.toFixed(2) : p.toFixed(1)) + " %";
}

// A value of a column that the profile of a sample gives; "" where there is none.
function valueText(column, value) {
	if (value === null || value === undefined)
		return "";
	if (column.kind === "text" || typeof value !== "number")
		return String(value);
	const digits = column.digits === undefined ? 2 : column.digits;
	return column.kind === "percent" ? (100 * value).toFixed(digits) + " %" :
		value.toFixed(digits);
}

const byTaxid = new Map();
for (let i = 0; i < N; i++)
	byTaxid.set(taxa.taxid[i], i);

// An element with a class and text; nothing of the data is ever read as HTML.
function make(tag, name, text) {
	const e = document.createElement(tag);
	if (name)
		e.className = name;
	if (text !== undefined)
		e.textContent = text;
	return e;
}
function get(id) {
	return document.getElementById(id);
}

// Writes rows of cells to a file of the user's.
function saveTable(name, rows) {
	const text = rows.map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]/g, " "))
		.join("\t") + "\n").join("");
	saveFile(name, new Blob([text], { type: "text/tab-separated-values" }));
}
function saveFile(name, blob) {
	const a = document.createElement("a"), url = URL.createObjectURL(blob);
	a.href = url;
	a.download = name.replace(/[^\w.-]+/g, "_");
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}
