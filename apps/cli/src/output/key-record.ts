// A key as commands print it: a JSON record, and a row of a table.
import { periodNameOf } from "@gr/clients";
import { spendLimitOf } from "@gr/proto";
import { type Key, KeyKind } from "@gr/proto/keys";
import { isoText, usdText } from "../option-values.ts";
import { type Column, table } from "./table.ts";

type KeyRecord = ReturnType<typeof keyRecord>;

export function keyRecord(key: Key) {
  return {
    id: key.keyId,
    name: key.name,
    kind: key.kind === KeyKind.MANAGEMENT ? "management" : "normal",
    is_active: key.active,
    spend_limit: usdText(spendLimitOf(key)),
    spend_limit_period: periodNameOf(key.period) ?? null,
    expires_at: isoText(key.expiresAt),
    created_at: isoText(key.createdAt),
    hint: key.hint,
    default_response_format: key.defaultResponseFormat || null,
    allowed_models: key.allowedModels?.names ?? null,
    allowed_providers: key.allowedProviders?.names ?? null,
    budget_id: key.budgetId || null,
    saves_texts: key.savesTexts,
  };
}

const COLUMNS: readonly Column<KeyRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "NAME", cell: ({ name }) => name },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "ACTIVE", cell: ({ is_active }) => (is_active ? "yes" : "no") },
  { title: "KEY", cell: ({ hint }) => hint },
  { title: "LIMIT USD", cell: ({ spend_limit }) => spend_limit ?? "-", isRightAligned: true },
  { title: "PER", cell: ({ spend_limit_period }) => spend_limit_period ?? "-" },
  { title: "BUDGET", cell: ({ budget_id }) => budget_id ?? "-" },
  { title: "EXPIRES", cell: ({ expires_at }) => expires_at ?? "never" },
  { title: "CREATED", cell: ({ created_at }) => created_at ?? "-" },
];

export function keyTable(records: readonly KeyRecord[]): string {
  return table(records, COLUMNS, "This account has no keys.");
}
