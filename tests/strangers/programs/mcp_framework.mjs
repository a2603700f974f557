// A server on mcp-framework: node mcp_framework.mjs [http-stream|sse PORT].
// Copied beside the node_modules of the version under test before it runs.
import { setTimeout as sleep } from "node:timers/promises";
import { MCPServer, MCPTool } from "mcp-framework";
import { z } from "zod";

class Count extends MCPTool {
  name = "count";
  description = "Counts, with progress";
  schema = z.object({
    to: z.number().int().describe("the last number"),
    pause_s: z.number().optional().describe("seconds before each number"),
  });

  async execute({ to, pause_s = 0 }) {
    for (let progress = 1; progress <= to; progress++) {
      await sleep(pause_s * 1000);
      await this.reportProgress(progress, to);
    }
    return `counted to ${to}`;
  }
}

const [type = "stdio", port] = process.argv.slice(2);
const options = { port: Number(port), host: "127.0.0.1" };
const transport = port ? { type, options } : { type };
const server = new MCPServer({ name: "stranger", version: "1.0.0", transport });
server.addTool(Count);
await server.start();
