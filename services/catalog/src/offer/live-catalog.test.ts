// Guarantees of the live catalogue: watchers receive the newest state, never a backlog, and are removed completely.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { ManualClock } from "@gr/testing";
import { describe, expect, test } from "@jest/globals";
import { createLiveCatalog } from "./live-catalog.ts";
import { snapshotOf } from "./snapshot.ts";

const model = (id: string, fields: { name?: string; shutdownDate?: string } = {}): Model =>
  create(ModelSchema, { id, kind: ModelKind.TEXT, ...fields });
const ids = (catalog: { models: readonly Model[] } | undefined) => catalog?.models.map(({ id }) => id);

const offerOf = (models: Model[], ...hidden: string[]) => ({ models, hidden: new Set(hidden) });

function liveOf(seed: Model[]) {
  const clock = new ManualClock(Date.UTC(2026, 10, 20, 23, 59, 59));
  return { clock, live: createLiveCatalog({ offer: offerOf(seed), clock, onChange: () => undefined }) };
}

describe("a snapshot", () => {
  test("has the same version for the same models, in whatever order they came", () => {
    const [a, b] = [model("a"), model("b")];
    const version = (models: Model[], imported: Model[] = []) =>
      snapshotOf(offerOf(models), imported, "2026-11-20").catalog.version;
    expect(version([a, b])).toBe(version([b], [a]));
    expect(version([a, b])).not.toBe(version([a]));
    expect(version([a])).not.toBe(version([model("a", { name: "renamed" })]));
  });

  test("trusts the offer where an imported model has the same id, and what it hides", () => {
    const offer = offerOf([model("a", { name: "seed" })], "b");
    const imported = ["a", "b", "c"].map((id) => model(id, { name: "text" }));
    const { catalog, find } = snapshotOf(offer, imported, "2026-11-20");
    expect(find("a")?.name).toBe("seed");
    expect(ids(catalog)).toEqual(["a", "c"]);
  });

  test("hides a model from its shutdown date on", () => {
    const shown = (today: string) =>
      ids(snapshotOf(offerOf([model("a", { shutdownDate: "2026-12-01" })]), [], today).catalog);
    expect(shown("2026-11-30")).toEqual(["a"]);
    expect(shown("2026-12-01")).toEqual([]);
    expect(shown("2027-01-01")).toEqual([]);
  });
});

describe("a watch", () => {
  test("has the catalogue at once, and each change", async () => {
    const { live } = liveOf([model("seed")]);
    const watch = live.watch(new AbortController().signal);
    expect(ids((await watch.next()).value)).toEqual(["seed"]);
    const next = watch.next();
    live.setTextModels([model("text")]);
    expect(ids((await next).value)).toEqual(["seed", "text"]);
  });

  test("skips what was outdated before it was read", async () => {
    const { live } = liveOf([]);
    const watch = live.watch(new AbortController().signal);
    await watch.next();
    for (let i = 0; i < 100; i += 1) live.setTextModels([model(`model-${i}`)]);
    expect(ids((await watch.next()).value)).toEqual(["model-99"]);
  });

  test("is not woken by what changes nothing", async () => {
    const { live } = liveOf([]);
    live.setTextModels([model("a")]);
    const watch = live.watch(new AbortController().signal);
    await watch.next();
    let woken = false;
    const next = watch.next().then(() => {
      woken = true;
    });
    live.setTextModels([model("a")]);
    live.refresh();
    await new Promise((resolve) => setImmediate(resolve));
    expect(woken).toBe(false);
    live.close();
    await next;
  });

  test("ends when its reader leaves, and nothing of it stays", async () => {
    const { live } = liveOf([]);
    const controllers = Array.from({ length: 50 }, () => new AbortController());
    const ends = controllers.map(async ({ signal }) => {
      for await (const _ of live.watch(signal));
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(live.waiting()).toBe(50);
    for (const controller of controllers) controller.abort();
    await Promise.all(ends);
    expect(live.waiting()).toBe(0);
  });

  test("ends when the catalogue closes", async () => {
    const { live } = liveOf([]);
    const end = (async () => {
      for await (const _ of live.watch(new AbortController().signal));
    })();
    await new Promise((resolve) => setImmediate(resolve));
    live.close();
    await end;
    expect(live.waiting()).toBe(0);
  });

  test("hears of a model whose last day has passed", async () => {
    const { live, clock } = liveOf([model("stays"), model("goes", { shutdownDate: "2026-11-21" })]);
    const watch = live.watch(new AbortController().signal);
    expect(ids((await watch.next()).value)).toEqual(["goes", "stays"]);
    const next = watch.next();
    live.refresh();
    clock.advance(1_000);
    live.refresh();
    expect(ids((await next).value)).toEqual(["stays"]);
  });
});
