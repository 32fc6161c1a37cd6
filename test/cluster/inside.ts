// This program runs the cluster test inside the cluster's namespaces: it starts the cluster, deploys the router with skaffold,
// and tests the router.
import { mkdir } from "node:fs/promises";
import { Daemons } from "./commands.ts";
import { startControlPlane } from "./control-plane.ts";
import { buildImages, deployRouter, runVerification } from "./deploy-router.ts";
import { killEach, restartAll } from "./disturb.ts";
import { makeBaseImages, startDocker } from "./images.ts";
import { placesIn } from "./layout.ts";
import { settleIn } from "./namespaces.ts";
import { makeVolume, startNetwork } from "./network.ts";
import { startContainerd, startNode } from "./node.ts";
import { acceptEveryObject } from "./objects.ts";
import { tryEveryEdge } from "./policies.ts";

const [state = "", programs = "", last = ""] = process.argv.slice(2);
const places = placesIn(state, programs);
await mkdir(places.logs, { recursive: true });
const daemons = new Daemons(places.logs);
const began = Date.now();
const seconds = () => ((Date.now() - began) / 1000).toFixed(0);
const say = (line: string) => process.stdout.write(`      ${line}\n`);

/** Steps with their names, in their order. The text of a step, if it returns one, is in the step's line of the output. */
const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
  ["namespaces", () => settleIn(state)],
  ["control plane", () => startControlPlane(places, daemons)],
  ["objects", () => acceptEveryObject(places)],
  ["containerd", () => startContainerd(places, daemons)],
  ["Docker", () => startDocker(places, daemons)],
  ["base images", () => makeBaseImages(places)],
  ["node", () => startNode(places, daemons)],
  ["volume", () => makeVolume(places)],
  ["network", () => startNetwork(places, daemons)],
  ["images", () => buildImages(places)],
  ["router", () => deployRouter(places)],
  ["network policies", () => tryEveryEdge(places)],
  ["verification", () => runVerification(places)],
  ["restarts", () => restartAll(places, say)],
  ["kills", () => killEach(places, say)],
];

let passed = 0;
let failed = 0;
if (last !== "" && !steps.some(([name]) => name === last)) {
  process.stderr.write(`there is no step ${last}; the steps are ${steps.map(([name]) => name).join(", ")}\n`);
  process.exit(1);
}
for (const [name, step] of steps) {
  try {
    const said = await daemons.during(step());
    passed += 1;
    process.stdout.write(
      `ok    ${name} (${seconds()} s)${typeof said === "string" ? `: ${said.trim()}` : ""}\n`,
    );
  } catch (error) {
    failed += 1;
    process.stderr.write(`FAILED  ${name} (${seconds()} s): ${(error as Error).message}\n`);
    break;
  }
  if (name === last) break;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
if (process.env["CLUSTER_HOLD"]) {
  say(`the cluster runs until SIGTERM ends this process; its kubeconfig is ${places.kubeconfig}`);
  await new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
}
await daemons.stop();
process.exit(failed);
