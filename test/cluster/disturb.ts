// This file disturbs a router under load, as a cluster may: it restarts every Deployment, and deletes one pod of each without
// grace. A restart fails no request. A deletion may fail requests, but the books stay right.
import { setTimeout as pause } from "node:timers/promises";
import { chat, image, type RunningLoad, startLoad, tally } from "../chaos/load.ts";
import type { Sent } from "../chaos/send-order.ts";
import { until } from "./commands.ts";
import { kubectlOf } from "./control-plane.ts";
import { openCustomer, verifyBooks } from "./customers.ts";
import { NAMESPACE } from "./deploy-router.ts";
import type { Places } from "./layout.ts";

const PER_SECOND = 4;
const MOST = 4000;
const CREDIT = "100";
const PODS_GONE_SECONDS = 400;
const SETTLED_MS = 3000;
const HERE = ["--namespace", NAMESPACE];
const SERVICES = "app.kubernetes.io/component=service";

/** Starts a load of streams, whole answers and pictures, in turn, for a new customer. */
async function loadOn(places: Places): Promise<RunningLoad> {
  const secret = await openCustomer(places, CREDIT);
  const path = "jsonpath={.spec.clusterIP}";
  const address = await kubectlOf(places)("get", "service", "gateway", ...HERE, "-o", path);
  const turn = [chat(40, true), chat(20, false), chat(80, true), chat(30, true)];
  const next = (index: number) => {
    const what = index % 8 === 7 ? image(`picture ${index}`) : turn[index % turn.length];
    return { ...(what ?? chat(20, true)), baseUrl: `http://${address}`, secret };
  };
  return startLoad(next, { perSecond: PER_SECOND, most: MOST });
}

async function deployments(places: Places): Promise<string[]> {
  const names = await kubectlOf(places)("get", "deployment", "-l", SERVICES, ...HERE, "-o", "name");
  return names.trim().split("\n");
}

/** Restarts the Deployments one after the other, under load. @throws Error if a request is not answered and paid */
export async function restartAll(places: Places, say: (line: string) => void): Promise<string> {
  const kubectl = kubectlOf(places);
  const load = await loadOn(places);
  await pause(SETTLED_MS);
  for (const deployment of await deployments(places)) {
    const before = load.sent.length;
    await kubectl("rollout", "restart", deployment, ...HERE);
    await kubectl("rollout", "status", deployment, "--timeout=400s", ...HERE);
    await untilNoneEnds(places);
    say(`${deployment}: ${JSON.stringify(tally(load.sent.slice(before)))}`);
  }
  const sent = await load.end();
  const failed = sent.filter(({ conclusion }) => conclusion !== "paid");
  if (failed.length > 0)
    throw new Error(`${failed.length} of ${sent.length} requests failed: ${examples(failed)}`);
  return `${sent.length} requests, 0 failed; ledger: ${await verifyBooks(places)}`;
}

/** Deletes one pod of each Deployment without grace, under load. A cut request may fail. @throws Error if the books differ */
export async function killEach(places: Places, say: (line: string) => void): Promise<string> {
  const kubectl = kubectlOf(places);
  const load = await loadOn(places);
  await pause(SETTLED_MS);
  for (const deployment of await deployments(places)) {
    const before = load.sent.length;
    const label = `app.kubernetes.io/name=${deployment.split("/")[1]}`;
    const [pod = ""] = (await kubectl("get", "pod", "-l", label, ...HERE, "-o", "name")).trim().split("\n");
    await kubectl("delete", pod, "--grace-period=0", "--force", ...HERE);
    await kubectl("rollout", "status", deployment, "--timeout=400s", ...HERE);
    say(`${pod} deleted: ${JSON.stringify(tally(load.sent.slice(before)))}`);
  }
  const sent = await load.end();
  await pause(SETTLED_MS);
  return `${sent.length} requests: ${JSON.stringify(tally(sent))}; ledger: ${await verifyBooks(places)}`;
}

/** Waits for the end of all terminating pods: such a pod still answers, so its answers belong to this restart. */
async function untilNoneEnds(places: Places): Promise<void> {
  const ending = "{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {end}";
  await until("the end of the old pods", PODS_GONE_SECONDS, async () => {
    const names = await kubectlOf(places)("get", "pod", ...HERE, "-o", `jsonpath=${ending}`);
    if (names.trim() !== "") throw new Error(names);
  });
}

const examples = (failed: readonly Sent[]) =>
  JSON.stringify(
    failed.slice(0, 5).map(({ status, error, startedAt, order }) => ({
      at: new Date(startedAt).toISOString(),
      path: order.path,
      status,
      error,
    })),
  );
