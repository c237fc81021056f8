// SPDX-License-Identifier: MIT
// gc_churn.js SECONDS [--gate]: young and old garbage. With --gate it waits for a line on standard input before it
// begins and before it ends. node --trace-gc tells each collection.
const fs = require("fs");

function gate(text) {
  fs.writeSync(1, text + "\n");
  if (process.argv.includes("--gate"))
    fs.readSync(0, Buffer.alloc(1));
}

class Tree {
  constructor(depth) {
    this.left = depth ? new Tree(depth - 1) : null;
    this.right = depth ? new Tree(depth - 1) : null;
  }
}

gate(`ready ${process.pid}`);
const end = Date.now() + Number(process.argv[2]) * 1000;
let live = [], trees = 0;
while (Date.now() < end) {
  for (let i = 0; i < 20; i++, trees++)
    live.push(new Tree(6));
  if (live.length > 1000)
    live.splice(0, 500);
}
gate(`done trees=${trees}`);
