// A client on the official TypeScript SDK 1: node typescript_v1_client.mjs TOOL ARGUMENTS COMMAND…
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [tool, args, command, ...rest] = process.argv.slice(2);
const client = new Client({ name: "stranger", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args: rest, env: process.env }));
console.log(JSON.stringify((await client.listTools()).tools.map((each) => each.name)));
const onprogress = (progress) => console.log(JSON.stringify(progress));
const request = { name: tool, arguments: JSON.parse(args) };
console.log(JSON.stringify(await client.callTool(request, undefined, { onprogress })));
await client.close();
