#!/usr/bin/env node
// live_delay.mjs ORMA [WHAT TO RECORD] [-- PROGRAM]: prints how old what the page of `orma view --live` draws is, in milliseconds:
// how long ago, in each frame, the newest slice on the screen ended. Something has to emit slices all the time, such as
// bench_ticks. No event took longer to the screen than the largest of these ages, and a frame.
import { Browser } from "../tests/browser/cdp.mjs";
import { view } from "../tests/browser/orma_server.mjs";

const SAMPLES = 600;
const [orma, ...words] = process.argv.slice(2);
const server = await view(orma, words, ["--live"]);
const page = await Browser.start({ width: 1200, height: 800 });
await page.open(server.url);
await new Promise((resolve) => setTimeout(resolve, 2000));
const ages = await page.run(`new Promise((done) => {
	const ages = [];
	const look = () => {
		const { shown, end } = orma.test.state();
		const ends = orma.test.boxes().filter(({ table, flags }) => table === "slice" && !(flags & 4)).map((box) => box.end);
		ages.push(Date.now() - shown + (end - Math.max(0, ...ends)) / 1e6);
		if (ages.length < ${SAMPLES}) requestAnimationFrame(look);
		else done(ages);
	};
	look();
})`);
ages.sort((a, b) => a - b);
const at = (share) => ages[Math.floor(share * (ages.length - 1))].toFixed(0);
console.log(`p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms`);
await page.stop();
await server.stop();
