// A browser for the walk through the console: Debian's Chromium, or the one that CHROMIUM names.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** @throws with the command that installs it, if there is no browser */
export async function openBrowser(): Promise<Browser> {
  const executablePath = [process.env["CHROMIUM"], ...PLACES].find(
    (path) => path !== undefined && existsSync(path),
  );
  if (executablePath === undefined) {
    throw new Error("There is no Chromium: apt-get install chromium, or name one in CHROMIUM.");
  }
  // Root, the user of CI, cannot use Chromium's own sandbox; the pages are ours.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return await chromium.launch({ executablePath, args });
}
