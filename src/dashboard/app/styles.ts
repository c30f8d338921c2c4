/**
 * Mantine styles of every page, in the order that Mantine requires, and the theme. Only components in use: all styles are 29 KB.
 * A page imports its extra styles itself.
 */
import '@mantine/core/styles/baseline.css'
import '@mantine/core/styles/default-css-variables.css'
import '@mantine/core/styles/global.css'
import '@mantine/core/styles/ScrollArea.css'
import '@mantine/core/styles/UnstyledButton.css'
import '@mantine/core/styles/VisuallyHidden.css'
import '@mantine/core/styles/Paper.css'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/CloseButton.css'
import '@mantine/core/styles/Group.css'
import '@mantine/core/styles/Loader.css'
import '@mantine/core/styles/Overlay.css'
import '@mantine/core/styles/ModalBase.css'
import '@mantine/core/styles/Input.css'
import '@mantine/core/styles/InlineInput.css'
import '@mantine/core/styles/Flex.css'
import '@mantine/core/styles/ActionIcon.css'
import '@mantine/core/styles/Alert.css'
import '@mantine/core/styles/Text.css'
import '@mantine/core/styles/Anchor.css'
import '@mantine/core/styles/AppShell.css'
import '@mantine/core/styles/Badge.css'
import '@mantine/core/styles/Breadcrumbs.css'
import '@mantine/core/styles/Burger.css'
import '@mantine/core/styles/Button.css'
import '@mantine/core/styles/Card.css'
import '@mantine/core/styles/Center.css'
import '@mantine/core/styles/Checkbox.css'
import '@mantine/core/styles/Chip.css'
import '@mantine/core/styles/Code.css'
import '@mantine/core/styles/Combobox.css'
import '@mantine/core/styles/Container.css'
import '@mantine/core/styles/Divider.css'
import '@mantine/core/styles/Kbd.css'
import '@mantine/core/styles/List.css'
import '@mantine/core/styles/Menu.css'
import '@mantine/core/styles/Modal.css'
import '@mantine/core/styles/NavLink.css'
import '@mantine/core/styles/Notification.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import '@mantine/core/styles/SimpleGrid.css'
import '@mantine/core/styles/Skeleton.css'
import '@mantine/core/styles/Stack.css'
import '@mantine/core/styles/Switch.css'
import '@mantine/core/styles/Table.css'
import '@mantine/core/styles/Tabs.css'
import '@mantine/core/styles/Title.css'
import '@mantine/core/styles/Tooltip.css'
import '@mantine/notifications/styles.css'
import './global.css'
import { type CSSVariablesResolver, createTheme } from '@mantine/core'

const SANS = 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const MONO = 'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace'

/** The Mantine theme. The system decides between light and dark, unless the user chooses. */
export const theme = createTheme({
  primaryColor: 'teal',
  // white text on it has a contrast of 5
  primaryShade: 9,
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  headings: { fontFamily: SANS, fontWeight: '650' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Badge: { defaultProps: { radius: 'sm', tt: 'none', fw: 600 } },
    Modal: { styles: { title: { fontWeight: 650, fontSize: 'var(--mantine-font-size-lg)' } } },
    // an icon alone has no name for screen readers
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // Mantine's grey is too pale
    Notification: { styles: { description: { color: 'var(--mantine-color-dimmed)' } } },
  },
})

/** Text colours on the pale background of light badges, alerts and buttons. */
const TEXT_ON_LIGHT = {
  teal: '#05583f',
  green: '#1e5c2b',
  blue: '#11497d',
  yellow: '#6b4400',
  orange: '#7a3300',
  red: '#991b1b',
  gray: '#3b4249',
}

/** Light variants in dark mode: a tint as background and bright text. */
const darkVariables = (name: string): [string, string][] => [
  [`--mantine-color-${name}-light`, `color-mix(in srgb, var(--mantine-color-${name}-6) 16%, transparent)`],
  [`--mantine-color-${name}-light-hover`, `color-mix(in srgb, var(--mantine-color-${name}-6) 24%, transparent)`],
  [`--mantine-color-${name}-light-color`, `var(--mantine-color-${name}-${name === 'gray' ? 4 : 3})`],
]

/** Colours that Mantine has too pale: WCAG requires a contrast of 4.5. */
export const cssVariables: CSSVariablesResolver = () => ({
  // Mantine's hover colour would be paler
  variables: { '--mantine-primary-color-filled-hover': '#066650', '--mantine-color-teal-filled-hover': '#066650' },
  light: {
    '--mantine-color-dimmed': '#545b62',
    '--mantine-color-placeholder': '#686f76',
    '--mantine-color-anchor': '#066649',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-teal-light': 'var(--mantine-color-teal-0)',
    '--mantine-color-yellow-text': '#8a5a00',
    ...Object.fromEntries(
      Object.entries(TEXT_ON_LIGHT).map(([name, color]) => [`--mantine-color-${name}-light-color`, color]),
    ),
  },
  dark: {
    '--mantine-color-dimmed': '#a6a7ab',
    '--mantine-color-placeholder': '#909296',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
    ...Object.fromEntries(Object.keys(TEXT_ON_LIGHT).flatMap(darkVariables)),
  },
})
