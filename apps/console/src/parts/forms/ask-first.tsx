// AskFirst is a button for a change that cannot be undone: it names the effect, and sends the change after a second click.
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";

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
      <Modal opened={isAsked} onClose={close} title={`${name}?`} zIndex={300}>
        <Stack>
          <Text size="sm">{effect}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Back
            </Button>
            <Button color="red" loading={isPending} onClick={() => act(close)}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Group>
  );
}
