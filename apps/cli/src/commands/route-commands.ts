// route closed, route reopen
// The breakers of losses are in the memory of text-proxy and media-generation, so the answer is that of the processes at
// the addresses of the router.
import { formatPicoUsd } from "@gr/money";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { isoText } from "../option-values.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";
import type { Router } from "../router/router.ts";

interface RouteOptions {
  readonly provider: string;
  readonly model: string;
}

export function addRouteCommands(program: Command, runs: Runs): void {
  const route = program.command("route").description("routes that are closed because they lose money");
  route
    .command("closed")
    .description("list closed routes; they open 15 minutes after their last loss")
    .action(
      runs(async (router) => {
        const answers = await Promise.all(
          servicesOf(router).map(async ({ name, client }) => {
            const { routes } = await client.listClosedRoutes({});
            return routes.map(({ provider, upstreamModel, accountId, reopensAt, lossPicoUsd }) => ({
              service: name,
              provider,
              upstream_model: upstreamModel,
              account_id: accountId === "" ? null : accountId,
              loss: formatPicoUsd(lossPicoUsd),
              reopens_at: isoText(reopensAt),
            }));
          }),
        );
        const routes = answers.flat();
        return report({ routes }, table(routes, COLUMNS, "No route is closed."));
      }),
    );
  route
    .command("reopen")
    .description("open a closed route now, for all accounts; the next loss closes it again")
    .requiredOption("--provider <name>", "name of the provider, as route closed shows it")
    .requiredOption("--model <name>", "name of the model at the provider, as route closed shows it")
    .action(
      runs(async (router, { provider, model: upstreamModel }: RouteOptions) => {
        const answers = await Promise.all(
          servicesOf(router).map(({ client }) => client.reopenRoute({ provider, upstreamModel })),
        );
        const isOpened = answers.some(({ reopened }) => reopened);
        const state = isOpened ? "is open again" : "is not closed";
        const data = { provider, upstream_model: upstreamModel, reopened: isOpened };
        return report(data, `The route to ${upstreamModel} at ${provider} ${state}.`, isOpened);
      }),
    );
}

/** @throws OperatorError when both addresses are missing */
function servicesOf(router: Router) {
  const { "text-proxy": text, "media-generation": media } = router.address.rpcUrls;
  const services = [
    ...(text === undefined ? [] : [{ name: "text-proxy", client: router.textProxy() }]),
    ...(media === undefined ? [] : [{ name: "media-generation", client: router.media() }]),
  ];
  if (services.length > 0) return services;
  throw new OperatorError("Set TEXT_PROXY_RPC_URL or MEDIA_GENERATION_RPC_URL to an RPC address.");
}

type ClosedRoute = Readonly<
  Record<"service" | "provider" | "upstream_model" | "loss", string> &
    Record<"account_id" | "reopens_at", string | null>
>;

const COLUMNS: readonly Column<ClosedRoute>[] = [
  { title: "SERVICE", cell: ({ service }) => service },
  { title: "PROVIDER", cell: ({ provider }) => provider },
  { title: "MODEL", cell: ({ upstream_model }) => upstream_model },
  { title: "ACCOUNT", cell: ({ account_id }) => account_id ?? "all" },
  { title: "LOSS USD", cell: ({ loss }) => loss, isRightAligned: true },
  { title: "REOPENS", cell: ({ reopens_at }) => reopens_at ?? "-" },
];
