// A server on fastmcp for TypeScript: node fastmcp.mjs [http|sse PORT], which serves both.
// Copied beside the node_modules of the version under test before it runs.
import { setTimeout as sleep } from "node:timers/promises";
import { FastMCP } from "fastmcp";
import { z } from "zod";

const server = new FastMCP({ name: "stranger", version: "1.0.0" });
server.addTool({
  name: "count",
  description: "Counts, with progress",
  parameters: z.object({ to: z.number().int(), pause_s: z.number().optional() }),
  execute: async ({ to, pause_s = 0 }, { reportProgress }) => {
    for (let progress = 1; progress <= to; progress++) {
      await sleep(pause_s * 1000);
      await reportProgress({ progress, total: to });
    }
    return `counted to ${to}`;
  },
});

const port = process.argv[3];
if (port) await server.start({ transportType: "httpStream", httpStream: { port: Number(port), host: "127.0.0.1" } });
else await server.start({ transportType: "stdio" });
