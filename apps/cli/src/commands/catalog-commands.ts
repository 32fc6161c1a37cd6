// Catalogue commands: catalog list, catalog diff, catalog validate, catalog sync.
import {
  readCatalogFolder,
  readOwnCatalog,
  readSeed,
  readSeedFiles,
  SEED_DIRECTORY,
} from "@gr/catalog/files";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs, RunsAlone } from "../command.ts";
import { oneOf } from "../option-values.ts";
import { diffOf, diffText, isSame } from "../output/catalog-diff.ts";
import { priceText } from "../output/price-text.ts";
import { type Report, report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";

/** Longer than the service waits for a slow upstream, even when another import runs first. */
const IMPORT_TIMEOUT_MS = 60_000;

const KINDS = { image: ModelKind.IMAGE, video: ModelKind.VIDEO, text: ModelKind.TEXT } as const;

export function addCatalogCommands(program: Command, runs: Runs, runsAlone: RunsAlone): void {
  const catalog = program.command("catalog").description("models and prices");
  catalog
    .command("list")
    .description("list the models that can be used now")
    .option("--kind <kind>", "image, video or text only", oneOf(KINDS))
    .action(
      runs(async (router, { kind }: { kind?: ModelKind }) => {
        const { catalog: current } = await router.catalog().getCatalog({});
        const models = (current?.models ?? [])
          .filter((model) => kind === undefined || model.kind === kind)
          .map(recordOf);
        const text = table(models, COLUMNS, "The catalogue has no model that matches.");
        return report({ version: current?.version ?? "", models }, text);
      }),
    );
  catalog
    .command("diff")
    .description("show the changes by these files and a fresh import, without applying them")
    .argument(
      "[folder]",
      "folder of your own catalogue (default: CATALOG_DIR, as it is where the router runs)",
    )
    .option("--seed <folder>", "folder of the seed files (default: as they are where the router runs)")
    .action(
      runs(async (router, folder: string | undefined, { seed }: { seed?: string }) => {
        const seedFiles = seed === undefined ? [] : await readSeedFolder(seed);
        const own = folder === undefined ? {} : { own: { files: await readCatalogFolder(folder) } };
        const [now, then] = await Promise.all([
          router.catalog().getCatalog({}),
          router.catalogOperator().previewCatalog({ seedFiles, ...own }, { timeoutMs: IMPORT_TIMEOUT_MS }),
        ]);
        const diff = diffOf(now.catalog, then.catalog);
        const text = [...then.notes, isSame(diff) ? "Nothing would change." : diffText(diff)].join("\n");
        return report({ ...diff, notes: then.notes }, text);
      }),
    );
  catalog
    .command("validate")
    .description("check the files of your own catalogue; needs no router")
    .argument("<folder>", "folder of your own catalogue, as CATALOG_DIR names it")
    .action(runsAlone(validate));
  catalog
    .command("sync")
    .description("import the text models from the upstream now, and show the changes")
    .action(
      runs(async (router) => {
        const { before, after } = await router
          .catalogOperator()
          .syncCatalog({}, { timeoutMs: IMPORT_TIMEOUT_MS });
        const diff = diffOf(before, after);
        const text = isSame(diff) ? "Imported; nothing has changed." : diffText(diff);
        return report({ version: after?.version ?? "", ...diff }, text);
      }),
    );
}

/** Validates against the seed of this release, without the providers and the text upstreams of a router. */
async function validate(folder: string): Promise<Report> {
  const [files, shipped] = await Promise.all([readCatalogFolder(folder), readSeedFiles(SEED_DIRECTORY)]);
  const { problems, added, changed, hidden } = readOwnCatalog(readSeed(shipped), files, []);
  const data = { ok: problems.length === 0, problems, added, changed, hidden: [...hidden] };
  if (!data.ok) return report(data, problems.map((problem) => `${problem}.`).join("\n"), false);
  const counts = `${added.length} added, ${changed.length} changed, ${hidden.size} hidden`;
  return report(data, `${folder} is right: ${counts}.`);
}

/** @throws OperatorError when there are no seed files */
async function readSeedFolder(folder: string): Promise<{ name: string; content: string }[]> {
  const files = await readCatalogFolder(folder);
  if (files.length === 0) throw new OperatorError(`There are no seed files (*.json) in ${folder}.`);
  return files;
}

type ModelRecord = ReturnType<typeof recordOf>;

function recordOf(model: Model) {
  return {
    id: model.id,
    kind: kindName(model.kind),
    name: model.name,
    price: priceText(model.price),
    price_version: model.price?.version ?? "",
    providers: [...new Set(model.routes.map(({ provider }) => provider))],
  };
}

/** "image", "video", "text". */
export function kindName(kind: ModelKind): string {
  return Object.entries(KINDS).find(([, value]) => value === kind)?.[0] ?? "unknown";
}

const COLUMNS: readonly Column<ModelRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "PRICE", cell: ({ price }) => price },
  { title: "PROVIDERS", cell: ({ providers }) => providers.join(", ") },
];
