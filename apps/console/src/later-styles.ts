// Style sheets of the components and pages that the first pages do not show. No element has classes of a component here and of a
// component in first-styles.ts whose rules would have to win.
import "@mantine/core/styles/Overlay.css";
import "@mantine/core/styles/Popover.css";
import "@mantine/core/styles/ModalBase.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/InlineInput.css";
import "@mantine/core/styles/CheckboxCard.css";
import "@mantine/core/styles/Chip.css";
import "@mantine/core/styles/CheckboxIndicator.css";
import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/Drawer.css";
import "@mantine/core/styles/List.css";
import "@mantine/core/styles/Mark.css";
import "@mantine/core/styles/Menu.css";
import "@mantine/core/styles/Modal.css";
import "@mantine/core/styles/Tooltip.css";
import "@mantine/core/styles/SimpleGrid.css";
import "@mantine/core/styles/Slider.css";
import "@mantine/core/styles/Switch.css";
import "./later.css";
