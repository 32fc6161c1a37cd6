// Billing and catalogue at the process edge, with answers that a test sets.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import {
  BillingService,
  type GetCreditsResponseSchema,
  type ListHoldsRequest,
  type ListHoldsResponseSchema,
  type PutAdjustmentRequest,
  type PutDepositRequest,
  type Spender,
  StatementService,
  TextLogService,
  type VerifyLedgerResponseSchema,
} from "@gr/proto/billing";
import {
  CatalogOperatorService,
  type CatalogSchema,
  CatalogService,
  type GetTextImportResponseSchema,
  TextImportState,
} from "@gr/proto/catalog";
import type { ClosedRoute } from "@gr/proto/losses";
import {
  type ListGenerationsRequest,
  type ListGenerationsResponseSchema,
  MediaGenerationService,
} from "@gr/proto/media";
import { TextProxyService } from "@gr/proto/text";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";
import { createFakeWebhooks } from "./fake-webhooks.ts";

export interface FakePeers {
  readonly billingModule: Module;
  readonly catalogModule: Module;
  readonly mediaModule: Module;
  readonly textProxyModule: Module;
  /** By service. */
  readonly closedRoutes: Readonly<Record<"text" | "media", ClosedRouteInit[]>>;
  readonly deposits: PutDepositRequest[];
  readonly adjustments: PutAdjustmentRequest[];
  readonly holdRequests: ListHoldsRequest[];
  readonly logRequests: ListGenerationsRequest[];
  log: MessageInitShape<typeof ListGenerationsResponseSchema>;
  credits: MessageInitShape<typeof GetCreditsResponseSchema>;
  holds: MessageInitShape<typeof ListHoldsResponseSchema>;
  ledger: MessageInitShape<typeof VerifyLedgerResponseSchema>;
  /** Lines of each statement, in pages of two. */
  statement: string[];
  signing: { readonly signature: string; readonly publicKey: string };
  /** `all` of each verification. */
  readonly provedAll: boolean[];
  catalog: MessageInitShape<typeof CatalogSchema>;
  textImport: MessageInitShape<typeof GetTextImportResponseSchema>;
  /** State of the catalogue in /readyz and grpc.health.v1. */
  catalogReady: true | string;
  beforePutDeposit: (request: PutDepositRequest) => Promise<void>;
  beforePutAdjustment: (request: PutAdjustmentRequest) => Promise<void>;
  beforePutSpender: (spender: Spender | undefined) => Promise<void>;
}

type ClosedRouteInit = Omit<Partial<ClosedRoute>, "$typeName" | "$unknown">;

function lossCalls(routes: ClosedRouteInit[]) {
  return {
    listClosedRoutes: async () => ({ routes }),
    async reopenRoute({ provider, upstreamModel }: Pick<ClosedRoute, "provider" | "upstreamModel">) {
      const at = routes.findIndex(
        (each) => each.provider === provider && each.upstreamModel === upstreamModel,
      );
      if (at >= 0) routes.splice(at, 1);
      return { reopened: at >= 0 };
    },
  };
}

export function createFakePeers(): FakePeers {
  const unused = async (): Promise<never> => {
    throw new ServiceError("internal_error", "no command calls this");
  };
  const peers: FakePeers = {
    deposits: [],
    adjustments: [],
    holdRequests: [],
    logRequests: [],
    log: {},
    credits: {},
    holds: {},
    ledger: { chargedCostPicoUsd: "0", lostCostPicoUsd: "0" },
    provedAll: [],
    statement: [],
    signing: { signature: "", publicKey: "" },
    catalog: {},
    textImport: { state: TextImportState.DONE },
    catalogReady: true,
    beforePutDeposit: async () => undefined,
    beforePutAdjustment: async () => undefined,
    beforePutSpender: async () => undefined,
    billingModule: defineModule({
      name: "billing",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [billing, texts, statements] }),
    }),
    catalogModule: defineModule({
      name: "catalog",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [catalog, catalogOperator], ready: async () => peers.catalogReady }),
    }),
    closedRoutes: { text: [], media: [] },
    textProxyModule: defineModule({
      name: "text-proxy",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [implement(TextProxyService, lossCalls(peers.closedRoutes.text))] }),
    }),
    mediaModule: defineModule({
      name: "media-generation",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [media, createFakeWebhooks()] }),
    }),
  };
  const statements = implement(StatementService, {
    async readStatement({ accountId, month, after }) {
      const lines = peers.statement.filter((line) => BigInt(JSON.parse(line)[0]) > after);
      const seal = JSON.stringify(["seal 1", accountId, month]);
      return { seal, hash: "abc", ...peers.signing, lines: lines.slice(0, 2), hasMore: lines.length > 2 };
    },
  });
  const billing = implement(BillingService, {
    openAccount: async () => ({}),
    setSuspended: async () => ({}),
    async putSpender({ spender }) {
      await peers.beforePutSpender(spender);
      return {};
    },
    async putDeposit(request) {
      await peers.beforePutDeposit(request);
      peers.deposits.push(request);
      return {};
    },
    getCredits: async () => peers.credits,
    async listHolds(request) {
      peers.holdRequests.push(request);
      return peers.holds;
    },
    verifyLedger: async ({ all }) => {
      peers.provedAll.push(all);
      return peers.ledger;
    },
    async putAdjustment(request) {
      await peers.beforePutAdjustment(request);
      peers.adjustments.push(request);
      return {};
    },
    keepAnswer: unused,
    readAnswer: unused,
    judgeClaim: unused,
    checkSpender: unused,
    post: unused,
    leaseExpiredHolds: unused,
  });
  const catalog = implement(CatalogService, {
    getCatalog: async () => ({ catalog: peers.catalog }),
    async *watchCatalog() {
      yield { catalog: peers.catalog };
    },
  });
  const catalogOperator = implement(CatalogOperatorService, {
    getTextImport: async () => peers.textImport,
    previewCatalog: unused,
    syncCatalog: unused,
    getPriceVersion: unused,
  });
  const [files, lines] = [termsOf(30), termsOf(90)];
  const media = implement(MediaGenerationService, {
    listGenerations: async (request) => {
      peers.logRequests.push(request);
      return peers.log;
    },
    findGeneration: async ({ id }) => {
      const generation = peers.log.generations?.find((each) => each.id === id);
      return generation === undefined ? {} : { generation };
    },
    removeGeneration: unused,
    sumGenerations: unused,
    getMediaRetention: files.get,
    setMediaRetention: files.set,
    ...lossCalls(peers.closedRoutes.media),
  });
  const texts = implement(TextLogService, {
    writeTexts: unused,
    listTexts: unused,
    sumTexts: unused,
    findText: unused,
    getTextRetention: lines.get,
    setTextRetention: lines.set,
  });
  return peers;
}

/** Retention terms of accounts. */
function termsOf(byDefault: number) {
  const own = new Map<string, number>();
  const get = async ({ accountId }: { accountId: string }) => {
    const days = own.get(accountId);
    return { days: days ?? byDefault, own: days !== undefined };
  };
  return {
    get,
    set: (request: { accountId: string; days?: number | undefined }) => {
      if (request.days === undefined) own.delete(request.accountId);
      else own.set(request.accountId, request.days);
      return get(request);
    },
  };
}
