// request list, request show
import { explainedRecord, GENERATION_KIND, GENERATION_STATUS, requestRecord } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import type { RequestRecord } from "@gr/request-record";
import { type Command, Option } from "commander";
import type { Runs } from "../../command.ts";
import { countOf } from "../../option-values.ts";
import { report } from "../../output/report.ts";
import { type Column, table } from "../../output/table.ts";

interface RequestOptions {
  account: string;
  key?: string;
  kind?: keyof typeof GENERATION_KIND;
  status?: keyof typeof GENERATION_STATUS;
  model?: string;
  provider?: string;
  limit: number;
  after?: string;
}

export function addRequestCommands(program: Command, runs: Runs): void {
  const request = program.command("request").description("the log of requests: images, videos and text");
  request
    .command("list")
    .description("list requests of an account, newest first")
    .requiredOption("--account <id>", "account of the requests")
    .option("--key <id>", "of this API key only")
    .addOption(new Option("--kind <kind>", "of this kind only").choices(Object.keys(GENERATION_KIND)))
    .addOption(new Option("--status <status>", "in this state only").choices(Object.keys(GENERATION_STATUS)))
    .option("--model <id>", "of this model only")
    .option("--provider <name>", "with the last attempt at this provider only")
    .option("--limit <count>", "at most so many, up to 100", countOf, 20)
    .option("--after <id>", "continue after this request, the last of the page before")
    .action(
      runs(
        async (
          router,
          { account, key = "", kind, status, model = "", provider = "", limit, after = "" }: RequestOptions,
        ) => {
          const { generations, hasMore } = await router.media().listGenerations({
            ...{ accountId: account, keyId: key, model, provider, limit, after, texts: kind === undefined },
            ...(kind === undefined ? {} : { kind: GENERATION_KIND[kind] }),
            ...(status === undefined ? {} : { status: GENERATION_STATUS[status] }),
          });
          const records = generations.map(requestRecord);
          const text = table(records, COLUMNS, "No request matches.");
          const more = hasMore ? `\nThere are more: --after ${records.at(-1)?.id}\n` : "";
          return report({ requests: records, has_more: hasMore }, `${text}${more}`);
        },
      ),
    );
  request
    .command("show <id>")
    .description("show one request as JSON, with the calculation of its charge")
    .requiredOption("--account <id>", "account of the request")
    .action(
      runs(async (router, id: string, { account }: Pick<RequestOptions, "account">) => {
        const found = await router.media().findGeneration({ accountId: account, id, texts: true });
        if (found.generation === undefined) {
          throw new ServiceError("generation_not_found", "The account has no request with this id.");
        }
        const record = await explainedRecord(found.generation, router.catalogOperator());
        return report(record, JSON.stringify(record, null, 2));
      }),
    );
}

const COLUMNS: readonly Column<RequestRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "CREATED", cell: ({ created_at }) => created_at },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "STATUS", cell: ({ status }) => status },
  { title: "MODEL", cell: ({ model }) => model },
  { title: "PROVIDER", cell: ({ provider }) => provider ?? "-" },
  { title: "LATENCY MS", cell: ({ latency }) => String(latency ?? "-"), isRightAligned: true },
  { title: "COST USD", cell: ({ cost }) => String(cost ?? "-"), isRightAligned: true },
];
