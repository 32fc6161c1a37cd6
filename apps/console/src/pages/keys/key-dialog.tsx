// The open dialog of the keys page.
import type { AnswerOf, KeyRecord } from "@gr/console-api";
import { DeleteKey, EditKey, NewKey, RotateKey } from "./key-dialogs.tsx";
import { DeleteSavedTexts } from "./saved-texts.tsx";
import { SecretDialog } from "./secret-dialog.tsx";

export type OpenedDialog =
  | { readonly name: "new"; readonly kind: KeyRecord["kind"] }
  | { readonly name: "edit" | "rotate" | "forget" | "delete"; readonly key: KeyRecord }
  | { readonly name: "secret"; readonly key: KeyRecord; readonly secret: string };

export interface KeyDialogProps {
  readonly dialog: OpenedDialog;
  /** Opens another dialog in its place. */
  readonly open: (dialog: OpenedDialog) => void;
  readonly close: () => void;
}

export function KeyDialog({ dialog, open, close }: KeyDialogProps) {
  const onSecret = (minted: AnswerOf<"createKey">) => open({ name: "secret", ...minted });
  switch (dialog.name) {
    case "new":
      return <NewKey kind={dialog.kind} close={close} onSecret={onSecret} />;
    case "edit":
      return <EditKey apiKey={dialog.key} close={close} />;
    case "rotate":
      return <RotateKey apiKey={dialog.key} close={close} onSecret={onSecret} />;
    case "forget":
      return <DeleteSavedTexts apiKey={dialog.key} close={close} />;
    case "delete":
      return <DeleteKey apiKey={dialog.key} close={close} />;
    case "secret":
      return <SecretDialog apiKey={dialog.key} secret={dialog.secret} close={close} />;
  }
}
