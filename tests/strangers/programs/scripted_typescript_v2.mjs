// A scripted client on the official TypeScript SDK 2: node scripted_typescript_v2.mjs STEPS URL | COMMAND…
// It probes for revision 2026-07-28, unless MODE is legacy.
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ELICITED, play, ROOTS, SAMPLED, show } from "./scripted.mjs";

const [steps, command, ...rest] = process.argv.slice(2);
const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
const versionNegotiation = { mode: process.env.MODE ?? "auto" };
const client = new Client({ name: "stranger", version: "1.0.0" }, { capabilities, versionNegotiation });
const questions = { "elicitation/create": ELICITED, "sampling/createMessage": SAMPLED, "roots/list": ROOTS };
for (const [method, answer] of Object.entries(questions)) {
  client.setRequestHandler(method, async (request) => (show("asked", [method, request.params]), answer));
}
client.fallbackNotificationHandler = async (notification) => show("notification", notification);
client.onerror = (error) => show("client error", String(error));
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args: rest, env: process.env, stderr: "ignore" });
await client.connect(transport);
show("server", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
const typed = {
  "tools/call": "callTool", "prompts/get": "getPrompt", "resources/read": "readResource", "logging/setLevel": "setLoggingLevel",
};
await play(JSON.parse(readFileSync(steps)), ({ method, params }, options) => {
  const name = typed[method];
  return name && name !== "setLoggingLevel" ? client[name](params, options) : client.request({ method, params }, options);
});
client.onerror = undefined;
await transport.terminateSession?.();
await client.close();
