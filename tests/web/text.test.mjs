// Colours of names and states, and names that are cropped.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
	COLOUR_COUNT,
	LOOK_COUNT,
	PALETTE,
	STATE,
	colourOfDuration,
	colourOfName,
	colourOfState,
	fillsOf,
	durationLegend,
	fnv1a,
	mixed,
	signOfCategory,
} from "../../web/colour.js";
import { Cropper, cropped } from "../../web/text.js";

/** Relative luminance, as the Web Content Accessibility Guidelines define it. */
function luminanceOf(hex) {
	const parts = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
	const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test("black text is legible on every colour of the palette", () => {
	assert.equal(new Set(PALETTE).size, 24);
	for (const hex of PALETTE) assert.ok((luminanceOf(hex) + 0.05) / 0.05 >= 6.5, hex);
});

test("names have the colour of their hash, and digits do not matter", () => {
	assert.equal(fnv1a(""), 0x811c9dc5);
	assert.equal(fnv1a("a"), 0xe40c292c);
	assert.equal(fnv1a("foobar"), 0xbf9cf968);
	assert.equal(colourOfName("frame 17"), colourOfName("frame 4711"));
	const used = new Set(
		Array.from({ length: 500 }, (_, i) => colourOfName("name".repeat(1 + (i % 9)) + String.fromCharCode(97 + (i % 26)))),
	);
	assert.ok(used.size > 20);
});

test("the sign of a category is that of the server", () => {
	// tests/unit/view/tiles_test.c has the same numbers.
	const names = ["gpu", "cpu1", "cpu22", undefined, "Zähler 7", "описание", "計測🚀"];
	assert.deepEqual(names.map(signOfCategory), [138, 200, 200, 0, 245, 48, 237]);
});

test("durations have five colours, whose legend says where each begins", () => {
	const legend = durationLegend();
	assert.deepEqual(
		legend.map(([, text]) => text),
		["Less than 10 µs", "10 µs or longer", "100 µs or longer", "1 ms or longer", "10 ms or longer"],
	);
	const fills = fillsOf("ffffff");
	const fillOf = (ns) => fills[colourOfDuration(ns)];
	assert.deepEqual(
		[0, 9999, 10e3, 99e3, 1e5, 1e6, 5e9].map(fillOf),
		[0, 0, 1, 1, 2, 3, 4].map((i) => legend[i][0]),
	);
	for (const [hex] of legend) assert.ok((luminanceOf(hex.slice(1)) + 0.05) / 0.05 >= 6.5, hex);
});

test("states have the colour of what they mean", () => {
	const expected = {
		Running: "running",
		R: "runnable",
		"R+": "runnable",
		S: "idle",
		I: "idle",
		D: "otherSleep",
		"D (IO)": "diskSleep",
		Z: "exited",
	};
	for (const [state, name] of Object.entries(expected)) assert.equal(colourOfState(state), STATE[name], state);
	assert.equal(colourOfState("K"), STATE.other);
});

test("there is a fill for each look of each colour", () => {
	assert.equal(fillsOf("ffffff").length, COLOUR_COUNT * LOOK_COUNT);
	assert.equal(mixed("000000", "ffffff", 0.5), "#808080");
});

test("cropping keeps the beginning and whole characters", () => {
	assert.equal(cropped("render", 6), "render");
	assert.equal(cropped("render", 5), "rend…");
	assert.equal(cropped("render", 1), "");
	assert.equal(cropped("abc😀d", 5), "abc…");
	assert.equal(cropped("render", 3), "");
	const cropper = new Cropper();
	assert.equal(cropper.crop("render", 35), "rend…");
	assert.equal(cropper.crop("render", 36), "render");
	assert.equal(cropper.crop("render", 11), "");
});
