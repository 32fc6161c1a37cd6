// The question before a change that cannot be undone. The focus is on Cancel, so one more Enter changes nothing.
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

export interface ConfirmProps {
  readonly title: string;
  /** Text of the button that changes something. */
  readonly button: string;
  readonly cancel?: string;
  readonly isPending: boolean;
  readonly act: () => void;
  readonly close: () => void;
  /** Effect of the change. */
  readonly children: ReactNode;
}

/** Above the dialogs and drawers of the page. */
const Z_INDEX = 300;

export function Confirm({ title, button, cancel = "Cancel", isPending, act, close, children }: ConfirmProps) {
  return (
    <Modal opened onClose={close} title={title} zIndex={Z_INDEX}>
      <Stack>
        <Text size="sm">{children}</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={close}>
            {cancel}
          </Button>
          <Button color="red" loading={isPending} onClick={act}>
            {button}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
