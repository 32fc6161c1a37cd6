// Sample prompts fill an empty form with one click.
import { Button, Stack } from "@mantine/core";
import { Empty } from "../../parts/lists/page-states.tsx";

export function SamplePrompts(props: {
  title: string;
  samples: readonly string[];
  choose: (prompt: string) => void;
}) {
  return (
    <Empty title={props.title}>
      <Stack gap="xs" mt="xs">
        {props.samples.map((sample) => (
          <Button
            key={sample}
            variant="default"
            size="compact-md"
            className="sample-prompt"
            onClick={() => props.choose(sample)}
          >
            {sample}
          </Button>
        ))}
      </Stack>
    </Empty>
  );
}
