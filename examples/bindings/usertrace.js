// SPDX-License-Identifier: MIT
// User events for Node, through an addon with one function (usertrace_node.c), without npm packages or headers.
//
// To build the example at the end of this file and trace it:
//
//     $ gcc -O2 -shared -fPIC usertrace_node.c -o usertrace.node
//     $ usertrace trace 'e:*' -- node usertrace.js
"use strict";

const { emit } = require("./usertrace.node");

const BEGIN = 1, END = 2, MARK = 3, COUNT = 4, ID = 0x10, TEXT = 0x20;
let lastId = 0;

// Emits an instant event.
function mark(name, text) {
	if (text === undefined)
		emit(MARK, name, 0);
	else
		emit(MARK | TEXT, name, 0, text);
}

// Sets a counter; integers only.
function count(name, value) {
	emit(COUNT, name, value);
}

function begin(name, id) {
	if (id === undefined)
		emit(BEGIN, name, 0);
	else
		emit(BEGIN | ID, name, 0, BigInt(id));
}

function end(name, id) {
	if (id === undefined)
		emit(END, name, 0);
	else
		emit(END | ID, name, 0, BigInt(id));
}

// A span: span("parse", () => …) returns the function's result. For synchronous work.
function span(name, work, id) {
	begin(name, id);
	try {
		return work();
	} finally {
		end(name, id);
	}
}

// The same for asynchronous work. Other work runs on the same thread meanwhile, so each span has an id.
async function spanAsync(name, work, id = ++lastId) {
	begin(name, id);
	try {
		return await work();
	} finally {
		end(name, id);
	}
}

module.exports = { mark, count, span, spanAsync };

if (require.main === module)
	span("request", () => {
		span("parse", () => {});
		mark("cache miss", "/index.html");
		count("température", -4);
		span("download", () => {}, 7);
		mark("готово ✓");
	});
