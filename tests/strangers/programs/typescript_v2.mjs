// A server on the official TypeScript SDK 2.x, both eras: node typescript_v2.mjs [http PORT].
// Copied beside the node_modules of the version under test before it runs.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function makeServer() {
  const server = new McpServer({ name: "stranger", version: "1" });
  const inputSchema = z.object({ to: z.number().int(), pause_s: z.number().optional() });
  server.registerTool("count", { description: "Counts, with progress", inputSchema }, async ({ to, pause_s = 0 }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      await sleep(pause_s * 1000);
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: to } });
      }
    }
    return { content: [{ type: "text", text: `counted to ${to}` }] };
  });
  return server;
}

const [kind, port] = process.argv.slice(2);
if (kind === "http") createServer(toNodeHandler(createMcpHandler(makeServer))).listen(Number(port), "127.0.0.1");
else serveStdio(makeServer);
