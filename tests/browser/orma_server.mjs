// Starts `orma view` for a trace, as a person does, and reads the address of the page from what it prints.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The server of a trace: its address, and a way to end it. */
export async function view(orma, traces, options = []) {
	const child = spawn(orma, ["view", "--no-open", ...options, ...traces], { stdio: ["pipe", "pipe", "pipe"] });
	const messages = [];
	child.stderr.setEncoding("utf8").on("data", (text) => messages.push(text));
	for await (const line of createInterface({ input: child.stdout })) {
		const found = /http:\/\/\S+/.exec(line);
		if (found) return { url: found[0], messages, child, stop: () => stop(child) };
	}
	throw new Error(`orma view ended without an address: ${messages.join("")}`);
}

/** Ends it as Ctrl-C does, and returns its exit status. */
function stop(child) {
	return new Promise((resolve) => {
		child.on("exit", (code, signal) => resolve(code ?? signal));
		child.kill("SIGINT");
	});
}
