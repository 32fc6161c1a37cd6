// TextImports merges the lists of all text upstreams into one. A model of several upstreams is one model with
// several routes. Each model's price is stored before it is shown.
import type { Catalog, Model } from "@gr/proto/catalog";
import type { TextModel, TextUpstream } from "@gr/text-upstream";
import { UnusableListing } from "../files/text-listing.ts";
import { mergedTextModels } from "../files/text-model.ts";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import type { PastPriceStore } from "../prices/past-price-store.ts";
import {
  createTextImport,
  type ImportState,
  oneAfterTheOther,
  type TextImport,
  type TextImportOptions,
} from "./text-import.ts";

export interface TextImports {
  restore(): Promise<void>;
  /** Returns the present lists of the upstreams, as models; undefined without imports. @throws UnusableListing */
  preview(): Promise<Model[] | undefined>;
  /** Imports from all of them now; undefined without imports. @throws UnusableListing if one of them fails */
  sync(): Promise<Synced | undefined>;
  /** State of the last imports; undefined without imports. */
  state(): ImportState | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The catalogue before an import and after it. */
export interface Synced {
  readonly before: Catalog;
  readonly after: Catalog;
}

export interface TextImportsOptions extends Omit<TextImportOptions, "upstream" | "show" | "live"> {
  /** Text upstreams, the preferred first. */
  readonly upstreams: readonly TextUpstream[];
  readonly prices: PastPriceStore;
  readonly live: LiveCatalog;
}

export function createTextImports(options: TextImportsOptions): TextImports {
  const { live, prices, clock } = options;
  const upstreams = options.upstreams.filter((upstream) => upstream.prices !== "catalogue");
  const listed = new Map<string, readonly TextModel[]>();
  const showing = oneAfterTheOther();
  /** Merges the lists of all upstreams in the preferred order. @param texts lists by name of the upstream */
  const merged = (texts: ReadonlyMap<string, readonly TextModel[]>) =>
    mergedTextModels(upstreams.map(({ name }) => [name, texts.get(name) ?? []]));

  /** A charge may name a price as soon as it is shown, so it is stored before. */
  const show = (name: string, texts: readonly TextModel[]) =>
    showing(async () => {
      const models = merged(new Map([...listed, [name, texts]]));
      await prices.keep(models, clock.now());
      listed.set(name, texts);
      live.setTextModels(models);
    });

  const imports: readonly (readonly [string, TextImport])[] = upstreams.map((upstream) => [
    upstream.name,
    createTextImport({ ...options, upstream, show: (texts) => show(upstream.name, texts) }),
  ]);
  const each = async (work: (one: TextImport) => Promise<void>) => {
    await Promise.all(imports.map(([, one]) => work(one)));
  };
  /** Adds the upstream's name, if there are several. */
  const named = (name: string, sentence: string) => (imports.length > 1 ? `${name}: ${sentence}` : sentence);

  return {
    restore: () => each((one) => one.restore()),
    preview: async () => {
      if (imports.length === 0) return undefined;
      const now = await Promise.all(imports.map(async ([name, one]) => [name, await one.preview()] as const));
      return merged(new Map(now));
    },
    sync: async () => {
      if (imports.length === 0) return undefined;
      const before = live.current().catalog;
      const ends = await Promise.allSettled(imports.map(([, one]) => one.sync()));
      for (const [index, end] of ends.entries()) {
        if (end.status === "fulfilled") continue;
        if (!(end.reason instanceof UnusableListing)) throw end.reason;
        throw new UnusableListing(named(imports[index]?.[0] ?? "", end.reason.message));
      }
      return { before, after: live.current().catalog };
    },
    state: () => {
      const states = imports.map(([name, one]) => ({ name, now: one.state() }));
      for (const { name, now } of states) {
        if (now.state === "failed") return { state: "failed", problem: named(name, now.problem) };
      }
      if (states.length === 0) return undefined;
      return { state: states.some(({ now }) => now.state === "running") ? "running" : "done" };
    },
    start: () => each((one) => one.start()),
    stop: () => each((one) => one.stop()),
  };
}
