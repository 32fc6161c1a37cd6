// The text import note is a sentence at the start about text models that were not imported. Without it, the router
// would seem ready while each request for text is a 404.
import { CatalogOperatorService, TextImportState } from "@gr/proto/catalog";
import type { RunningProcess } from "@gr/runtime";

/** A sentence without its end; undefined when all is well. */
export async function textImportNote(dial: RunningProcess["dial"]): Promise<string | undefined> {
  const { state, problem } = await dial("catalog", CatalogOperatorService).getTextImport({});
  switch (state) {
    case TextImportState.RUNNING:
      return "models are still being imported; `npm run cli -- doctor` shows the result";
    case TextImportState.FAILED:
      return `models could not be imported: ${problem}; this is tried again`;
    default:
      return undefined;
  }
}
