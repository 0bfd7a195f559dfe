// Rules that the sources of the page obey.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const FOLDER = new URL("../../web/", import.meta.url);
const MOST_BYTES = 184_600;
const MOST_REPORT_BYTES = 37.5 * 1024;
const files = readdirSync(FOLDER).filter((name) => /\.(js|css|html|svg)$/.test(name));
const modules = files.filter((name) => name.endsWith(".js"));
const textOf = (name) => readFileSync(new URL(name, FOLDER), "utf8");

test("the page is small, without its comments and types", () => {
	const codeOf = (name) => textOf(name).replace(/^\s*\/\/.*\n|\/\*[^]*?\*\/\s*/gm, "");
	const bytesOf = (names) => names.reduce((sum, name) => sum + Buffer.byteLength(codeOf(name)), 0);
	// What only reports have.
	const more = files.filter((name) => /^(source_)?report/.test(name));
	const page = bytesOf(files.filter((name) => !more.includes(name)));
	assert.ok(page <= MOST_BYTES, `${page} bytes`);
	assert.ok(bytesOf(more) <= MOST_REPORT_BYTES, `${bytesOf(more)} bytes for reports`);
});

test("nothing in a trace can become markup or code", () => {
	const forbidden = /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|DOMParser)\b/;
	for (const name of modules) assert.doesNotMatch(textOf(name), forbidden, name);
});

test("only sources of data know where it comes from", () => {
	for (const name of modules) {
		if (!name.startsWith("source_"))
			assert.doesNotMatch(textOf(name), /\bfetch\(|XMLHttpRequest|WebSocket|EventSource/, name);
	}
});

test("no file names another machine", () => {
	for (const name of files)
		assert.doesNotMatch(textOf(name).replaceAll("http://www.w3.org/2000/svg", ""), /https?:\/\//, name);
});

test("no two modules have a name of their own in common, so that they can be joined", () => {
	const owners = new Map();
	for (const module of modules) {
		const declarations = textOf(module).matchAll(/^(?:export )?(?:async )?(?:function|class|const|let) (\w+)/gm);
		for (const [, name] of declarations) {
			assert.ok(!owners.has(name), `${name} is in ${owners.get(name)} and ${module}`);
			owners.set(name, module);
		}
	}
});
