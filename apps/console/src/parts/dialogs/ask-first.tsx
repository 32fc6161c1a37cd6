// AskFirst is a button for a change that cannot be undone: it names the effect, and sends the change after a second click.
import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Confirm } from "./confirm.tsx";

export interface AskFirstProps {
  readonly name: string;
  /** Effect of the change. */
  readonly effect: string;
  /** Text of the second button. */
  readonly confirm: string;
  readonly isPending: boolean;
  /** Sends the change. @param close closes the question */
  readonly act: (close: () => void) => void;
}

export function AskFirst({ name, effect, confirm, isPending, act }: AskFirstProps) {
  const [isAsked, { open, close }] = useDisclosure(false);
  return (
    <Group>
      <Button variant="light" color="red" onClick={open}>
        {name}
      </Button>
      {isAsked && (
        <Confirm
          title={`${name}?`}
          button={confirm}
          cancel="Back"
          isPending={isPending}
          act={() => act(close)}
          close={close}
        >
          {effect}
        </Confirm>
      )}
    </Group>
  );
}
