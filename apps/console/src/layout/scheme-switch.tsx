// Light or dark; the system's choice until somebody chooses.
import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { IconMoon, IconSun } from "@tabler/icons-react";

export function SchemeSwitch() {
  const scheme = useComputedColorScheme("light");
  const { setColorScheme } = useMantineColorScheme();
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={34}
      onClick={() => setColorScheme(other)}
      aria-label={`Use ${other} colours`}
    >
      {scheme === "dark" ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  );
}
