// catalog list
import { type Model, ModelKind } from "@gr/proto/catalog";
import type { Command } from "commander";
import { oneOf } from "./option-values.ts";
import { priceText } from "./price-text.ts";
import { report } from "./report.ts";
import type { Runs } from "./run-cli.ts";
import { type Column, table } from "./table.ts";

const KINDS = { image: ModelKind.IMAGE, video: ModelKind.VIDEO, text: ModelKind.TEXT } as const;

export function addCatalogCommands(program: Command, runs: Runs): void {
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
        const text = table(models, COLUMNS, "The catalogue has no such models.");
        return report({ version: current?.version ?? "", models }, text);
      }),
    );
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
