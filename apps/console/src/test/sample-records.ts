// Records of the console's API for tests of pages.
import type { KeyRecord } from "@gr/console-api";

const KEY: KeyRecord = {
  ...{ id: "key-1", name: "Production", kind: "normal", hint: "gr_live_…wxyz", is_active: true },
  ...{ status: "active", created_at: "2026-11-01T10:00:00.000Z", expires_at: null, resets_at: null },
  ...{ spend_limit: "10.0000", spend_limit_period: null, period_spend: "4.0000", total_spend: "4.0000" },
  ...{ total_requests: 12, last_used_on: null, available: "6.0000", limited_by: "key" },
  ...{ allowed_models: null, allowed_providers: null, former_secret: null, default_response_format: null },
  ...{ budget: null, saves_texts: false },
};

export function sampleKey(fields: Partial<KeyRecord> = {}): KeyRecord {
  return { ...KEY, ...fields };
}
