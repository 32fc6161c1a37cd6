// ActivityService: messages to questions about activity and back, and the names of kinds and members.
import {
  ActivityBucket,
  ActivityGroup as ActivityGroupMessage,
  ActivityService,
  type NameKeyMembersRequest,
  type NameModelKindsRequest,
  type ReadActivityRequest,
} from "@gr/proto/activity";
import { implement, type RpcService } from "@gr/runtime";
import { instant, invalid, text, uuid } from "../rpc/field-rules.ts";
import { type Names, nameOf } from "../rpc/message-names.ts";
import { reaching } from "../writer/ledger-error.ts";
import { type Bucket, spanOf } from "./activity-span.ts";
import type { ActivityGroup, ActivityStore } from "./activity-store.ts";
import type { ActivityQuery, Figures, Quantiles, ReadActivity } from "./read-activity.ts";

const MOST_NAMES = 5_000;
const MOST_CHARACTERS = 300;

const BUCKETS: Names<Bucket, ActivityBucket> = {
  hour: ActivityBucket.HOUR,
  day: ActivityBucket.DAY,
  week: ActivityBucket.WEEK,
  month: ActivityBucket.MONTH,
};
const GROUPS: Names<ActivityGroup, ActivityGroupMessage> = {
  model: ActivityGroupMessage.MODEL,
  key: ActivityGroupMessage.KEY,
  member: ActivityGroupMessage.MEMBER,
  provider: ActivityGroupMessage.PROVIDER,
  kind: ActivityGroupMessage.KIND,
};

export interface ActivityRpcDeps {
  readonly readActivity: ReadActivity;
  readonly store: Pick<ActivityStore, "nameKinds" | "nameMembers">;
}

export function activityRpc({ readActivity, store }: ActivityRpcDeps): RpcService {
  return implement(ActivityService, {
    async readActivity(request) {
      const query = queryOf(request);
      const { total, groups, rows, buckets } = await reaching(readActivity(query));
      return {
        begins: query.span.begins.map(BigInt),
        end: BigInt(query.span.end),
        total: figuresMessage(total),
        groups: groups.map(({ group, label, ...figures }) => {
          return {
            group: group ?? "",
            label,
            isOther: group === undefined,
            figures: figuresMessage(figures),
          };
        }),
        rows: rows.map(({ begin, group, ...figures }) => {
          const named = { group: group ?? "", isOther: group === undefined };
          return { begin: BigInt(begin), ...named, figures: figuresMessage(figures) };
        }),
        buckets: buckets.map(({ begin, ...figures }) => {
          return { begin: BigInt(begin), figures: figuresMessage(figures) };
        }),
      };
    },
    async nameModelKinds(request) {
      await reaching(store.nameKinds(kindsOf(request)));
      return {};
    },
    async nameKeyMembers(request) {
      await reaching(store.nameMembers(uuid("account_id", request.accountId), membersOf(request)));
      return {};
    },
  });
}

function queryOf(request: ReadActivityRequest): ActivityQuery {
  const { accountId, bucket, from, until, group, spenderId, model, provider } = request;
  const begin = from === undefined ? undefined : Number(instant("from", from));
  return {
    accountId: uuid("account_id", accountId),
    span: spanOf(nameOf(BUCKETS, "bucket", bucket), begin, Number(instant("to", until))),
    group: nameOf(GROUPS, "group", group),
    spenderId: spenderId === "" ? undefined : uuid("key", spenderId),
    model: model === "" ? undefined : text("model", model, MOST_CHARACTERS),
    provider: provider === "" ? undefined : text("provider", provider, MOST_CHARACTERS),
  };
}

function kindsOf({ models }: NameModelKindsRequest): Map<string, string> {
  if (models.length > MOST_NAMES) throw invalid("models", `At most ${MOST_NAMES} models fit in one call`);
  const named = models.map(({ model, kind }, index) => {
    if (kind !== "image" && kind !== "video")
      throw invalid(`models[${index}].kind`, "It must be image or video");
    return [text(`models[${index}].model`, model, MOST_CHARACTERS), kind] as const;
  });
  return new Map(named.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function membersOf({ keys }: NameKeyMembersRequest): Map<string, string> {
  if (keys.length > MOST_NAMES) throw invalid("keys", `At most ${MOST_NAMES} keys fit in one call`);
  return new Map(
    keys.map(({ keyId, personId }, index) => {
      return [uuid(`keys[${index}].key_id`, keyId), uuid(`keys[${index}].person_id`, personId)];
    }),
  );
}

function figuresMessage({
  requests,
  errors,
  spend,
  inputTokens,
  outputTokens,
  latency,
  firstToken,
}: Figures) {
  return {
    ...{ requests, errors, spendCredits: spend, inputTokens, outputTokens },
    ...quantilesMessage("latency", latency),
    ...quantilesMessage("firstToken", firstToken),
  };
}

function quantilesMessage(name: "latency" | "firstToken", found: Quantiles | undefined) {
  if (found === undefined) return {};
  return { [name]: { medianMs: BigInt(found.medianMs), p95Ms: BigInt(found.p95Ms) } };
}
