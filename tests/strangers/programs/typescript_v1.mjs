// A server on the official TypeScript SDK 1.x: node typescript_v1.mjs [sse|http PORT].
// Copied beside the node_modules of the version under test before it runs.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

function makeServer() {
  const server = new Server({ name: "stranger", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{
      name: "count",
      description: "Counts, with progress",
      inputSchema: {
        type: "object",
        properties: { to: { type: "integer" }, pause_s: { type: "number" } },
        required: ["to"],
      },
    }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { to, pause_s = 0 } = request.params.arguments;
    const progressToken = request.params._meta?.progressToken;
    // Over Streamable HTTP a notification belongs to the stream of its request; older SDKs have one stream.
    const notify = extra?.sendNotification ?? ((notification) => server.notification(notification));
    for (let progress = 1; progress <= to; progress++) {
      await sleep(pause_s * 1000);
      if (progressToken !== undefined) {
        await notify({ method: "notifications/progress", params: { progressToken, progress, total: to } });
      }
    }
    return { content: [{ type: "text", text: `counted to ${to}` }] };
  });
  return server;
}

async function runSse(port) {
  const { SSEServerTransport } = await import("@modelcontextprotocol/sdk/server/sse.js");
  const transports = new Map();
  createServer(async (request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    if (request.method === "GET" && url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      await makeServer().connect(transport);
    } else if (transports.has(url.searchParams.get("sessionId"))) {
      await transports.get(url.searchParams.get("sessionId")).handlePostMessage(request, response);
    } else {
      response.writeHead(404).end();
    }
  }).listen(port, "127.0.0.1");
}

async function runHttp(port) {
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const { randomUUID } = await import("node:crypto");
  const transports = new Map();
  createServer(async (request, response) => {
    const known = transports.get(request.headers["mcp-session-id"]);
    if (known) {
      return known.handleRequest(request, response);
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => transports.set(id, transport),
    });
    await makeServer().connect(transport);
    return transport.handleRequest(request, response);
  }).listen(port, "127.0.0.1");
}

const [kind, port] = process.argv.slice(2);
if (kind === "sse") await runSse(Number(port));
else if (kind === "http") await runHttp(Number(port));
else await makeServer().connect(new StdioServerTransport());
