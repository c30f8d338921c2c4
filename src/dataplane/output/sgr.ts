/** Combines terminal colour codes (SGR) into one style in a canonical, limited form. anser parses the codes. */
import Anser from 'anser'

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
/** Excludes `blink`, and `hidden`, because printed text must stay readable. */
const DECORATIONS: Partial<Record<Anser.DecorationName, number>> = {
  bold: 1,
  dim: 2,
  italic: 3,
  underline: 4,
  reverse: 7,
  strikethrough: 9,
}

/**
 * The style ('' for none) after a code with these parameters, in text that has the style `before`. An empty parameter counts as
 * 0, which ends all styles.
 */
export function styleAfter(before: string, parameters: string): string {
  const codes = `${before};${parameters}m`
  const { fg, fg_truecolor, bg, bg_truecolor, decorations } = new Anser().processChunkJson(
    codes,
    { use_classes: true },
    true,
  )
  const decorated = Object.entries(DECORATIONS).filter(([name]) => decorations.includes(name as Anser.DecorationName))
  return [...decorated.map(([, code]) => code), ...colour(fg, fg_truecolor, 30), ...colour(bg, bg_truecolor, 40)].join(
    ';',
  )
}

/** `ansi-red`, `ansi-bright-red`, `ansi-palette-208`, or `ansi-truecolor` with `10, 20, 30`. `first`: the code of black. */
function colour(name: string | null, rgb: string | null, first: 30 | 40): (string | number)[] {
  if (name === null) return []
  if (name === 'ansi-truecolor') return [first + 8, 2, ...rgb!.split(', ')]
  const [, kind, which] = /^ansi-(?:(bright|palette)-)?(.+)$/.exec(name)!
  if (kind === 'palette') return [first + 8, 5, which!]
  return [first + (kind === 'bright' ? 60 : 0) + COLOURS.indexOf(which!)]
}
