// table.js - the table of taxa: of the taxon that is shown, sorted, filtered, in pages

const table = { key: "clade", down: true, rank: "", filter: "", from: 0, rows: 25, list: [],
	order: [], orderOf: "" };

// Columns: how a cell is sorted and shown.  `text`: as words.
const fields = [
	{ key: "name", label: "Taxon", text: true, of: (i) => taxa.name[i] },
	{ key: "rank", label: "Rank", text: true, of: (i) => rankName(i) },
	{ key: "taxid", label: "Taxid", of: (i) => taxa.taxid[i], plain: true },
	{ key: "clade", label: title(unit) + " in clade", of: (i, s) => s.clade[i] },
	{ key: "direct", label: "Direct " + unit, of: (i, s) => s.direct[i] },
	{ key: "share", label: "Share of " + unit, of: (i, s) => s.clade[i] / (s.all || 1) },
];

function title(word) {
	return word.charAt(0).toUpperCase() + word.slice(1);
}

// A column of a profile may be for the taxon that is shown only.
function inTable() {
	return fields.filter((f) => !(f.column && f.column.detail));
}

function setFields() {
	for (const column of columns) {
		if (!samples.some((s) => s.values[column.key]))
			continue;
		fields.push({ key: "value:" + column.key, label: column.label, help: column.help, column,
			text: column.kind === "text",
			of: (i, s) => (s.values[column.key] || [])[i] });
	}
	const row = get("table").tHead.rows[0];
	for (const f of inTable()) {
		const th = make("th", f.text ? "" : "number"), button = make("button", "", f.label);
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
	table.from = 0;
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
			if (s.clade[i] > 0)
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

function cell(f, i, s, most) {
	const value = f.of(i, s), td = make("td", f.text ? f.key : "number");

	if (f.key === "name") {
		const button = make("button", "", value);
		button.type = "button";
		button.dir = "auto";
		button.title = value;
		button.addEventListener("click", () => {
			go({ focus: i });
			get("tree-title").scrollIntoView({ block: "nearest" });
		});
		td.appendChild(button);
	} else if (f.key === "share") {
		const box = make("div"), bar = make("s"), mark = make("i");
		td.classList.add("share");
		mark.style.width = (most > 0 ? 100 * value / most : 0) + "%";
		bar.appendChild(mark);
		box.append(bar, make("span", "", percent(s.clade[i], s.all)));
		td.appendChild(box);
	} else if (f.column) {
		td.textContent = valueText(f.column, value);
		if (f.column.key === "detected" && value)
			td.classList.add("is-" + value);
	} else {
		td.textContent = f.text || f.plain ? value : whole.format(value);
	}
	return td;
}

function fillTable() {
	const s = samples[state.sample], body = get("table").tBodies[0];

	listTaxa();
	const to = Math.min(table.from + table.rows, table.list.length);
	const most = table.list.reduce((m, i) => Math.max(m, s.clade[i] / (s.all || 1)), 0);
	body.textContent = "";
	for (const i of table.list.slice(table.from, to)) {
		const tr = make("tr");
		tr.dataset.taxid = taxa.taxid[i];
		for (const f of inTable())
			tr.appendChild(cell(f, i, s, most));
		body.appendChild(tr);
	}
	Array.from(get("table").tHead.rows[0].cells).forEach((th, k) => {
		if (inTable()[k].key === table.key)
			th.setAttribute("aria-sort", table.down ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
	});
	get("count").textContent = whole.format(table.list.length) + (table.list.length === 1 ? " taxon" : " taxa") +
		(state.focus ? " in " + taxa.name[state.focus] : "");
	get("where").textContent = table.list.length ?
		whole.format(table.from + 1) + "–" + whole.format(to) : "none";
	get("prev").disabled = table.from === 0;
	get("next").disabled = to >= table.list.length;
	fillScope();
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
	saveTable(s.name + ".taxa.tsv", [fields.map((f) => f.key.replace("value:", ""))]
		.concat(table.list.map((i) => fields.map((f) => raw(f, i)))));
}

function startTable() {
	setFields();
	table.rank = fillRanks(get("rank"), true, "species");
	get("rank").addEventListener("change", (event) => {
		table.rank = event.target.value;
		table.from = 0;
		fillTable();
	});
	get("filter").addEventListener("input", (event) => {
		table.filter = event.target.value;
		table.from = 0;
		fillTable();
	});
	get("rows").addEventListener("change", (event) => {
		table.rows = Number(event.target.value);
		table.from = 0;
		fillTable();
	});
	get("prev").addEventListener("click", () => {
		table.from = Math.max(0, table.from - table.rows);
		fillTable();
	});
	get("next").addEventListener("click", () => {
		table.from += table.rows;
		fillTable();
	});
	get("save").addEventListener("click", saveTaxa);
}
