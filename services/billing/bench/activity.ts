// Time of reads of activity for an account with a million requests in 90 days: 5 keys, 10 models, 9 requests in each hour of each pair.
// node services/billing/bench/activity.ts
import { migrate } from "@gr/runtime";
import { type Bucket, spanOf } from "../src/activity/activity-span.ts";
import { ACTIVITY_GROUPS, createActivityStore } from "../src/activity/activity-store.ts";
import { createReadActivity } from "../src/activity/read-activity.ts";
import { SCHEMA, startBenchDatabase } from "./bench-database.ts";

const ACCOUNT = "00000000-0000-4000-8000-000000000007";
const HOURS = 90 * 24;
const NOW = HOURS * 3_600_000;
const CALLS = 7;

const postgres = await startBenchDatabase();
const pool = await postgres.newPool(2);
await migrate(pool, SCHEMA);
/** Each pair of a key and a model once for each hour. */
const ROWS = `FROM generate_series(0, ${HOURS} - 1) h, generate_series(0, 49) n, LATERAL (
  SELECT md5((n % 5)::text)::uuid AS key, 'm' || n / 5 AS model) r`;
for (const [hours, at] of [
  [1, "h * 3600000::bigint"],
  [24, "h / 24 * 86400000::bigint"],
] as const) {
  await pool.query(
    `INSERT INTO activity SELECT $1, key, ${at}, 9 * count(*), count(*), 99 * count(*), 7, ${hours}, 'text-proxy', model,
       'p', array_fill(count(*)::int, ARRAY[30]) ${ROWS} GROUP BY 2, 3, 10`,
    [ACCOUNT],
  );
  await pool.query(
    `INSERT INTO text_activity SELECT $1, key, ${at}, 999 * count(*), 99 * count(*), 7, ${hours}, model, 'p',
       array_fill(count(*)::int, ARRAY[30]) ${ROWS} GROUP BY 2, 3, 8`,
    [ACCOUNT],
  );
}
await pool.query("VACUUM ANALYZE");

const accounts = { readCredits: async () => ({ usage: [] }) as never };
const readActivity = createReadActivity({
  ...{ store: createActivityStore(pool), accounts },
  follow: async () => undefined,
});
for (const [bucket, days] of [
  ["hour", 1],
  ["hour", 16],
  ["day", 90],
  ["month", 90],
] satisfies [Bucket, number][]) {
  for (const group of ACTIVITY_GROUPS) {
    const span = spanOf(bucket, NOW - days * 86_400_000, NOW);
    const query = {
      accountId: ACCOUNT,
      span,
      group,
      spenderId: undefined,
      model: undefined,
      provider: undefined,
    };
    const times: number[] = [];
    for (let call = 0; call < CALLS; call += 1) {
      const begin = performance.now();
      await readActivity(query);
      times.push(performance.now() - begin);
    }
    times.sort((one, other) => one - other);
    const [median, most] = [times[Math.floor(CALLS / 2)], times.at(-1)].map((ms) => ms?.toFixed(1));
    process.stdout.write(
      `| ${bucket} | ${span.begins.length} buckets | ${group} | ${median} ms | at most ${most} ms |\n`,
    );
  }
}
await pool.end();
await postgres.stop();
process.exitCode = 0;
