// A scripted client on the official TypeScript SDK 1: node scripted_typescript_v1.mjs STEPS URL | COMMAND…
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ELICITED, play, ROOTS, SAMPLED, show } from "./scripted.mjs";

const [steps, command, ...rest] = process.argv.slice(2);
const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
const client = new Client({ name: "stranger", version: "1.0.0" }, { capabilities });
const questions = [[ElicitRequestSchema, ELICITED], [CreateMessageRequestSchema, SAMPLED], [ListRootsRequestSchema, ROOTS]];
for (const [schema, answer] of questions) {
  client.setRequestHandler(schema, (request) => (show("asked", [request.method, request.params]), answer));
}
client.fallbackNotificationHandler = async (notification) => show("notification", notification);
client.onerror = (error) => show("client error", String(error));
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args: rest, env: process.env, stderr: "ignore" });
await client.connect(transport);
show("server", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
await play(JSON.parse(readFileSync(steps)), (request, options) => client.request(request, ResultSchema, options));
client.onerror = undefined;
await transport.terminateSession?.();
await client.close();
