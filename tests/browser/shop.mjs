// Made-up recordings of a shop for the tests of reports, and what `orma sql` says of them.
import { execFileSync } from "node:child_process";

/** Requests with steps in them on one thread, queries on another, a counter, and markup where names are. */
export function shopTrace() {
	const events = [];
	const add = (tid, ph, ts, name, more) => events.push({ pid: 7, tid, ph, ts, name, cat: "shop", ...more });
	add(1, "M", 0, "process_name", { args: { name: "shop </script><b>" } });
	add(1, "M", 0, "thread_name", { args: { name: "front" } });
	add(2, "M", 0, "thread_name", { args: { name: "back" } });
	for (let i = 0; i < 3000; i++) {
		const at = 200 * i;
		add(1, "X", at, "request", { dur: 160, args: { order: i, path: `/orders/<${i}>` } });
		add(1, "X", at + 10, "<script>alert(1)</script>", { dur: 10 + (i % 7) });
		add(2, "X", at + 50, "query", { dur: 30 + (i % 11) * 10 });
		add(1, "C", at, "open orders", { args: { value: i % 5 } });
	}
	return JSON.stringify({ traceEvents: events });
}

/** Samples of stacks as perf prints them: functions with commas between them, the outermost first, and how many. */
export function samplesText(counts) {
	let text = "";
	for (const [stack, count] of Object.entries(counts)) {
		const frames = stack.split(",").reverse();
		const lines = frames.map((name) => `\t    55d0 ${name}+0x10 (/usr/bin/server)\n`).join("");
		text += `server 10/10 [000] 1.000000:  1 cpu-clock:\n${lines}\n`.repeat(count);
	}
	return text;
}

/** The rows of a query, as arrays of text. */
export function rowsOf(orma, file, query) {
	const lines = execFileSync(orma, ["sql", "--csv", file, query], { encoding: "utf8" }).trimEnd().split("\n");
	return lines.slice(1).map((line) => line.split(",").map((cell) => cell.replace(/^"(.*)"$/, "$1")));
}
