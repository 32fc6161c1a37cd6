// MenuLinks own the look of links to pages: groups with a heading, an icon before each name.
import { NavLink, Stack, Text } from "@mantine/core";
import type { IconProps } from "@tabler/icons-react";
import type { ComponentType, ReactNode } from "react";

const ICON_PIXELS = 18;
/** The active page has the ground of a card. */
const LOOK = {
  "--nl-bg": "var(--mantine-color-body)",
  "--nl-hover": "var(--mantine-color-body)",
  "--nl-color": "inherit",
};

export interface MenuLinkProps {
  readonly label: string;
  readonly icon: ComponentType<IconProps>;
  readonly active?: boolean;
  readonly onClick?: () => void;
  /** Element of the link; absent: `href` is a page of the server. */
  readonly renderRoot?: (props: Record<string, unknown>) => ReactNode;
  readonly href?: string;
  /** Behind the label. */
  readonly sign?: ReactNode;
}

export function MenuGroup({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <Stack gap={1} mb="md">
      {title !== undefined && (
        <Text size="xs" fw={500} c="dimmed" px={10} pb={4}>
          {title}
        </Text>
      )}
      {children}
    </Stack>
  );
}

export function MenuLink({
  label,
  icon: Icon,
  active = false,
  onClick,
  renderRoot,
  href,
  sign,
}: MenuLinkProps) {
  const target = renderRoot === undefined ? { component: "a" as const, href } : { renderRoot };
  return (
    <NavLink
      {...target}
      label={label}
      active={active}
      className="menu-link"
      vars={() => ({ root: LOOK, children: {} })}
      {...(sign !== undefined && { rightSection: sign })}
      leftSection={<Icon size={ICON_PIXELS} stroke={1.7} aria-hidden="true" />}
      {...(onClick === undefined ? {} : { onClick })}
    />
  );
}
