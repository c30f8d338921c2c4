/** Checks that output reveals next to nothing of a secret, however it is cut, broken or encoded. */
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_LINE_CHARACTERS, OutputTail, readLines } from '../../src/dataplane/output/lines.ts'
import { createMask, MASK, shortSecretsWarning } from '../../src/dataplane/output/mask.ts'
import { formsOf } from '../../src/dataplane/output/mask-forms.ts'

/** No character of these occurs in any form of the secrets below. */
const AROUND = [...'éßø ·¶§']
const around = (maxLength: number) =>
  fc.array(fc.constantFrom(...AROUND), { maxLength }).map((characters) => characters.join(''))
const secret = fc
  .array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCXYZ0189+/="\\&?%-_~!*\n\''), { minLength: 4, maxLength: 60 })
  .map((characters) => characters.join(''))
  .filter((value) => shortSecretsWarning([{ name: 'IT', value }]) === null)

const telling = (form: string) => Math.max(4, Math.min(8, Math.ceil(form.length / 2)))

/** Parts of the value, in any form, that are long enough to reveal something. */
function leaks(value: string, shown: readonly string[]): string[] {
  // joined, because output comes line by line
  const all = shown.join('')
  return formsOf(value).flatMap(({ text: form }) => {
    const text = form.replaceAll('\n', '')
    const size = telling(text)
    const pieces = Array.from({ length: Math.max(1, text.length - size + 1) }, (_, at) => text.slice(at, at + size))
    return pieces.filter((piece) => all.includes(piece))
  })
}

/** The masked output of a text that arrives in pieces of `size` bytes. */
async function printed(text: string, values: string[], size: number): Promise<string[]> {
  const bytes = Buffer.from(text)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  const shown: string[] = []
  await readLines(Readable.from(pieces), createMask(values), (line) => shown.push(line))
  return shown
}

test('a secret at the point where a failure’s last lines are cut is not revealed in part', async () => {
  const value = 'sk-live-0123456789abcdefghijklmnopqrstuv'
  for (const at of [0, 250, 261, 280, 296, 299, 300]) {
    const tail = new OutputTail()
    await readLines(Readable.from([`${'·'.repeat(at)}${value} and more`]), createMask([value]), (line) =>
      tail.add(line),
    )
    expect(leaks(value, [tail.appendTo('It failed')])).toEqual([])
  }
})

test('a secret at any position, in any chunks and with any cut is not revealed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(secret, { minLength: 1, maxLength: 3 }),
      fc.nat(9),
      fc.constantFrom(0, 290, MAX_LINE_CHARACTERS - 70, MAX_LINE_CHARACTERS - 10, MAX_LINE_CHARACTERS),
      around(70),
      around(20),
      fc.integer({ min: 1, max: 5000 }),
      async (values, pick, far, before, after, size) => {
        const forms = formsOf(values[0]!)
        const form = forms[pick % forms.length]!.text
        const line = `${'·'.repeat(far)}${before}${form}${after}${form}`
        const shown = await printed(`first\n${line}\nlast`, values, size)
        expect(shown[0]).toBe('first')
        // a base64 value at the end of the line before shares bits with one more character
        expect(shown.at(-1)).toMatch(/ast$/)
        expect(leaks(values[0]!, shown)).toEqual([])
        const tail = new OutputTail()
        const mask = createMask(values)
        tail.add(mask(line))
        tail.add(mask.cut(line.slice(far + before.length + 1 + (pick % 5))))
        expect(leaks(values[0]!, [tail.appendTo('It failed')])).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})

test('a secret over several lines, or wrapped like base64, is hidden in all lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      secret,
      fc.nat(9),
      fc.integer({ min: 1, max: 40 }),
      around(10),
      async (value, pick, width, before) => {
        const forms = formsOf(value)
        const form = forms[pick % forms.length]!.text.replaceAll('\n', '')
        const wrapped = form.match(new RegExp(`.{1,${width}}`, 'g'))!
        expect(leaks(form, await printed(before + wrapped.join('\n'), [value], 7))).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})

test.each([
  ['JSON', (value: string) => JSON.stringify({ key: value })],
  [
    'JSON of ASCII',
    (value: string) => JSON.stringify(value).replace(/[^ -~]/g, (it) => `\\u00${it.charCodeAt(0).toString(16)}`),
  ],
  ['JSON in JSON', (value: string) => JSON.stringify({ body: JSON.stringify({ key: value }) })],
  ['a whole address', (value: string) => encodeURI(`http://host/a/${value}?b`)],
  [
    "a path of Go's",
    (value: string) => `/a/${encodeURIComponent(value).replace(/%(24|26|2B|3A|3D|40)/g, decodeURIComponent)}?b`,
  ],
  ['the password of an address', (value: string) => Object.assign(new URL('http://u@host'), { password: value }).href],
  ['a path', (value: string) => `/a/${encodeURIComponent(value)}?b`],
  ['a form', (value: string) => new URLSearchParams({ a: 'b', key: value, c: 'd' }).toString()],
  ['lower-case percents', (value: string) => encodeURIComponent(value).replace(/%../g, (it) => it.toLowerCase())],
  ['base64', (value: string) => Buffer.from(value).toString('base64')],
  ['base64 of a line', (value: string) => Buffer.from(`${value}\n`).toString('base64')],
  ['basic authentication', (value: string) => Buffer.from(`somebody:${value}`).toString('base64')],
  ['base64 one byte later', (value: string) => Buffer.from(`user:${value}@host`).toString('base64')],
  ['base64 two bytes later', (value: string) => Buffer.from(`me:${value}@host`).toString('base64')],
  ['base64 for URLs', (value: string) => Buffer.from(`x${value}~`).toString('base64url')],
  [
    'lines of base64',
    (value: string) => Buffer.from(`${value}-`.repeat(9)).toString('base64').replace(/.{76}/g, '$&\n'),
  ],
])('a secret in %s is hidden', async (_, encode) => {
  for (const value of [
    'p@ss w"ö/r+d?>~ü\\',
    'two\nlines+of "it"',
    '0123456789',
    'aaaaaaaaaaaa',
    'q"8a+b/c=&k\\9%41~',
  ]) {
    const text = encode(value)
    const shown = await printed(text, [value], 5)
    expect(leaks(value, shown)).toEqual([])
    expect(shown.join('')).toContain(MASK)
  }
})

test('text without secrets is unchanged', async () => {
  const text = 'GET /ok 200\n{"level":"info"}\nposting to https://example.com/v1 as postgres user\n\n-----\nsk-li'
  const values = [
    'sk-live-0123456789',
    'postgresql://app:pw@db/app',
    '-----BEGIN KEY-----\nMIIE\n-----END KEY-----',
    'on',
  ]
  expect((await printed(text, values, 3)).join('\n')).toBe(text)
})

test('overlapping, nested and adjacent secrets are hidden completely', () => {
  const mask = createMask(['abcdefgh', 'efghijkl', 'cdef', 'xyzxyz'])
  expect(mask('-abcdefghijkl-abcdefgh-xyzxyzxyz-')).toBe(`-${MASK}-${MASK}-${MASK}-`)
  expect(mask('cdefxyzxyz')).toBe(MASK + MASK)
})

test('text that was cut elsewhere shows no end of a secret at its start and no start at its end', () => {
  const mask = createMask(['sk-live-0123456789'])
  expect(mask.cut('23456789 was refused: sk-live-0123')).toBe(`${MASK} was refused: ${MASK}`)
  expect(mask.cut('live-0123456')).toBe(MASK)
})

test('values too short to be hidden are named, never shown', () => {
  const secrets = ['on', '', 'abc ', 'long enough'].map((value, n) => ({ name: `S${n}`, value }))
  expect(shortSecretsWarning(secrets)).toBe("Values with fewer than 4 characters can't be hidden in logs: S0, S2")
  expect(shortSecretsWarning(secrets.slice(3))).toBeNull()
})

test('a line that is made to be slow to mask is hidden instead', () => {
  const values = Array.from({ length: 200 }, (_, n) => `${'a'.repeat(5000)}${n}`)
  const mask = createMask(values)
  expect(mask(`ok ${'a'.repeat(8000)}`).startsWith('ok ')).toBe(true)
  expect(mask(`ok ${'a'.repeat(8000)}`)).toContain(MASK)
})
