/** The kit's theme. Light or dark is the system's, unless the reader chooses. */
import { type CSSVariablesResolver, createTheme } from '@mantine/core'

const SANS = 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const MONO = 'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace'

export const theme = createTheme({
  primaryColor: 'teal',
  // white on it has a contrast of 5
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
    // an icon alone says nothing to who can't see it
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // the kit's own grey is too pale
    Notification: { styles: { description: { color: 'var(--mantine-color-dimmed)' } } },
  },
})

/** On the pale ground that light badges, alerts and buttons have. */
const TEXT_ON_LIGHT = {
  teal: '#05583f',
  green: '#1e5c2b',
  blue: '#11497d',
  yellow: '#6b4400',
  orange: '#7a3300',
  red: '#991b1b',
  gray: '#3b4249',
}

/** In the dark the same ground is a tint of the page's, and what is on it bright. */
const darkVariables = (name: string): [string, string][] => [
  [`--mantine-color-${name}-light`, `color-mix(in srgb, var(--mantine-color-${name}-6) 16%, transparent)`],
  [`--mantine-color-${name}-light-hover`, `color-mix(in srgb, var(--mantine-color-${name}-6) 24%, transparent)`],
  [`--mantine-color-${name}-light-color`, `var(--mantine-color-${name}-${name === 'gray' ? 4 : 3})`],
]

/** What the kit has too pale to be read: WCAG asks for a contrast of 4.5. */
export const cssVariables: CSSVariablesResolver = () => ({
  // under the pointer it would be paler
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
