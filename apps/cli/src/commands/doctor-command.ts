// doctor checks every service: reachable, healthy, ready, secret accepted, and its configuration.
// It reports all faults; exit code 1 if there is one.
import { ServiceError } from "@gr/proto";
import { HoldState } from "@gr/proto/billing";
import { TextImportState } from "@gr/proto/catalog";
import { Health, HealthCheckResponse_ServingStatus as Status } from "@gr/proto/health";
import { addressVariables } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { sentenceOfFailure, wasNotReached } from "../output/failure.ts";
import { report } from "../output/report.ts";
import { table } from "../output/table.ts";
import type { Router } from "../router/router.ts";
import { type CoreService, SERVICES } from "../router/router-address.ts";
import { kindName } from "./catalog-commands.ts";

const TIMEOUT_MS = 10_000;
const NO_ACCOUNT = "00000000-0000-0000-0000-000000000000";

interface Finding {
  readonly service: CoreService;
  readonly url: string | null;
  /** A server answered at the address. */
  readonly reachable: boolean;
  /** grpc.health.v1 answers SERVING: every module of the process can serve. */
  readonly ready: boolean;
  /** The service accepted our secret and answered a call of its own. */
  readonly answers: boolean;
  /** The service has no fault. */
  readonly ok: boolean;
  /** Configuration of the service, or its fault. */
  readonly note: string;
}

export function addDoctorCommand(program: Command, runs: Runs): void {
  program
    .command("doctor")
    .description("check that the router is reachable, healthy and ready, and show its configuration")
    .action(
      runs(async (router) => {
        const findings = await Promise.all(SERVICES.map((service) => examine(router, service)));
        const ok = findings.every((finding) => finding.ok);
        const verdict = ok ? "Everything answers." : "Something is wrong.";
        const text = `Addresses are from ${router.address.source}.\n\n${table(
          findings,
          [
            { title: "SERVICE", cell: ({ service }) => service },
            { title: "ADDRESS", cell: ({ url }) => url ?? "-" },
            { title: "REACHABLE", cell: ({ reachable }) => yesNo(reachable) },
            { title: "READY", cell: ({ ready }) => yesNo(ready) },
            { title: "ANSWERS", cell: ({ answers }) => yesNo(answers) },
            { title: "", cell: ({ note }) => note },
          ],
          "",
        )}\n\n${verdict}`;
        return report({ ok, source: router.address.source, services: findings }, text, ok);
      }),
    );
}

async function examine(router: Router, service: CoreService): Promise<Finding> {
  const url = router.address.rpcUrls[service] ?? null;
  const nothing = { service, url, reachable: false, ready: false, answers: false, ok: false };
  if (url === null) return { ...nothing, note: `${addressVariables(service).rpc} is not set` };
  let ready: boolean;
  try {
    const { status } = await router.dial(service, Health).check({}, { timeoutMs: TIMEOUT_MS });
    ready = status === Status.SERVING;
  } catch (error) {
    return { ...nothing, reachable: !wasNotReached(error), note: sentenceOfFailure(error, router.address) };
  }
  try {
    const { configured, problem } = await QUESTIONS[service](router);
    const note = [ready ? undefined : "its process is not ready; /readyz has the reason", problem, configured]
      .filter((part) => part !== undefined)
      .join(". ");
    const ok = ready && problem === undefined;
    return { service, url, reachable: true, ready, answers: true, ok, note };
  } catch (error) {
    return { ...nothing, reachable: true, ready, note: sentenceOfFailure(error, router.address) };
  }
}

interface Answer {
  readonly configured: string;
  /** Fault of a service that answers. */
  readonly problem?: string | undefined;
}

/** Cheap calls of each service, with answers that reveal its configuration. */
const QUESTIONS: Readonly<Record<CoreService, (router: Router) => Promise<Answer>>> = {
  keys: async (router) => {
    try {
      await router.keys().listKeys({ accountId: NO_ACCOUNT }, { timeoutMs: TIMEOUT_MS });
    } catch (error) {
      if (!(error instanceof ServiceError && error.reason === "account_not_found")) throw error;
    }
    return { configured: "reads its keys" };
  },
  billing: async (router) => {
    await router.billing().listHolds({ state: HoldState.OPEN, limit: 1 }, { timeoutMs: TIMEOUT_MS });
    return { configured: "reads its holds" };
  },
  catalog: async (router) => {
    const { catalog } = await router.catalog().getCatalog({}, { timeoutMs: TIMEOUT_MS });
    const models = catalog?.models ?? [];
    const kinds = Map.groupBy(models, ({ kind }) => kindName(kind));
    const counts = [...kinds].map(([kind, { length }]) => `${length} ${kind}`).join(", ");
    const providers = new Set(models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
    const configured =
      models.length === 0
        ? "it has no models"
        : `models: ${counts}; providers: ${[...providers].sort().join(", ")}`;
    return { configured, problem: await problemOfImport(router) };
  },
};

async function problemOfImport(router: Router): Promise<string | undefined> {
  const { state, problem } = await router.catalogOperator().getTextImport({}, { timeoutMs: TIMEOUT_MS });
  return state === TextImportState.FAILED ? `the text models could not be imported: ${problem}` : undefined;
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
