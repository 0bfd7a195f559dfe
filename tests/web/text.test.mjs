// Names that are cropped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cropper, cropped } from "../../web/text.js";

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
