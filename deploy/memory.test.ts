// Every workload's memory limit has room for the default contents of its process: the budgets are computed from the
// limit.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { routerModules } from "@gr/all-in-one";
import {
  BYTES_PER_INPUT_BYTE,
  BYTES_PER_PLACE,
  mediaGenerationModule,
  memoryBudgetOf,
} from "@gr/media-generation";
import { IDLE_BYTES, type Module, memoryShares } from "@gr/runtime";
import { BYTES_PER_BODY_BYTE, inputBudgetOf, textProxyModule } from "@gr/text-proxy";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { type Manifest, render, renderAt } from "./render.ts";

const MIB = 1024 * 1024;
const BYTES: Readonly<Record<string, number>> = { Mi: MIB, Gi: 1024 * MIB };
/** Default of MEDIA_MAX_FORM_BYTES. */
const LONGEST_FORM = 352 * MIB;

interface Container {
  readonly env?: readonly { readonly name: string }[];
  readonly resources: { readonly limits: { readonly memory: string } };
}
interface Deployment extends Manifest {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

const overlays = readdirSync(join(import.meta.dirname, "overlays"));
const rendered = new Map<string, readonly Manifest[]>([
  ...overlays.map((name) => [name, render(join(import.meta.dirname, "overlays", name))] as const),
  ["base", renderAt(import.meta.dirname, { resources: ["base"] })],
]);

function shareOf(modules: readonly Module[], name: string, totalBytes: number): number {
  return memoryShares(modules, { totalBytes, heapBytes: totalBytes }).get(name) ?? 0;
}

/** Returns the bytes at the peak of a process with these modules and full budgets. */
function peakOf(modules: readonly Module[], totalBytes: number): number {
  const peaks = modules.map(({ name }) => {
    const share = shareOf(modules, name, totalBytes);
    if (name === textProxyModule.name) return inputBudgetOf(share) * BYTES_PER_BODY_BYTE;
    if (name !== mediaGenerationModule.name) return 0;
    const { inputBytes, places } = memoryBudgetOf(share);
    return inputBytes * BYTES_PER_INPUT_BYTE + places * BYTES_PER_PLACE;
  });
  return peaks.reduce((sum, bytes) => sum + bytes, IDLE_BYTES);
}

/** Deployments of our modules with their limits in bytes. */
function limitsIn(manifests: readonly Manifest[]) {
  return manifests.flatMap((manifest) => {
    const own = routerModules.filter(({ name }) => name === manifest.metadata.name);
    if (manifest.kind !== "Deployment" || own.length === 0) return [];
    const [container] = (manifest as Deployment).spec.template.spec.containers;
    const [, count, unit = ""] = /^(\d+)(Mi|Gi)$/.exec(container?.resources.limits.memory ?? "") ?? [];
    const env = (container?.env ?? []).map((variable) => variable.name);
    return [{ own, env, limit: Number(count) * (BYTES[unit] ?? Number.NaN) }];
  });
}

test.each([...rendered])("in %s every service's limit has room for all that it may hold", (_, manifests) => {
  const deployments = limitsIn(manifests);
  expect(deployments).toHaveLength(routerModules.length);
  for (const { own, env, limit } of deployments) {
    expect({ own, limit, fits: peakOf(own, limit) <= limit }).toMatchObject({ fits: true });
    // V8 sizes its heap by the container's limit, as the budgets are.
    expect(env).not.toContain("NODE_OPTIONS");
  }
});

test.each([...rendered])("in %s the longest form fits into the share of one account", (_, manifests) => {
  const [media] = limitsIn(manifests).filter(({ own }) => own[0] === mediaGenerationModule);
  const share = shareOf([mediaGenerationModule], mediaGenerationModule.name, media?.limit ?? 0);
  expect(memoryBudgetOf(share).inputBytes * 3).toBeGreaterThanOrEqual(LONGEST_FORM * 4);
});

test("all modules in one process hold no more than its memory, from 1 GiB on", () => {
  for (const gigabytes of [1, 2, 4, 64]) {
    const total = gigabytes * 1024 * MIB;
    expect({ gigabytes, fits: peakOf(routerModules, total) <= total }).toEqual({ gigabytes, fits: true });
  }
});

test("compose.yaml limits each service as the cluster does", () => {
  const text = readFileSync(join(import.meta.dirname, "../compose.yaml"), "utf8");
  const { services } = parse(text, { merge: true }) as { services: Record<string, { mem_limit?: string }> };
  const bytesOf = (limit = "") =>
    Number(limit.slice(0, -1)) * ({ m: MIB, g: 1024 * MIB }[limit.slice(-1)] ?? 0);
  for (const { own, limit } of limitsIn(rendered.get("base") ?? [])) {
    const [{ name = "" } = {}] = own;
    expect({ name, limit: bytesOf(services[name]?.mem_limit) }).toEqual({ name, limit });
  }
});
