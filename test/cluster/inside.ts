// The run of a cluster, from within its namespaces: brings it up, has skaffold put the router into it, and tries it.
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

/** Each answers what is worth to be known of it. */
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
  process.stderr.write(`there is no step ${last}; there are ${steps.map(([name]) => name).join(", ")}\n`);
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
  say(`the cluster stays until this process is told to end; ${places.kubeconfig}`);
  await new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
}
await daemons.stop();
process.exit(failed);
