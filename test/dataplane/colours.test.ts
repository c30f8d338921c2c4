/** Colours of output are kept; other control codes are removed, and nothing that a mask hides is revealed. */
import { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLineRenderer, MAX_LINE_CHARACTERS, readLines } from '../../src/dataplane/output/lines.ts'
import { createMask, EMPTY_MASK, MASK } from '../../src/dataplane/output/mask.ts'
import { plainText, styleAfter } from '../../src/dataplane/output/terminal-text.ts'
import { inColours, LINE_STYLES, MAX_STYLES_CHARS } from '../../src/domain/protocol/line-styles.ts'

const ESC = '\u001b'
const code = (parameters: string | number) => `${ESC}[${parameters}m`

async function printed(text: string, values: string[] = [], size = text.length): Promise<[string, string | null][]> {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += Math.max(1, size)) pieces.push(bytes.subarray(at, at + Math.max(1, size)))
  const lines: [string, string | null][] = []
  await readLines(Readable.from(pieces), createMask(values), (shown, _, styles) => lines.push([shown, styles]))
  return lines
}

test('colours are stored next to the text and continue in the next lines until they end', async () => {
  const text = `plain\n${code(32)}✓${code(39)} one ${code('1;38;5;208')}two\nthree${code(0)} four\nfive`
  const lines = await printed(text)
  expect(lines).toEqual([
    ['plain', null],
    ['✓ one two', '0:32,1:,6:1;38;5;208'],
    ['three four', '0:1;38;5;208,5:'],
    ['five', null],
  ])
  expect(inColours(...lines[2]!)).toBe(`${code('0;1;38;5;208')}three${code(0)} four`)
  expect(inColours(...lines[1]!)).toBe(`${code('0;32')}✓${code(0)} one ${code('0;1;38;5;208')}two${code(0)}`)
})

test.each([
  ['', ['31', '1', '22'], '31'],
  ['', ['91;103', '4', '24;39'], '103'],
  ['', ['48;2;1;2;3'], '48;2;1;2;3'],
  ['', ['7', '27'], ''],
  ['1;31', ['1', '3;9'], '1;3;9;31'],
  // codes that are dropped: hidden and blinking text
  ['', ['5;8;32'], '32'],
  ['31', ['999;77'], '31'],
  ['31', [''], ''],
])('the style %j followed by the codes %j gives the style %j', (before, codes, style) => {
  expect(codes.reduce(styleAfter, before)).toBe(style)
})

test('titles, links, cursor moves and cleared screens are removed', async () => {
  const raw = [
    `${ESC}]0;a title; of words\u0007one ${ESC}]8;;https://example.com/a(b)\u0007link${ESC}]8;;${ESC}\\`,
    `${ESC}[2J${ESC}[10;3Htwo${ESC}[?25l${ESC}[3A`,
    `${ESC}${code(0)}[2Jthree\u0007\b\u009b31m`,
    `${ESC}Pq#0;2;0;0;0${ESC}\\four${ESC}c`,
  ]
  expect((await printed(raw.join('\n'))).map(([shown]) => shown)).toEqual(['one link', 'two', '[2Jthree', 'four'])
})

test('a line never contains control characters, and its styles contain only colour codes', () => {
  const piece = fc.constantFrom(
    ESC,
    '[',
    ']',
    '31',
    ';',
    'm',
    '0',
    'J',
    '\u0007',
    '\\',
    '\r',
    '\b',
    '\u009b',
    'x',
    'é',
    '\t',
    '8',
  )
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 30 }), { maxLength: 4 }), (lines) => {
      const show = createLineRenderer(EMPTY_MASK)
      for (const pieces of lines) {
        const { text, styles } = show(pieces.join(''))
        expect(text).not.toMatch(/(?!\t)\p{Cc}/u)
        expect(plainText(pieces.join(''))).toBe(text)
        if (styles === null) continue
        expect(styles).toMatch(LINE_STYLES)
        const shown = inColours(text, styles)!
        expect(shown.replace(new RegExp(`${ESC}\\[[\\d;]*m`, 'g'), '')).toBe(text)
        expect(shown.endsWith(code(0)) || !shown.includes(ESC)).toBe(true)
      }
    }),
    { numRuns: 500 },
  )
})

test('the rest of a secret that a program overprinted is hidden', async () => {
  const value = 'a-value-that-nobody-sees'
  for (const at of [3, 8, 12])
    expect(await printed(`x ${value.slice(0, at)} \r${value.slice(at)} y`, [value])).toEqual([[`${MASK} y`, null]])
})

test('only the last state of a progress bar is kept', async () => {
  const states = Array.from({ length: 5000 }, (_, n) => `\r${code(32)}${n / 50}%${code(39)} of it`)
  expect(await printed(`${states.join('')}\r\ndone\n`, [], 1000)).toEqual([
    ['99.98% of it', '0:32,6:'],
    ['done', null],
  ])
  const erased = states.map((state) => `${ESC}[2K${ESC}[1G${state.slice(1)}`)
  expect(await printed(`${erased.join('')}${ESC}[2K\n`, [], 1000)).toEqual([['99.98% of it', '0:32,6:']])
})

test('the number of styles of a line is limited, and the text after them is kept', async () => {
  const [line] = await printed(Array.from({ length: 2000 }, (_, n) => `${code(31 + (n % 6))}x`).join(''))
  const [text, styles] = line!
  expect(text.length).toBe(2000)
  expect(styles!.length).toBeLessThanOrEqual(MAX_STYLES_CHARS)
  expect(styles).toMatch(/:$/)
  const [long] = await printed(`${'y'.repeat(MAX_LINE_CHARACTERS)}${code(31)}z`)
  expect(long).toEqual(['y'.repeat(MAX_LINE_CHARACTERS), null])
})

/** No character of these occurs in the secrets below. */
const around = fc.array(fc.constantFrom(...'éßø ·¶§'), { maxLength: 12 }).map((characters) => characters.join(''))
const secret = fc
  .array(fc.constantFrom(...'abcdefghijkABCXYZ0189'), { minLength: 6, maxLength: 40 })
  .map((characters) => characters.join(''))
const codes = fc.array(fc.constantFrom('0', '31', '1', '39', '48;5;17', '7', ''), { maxLength: 5 })

test('a secret with colours inside is hidden, and the colours do not reveal its length', async () => {
  const within = (value: string, all: string[], places: number[]) => {
    const at = all.map((_, i) => (places[i] ?? 0) % (value.length + 1)).sort((a, b) => a - b)
    return all.reduceRight((text, one, i) => text.slice(0, at[i]) + code(one) + text.slice(at[i]), value)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(secret, secret),
      fc.tuple(around, around, around),
      fc.tuple(codes, codes, codes),
      fc.array(fc.nat(99), { minLength: 10, maxLength: 10 }),
      fc.integer({ min: 1, max: 50 }),
      async (values, [a, b, c], [before, inside, after], places, size) => {
        const shown = await Promise.all(
          values.map((value, i) => {
            const hidden = within(value, inside, places.slice(5 * i, 5 * i + 5))
            const open = before.map(code).join('')
            return printed(`${a}${open}${b}${hidden}é${after.map(code).join('')}${c}\nnext`, [value], size)
          }),
        )
        expect(shown[0]).toEqual(shown[1])
        const [[text, styles]] = shown[0] as [[string, string | null]]
        expect(text).toBe(`${a}${b}${MASK}é${c}`)
        if (styles) expect(stripVTControlCharacters(inColours(text, styles)!)).toBe(text)
      },
    ),
    { numRuns: 300 },
  )
})

test('no colours are shown when a secret contains colour codes', async () => {
  const value = `abc${code('38;2;10;20;30')}def`
  expect(await printed(`${code(31)}it is ${value}!\nnext`, [value])).toEqual([
    [`it is ${MASK}!`, null],
    ['next', null],
  ])
})
