// live_delay.mjs ORMA [WHAT TO RECORD]: prints how old what the page of `orma view --live` shows is, in milliseconds: how long
// ago the newest event on the screen happened. Something has to emit events all the time.
import { Browser } from "./cdp.mjs";
import { view } from "./orma_server.mjs";

const SAMPLES = 200;
const [orma, ...words] = process.argv.slice(2);
const server = await view(orma, words, ["--live"]);
const page = await Browser.start({ width: 1200, height: 800 });
await page.open(server.url);
await new Promise((resolve) => setTimeout(resolve, 2000));
const ages = await page.run(`new Promise((done) => {
	const ages = [];
	const look = () => {
		const { shown } = orma.test.state();
		ages.push(Date.now() - shown);
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
