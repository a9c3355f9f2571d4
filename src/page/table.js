// table.js - the table of taxa: of the taxon that is shown, sorted, filtered, in pages

const ROWS = 25, table = { key: "clade", down: true, rank: "", filter: "", rows: ROWS, list: [], order: [],
	orderOf: "" };

// Columns: how a cell is sorted and shown.  `text`: as words; `more`: where there is room.  Those of
// a profile come behind the share.
const fields = [
	{ key: "name", label: "Taxon", text: true, of: (i) => taxa.name[i] },
	{ key: "share", label: "Share of " + unit, of: (i, s) => s.clade[i] / (s.all || 1) },
	{ key: "clade", label: title(unit) + " in clade", of: (i, s) => s.clade[i] },
	{ key: "direct", label: "Direct " + unit, of: (i, s) => s.direct[i], more: true },
	{ key: "rank", label: "Rank", text: true, of: (i) => rankName(i), more: true },
	{ key: "taxid", label: "Taxid", of: (i) => taxa.taxid[i], plain: true, more: true },
];
const BEHIND = 2;

function title(word) {
	return word.charAt(0).toUpperCase() + word.slice(1);
}

function kind(f) {
	return f.key + (f.text ? "" : " number") + (f.more ? " more" : "");
}

// A column of a profile may be for the taxon that is shown only.
function inTable() {
	return fields.filter((f) => !(f.column && f.column.detail));
}

// Does a sample say anything in a column?
function isUsed(column, k) {
	return samples.some((s) => Object.values(s.values).some((v) => v[k] !== null && v[k] !== undefined));
}

function setFields() {
	fields.splice(BEHIND, 0, ...columns.filter(isUsed).map((column) => ({ key: column.key, label: column.label, help: column.help, column,
			text: column.kind === "text", of: valueOf(column.key) })));
	const row = get("table").tHead.rows[0];
	for (const f of inTable()) {
		const th = make("th", kind(f)), button = make("button", "", f.label);
		th.scope = "col";
		button.type = "button";
		if (f.help)
			button.title = f.help;
		button.addEventListener("click", () => sortBy(f));
		th.appendChild(button);
		row.appendChild(th);
	}
}

function sortBy(f) {
	table.down = table.key === f.key ? !table.down : !f.text;
	table.key = f.key;
	table.rows = ROWS;
	fillTable();
}

function compare(f, s) {
	const sign = table.down ? -1 : 1, none = (v) => v === null || v === undefined || v === "";

	return (a, b) => {
		const x = f.of(a, s), y = f.of(b, s);
		if (none(x) || none(y))
			return none(x) - none(y) || a - b;      // what is unknown comes last
		return sign * (f.text ? collator.compare(x, y) : x - y) || a - b;
	};
}

function matches(i, words) {
	return words === "" || String(taxa.taxid[i]) === words ||
		taxa.name[i].toLowerCase().includes(words);
}

// All taxa of the sample, sorted; made once, and then every list is a part of it.
function sorted(s) {
	const what = [state.sample, table.key, table.down].join();

	if (table.orderOf !== what) {
		table.order = [];
		for (let i = 0; i < N; i++)
			if (s.clade[i] > 0 || /yes|low/.test(detected(i, s)))
				table.order.push(i);
		table.order.sort(compare(fields.find((f) => f.key === table.key), s));
		table.orderOf = what;
	}
	return table.order;
}

function listTaxa() {
	const words = table.filter.trim().toLowerCase(), from = state.focus, to = N ? end[from] : 0;
	const rank = table.rank ? rankNames.indexOf(table.rank) : -1;
	const ofRank = (i) => rank < 0 || taxa.rank[i] === rank || rankName(i) === table.rank;

	table.list = sorted(samples[state.sample])
		.filter((i) => i >= from && i < to && ofRank(i) && matches(i, words));
}

function nameButton(i) {
	const button = make("button", "", taxa.name[i]);
	button.type = "button";
	button.dir = "auto";
	button.title = taxa.name[i];
	button.addEventListener("click", () => {
		go({ focus: i });
		get("tree-title").scrollIntoView({ block: "nearest" });
	});
	return button;
}

function cell(f, i, s, most) {
	const value = f.of(i, s), td = make("td", kind(f));

	if (f.key === "name") {
		const reason = ["blank", "why"].flatMap((key) => inTable().filter((g) => g.key === key))
			.map((g) => g.of(i, s)).filter((text) => text).join("; ");
		td.appendChild(nameButton(i));
		if (reason)
			td.appendChild(make("p", "reason", reason));
	} else if (f.key === "share") {
		const box = make("div"), bar = make("s"), mark = make("i");
		mark.style.width = (most > 0 ? 100 * value / most : 0) + "%";
		bar.appendChild(mark);
		box.append(bar, make("span", "", percent(s.clade[i], s.all)));
		td.appendChild(box);
	} else if (f.column) {
		td.textContent = td.title = valueText(f.column, value);
	} else {
		td.textContent = f.text || f.plain ? value : whole.format(value);
	}
	return td;
}

// A row has the class of what is detected: "is-yes", "is-low", "is-no", "is-not-judged" of a species
// that only has a reason, and "is-blank" of one that the sample has as its controls do.
function tableRow(i, s) {
	const tr = make("tr", isRefuted(i, s) ? "is-no" : valueOf("blank")(i, s) === "as in the blank" ? "is-blank" : detected(i, s) ? "is-" + detected(i, s) :
		rankName(i) === "species" && valueOf("why")(i, s) ? "is-not-judged" : "");
	tr.dataset.taxid = taxa.taxid[i];
	return tr;
}

function fillTable() {
	const s = samples[state.sample], body = get("table").tBodies[0];

	listTaxa();
	const n = table.list.length, to = Math.min(table.rows, n);
	const most = table.list.reduce((m, i) => Math.max(m, s.clade[i] / (s.all || 1)), 0);
	get("table").classList.toggle("one-rank", table.rank !== "");
	body.textContent = "";
	for (const i of table.list.slice(0, to)) {
		const tr = tableRow(i, s);
		tr.append(...inTable().map((f) => cell(f, i, s, most)));
		body.appendChild(tr);
	}
	Array.from(get("table").tHead.rows[0].cells).forEach((th, k) => {
		if (inTable()[k].key === table.key)
			th.setAttribute("aria-sort", table.down ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
	});
	get("count").textContent = whole.format(n) + (n === 1 ? " taxon" : " taxa") +
		(state.focus ? " in " + taxa.name[state.focus] : "");
	get("more").hidden = to >= n;
	get("more").textContent = "Show " + whole.format(n - to) + " more";
	fillScope();
	fillAbsent();
}

// The species that the sample as a whole speaks against, the most called in the first pass first.
function fillAbsent() {
	const s = samples[state.sample], first = valueOf("first"), why = valueOf("why");
	const words = table.filter.trim().toLowerCase(), list = [];

	for (let i = state.focus; i < N && i < end[state.focus]; i++)
		if (rankName(i) === "species" && detected(i, s) === "no" && matches(i, words))
			list.push(i);
	list.sort((a, b) => first(b, s) - first(a, s) || a - b);
	get("absent").hidden = list.length === 0;
	get("absent-count").textContent = "Judged not to be there: " + whole.format(list.length) + " species";
	get("absent-rows").tBodies[0].replaceChildren(...list.map((i) => {
		const tr = tableRow(i, s), name = make("td", "name");
		name.appendChild(nameButton(i));
		tr.append(name, make("td", "number", whole.format(first(i, s) || 0)),
			make("td", "number", whole.format(s.clade[i])), make("td", "why", why(i, s)));
		return tr;
	}));
}

// What limits the table to a clade, and takes the limit away.
function fillScope() {
	const box = get("scope");
	box.textContent = "";
	if (!state.focus)
		return;
	const button = make("button", "", "in " + taxa.name[state.focus] + " ✕");
	button.type = "button";
	button.setAttribute("aria-label", "Taxa of " + taxa.name[state.focus] + " only; show all");
	button.addEventListener("click", () => go({ focus: 0 }));
	box.appendChild(button);
}

// The ranks that occur, the more usual first; `select` keeps its value if it can.
function fillRanks(select, all, wanted) {
	const known = new Set();
	for (let i = 1; i < N; i++)
		known.add(rankName(i));
	const main = LEVELS.map((names) => names.find((n) => known.has(n))).filter((n) => n);
	const others = Array.from(known).filter((n) => !main.includes(n)).sort(collator.compare);
	if (all)
		select.add(new Option("all ranks", ""));
	for (const name of main.concat(all ? others : []))
		select.add(new Option(name, name));
	select.value = main.includes(wanted) ? wanted : select.options.length ? select.options[0].value : "";
	return select.value;
}

function saveTaxa() {
	const s = samples[state.sample];
	const raw = (f, i) => {
		const v = f.of(i, s);
		return v === null || v === undefined ? "" : v;
	};
	saveTable(s.name + ".taxa.tsv", [fields.map((f) => f.key)]
		.concat(table.list.map((i) => fields.map((f) => raw(f, i)))));
}

function startTable() {
	setFields();
	table.rank = fillRanks(get("rank"), true, "species");
	get("rank").addEventListener("change", (event) => {
		table.rank = event.target.value;
		table.rows = ROWS;
		fillTable();
	});
	get("filter").addEventListener("input", (event) => {
		table.filter = event.target.value;
		table.rows = ROWS;
		fillTable();
	});
	get("more").addEventListener("click", () => {
		table.rows *= 20;
		fillTable();
	});
	// On paper there is nothing to click.
	let unfolded = false;
	window.addEventListener("beforeprint", () => {
		unfolded = get("absent").open;
		get("absent").open = true;
		table.rows = Infinity;
		fillTable();
	});
	window.addEventListener("afterprint", () => {
		get("absent").open = unfolded;
		table.rows = ROWS;
		fillTable();
	});
	get("save").addEventListener("click", saveTaxa);
}
