// A server on mcp-use, which has no stdio: node mcp_use.mjs http PORT.
// Copied beside the node_modules of the version under test before it runs.
import { setTimeout as sleep } from "node:timers/promises";
import { MCPServer, text } from "mcp-use/server";
import { z } from "zod";

const server = new MCPServer({ name: "stranger", version: "1.0.0", host: "127.0.0.1" });
server.tool(
  {
    name: "count",
    description: "Counts, with progress",
    schema: z.object({ to: z.number().int(), pause_s: z.number().optional() }),
  },
  async ({ to, pause_s = 0 }, ctx) => {
    for (let progress = 1; progress <= to; progress++) {
      await sleep(pause_s * 1000);
      await ctx.reportProgress?.(progress, to);
    }
    return text(`counted to ${to}`);
  },
);
await server.listen(Number(process.argv[3]));
