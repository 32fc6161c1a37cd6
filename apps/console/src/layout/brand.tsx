// The name of the product, which leads to the start.
import { Anchor, Group, Image, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

export function Brand() {
  return (
    <Anchor
      renderRoot={(props) => <Link to="/" {...props} />}
      underline="never"
      c="inherit"
      fw={600}
      aria-label="Generation Router"
    >
      <Group gap="xs" wrap="nowrap">
        <Image src="/icon.svg" alt="" w={24} h={24} />
        <Text span inherit>
          Generation Router
        </Text>
      </Group>
    </Anchor>
  );
}
