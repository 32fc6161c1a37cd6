// The all-in-one topology: every module in this process.
import { type Environment, longestStopMs, startProcess } from "@gr/runtime";
import { banner, type Screen } from "./first-start/banner.ts";
import { ensureDemoAccount } from "./first-start/demo-account.ts";
import { ensureDemoOwner } from "./first-start/demo-owner.ts";
import { textImportNote } from "./first-start/text-import-note.ts";
import { openInstallation } from "./installation/installation.ts";
import { writeRuntimeFile } from "./installation/runtime-file.ts";
import { routerModules } from "./modules.ts";

export interface Started {
  readonly baseUrl: string;
  /** Longest time for running requests after a stop request, in milliseconds. */
  readonly stopGraceMs: number;
  stop(): Promise<void>;
}

/** @throws OperatorError if a part is missing or broken; no part keeps running. */
export async function startAllInOne(env: Environment, screen: Screen): Promise<Started> {
  const installation = await openInstallation(env);
  const { config, publicUrl } = installation;
  try {
    // The internal ports serve the operator's CLI only; any free one will do.
    const running = await startProcess(routerModules, {
      env: { SERVICE_HTTP_PORT: "0", SERVICE_RPC_PORT: "0", ...installation.env },
    });
    const stop = async () => {
      await running.stop();
      await installation.close();
    };
    try {
      const rpcUrl = `http://127.0.0.1:${running.rpcPort}`;
      await writeRuntimeFile(config.DATA_DIR, {
        rpc_urls: {
          keys: rpcUrl,
          billing: rpcUrl,
          catalog: rpcUrl,
          console: rpcUrl,
          "media-generation": rpcUrl,
          "text-proxy": rpcUrl,
        },
        internal_auth_secret: installation.env["INTERNAL_AUTH_SECRET"] ?? "",
      });
      const demo = await ensureDemoAccount(config.DATA_DIR, publicUrl, running.dial);
      const signInLink = await ensureDemoOwner(demo.credentials.account_id, running.dial, screen);
      const database = installation.embeddedPostgres
        ? `embedded PostgreSQL, data in ${config.DATA_DIR}`
        : "as set in DATABASE_URL";
      const textNote = await textImportNote(running.dial);
      const facts = {
        baseUrl: publicUrl,
        simulatorUrl: installation.simulatorUrl,
        database,
        textNote,
        demo,
        signInLink,
      };
      screen.print(banner({ ...facts, onTerminal: screen.isTerminal, topology: "all in one process" }));
      return { baseUrl: publicUrl, stopGraceMs: longestStopMs(config), stop };
    } catch (error) {
      await running.stop();
      throw error;
    }
  } catch (error) {
    await installation.close();
    throw error;
  }
}
