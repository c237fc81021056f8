/* Flame graphs in a browser: zoom, search, keys, a link to what is seen. SPDX-License-Identifier: MIT */
(function () {
"use strict";
var NS = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
var HEAD = 84, ROW = 18, MARGIN = 10;
var script = document.currentScript;
var svg = script && script.ownerSVGElement || document.documentElement;
var frames = svg.querySelector("#frames"), head = svg.querySelector("#head");
var ns = svg.dataset.unit === "ns", word = svg.dataset.word, icicle = svg.dataset.form === "icicle";
var compared = svg.dataset.other, base = +svg.dataset.base || 0;

/* What the file says: see flame.c. Boxes are in the order of a walk, a box before those that are on it. */
var names = svg.querySelector("#names").textContent.split("\n").slice(1).map(function (line) {
	var tab = line.indexOf("\t");
	return { color: line.slice(0, 2), name: tab < 0 ? line.slice(2) : line.slice(2, tab), module: tab < 0 ? "" : line.slice(tab + 1) };
});
names.unshift({ color: "all", name: "all", module: "" });
var lines = svg.querySelector("#boxes").textContent.split("\n").slice(1), count = lines.length;
var depth = new Int32Array(count), name = new Int32Array(count), parent = new Int32Array(count), end = new Int32Array(count);
var total = new Float64Array(count), self = new Float64Array(count), other = new Float64Array(count), start = new Float64Array(count);
var rows = [];

function readBoxes() {
	var open = [], filled = [], i, d, v;
	for (i = 0; i < count; i++) {
		v = lines[i].split(" ");
		d = depth[i] = +v[0];
		name[i] = +v[1];
		total[i] = +v[2];
		self[i] = +v[3];
		other[i] = +v[4] || 0;
		while (open.length > d)
			end[open.pop()] = i;
		parent[i] = d ? open[d - 1] : 0;
		start[i] = d ? filled[d - 1] : 0;
		filled[d] = start[i];
		if (d)
			filled[d - 1] = start[i] + total[i];
		open.push(i);
		(rows[d] = rows[d] || []).push(i);
	}
	while (open.length)
		end[open.pop()] = count;
	lines = null;
}
readBoxes();

/* What is seen. */
var zoom = 0, focus = -1, term = "", regex = false, hit = null, hits = [], width = 0, helping = false, letter = 6.63;

function make(tag, attributes, into) {
	var e = document.createElementNS(NS, tag);
	for (var k in attributes)
		e.setAttribute(k, attributes[k]);
	if (into)
		into.appendChild(e);
	return e;
}

function makeHtml(tag, attributes, into, text) {
	var e = document.createElementNS(XHTML, tag);
	for (var k in attributes)
		e.setAttribute(k, attributes[k]);
	if (text)
		e.textContent = text;
	if (into)
		into.appendChild(e);
	return e;
}

function clear(e) {
	while (e.firstChild)
		e.removeChild(e.firstChild);
}

/* Words. */

function value(v) {
	if (!ns)
		return (v > 9e15 ? v.toExponential(3) : v.toLocaleString("en-US")) + " " + word;
	var units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
	for (var i = 0; i < units.length; i++)
		if (v >= units[i][0])
			return (v / units[i][0] >= 1000 ? Math.round(v / units[i][0]) : +(v / units[i][0]).toPrecision(3)) + " " + units[i][1];
	return v + " ns";
}

function percent(v, of) {
	return (of ? 100 * v / of : 0).toFixed(2) + " %";
}

function title(i) {
	var n = names[name[i]];
	return n.module ? n.name + " [" + n.module + "]" : n.name;
}

/* The numbers of a box, a line each. */
function about(i) {
	var out = [value(total[i]) + ", " + percent(total[i], total[0]) + (zoom ? " of all, " + percent(total[i], total[zoom]) + " of what is zoomed" : "")];
	if (self[i] && self[i] !== total[i])
		out.push("of which itself " + value(self[i]) + ", " + percent(self[i], total[0]));
	if (compared === "waiting" && other[i])
		out.push("of which waiting " + value(other[i]) + ", " + percent(other[i], total[i]));
	if (compared === "base" && !other[i])
		out.push("new: the base has none");
	else if (compared === "base") {
		var now = 100 * total[i] / total[0], before = base ? 100 * other[i] / base : 0, change = now - before;
		out.push((change > 0 ? "more" : change < 0 ? "less" : "as much") + " than in the base: " + before.toFixed(2) + " % → " + now.toFixed(2) + " %, " + (change >= 0 ? "+" : "−") + Math.abs(change).toFixed(2) + " points");
	}
	return out;
}

/* Letters that are two columns wide. */
var wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\ud83c-\ud83e][\udc00-\udfff]/;

function fit(text, columns) {
	var used = 0, i = 0, chars = text.length > 2 * columns ? Array.from(text.slice(0, 2 * columns + 2)) : Array.from(text);
	if (chars.length <= columns && !wide.test(text))
		return text;
	for (; i < chars.length; i++) {
		used += wide.test(chars[i]) ? 2 : 1;
		if (used > columns - (i + 1 < chars.length || chars.length < text.length ? 1 : 0))
			return chars.slice(0, i).join("") + "…";
	}
	return text;
}

/* Drawing: only the rows that are on the screen, only boxes of a pixel or more; what is narrower is joined. */

function rowY(d) {
	return HEAD + (icicle ? d : rows.length - 1 - d) * ROW;
}

function boxX(i) {
	return depth[i] < depth[zoom] || i === zoom ? MARGIN : MARGIN + (start[i] - start[zoom]) / total[zoom] * (width - 2 * MARGIN);
}

function boxWidth(i) {
	return depth[i] <= depth[zoom] ? width - 2 * MARGIN : total[i] / total[zoom] * (width - 2 * MARGIN);
}

function color(i) {
	var d, n;
	if (hit && hit[name[i]])
		return "hit";
	if (compared === "base") {
		n = 100 * total[i] / total[0] + 0.1;
		d = base ? 100 * other[i] / base + 0.1 : 0.1;
		return "d" + (8 + Math.max(-8, Math.min(8, Math.round(4 * Math.log2(n / d)))));
	}
	if (compared === "waiting" && i && other[i] === total[i])
		return "w" + names[name[i]].color[1];
	return names[name[i]].color;
}

function drawBox(i, into) {
	var x = boxX(i), w = boxWidth(i), y = rowY(depth[i]);
	make("rect", { "class": color(i) + (depth[i] < depth[zoom] ? " above" : ""), x: x.toFixed(2), y: y, width: w.toFixed(2), height: ROW - 1, "data-i": i }, into);
	var columns = Math.floor((w - 7) / letter), text;
	if (columns < 1)
		return;
	text = fit(names[name[i]].name, columns);
	if (columns > 2 || text === names[name[i]].name)
		make("text", { x: (x + 3.5).toFixed(1), y: y + 12.5 }, into).textContent = text;
}

/* The first box of a row that ends behind the left edge. */
function firstOf(row, from) {
	var low = 0, high = row.length;
	while (low < high) {
		var mid = (low + high) >> 1;
		if (start[row[mid]] + total[row[mid]] <= from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

function inZoom(i) {
	return i >= zoom && i < end[zoom];
}

function drawJoined(run, into) {
	if (run)
		make("rect", { "class": "thin " + color(run.widest), x: run.x.toFixed(2), y: rowY(depth[run.widest]), width: Math.max(run.end - run.x, 0.3).toFixed(2), height: ROW - 1, "data-i": run.widest, "data-n": run.n }, into);
	return null;
}

function drawRow(d, into) {
	var row = rows[d], k, i, x, w, run = null;
	if (d < depth[zoom]) {
		for (i = zoom; depth[i] > d;)
			i = parent[i];
		return drawBox(i, into);
	}
	for (k = d === depth[zoom] ? row.indexOf(zoom) : firstOf(row, start[zoom]); k < row.length; k++) {
		i = row[k];
		if (!inZoom(i)) {
			if (i >= end[zoom])
				break;
			continue;
		}
		w = boxWidth(i);
		if (w >= 1) {
			run = drawJoined(run, into);
			drawBox(i, into);
			continue;
		}
		x = boxX(i);
		if (run && (x - run.end > 0.5 || x - run.x > 3 || !hit !== !(hit && hit[name[i]]) && run.hit !== !!(hit && hit[name[i]])))
			run = drawJoined(run, into);
		if (!run)
			run = { x: x, end: x, n: 0, widest: i, hit: !!(hit && hit[name[i]]) };
		run.end = x + w;
		run.n++;
		if (total[i] > total[run.widest])
			run.widest = i;
	}
	drawJoined(run, into);
}

function draw() {
	var top = window.scrollY || 0, bottom = top + window.innerHeight, group = make("g", {}), d, y;
	for (d = 0; d < rows.length; d++) {
		y = rowY(d);
		if (y + ROW >= top && y <= bottom)
			drawRow(d, group);
	}
	clear(frames);
	frames.appendChild(group);
	drawFocus();
	head.setAttribute("transform", "translate(0," + top + ")");
	place();
}

function drawFocus() {
	var old = svg.querySelector("#focus");
	if (old)
		old.parentNode.removeChild(old);
	if (focus < 0 || (!inZoom(focus) && depth[focus] >= depth[zoom]))
		return;
	make("rect", { id: "focus", x: boxX(focus), y: rowY(depth[focus]), width: Math.max(boxWidth(focus), 2), height: ROW - 1, rx: 1 }, frames);
}

var pending = false;
function soon() {
	if (pending)
		return;
	pending = true;
	requestAnimationFrame(function () {
		pending = false;
		draw();
	});
}

/* The tip: what a box is, near it. */

var tip = make("g", { id: "tip", visibility: "hidden" }, svg);

function wrap(text, columns) {
	var out = [], chars = Array.from(text);
	for (var i = 0; i < chars.length && out.length < 6; i += columns)
		out.push(chars.slice(i, i + columns).join(""));
	if (chars.length > 6 * columns)
		out[5] = out[5].slice(0, -1) + "…";
	return out;
}

function showTip(i, x, y, joined) {
	var columns = Math.max(20, Math.min(96, Math.floor((width - 40) / letter)));
	var head = wrap(title(i), columns), rest = about(i), all, widest = 0, w, h, top = window.scrollY || 0;
	if (joined > 1)
		rest.push("and " + (joined - 1) + " more, too narrow to be drawn apart");
	all = head.concat(rest);
	all.forEach(function (line) { widest = Math.max(widest, Array.from(line).length + (wide.test(line) ? Array.from(line).filter(function (c) { return wide.test(c); }).length : 0)); });
	w = widest * letter + 22;
	h = all.length * 16 + 12;
	x = Math.max(4, Math.min(x + 14, width - w - 4));
	if (y + 18 + h > top + window.innerHeight)
		y = Math.max(top + 4, y - h - 26);
	clear(tip);
	make("rect", { width: w, height: h, rx: 6 }, tip);
	all.forEach(function (line, k) {
		make("text", { x: 11, y: 20 + 16 * k, "class": k < head.length ? "name" : "about" }, tip).textContent = line;
	});
	tip.setAttribute("transform", "translate(" + x + "," + (y + 18) + ")");
	tip.setAttribute("visibility", "visible");
}

function hideTip() {
	tip.setAttribute("visibility", "hidden");
}

/* Tools. */

var holder = make("foreignObject", { y: 8, height: 34 }, head);
var tools = makeHtml("div", { id: "tools" }, holder);
var found = makeHtml("span", { id: "found", role: "status" }, tools);
var box = makeHtml("input", { id: "search", type: "text", placeholder: "Search  ( / )", spellcheck: "false", autocomplete: "off", "aria-label": "Search frames" }, tools);
var regexButton = makeHtml("button", { id: "regex", type: "button", title: "The text is a regular expression", "aria-pressed": "false" }, tools, ".*");
var resetButton = makeHtml("button", { id: "reset", type: "button", title: "Show all (Esc)" }, tools, "Reset");
var link = makeHtml("a", { id: "link", href: "#", title: "A link that shows this again; a click copies it" }, tools, "Link");
var helpButton = makeHtml("button", { id: "keys", type: "button", title: "Keys (?)" }, tools, "?");
var sheet = null;

function place() {
	/* On a narrow window the tools stand where the legend was. */
	var room = Math.min(width - 20, 640), narrow = width < 760;
	holder.setAttribute("x", width - room - MARGIN);
	holder.setAttribute("width", room);
	holder.setAttribute("y", narrow ? 48 : 12);
	svg.querySelector("#legend").setAttribute("visibility", narrow ? "hidden" : "visible");
	if (sheet) {
		sheet.setAttribute("x", Math.max(8, (width - 560) / 2));
		sheet.setAttribute("y", (window.scrollY || 0) + 90);
	}
}

function help(on) {
	var text = [["/ or Ctrl-F", "search"], ["Enter, Shift-Enter", "in the search: next match, the one before"], ["n, N", "next match, the one before"], ["click or Enter", "zoom in"], ["arrows", "move"], ["Backspace", "zoom out by one"], ["Esc", "end the search, then show all"], ["?", "these keys"]];
	helping = on;
	if (sheet)
		svg.removeChild(sheet);
	sheet = null;
	if (!on)
		return;
	sheet = make("foreignObject", { width: Math.min(560, width - 16), height: 290 }, svg);
	var page = makeHtml("div", { id: "help" }, sheet);
	text.forEach(function (pair) {
		var line = makeHtml("div", {}, page);
		makeHtml("b", {}, line, pair[0]);
		line.appendChild(document.createTextNode(pair[1]));
	});
	place();
}

/* Search. */

function matcher() {
	if (!term)
		return null;
	if (regex) {
		try {
			var re = new RegExp(term, "i");
			return function (n) { return re.test(n.module ? n.name + " [" + n.module + "]" : n.name); };
		} catch (e) {
			return undefined;
		}
	}
	var lower = term.toLowerCase();
	return function (n) { return (n.module ? n.name + " [" + n.module + "]" : n.name).toLowerCase().indexOf(lower) >= 0; };
}

/* What is under matching boxes, each part once, in what is zoomed. */
function matched() {
	var sum = 0, i = zoom;
	while (i < end[zoom]) {
		if (i && hit[name[i]]) {
			sum += total[i];
			i = end[i];
		} else
			i++;
	}
	return sum;
}

function search() {
	var matches = matcher(), i;
	hit = null;
	hits = [];
	found.textContent = "";
	if (matches === undefined)
		found.textContent = "no regular expression";
	if (matches) {
		hit = new Uint8Array(names.length);
		for (i = 1; i < names.length; i++)
			hit[i] = matches(names[i]) ? 1 : 0;
		for (i = 1; i < count; i++)
			if (hit[name[i]])
				hits.push(i);
		found.textContent = hits.length ? percent(matched(), total[zoom]) + " in " + hits.length.toLocaleString("en-US") + (hits.length === 1 ? " frame" : " frames") : "no match";
	}
	regexButton.setAttribute("aria-pressed", regex ? "true" : "false");
}

function step(by) {
	var k = -1;
	if (!hits.length)
		return;
	if (by > 0)
		for (k = 0; k < hits.length && hits[k] <= focus;)
			k++;
	else
		for (k = hits.length - 1; k >= 0 && hits[k] >= (focus < 0 ? count : focus);)
			k--;
	setFocus(hits[(k + hits.length) % hits.length]);
}

/* The link. */

function state() {
	var parts = [];
	if (zoom)
		parts.push("z=" + zoom);
	if (term)
		parts.push("s=" + encodeURIComponent(term));
	if (term && regex)
		parts.push("r=1");
	return "#" + parts.join("&");
}

function remember(step) {
	link.setAttribute("href", state());
	try {
		history[step ? "pushState" : "replaceState"](null, "", state());
	} catch (e) {
		/* Where a page may not say where it is, the link still does. */
	}
}

function recall() {
	var said = {};
	location.hash.slice(1).split("&").forEach(function (part) {
		var at = part.indexOf("=");
		try {
			said[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
		} catch (e) {
			/* Cut in the middle of a letter: nothing is said. */
		}
	});
	zoom = said.z > 0 && said.z < count ? Math.floor(said.z) : 0;
	term = said.s || "";
	regex = said.r === "1";
	box.value = term;
	focus = -1;
	search();
	link.setAttribute("href", state());
	resize();
	show(zoom);
}

/* Moves. */

function show(i) {
	var y = rowY(depth[i]), top = window.scrollY || 0;
	if (y < top + HEAD)
		window.scrollTo(0, Math.max(0, y - HEAD - ROW));
	else if (y + 2 * ROW > top + window.innerHeight)
		window.scrollTo(0, y + 3 * ROW - window.innerHeight);
}

function zoomTo(i) {
	if (i === zoom)
		return;
	zoom = i;
	search();
	remember(true);
	hideTip();
	draw();
}

function setFocus(i) {
	var x;
	focus = i;
	if (!inZoom(i) && depth[i] >= depth[zoom] || (inZoom(i) && boxWidth(i) < 1)) {
		/* Too narrow to be seen, or elsewhere: goes to where it is wide enough. */
		for (x = i; x && total[i] / total[x] * (width - 2 * MARGIN) >= 40;)
			x = parent[x];
		for (x = total[i] / total[x] * (width - 2 * MARGIN) < 1 ? i : x; x !== i && !inRange(x, i);)
			x = parent[x];
		zoomTo(x);
	}
	show(i);
	draw();
	showTip(i, Math.max(boxX(i), 0), rowY(depth[i]), 1);
}

function inRange(x, i) {
	return i >= x && i < end[x];
}

function childOf(i) {
	var best = -1;
	for (var k = i + 1; k < end[i]; k = end[k])
		if (best < 0 || total[k] > total[best])
			best = k;
	return best;
}

function move(key) {
	var next = -1, row, k;
	if (focus < 0)
		return setFocus(zoom);
	if (key === (icicle ? "ArrowDown" : "ArrowUp"))
		next = depth[focus] < depth[zoom] ? ancestorAt(depth[focus] + 1) : childOf(focus);
	else if (key === (icicle ? "ArrowUp" : "ArrowDown"))
		next = depth[focus] ? parent[focus] : -1;
	else if (depth[focus] > depth[zoom]) {
		row = rows[depth[focus]];
		k = firstOf(row, start[focus]);
		while (row[k] !== focus)
			k++;
		next = row[k + (key === "ArrowRight" ? 1 : -1)];
		if (next === undefined || !inZoom(next))
			next = -1;
	}
	if (next >= 0)
		setFocus(next);
}

function ancestorAt(d) {
	for (var i = zoom; depth[i] > d;)
		i = parent[i];
	return i;
}

function reset() {
	term = box.value = "";
	zoom = 0;
	focus = -1;
	search();
	remember(true);
	hideTip();
	draw();
}

/* Esc ends one thing after the other. */
function escape() {
	if (helping)
		return help(false);
	if (term || document.activeElement === box) {
		term = box.value = "";
		box.blur();
		search();
		remember(false);
		return draw();
	}
	reset();
}

function key(e) {
	var typing = e.target === box;
	if (e.key === "f" && (e.ctrlKey || e.metaKey) || e.key === "/" && !typing) {
		e.preventDefault();
		box.focus();
		box.select();
	} else if (e.key === "Escape") {
		e.preventDefault();
		escape();
	} else if (e.ctrlKey || e.metaKey || e.altKey) {
		return;
	} else if (e.key === "Enter" && (typing || e.target === document.body || !e.target.closest || !e.target.closest("button, a"))) {
		e.preventDefault();
		if (typing)
			step(e.shiftKey ? -1 : 1);
		else if (focus >= 0)
			zoomTo(focus);
	} else if (typing) {
		return;
	} else if (e.key === "?") {
		help(!helping);
	} else if (e.key === "n" || e.key === "N") {
		step(e.key === "n" ? 1 : -1);
	} else if (e.key === "Backspace") {
		e.preventDefault();
		zoomTo(parent[zoom]);
	} else if (e.key.slice(0, 5) === "Arrow") {
		e.preventDefault();
		move(e.key);
	}
}

function boxAt(e) {
	var i = e.target.getAttribute && e.target.getAttribute("data-i");
	return i === null || i === undefined ? -1 : +i;
}

function resize() {
	width = Math.max(320, window.innerWidth || 1200);
	if (document.documentElement === svg && svg.clientWidth)
		width = Math.max(320, svg.clientWidth);
	draw();
}

function fill() {
	var h = HEAD + rows.length * ROW + MARGIN;
	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	svg.setAttribute("height", Math.max(h, window.innerHeight - 4));
	/* The root is what one starts to read from: a graph that is lower than the window stands on its floor. */
	var probe = make("text", { visibility: "hidden" }, svg);
	probe.textContent = "MMMMMMMMMMMMMMMMMMMM";
	letter = probe.getComputedTextLength() / 20 || letter;
	svg.removeChild(probe);
	if (!icicle)
		window.scrollTo(0, h);
}

frames.addEventListener("click", function (e) {
	var i = boxAt(e);
	if (i >= 0) {
		focus = -1;
		zoomTo(i);
		draw();
	}
});
frames.addEventListener("mousemove", function (e) {
	var i = boxAt(e);
	if (i >= 0)
		showTip(i, e.clientX, e.clientY + (window.scrollY || 0), +e.target.getAttribute("data-n"));
	else
		hideTip();
});
frames.addEventListener("mouseleave", hideTip);
box.addEventListener("input", function () {
	term = box.value;
	search();
	remember(false);
	draw();
});
regexButton.addEventListener("click", function () {
	regex = !regex;
	search();
	remember(false);
	draw();
});
resetButton.addEventListener("click", reset);
helpButton.addEventListener("click", function () { help(!helping); });
link.addEventListener("click", function (e) {
	e.preventDefault();
	if (navigator.clipboard)
		navigator.clipboard.writeText(location.href.split("#")[0] + state()).then(function () {
			link.textContent = "Copied";
			setTimeout(function () { link.textContent = "Link"; }, 1500);
		}, function () {});
});
document.addEventListener("keydown", key);
window.addEventListener("resize", function () { fill(); resize(); });
window.addEventListener("scroll", soon);
window.addEventListener("popstate", recall);
window.addEventListener("hashchange", recall);
svg.insertBefore(frames, head);	/* the head stays when boxes are scrolled below it */
fill();
recall();
})();
