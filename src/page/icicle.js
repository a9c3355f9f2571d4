// icicle.js - the chart: a column for each rank, a clade as high as its share of the reads

// Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800",
	"#7f6fc2"];
// What the pointer is at where it is at no taxon but at reads without a call.
const UNCLASSIFIED = -2;
const GAP = 1, LEAST = 0.8, LABEL = 13, MOVE = 260;

const canvas = get("icicle"), pen = canvas.getContext("2d"), tip = get("tip");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const chart = {
	width: 0, height: 0,
	view: null,                     // { from, to: reads; column }: what is seen
	moving: null,                   // { from, to: views; began; top }
	cursor: -1,                     // what the keys are at, -1: nothing
	hover: -1,
	fills: [], ink: "", faint: "", neutral: "",
};

/* --- colours ---------------------------------------------------------------------- */

function parts(colour) {
	const c = colour.trim().replace("#", "");
	const full = c.length === 3 ? c.replace(/./g, "$&$&") : c;
	return [0, 2, 4].map((k) => parseInt(full.slice(k, k + 2), 16));
}
function mix(a, b, share) {
	const x = parts(a), y = parts(b);
	return "#" + x.map((v, k) => Math.round(v * share + y[k] * (1 - share))
		.toString(16).padStart(2, "0")).join("");
}

function isDark() {
	return document.documentElement.dataset.theme === "dark";
}

// Tones of a group: paler with depth, two alternating among siblings.
function readColours() {
	const style = getComputedStyle(document.documentElement);
	const of = (name) => style.getPropertyValue(name).trim();
	const tint = of("--tint"), dark = isDark();

	chart.ink = of("--ink");
	chart.line = of("--card");
	chart.ring = of("--focus");
	chart.back = of("--chart");
	chart.neutral = mix(of("--soft"), tint, dark ? 0.3 : 0.24);
	chart.fills = PALETTE.map((colour) => {
		const tones = [];
		for (let l = 0; l < LEVELS.length; l++)
			for (let odd = 0; odd < 2; odd++)
				tones.push(mix(colour, tint, (dark ? 0.56 : 0.6) - 0.03 * l - 0.06 * odd));
		return tones;
	});
}
function fillOf(i, odd) {
	return group[i] < 0 || isRefuted(i, samples[state.sample]) ? chart.neutral :
		chart.fills[group[i]][2 * level[i] + odd];
}

/* --- the view --------------------------------------------------------------------- */

function viewOf(i) {
	const s = samples[state.sample], at = standIn(i);
	let from = layout(s)[at], to = at ? from + s.clade[at] : s.all;

	if (!shown[i]) {                // the run of shown taxa below it
		let low = Infinity, high = -Infinity;
		for (let k = i; k < end[i]; k++)
			if (shown[k] && s.clade[k] > 0) {
				low = Math.min(low, s.top[k]);
				high = Math.max(high, s.top[k] + s.clade[k]);
			}
		if (low < high)
			[from, to] = [low, high];
	}
	return { from, to: to > from ? to : from + 1, column: columnAt(at) };
}

// The nearest taxon that holds both.
function commonOf(a, b) {
	while (a !== b) {
		if (a > b)
			a = taxa.parent[a];
		else
			b = taxa.parent[b];
	}
	return a;
}

function show(i, from) {
	const to = viewOf(i);

	chart.cursor = -1;
	if (!chart.view || from === undefined || from === i || still.matches) {
		chart.view = to;
		chart.moving = null;
		draw();
	} else {
		chart.moving = { from: chart.view, to, began: performance.now(),
			top: standIn(commonOf(from, i)) };
		requestAnimationFrame(step);
	}
	drawLevels(to.column);
}

function step(now) {
	const m = chart.moving;
	if (!m)
		return;
	const t = Math.min(1, Math.max(0, (now - m.began) / MOVE)), e = 1 - Math.pow(1 - t, 3);
	const between = (a, b) => a + (b - a) * e;

	chart.view = { from: between(m.from.from, m.to.from), to: between(m.from.to, m.to.to),
		column: between(m.from.column, m.to.column) };
	if (t >= 1) {
		chart.view = m.to;
		chart.moving = null;
	}
	draw();
	if (chart.moving)
		requestAnimationFrame(step);
}

/* --- drawing ---------------------------------------------------------------------- */

const widths = new Map();
function widthOf(text) {
	let w = widths.get(text);
	if (w === undefined) {
		w = pen.measureText(text).width;
		widths.set(text, w);
	}
	return w;
}
function fit(text, room) {
	const w = widthOf(text);
	if (w <= room)
		return text;
	let n = Math.floor(text.length * room / w) - 1;
	if (n > 0 && text.charCodeAt(n - 1) >= 0xd800 && text.charCodeAt(n - 1) < 0xdc00)
		n--;                    // not through a pair of surrogates
	return n < 2 ? "" : text.slice(0, n) + "…";
}

// "Escherichia coli" as "E. coli", where the whole does not fit.
function shortName(i) {
	const name = taxa.name[i];
	let genus = i;

	while (level[genus] >= SPECIES)
		genus = above[genus];
	return level[i] >= SPECIES && name.startsWith(taxa.name[genus] + " ") ?
		name.charAt(0) + name.slice(taxa.name[genus].length).replace(" ", ". ") : name;
}

// The column of the taxon that is shown is narrower than those of what it holds; a narrow window
// has room for the next columns only.
const NARROW = 0.55, LEAST_COLUMN = 68;

function columnsFrom(column) {
	return Math.min(levelAt.length - column, Math.max(3, Math.floor(chart.width / LEAST_COLUMN)));
}
function columnX(c) {
	const v = chart.view, wide = chart.width / (columnsFrom(v.column) - 1 + NARROW);
	const at = c - v.column;

	return wide * (at < 0 ? at : at < 1 ? at * NARROW : at - 1 + NARROW);
}
function columnOfX(x) {
	let c = Math.floor(chart.view.column);

	while (c < levelAt.length - 1 && x >= columnX(c + 1))
		c++;
	return c;
}

function label(i, x, y, w, h) {
	const left = Math.max(x, 0), low = Math.max(y, 0), high = Math.min(y + h, chart.height);
	const room = Math.min(x + w, chart.width) - left - 12, s = samples[state.sample];

	if (high - low < LABEL || room < 24)
		return;
	const two = high - low > 36 && room > 50;
	const name = widthOf(taxa.name[i]) <= room ? taxa.name[i] : fit(shortName(i), room);
	if (!name)
		return;
	const middle = (low + high) / 2 - (two ? 8 : 0);
	pen.globalAlpha = 1;
	pen.fillText(name, left + 6, middle);
	if (two) {
		pen.globalAlpha = 0.85;
		const part = percent(s.clade[i], s.all), whole = part + ", not there";
		pen.fillText(isRefuted(i, s) && widthOf(whole) <= room ? whole : part, left + 6, middle + 16);
		pen.globalAlpha = 1;
	}
}

// The clade i and all below it that can be seen.
function drawClade(top) {
	const s = samples[state.sample], v = chart.view, scale = chart.height / (v.to - v.from);
	const stack = [top], odd = [0], texts = [];
	let rest = null;

	const closeRest = () => {       // clades too small to be seen alone, as one
		if (rest && rest.h > 0.4) {
			pen.globalAlpha = 0.45;
			pen.fillStyle = fillOf(rest.i, 1);
			pen.fillRect(rest.x, rest.y, rest.w, rest.h);
			pen.globalAlpha = 1;
		}
		rest = null;
	};
	while (stack.length) {
		const i = stack.pop(), tone = odd.pop();
		const x0 = i === top ? columnX(columnAt(i)) : columnX(columnAt(above[i]) + 1);
		const x1 = columnX(columnAt(i) + 1);
		const y = (s.top[i] - v.from) * scale, h = s.clade[i] * scale;

		if (x0 >= chart.width)
			continue;
		if (x1 > 0) {
			pen.fillStyle = fillOf(i, tone);
			pen.fillRect(x0, y, x1 - x0 - GAP, h > 3 ? h - GAP : h);
			if (h >= LABEL)
				texts.push(i, x0, y, x1 - x0, h);
		}
		for (let k = first[i + 1] - 1; k >= first[i]; k--) {
			const c = kids[k], cy = (s.top[c] - v.from) * scale, ch = s.clade[c] * scale;

			if (ch === 0 || cy > chart.height || cy + ch < 0)
				continue;
			if (ch >= LEAST) {
				closeRest();
				stack.push(c);
				odd.push((k - first[i]) & 1);
				continue;
			}
			if (!rest) {
				const x = columnX(columnAt(i) + 1);
				rest = { i: c, x, w: columnX(columnAt(c) + 1) - x - GAP, y: cy, h: 0 };
			}
			rest.h += rest.y - cy + ch;
			rest.y = cy;
			rest.h = Math.max(rest.h, ch);
		}
		closeRest();
	}
	pen.fillStyle = chart.ink;
	for (let k = 0; k < texts.length; k += 5)
		label(texts[k], texts[k + 1], texts[k + 2], texts[k + 3], texts[k + 4]);
}

// The reads without a call, below the root and as wide as the chart.
function drawUnclassified() {
	const s = samples[state.sample], v = chart.view, scale = chart.height / (v.to - v.from);
	const y = (s.classified - v.from) * scale, h = s.unclassified * scale;

	if (h < LEAST || y > chart.height)
		return;
	pen.fillStyle = unclassifiedColour();
	pen.fillRect(0, y, chart.width, h);
	pen.fillStyle = chart.ink;
	if (Math.min(y + h, chart.height) - Math.max(y, 0) >= LABEL)
		pen.fillText("unclassified, " + percent(s.unclassified, s.all), 6, Math.max(y, 0) / 2 +
			Math.min(y + h, chart.height) / 2);
}

function outline(i, width) {
	const s = samples[state.sample], v = chart.view, scale = chart.height / (v.to - v.from);
	const x0 = columnX(i === state.focus ? columnAt(i) : columnAt(above[i]) + 1);
	const x1 = columnX(columnAt(i) + 1), inset = width / 2;
	const y = (s.top[i] - v.from) * scale, h = Math.max(s.clade[i] * scale, 2);

	pen.strokeStyle = chart.ring;
	pen.lineWidth = width;
	pen.strokeRect(x0 + inset, y + inset, x1 - x0 - GAP - width, Math.max(h - GAP - width, 1));
}

function draw() {
	const ratio = window.devicePixelRatio || 1;

	pen.setTransform(ratio, 0, 0, ratio, 0, 0);
	pen.fillStyle = chart.back;
	pen.fillRect(0, 0, chart.width, chart.height);
	pen.font = "12.5px " + getComputedStyle(document.body).fontFamily;
	pen.textBaseline = "middle";
	drawUnclassified();
	if (N && samples[state.sample].clade[state.focus] > 0) {
		layout(samples[state.sample]);
		drawClade(chart.moving ? chart.moving.top : standIn(state.focus));
		if (chart.hover > 0 && !chart.moving)
			outline(chart.hover, 1.5);
		if (chart.cursor >= 0 && document.activeElement === canvas)
			outline(chart.cursor, 3);
	} else {
		pen.fillStyle = chart.ink;
		pen.font = "15px sans-serif";
		pen.fillText("No " + unit + (state.focus ? " are called this." : " were classified."), 20, 40);
	}
}

function drawLevels(column) {
	const box = get("levels");
	const n = columnsFrom(column);

	box.textContent = "";
	for (let c = column; c < column + n; c++) {
		const span = make("span", "", columnName(c));
		span.style.width = 100 * (c > column ? 1 : NARROW) / (n - 1 + NARROW) + "%";
		box.appendChild(span);
	}
}

function resize() {
	const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;

	chart.width = box.width;
	chart.height = box.height;
	canvas.width = Math.round(box.width * ratio);
	canvas.height = Math.round(box.height * ratio);
	widths.clear();
	if (chart.view) {
		draw();
		drawLevels(columnAt(standIn(state.focus)));
	}
}

// On paper the chart is as wide as the page, and on white.
window.addEventListener("beforeprint", () => {
	document.documentElement.dataset.theme = "light";
	canvas.style.width = "680px";
	canvas.style.height = "320px";
	readColours();
	resize();
});
window.addEventListener("afterprint", () => {
	canvas.removeAttribute("style");
	setTheme(get("theme-name").textContent);
	resize();
});

/* --- mouse and keys --------------------------------------------------------------- */

function taxonAt(event) {
	const box = canvas.getBoundingClientRect(), s = samples[state.sample], v = chart.view;
	const x = event.clientX - box.left, y = event.clientY - box.top;
	const column = columnOfX(x);
	const reads = v.from + y / chart.height * (v.to - v.from);
	let i = standIn(state.focus);

	if (!N || chart.moving)
		return -1;
	if (reads >= s.classified)
		return UNCLASSIFIED;
	while (column > columnAt(i)) {
		let low = first[i], high = first[i + 1];

		while (low < high) {    // the last child that begins at or above
			const mid = (low + high) >> 1;
			if (s.top[kids[mid]] <= reads)
				low = mid + 1;
			else
				high = mid;
		}
		const c = low > first[i] ? kids[low - 1] : -1;
		if (c < 0 || reads >= s.top[c] + s.clade[c])
			return -1;
		i = c;
	}
	return i;
}

function describe(i) {
	const s = samples[state.sample];
	return taxa.name[i] + ", " + rankName(i) + ": " + whole.format(s.clade[i]) + " " + unit + ", " +
		percent(s.clade[i], s.all) + (isRefuted(i, s) ? ", judged not to be there" : "");
}

function showTip(event, i) {
	const s = samples[state.sample], box = canvas.getBoundingClientRect();
	const x = event.clientX - box.left, y = event.clientY - box.top;

	const none = i === UNCLASSIFIED, n = none ? s.unclassified : s.clade[i];
	tip.textContent = "";
	tip.append(make("b", "", none ? "unclassified" : taxa.name[i]));
	if (!none)
		tip.append(rankName(i) + " · taxid " + taxa.taxid[i], make("br"));
	tip.append(whole.format(n) + " " + unit + " · " + percent(n, s.all) + " of all");
	if (!none && isRefuted(i, s))
		tip.append(make("br"), "judged not to be there");
	tip.hidden = false;
	tip.style.left = Math.min(x + 14, Math.max(0, chart.width - tip.offsetWidth - 4)) + "px";
	tip.style.top = (y + 18 + tip.offsetHeight > chart.height ? y - tip.offsetHeight - 10 : y + 18) +
		"px";
}

canvas.addEventListener("mousemove", (event) => {
	const i = taxonAt(event);
	if (i !== chart.hover) {
		chart.hover = i;
		if (!chart.moving)
			draw();
	}
	if (i !== -1)
		showTip(event, i);
	else
		tip.hidden = true;
});
canvas.addEventListener("mouseleave", () => {
	tip.hidden = true;
	chart.hover = -1;
	if (!chart.moving)
		draw();
});
canvas.addEventListener("click", (event) => {
	const i = taxonAt(event);
	tip.hidden = true;
	if (i >= 0)
		go({ focus: i === standIn(state.focus) ? above[i] : i });
});

function siblings(i) {
	const s = samples[state.sample], list = [];
	for (let k = first[above[i]]; k < first[above[i] + 1]; k++)
		if (s.clade[kids[k]] > 0)
			list.push(kids[k]);
	return list;
}

// Where a key leads from taxon i, or -1.
function neighbour(i, key) {
	const s = samples[state.sample];
	if (key === "ArrowRight") {
		for (let k = first[i]; k < first[i + 1]; k++)
			if (s.clade[kids[k]] > 0)
				return kids[k];
		return -1;
	}
	if (i === standIn(state.focus))
		return -1;
	if (key === "ArrowLeft")
		return above[i];
	const list = siblings(i), at = list.indexOf(i) + (key === "ArrowDown" ? 1 : -1);
	return at >= 0 && at < list.length ? list[at] : -1;
}

canvas.addEventListener("keydown", (event) => {
	const at = chart.cursor >= 0 ? chart.cursor : standIn(state.focus);

	if (!N || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key.startsWith("Arrow")) {
		const to = chart.cursor < 0 ? at : neighbour(at, event.key);
		if (to >= 0) {
			chart.cursor = to;
			get("say").textContent = describe(to);
			draw();
		}
	} else if (event.key === "Enter" || event.key === " ") {
		go({ focus: at });
	} else if (event.key === "Backspace" || event.key === "Escape") {
		go({ focus: taxa.parent[state.focus] });
	} else if (event.key === "Home") {
		go({ focus: 0 });
	} else {
		return;
	}
	event.preventDefault();
});
canvas.addEventListener("focus", () => draw());
canvas.addEventListener("blur", () => draw());
get("image").addEventListener("click", () => canvas.toBlob((blob) =>
	saveFile(samples[state.sample].name + ".png", blob)));
