// Databases for tests: a template is prepared once per jest run and cloned for each caller, so that every test file
// has a real, migrated PostgreSQL database of its own within milliseconds.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { until } from "./until.ts";

/**
 * Environment variable of a jest run that another one has started, on the servers of that one. It has the name of its
 * templates, since its sources prepare them in their own way.
 */
export const OWN_TEMPLATES = "TEST_TEMPLATES";

/** Environment variable of `npm run test:distributed`: addresses of a coordinator of Citus and its workers, as a JSON array. */
export const CITUS_NODES = "TEST_CITUS_NODES";

/** Whether databases of this run are distributed among several servers. */
export function isDistributedRun(): boolean {
  return process.env[CITUS_NODES] !== undefined;
}

/** SQLSTATE `object_in_use`. */
const STILL_IN_USE = "55006";
const DROP_MS = 120_000;

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/**
 * Returns a fresh database with the content of `prepare`.
 * @param name of the shared template: the same name means the same preparation.
 * @param prepare runs once per jest run, on the template.
 */
export async function testDatabase(
  name: string,
  prepare: (url: string) => Promise<void> = async () => undefined,
): Promise<TestDatabase> {
  const nodes = process.env[CITUS_NODES];
  if (nodes !== undefined) return await distributedDatabase(JSON.parse(nodes), prepare);
  const server = process.env["TEST_POSTGRES_URL"];
  if (server === undefined)
    throw new Error("tests need PostgreSQL: run them with `npm test`, which starts one");
  const run = process.env[OWN_TEMPLATES] ?? "";
  const template = `template_${run}${name.replaceAll(/[^a-z0-9]/gi, "_").toLowerCase()}`;
  const database = `test_${randomUUID().replaceAll("-", "")}`;
  await preparedTemplate(server, template, prepare);
  administrator ??= connectAdministrator(server);
  const admin = administrator;
  await admin.query(`CREATE DATABASE ${database} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return {
    url: onDatabase(server, database),
    drop: () => dropDatabase(admin, database),
  };
}

/** For statements about databases. PostgreSQL needs more processor time for a new connection than for one of them. */
let administrator: pg.Pool | undefined;

function connectAdministrator(server: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: server,
    max: 2,
    // Its idle connections keep no process alive.
    idleTimeoutMillis: 10_000,
    allowExitOnIdle: true,
  });
  return pool.on("error", () => undefined);
}

/** Templates that exist, or that this process prepares. */
const templates = new Map<string, Promise<void>>();

function preparedTemplate(
  server: string,
  template: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  const known = templates.get(template);
  if (known !== undefined) return known;
  const prepared = withAdmin(server, async (admin) => {
    // Two workers may want the same template at the same time: the second waits and finds it prepared.
    await admin.query("SELECT pg_advisory_lock(hashtext($1))", [template]);
    const { rowCount } = await admin.query("SELECT FROM pg_database WHERE datname = $1", [template]);
    if (rowCount === 0) await createTemplate(admin, server, template, prepare);
  });
  templates.set(template, prepared);
  prepared.catch(() => templates.delete(template));
  return prepared;
}

/** Citus copies no template, so each database is prepared anew. @param servers the coordinator first */
async function distributedDatabase(
  servers: readonly string[],
  prepare: (url: string) => Promise<void>,
): Promise<TestDatabase> {
  const database = `test_${randomUUID().replaceAll("-", "")}`;
  const urls = servers.map((server) => onDatabase(server, database));
  const [coordinator = "", ...workers] = urls;
  for (const server of servers)
    await withAdmin(server, (admin) => admin.query(`CREATE DATABASE ${database}`));
  const password = `password=${new URL(coordinator).password}`;
  for (const url of urls) {
    await withAdmin(url, async (admin) => {
      await admin.query("CREATE EXTENSION citus");
      await admin.query(
        "INSERT INTO pg_dist_authinfo (nodeid, rolename, authinfo) VALUES (0, 'postgres', $1)",
        [password],
      );
    });
  }
  await withAdmin(coordinator, async (admin) => {
    const add = (name: string, url: string) =>
      admin.query(`SELECT ${name}($1, $2::int)`, [new URL(url).hostname, new URL(url).port]);
    await add("citus_set_coordinator_host", coordinator);
    for (const worker of workers) await add("citus_add_node", worker);
  });
  await prepare(coordinator);
  return {
    url: coordinator,
    drop: async () => {
      // A daemon of Citus connects again while the database is dropped, and a worker that a test has killed may be starting.
      for (const server of servers) await until(() => dropAt(server, database), { timeoutMs: DROP_MS });
    },
  };
}

async function dropAt(server: string, database: string): Promise<boolean> {
  await withAdmin(server, (admin) => admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`));
  return true;
}

/**
 * Drops a database. PostgreSQL waits five seconds for connections that are just being closed; then they are cut. A
 * client that is cut while it closes would fail the test, since nobody listens to its errors any more.
 */
async function dropDatabase(admin: pg.Pool, database: string): Promise<void> {
  try {
    await admin.query(`DROP DATABASE ${database}`);
  } catch (error) {
    if ((error as { code?: string }).code !== STILL_IN_USE) throw error;
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
  }
}

async function createTemplate(
  admin: pg.Client,
  server: string,
  template: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  const draft = `${template}_draft`;
  await admin.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
  await admin.query(`CREATE DATABASE ${draft}`);
  await prepare(onDatabase(server, draft));
  await admin.query(`ALTER DATABASE ${draft} RENAME TO ${template}`);
}

function onDatabase(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

async function withAdmin(server: string, work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
