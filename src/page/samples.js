// samples.js - several samples side by side: stacked bars by rank, and a heat map

// Tol's muted colours, told apart with any kind of colour vision; then what is left over.
const STACK = ["#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677",
	"#882255", "#aa4499"];
const OTHER = "#b9c0c7", HEAT_ROWS = 30;
const unclassifiedColour = () => isDark() ? "#39424b" : "#e2e5e8";
// One hue from near the page's ground to the other end of lightness.
const HEAT_LIGHT = ["#e9f2fa", "#cfe1f2", "#9cc4e4", "#61a0d0", "#2f7bb9", "#0f579b", "#08306b"];
const HEAT_DARK = ["#18242e", "#1b3a52", "#1f567c", "#2a77a9", "#4a9bcb", "#86c3e6", "#d3ebfa"];

const view = { rank: "", of: "all" };
// The host: a vertebrate, nearly always, and of phyla theirs is in every taxonomy of NCBI's numbers.
const CHORDATA = 7711, HUMAN = 9606;

function inkOn(colour) {
	const [r, g, b] = parts(colour).map((v) => {
		const x = v / 255;
		return x <= 0.04045 ? x / 12.92 : Math.pow((x + 0.055) / 1.055, 2.4);
	});
	// At 0.179 black and white have the same contrast.
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

function base(s) {
	return (view.of === "all" ? s.all : s.classified) || 1;
}
function share(i, s) {
	return s.clade[i] / base(s);
}

// Taxa of the rank, the largest in the mean over samples first.
function largest() {
	const list = [], mean = new Map();
	for (let i = 1; i < N; i++)
		if (rankName(i) === view.rank && weight[i] > 0) {
			list.push(i);
			mean.set(i, samples.reduce((sum, s) => sum + share(i, s), 0));
		}
	return list.sort((a, b) => mean.get(b) - mean.get(a) || a - b);
}

function sampleButton(k) {
	const b = make("button", "", samples[k].name);
	b.type = "button";
	b.dir = "auto";
	b.title = samples[k].name;
	b.setAttribute("aria-pressed", String(k === state.sample));
	b.addEventListener("click", () => go({ sample: k }));
	return b;
}

function piece(bar, part, colour, name) {
	if (part <= 0)
		return;
	const i = make("i", part < 0.05 ? "thin" : "", part < 0.05 ? "" : name);
	i.style.width = 100 * part + "%";
	i.style.background = colour;
	i.style.color = inkOn(colour);
	i.title = name + ": " + percent(part, 1);
	bar.appendChild(i);
}

function drawBars(list) {
	const top = list.slice(0, STACK.length), box = get("bars"), legend = get("legend");
	box.textContent = "";
	samples.forEach((s, k) => {
		const row = make("div", "row"), bar = make("div", "stack");
		let left = s.classified / base(s);

		top.forEach((i, c) => {
			piece(bar, share(i, s), isRefuted(i, s) ? OTHER : STACK[c], taxa.name[i] +
				(isRefuted(i, s) ? " (judged not to be there)" : ""));
			left -= share(i, s);
		});
		piece(bar, left > 1e-9 ? left : 0, OTHER, "other, or above this rank");
		if (view.of === "all")
			piece(bar, s.unclassified / base(s), unclassifiedColour(), "unclassified");
		bar.setAttribute("role", "img");
		bar.setAttribute("aria-label", s.name + ": " + top.slice(0, 5)
			.map((i) => taxa.name[i] + " " + percent(share(i, s), 1)).join(", "));
		row.append(sampleButton(k), bar);
		box.appendChild(row);
	});
	legend.textContent = "";
	const entries = top.map((i, c) => [taxa.name[i], STACK[c]]);
	entries.push(["other, or above this rank", OTHER]);
	if (view.of === "all")
		entries.push(["unclassified", unclassifiedColour()]);
	for (const [name, colour] of entries) {
		const li = make("li"), mark = make("i");
		mark.style.background = colour;
		li.append(mark, name);
		legend.appendChild(li);
	}
}

// Colours of shares from `least` to `most`, by their logarithms.
function heatScale(least, most) {
	const ramp = isDark() ? HEAT_DARK : HEAT_LIGHT, span = Math.log(most / least) || 1;

	return (value) => {
		const at = Math.min(1, Math.max(0, Math.log(value / least) / span)) * (ramp.length - 1);
		const low = Math.min(Math.floor(at), ramp.length - 2);
		return mix(ramp[low + 1], ramp[low], at - low);
	};
}

function drawHeat(list) {
	const heat = get("heat"), many = samples.length > 12, head = heat.tHead, body = heat.tBodies[0];
	const top = make("tr"), seen = list.slice(0, HEAT_ROWS);
	const shares = seen.flatMap((i) => samples.map((s) => share(i, s))).filter((v) => v > 0);
	const most = shares.reduce((a, b) => Math.max(a, b), 1e-9);
	const colourOf = heatScale(Math.max(shares.reduce((a, b) => Math.min(a, b), 1), most / 1e4), most);

	heat.classList.toggle("many", many);
	head.textContent = "";
	body.textContent = "";
	top.appendChild(make("td"));
	samples.forEach((s, k) => {
		const th = make("th");
		th.scope = "col";
		th.appendChild(sampleButton(k));
		top.appendChild(th);
	});
	head.appendChild(top);
	for (const i of seen) {
		const tr = make("tr"), th = make("th"), button = make("button", "", taxa.name[i]);
		th.scope = "row";
		button.type = "button";
		button.dir = "auto";
		button.addEventListener("click", () => go({ focus: i }));
		th.appendChild(button);
		tr.appendChild(th);
		for (const s of samples) {
			const value = share(i, s), td = make("td"), text = percent(value, 1);
			td.title = taxa.name[i] + ", " + s.name + ": " + text;
			if (value > 0) {
				const colour = colourOf(value);
				td.style.background = colour;
				td.style.color = inkOn(colour);
			}
			if (many)
				td.setAttribute("aria-label", text);
			else
				td.textContent = value > 0 ? text.replace(" %", "") : "·";
			tr.appendChild(td);
		}
		body.appendChild(tr);
	}
}

// A row a sample.
function drawTable() {
	const host = [CHORDATA, HUMAN].map((t) => byTaxid.get(t)).find((i) => i !== undefined);
	const heads = ["Sample", title(unit), "Classified", "Species", "Largest species"];
	const row = (cells) => {
		const tr = make("tr");
		tr.append(...cells);
		return tr;
	};

	if (host !== undefined)
		heads.push("Host (" + taxa.name[host] + ")");
	get("samples").tHead.replaceChildren(row(heads.map((head, k) =>
		make("th", k && k !== 4 ? "number" : "", head))));
	get("samples").tBodies[0].replaceChildren(...samples.map((s, k) => {
		const species = speciesOf(s), most = largestSpecies(species, s), cells = [make("td", "name"),
			make("td", "number", whole.format(s.all)),
			make("td", "number", percent(s.classified, s.all)),
			make("td", "number", whole.format(species.length)),
			make("td", "name", species.length ? most.name + ", " + most.share : "")];

		cells[0].appendChild(sampleButton(k));
		if (host !== undefined)
			cells.push(make("td", "number", percent(s.clade[host], s.all)));
		return row(cells);
	}));
}

function drawSamples() {
	if (samples.length < 2)
		return;
	drawTable();
	const list = largest();
	drawBars(list);
	drawHeat(list);
}

function saveSamples() {
	const list = largest();
	saveTable("samples." + view.rank + ".tsv", [["taxid", "name"].concat(samples.map((s) => s.name))]
		.concat(list.map((i) => [taxa.taxid[i], taxa.name[i]].concat(samples.map((s) => s.clade[i])))));
}

// The finest rank at which the colours cover most of the reads.
function usualRank() {
	for (let l = SPECIES; l > 1; l--) {
		view.rank = LEVELS[l].find((name) => data.ranks.some((r, k) => levelOfRank.get(r) === l &&
			(r === name || r.length === 1))) || "";
		const top = largest().slice(0, STACK.length);
		if (samples.every((s) => top.reduce((sum, i) => sum + share(i, s), 0) > 0.6))
			return view.rank;
	}
	return "phylum";
}

function startSamples() {
	if (samples.length < 2)
		return;
	get("compare").hidden = false;
	get("tiles").before(get("compare"));
	view.rank = fillRanks(get("compare-rank"), false, usualRank());
	get("compare-rank").addEventListener("change", (event) => {
		view.rank = event.target.value;
		drawSamples();
	});
	get("compare-of").addEventListener("change", (event) => {
		view.of = event.target.value;
		drawSamples();
	});
	get("save-samples").addEventListener("click", saveSamples);
}
