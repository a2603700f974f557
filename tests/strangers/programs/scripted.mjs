// What the scripted clients of both TypeScript SDKs have in common: a script of steps, played and
// printed. Each line of output is one thing that the client got, without what differs from run to run.
export const show = (kind, value) => console.log(JSON.stringify([kind, value]));

export async function play(steps, send) {
  for (const step of steps) {
    if (step.concurrently) await Promise.all(step.concurrently.map((each) => play([each], send)));
    else if (step.wait_s) await new Promise((resolve) => setTimeout(resolve, step.wait_s * 1000));
    else await playOne(step, send);
  }
}

async function playOne({ method, params, progress, cancel_after: cancelAfter, pages, task }, send) {
  const abort = new AbortController();
  let ticks = 0;
  const onprogress = (value) => {
    show("progress", [method, params?.name, value]);
    if (++ticks === cancelAfter) abort.abort("enough");
  };
  const options = { signal: abort.signal, ...(progress || cancelAfter ? { onprogress } : {}), ...(task ? { task } : {}) };
  try {
    let result = await send({ method, ...(params ? { params } : {}) }, options);
    show("result", [method, params?.name ?? params?.uri, result]);
    while (pages && result.nextCursor) {
      result = await send({ method, params: { ...params, cursor: result.nextCursor } }, options);
      show("result", [method, "next", result]);
    }
    if (task) await follow(result.task.taskId, send);
  } catch (error) {
    show("error", [method, params?.name ?? params?.uri, error.code, String(error.message ?? error)]);
  }
}

async function follow(taskId, send) {
  for (let turn = 0; turn < 100; turn++) {
    const found = await send({ method: "tasks/get", params: { taskId } }, {});
    show("task", found);
    if (!["working"].includes(found.status)) break;
    await new Promise((resolve) => setTimeout(resolve, found.pollInterval ?? 200));
  }
  show("task result", await send({ method: "tasks/result", params: { taskId } }, {}));
  show("tasks", await send({ method: "tasks/list" }, {}));
}

// The answers to a server's questions.
export const ELICITED = { action: "accept", content: { name: "Ada", age: 36 } };
export const SAMPLED = { role: "assistant", model: "none", stopReason: "endTurn", content: { type: "text", text: "Certainly." } };
export const ROOTS = { roots: [{ uri: "file:///tmp/root", name: "root" }] };
