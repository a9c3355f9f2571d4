// app.js - what the page shows, and how one gets about in it

// Where we are; it stands in the address, so that the browser's history leads through it.
const state = { focus: 0, sample: 0 };

function address(focus, sample) {
	const parts = [];
	if (focus)
		parts.push("taxon=" + taxa.taxid[focus]);
	if (sample)
		parts.push("sample=" + (sample + 1));
	return "#" + parts.join("&");
}

function go(to) {
	const focus = to.focus === undefined ? state.focus : to.focus;
	const sample = to.sample === undefined ? state.sample : to.sample;

	if (focus !== state.focus || sample !== state.sample)
		location.hash = address(focus, sample);         // hashchange does the rest
}

function arrive() {
	const words = new URLSearchParams(location.hash.slice(1)), before = state.focus;
	const found = byTaxid.get(Number(words.get("taxon"))), sample = Number(words.get("sample")) - 1;
	const other = sample > 0 && sample < samples.length ? sample : 0;
	const same = other === state.sample;

	if (location.hash.startsWith("#taxa-"))
		return;                                         // the link that skips to the table
	state.focus = found === undefined ? 0 : found;
	state.sample = other;
	table.rows = ROWS;
	get("sample").selectedIndex = other;
	show(state.focus, same ? before : undefined);
	fillCrumbs();
	fillDetails();
	fillTable();
	if (!same) {
		fillTiles();
		drawSamples();
	}
	get("say").textContent = N ? describe(state.focus) : "";
}

/* --- the summary ------------------------------------------------------------------ */

function tile(name, value, kind) {
	const box = make("div", "tile"), b = make("b", kind, value);
	b.title = value;
	b.dir = "auto";
	box.append(make("span", "", name), b);
	get("tiles").appendChild(box);
	return box;
}

// The species of a sample, the largest first: those that are detected, or that have reads if nothing
// was judged.
function speciesOf(s) {
	const list = [], judged = hasValues(s);

	for (let i = 0; i < N; i++)
		if (rankName(i) === "species" && (judged ? /yes|low/.test(detected(i, s)) : s.clade[i] > 0))
			list.push(i);
	return list.sort((a, b) => s.clade[b] - s.clade[a]);
}

// The species with the most reads, or how many have as many.
function largestSpecies(list, s) {
	const tied = list.filter((i) => s.clade[i] === s.clade[list[0]]);

	return { name: tied.length > 1 ? tied.length + " species" : taxa.name[list[0]],
		names: tied.map((i) => taxa.name[i]).join(", "),
		share: percent(s.clade[list[0]], s.all) + (tied.length > 1 ? " each" : "") };
}

function fillTiles() {
	const s = samples[state.sample], species = speciesOf(s);

	get("tiles").textContent = "";
	tile(title(unit), whole.format(s.all));
	const meter = make("div", "meter"), part = make("i");
	part.style.width = 100 * s.classified / (s.all || 1) + "%";
	meter.appendChild(part);
	tile("Classified", percent(s.classified, s.all)).appendChild(meter);
	tile(hasValues(s) ? "Species detected" : "Species", whole.format(species.length));
	if (species.length) {
		const most = largestSpecies(species, s);
		tile("Largest, " + most.share, most.name, "text").lastChild.title = most.names;
	}
}

function fillCrumbs() {
	const nav = get("crumbs"), path = [];

	nav.textContent = "";
	for (let i = state.focus; N; i = taxa.parent[i]) {
		path.unshift(i);
		if (i === 0)
			break;
	}
	path.filter((i) => shown[i] || i === state.focus).forEach((i, k, all) => {
		const b = make("button", "", taxa.name[i]);
		b.type = "button";
		b.dir = "auto";
		b.title = rankName(i);
		if (i === state.focus)
			b.setAttribute("aria-current", "true");
		b.addEventListener("click", () => go({ focus: i }));
		nav.appendChild(b);
		if (k < all.length - 1)
			nav.appendChild(make("span", "", "›"));
	});
}

/* --- the taxon that is shown ------------------------------------------------------ */

function pair(list, name, value, kind) {
	if (value !== "")
		list.append(make("dt", "", name), make("dd", kind, value));
}

// Bars of equal width, as high as the numbers; title(k) is said of bar k.
function plot(numbers, text, title) {
	const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg");
	const most = Math.max(...numbers, 1e-300);

	svg.setAttribute("class", "plot");
	svg.setAttribute("viewBox", "0 0 " + numbers.length + " 100");
	svg.setAttribute("preserveAspectRatio", "none");
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", text);
	numbers.forEach((v, k) => {
		const r = document.createElementNS(ns, "rect");
		r.setAttribute("x", k + 0.05);
		r.setAttribute("width", 0.9);
		r.setAttribute("y", 100 - 96 * v / most);
		r.setAttribute("height", 96 * v / most);
		r.appendChild(document.createElementNS(ns, "title")).textContent = title(k);
		svg.appendChild(r);
	});
	return svg;
}

// The largest taxa below i: of the next columns' first rank that has several, or its children.
function topBelow(i, s) {
	const at = standIn(i), list = [];
	let wanted = Math.max(level[at] + 1, SPECIES);

	if (level[at] >= SPECIES)
		wanted = BELOW;
	for (let k = i + 1; k < end[i]; k++)
		if (shown[k] && level[k] === wanted && s.clade[k] > 0)
			list.push(k);
	return { name: wanted === SPECIES ? "Largest species" : "Largest below the species",
		list: list.sort((a, b) => s.clade[b] - s.clade[a]).slice(0, 8) };
}

function fillTop(box, i, s) {
	const top = topBelow(i, s), ul = make("ul", "top");

	if (!top.list.length)
		return;
	for (const k of top.list) {
		const li = make("li"), b = make("button"), bar = make("i"), name = make("span", "", taxa.name[k]);
		bar.style.width = 100 * s.clade[k] / s.clade[top.list[0]] + "%";
		name.dir = "auto";
		b.type = "button";
		b.title = taxa.name[k];
		if (isRefuted(k, s))
			li.className = "is-no";
		b.append(bar, name, make("em", "", percent(s.clade[k], s.all)));
		b.addEventListener("click", () => go({ focus: k }));
		li.appendChild(b);
		ul.appendChild(li);
	}
	box.append(make("h4", "", top.name), ul);
}

function basesText(n) {
	const power = n < 1e3 ? 0 : n < 1e6 ? 1 : 2;
	return power ? (n / 1000 ** power).toPrecision(3) + ["", " kbp", " Mbp"][power] : n + " bp";
}

// A plot with words above it and below its left end, its middle and its right end.
function figure(box, head, bars, below) {
	const f = make("figure"), axis = make("p", "axis");

	f.append(head, bars, axis);
	below.forEach((text) => axis.appendChild(make("span", "", text)));
	box.appendChild(f);
}

function fillReference(box, r) {
	const head = make("figcaption"), id = make("span", "", r.id), n = r.bins.length;
	const from = (k) => basesText(Math.round(r.bases * k / n));

	id.dir = "auto";
	head.append(id, make("em", "", whole.format(r.reads) + " " + unit));
	figure(box, head, plot(r.bins, title(unit) + " along " + r.id + ", in " + n + " parts of " +
		basesText(Math.round(r.bases / n)) + "; at most " + whole.format(Math.max(...r.bins)) + " in one",
	(k) => from(k) + " to " + from(k + 1) + ": " + whole.format(r.bins[k]) + " " + unit),
	["0", basesText(r.bases)]);
}

function fillIdentity(box, numbers, borders) {
	const n = numbers.length, border = (k) => (100 * borders[k]).toFixed(1) + " %";
	const range = (k) => (k ? border(k) + " to " : "up to ") + border(k + 1);
	const most = numbers.indexOf(Math.max(...numbers));

	figure(box, make("figcaption", "", "Identity, from shared features"), plot(numbers, title(unit) +
		" by identity with the reference; most have " + range(most),
	(k) => range(k) + ": " + whole.format(numbers[k]) + " " + unit),
	["< " + border(1), border(n / 2 | 0), border(n)]);
}

function fillPlots(box, i, s) {
	const cover = (s.coverage || {})[taxa.taxid[i]];

	if (!cover)
		return;
	box.appendChild(make("h4", "", "Along its references"));
	box.appendChild(make("p", "note", whole.format(cover.reads) + " " + unit +
		" can be placed. The sequences with the most:"));
	for (const r of cover.references || [])
		fillReference(box, r);
	if (cover.identity && data.identities)
		fillIdentity(box, cover.identity, data.identities);
}

// The command that takes the reads of a taxon out.
function fillReadout(box, i, s) {
	if (s.readout && i > 0 && (s.clade[i] > 0 || valueOf("first")(i, s) > 0))
		box.append(make("h4", "", "To take out the " + unit + " that " + (hasValues(s) ? "the first pass called" :
			"are called") + " it" + (s.readout[1].includes("--sam") ? ", aligned, for a viewer" : "")),
		make("code", "", s.readout.join(taxa.taxid[i])));
}

function fillDetails() {
	const box = get("details"), i = state.focus, s = samples[state.sample], list = make("dl");

	box.textContent = "";
	if (!N)
		return;
	const name = make("h3", "", taxa.name[i]);
	name.dir = "auto";
	box.append(name, make("p", "rank", i ? rankName(i) + " · taxid " + taxa.taxid[i] : "all that was classified"));
	pair(list, title(unit) + " in clade", whole.format(s.clade[i]));
	pair(list, "Direct " + unit, whole.format(s.direct[i]));
	pair(list, "Of all " + unit, percent(s.clade[i], s.all));
	pair(list, "Of the classified", percent(s.clade[i], s.classified));
	pair(list, "In the database", inDatabase(taxa.taxid[i]), "known");
	for (const f of fields.filter((g) => g.column))
		pair(list, f.label, valueText(f.column, f.of(i, s)), f.key);
	box.appendChild(list);
	fillPlots(box, i, s);
	fillTop(box, i, s);
	fillReadout(box, i, s);
	if (samples.length > 1)
		fillOver(box, i);
}

const SIDE = 10;                // samples that have room beside the chart

function fillOver(box, i) {
	const ul = make("ul", "top"), of = (k) => samples[k].clade[i] / (samples[k].all || 1);
	const list = samples.map((s, k) => k).sort((a, b) => of(b) - of(a) || a - b).slice(0, SIDE);

	for (const k of list) {
		const li = make("li"), b = make("button"), bar = make("i"), name = make("span", "", samples[k].name);
		bar.style.width = 100 * of(k) / (of(list[0]) || 1) + "%";
		b.type = "button";
		name.dir = "auto";
		b.append(bar, name, make("em", "", percent(of(k), 1)));
		b.addEventListener("click", () => go({ sample: k }));
		li.appendChild(b);
		ul.appendChild(li);
	}
	box.append(make("h4", "", samples.length > SIDE ? "Samples with the most of it" : "In each sample"), ul);
}

/* --- finding ---------------------------------------------------------------------- */

const finder = { list: [], at: -1 };

const FOUND = 12;

// Whole taxids first, then names that begin so, then names that have it; the heavier first.  Behind
// them, from N on, taxa of the database that have no reads.
function find(words) {
	const sure = [], begin = [], has = [], s = samples[state.sample];
	const low = words.trim().toLowerCase(), heavier = (a, b) => s.clade[b] - s.clade[a];

	if (!low)
		return [];
	for (let i = 0; i < N; i++) {
		const at = taxa.name[i].toLowerCase().indexOf(low);
		if (String(taxa.taxid[i]) === low)
			sure.push(i);
		else if (at === 0)
			begin.push(i);
		else if (at > 0 || otherName(known.at.get(taxa.taxid[i]), low))
			has.push(i);
	}
	const list = sure.concat(begin.sort(heavier), has.sort(heavier)).slice(0, FOUND);
	return list.concat(findKnown(low, FOUND - list.length).map((k) => N + k));
}

function nameOf(i) {
	return i < N ? taxa.name[i] : known.name[i - N];
}

function fillFound() {
	const box = get("found"), input = get("search"), s = samples[state.sample];

	box.textContent = "";
	finder.list.forEach((i, k) => {
		const li = make("li"), name = make("span", "name", nameOf(i));
		li.id = "found-" + k;
		li.setAttribute("role", "option");
		li.setAttribute("aria-selected", String(k === finder.at));
		name.dir = "auto";
		const at = i < N ? known.at.get(taxa.taxid[i]) : i - N, low = input.value.trim().toLowerCase();
		if (!nameOf(i).toLowerCase().includes(low) && otherName(at, low))
			name.append(" (" + otherName(at, low) + ")");
		li.append(name, make("span", "more", i >= N ? known.rank[i - N] + " · in the database, no " + unit :
			detected(i, s) === "no" ? "judged not to be there" :
			rankName(i) + " · " + percent(s.clade[i], s.all)));
		li.addEventListener("mousedown", (event) => {
			event.preventDefault();
			choose(k);
		});
		box.appendChild(li);
	});
	if (finder.list.length === 0 && known.ready && document.activeElement === input && input.value.trim())
		box.appendChild(make("li", "none", notKnown()));
	box.hidden = !box.firstChild;
	input.setAttribute("aria-expanded", String(!box.hidden));
	if (finder.at >= 0)
		input.setAttribute("aria-activedescendant", "found-" + finder.at);
	else
		input.removeAttribute("aria-activedescendant");
}

function choose(k) {
	const i = finder.list[k];
	finder.list = [];
	finder.at = -1;
	fillFound();
	if (i !== undefined)
		get("search").value = nameOf(i);
	if (i >= N)
		showKnown(i - N);
	else if (i !== undefined)
		go({ focus: i });
	get("found").hidden = true;
}

function startFinder() {
	const input = get("search");

	input.addEventListener("input", () => {
		finder.list = find(input.value);
		finder.at = finder.list.length ? 0 : -1;
		fillFound();
	});
	input.addEventListener("blur", () => {
		finder.list = [];
		fillFound();
	});
	input.addEventListener("keydown", (event) => {
		const n = finder.list.length;
		if (event.key === "ArrowDown" && n)
			finder.at = (finder.at + 1) % n;
		else if (event.key === "ArrowUp" && n)
			finder.at = (finder.at + n - 1) % n;
		else if (event.key === "Enter")
			return choose(finder.at);
		else if (event.key === "Escape")
			finder.list = [];
		else
			return;
		event.preventDefault();
		fillFound();
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	});
}

/* --- theme, facts, start ---------------------------------------------------------- */

const THEMES = ["auto", "light", "dark"], darkWanted = matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
	const dark = name === "auto" ? darkWanted.matches : name === "dark";
	document.documentElement.dataset.theme = dark ? "dark" : "light";
	get("theme-name").textContent = name;
	get("theme").setAttribute("aria-label", "Theme: " + name);
	readColours();
	if (chart.view) {
		draw();
		drawSamples();
	}
}

function startTheme() {
	let name = "auto";

	try {
		name = localStorage.getItem("kmerhash-theme") || name;
	} catch (e) {
		// A browser may refuse storage to a file; then each page begins with its own theme.
	}
	setTheme(THEMES.includes(name) ? name : "auto");
	get("theme").addEventListener("click", () => {
		const next = THEMES[(THEMES.indexOf(get("theme-name").textContent) + 1) % THEMES.length];
		try {
			localStorage.setItem("kmerhash-theme", next);
		} catch (e) {
			// as above
		}
		setTheme(next);
	});
	darkWanted.addEventListener("change", () => setTheme(get("theme-name").textContent));
}

function fillFacts() {
	for (const fact of data.facts || []) {
		get("facts").appendChild(make("dt", "", fact.label));
		get("facts").appendChild(make("dd", fact.code ? "code" : "", fact.value));
	}
}

function start() {
	const name = samples.length === 1 ? samples[0].name : samples.length + " samples";

	get("title").textContent = data.title || name;
	get("title").dir = "auto";
	document.title = (data.title || name) + " – kmerhash";
	for (const s of samples)
		get("sample").add(new Option(s.name));
	get("sample-pick").hidden = samples.length < 2;
	get("sample").addEventListener("change", (event) => go({ sample: event.target.selectedIndex }));
	startTheme();
	startTable();
	startSamples();
	startFinder();
	fillFacts();
	resize();
	fillTiles();
	drawSamples();
	arrive();
	startKnown();
	new ResizeObserver(resize).observe(canvas);
	window.addEventListener("hashchange", arrive);
}

start();
