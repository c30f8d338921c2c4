/** The output of agents on its way to files: masked, numbered, limited, complete after a crash. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMask, EMPTY_MASK, MASK } from '../../src/dataplane/output/mask.ts'
import { createOutput } from '../../src/dataplane/process/supervisor/output.ts'
import { type OutputLine, outputFilesIn, parseLine } from '../../src/dataplane/process/supervisor/output-line.ts'

const of = { revisionId: '0190b8f2-0000-7000-8000-000000000001', attempt: 1, mask: EMPTY_MASK }
const settings = { fileBytes: 1_000_000, files: 4, linesPerSecond: 200 }

let folder: string
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'output-'))
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

const files = () => outputFilesIn(fs.readdirSync(folder)).map(({ name }) => path.join(folder, name))
const raw = () =>
  files()
    .map((file) => fs.readFileSync(file, 'utf8'))
    .join('')
const stored = (): OutputLine[] =>
  raw()
    .split('\n')
    .slice(0, -1)
    .map((text) => parseLine(text)!)
const messages = () => stored().map(({ message }) => message)

function printed(...chunks: (string | Buffer)[]): Readable {
  const stream = new PassThrough()
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  return stream
}

/** Runs a Node program and stores its output. Returns the lines that `onLine` got. */
async function run(program: string, options = settings, mask = EMPTY_MASK) {
  const output = createOutput(folder, options, () => undefined)
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const shownLines: string[] = []
  await Promise.all(
    [child.stdout, child.stderr].map((stream) =>
      output.read(stream, { ...of, mask }, (shown) => shownLines.push(shown)),
    ),
  )
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  output.close()
  return shownLines
}

const countLeftOut = (lines: readonly string[]) =>
  lines.reduce((sum, line) => sum + Number(/^… ([\d,]+) lines? w/.exec(line)?.[1]?.replaceAll(',', '') ?? 0), 0)

test('each line of an agent is stored with its number, time and revision', async () => {
  const began = Date.now()
  await run('console.log("one\\n\\u001b[31mtwo"); process.stdout.write("no newline"); console.error("wrong")')
  expect(stored().map(({ n }) => n)).toEqual([1, 2, 3, 4])
  expect(messages().sort()).toEqual(['no newline', 'one', 'two', 'wrong'])
  for (const { time, revisionId, attempt } of stored()) {
    expect({ revisionId, attempt }).toEqual({ revisionId: of.revisionId, attempt: 1 })
    expect(time).toBeGreaterThanOrEqual(began)
  }
})

test('secret values are not in the files, in any encoding or chunking', async () => {
  const secret = 'canary-7f3a-b81c-44de-9a07'
  const pem = ['-----BEGIN-----', 'MIIEvQIBADANBgkqhkiG9w0', 'AoIBAQC7VJTUt9Us8cKj', '-----END-----'].join('\n')
  const mask = createMask([secret, pem])
  const output = createOutput(folder, settings, () => undefined)
  const text = Buffer.from(`a ${secret} b\n${pem}\n${JSON.stringify({ secret, pem })}\n${'x'.repeat(8180)}${secret}\n`)
  const bytes = Array.from({ length: text.length }, (_, i) => text.subarray(i, i + 1))
  await output.read(printed(text), { ...of, mask })
  await output.read(printed(...bytes), { ...of, mask })
  output.close()
  expect(messages()[0]).toBe(`a ${MASK} b`)
  for (const part of [secret, ...pem.split('\n')]) expect(raw()).not.toContain(part.slice(0, 12))
})

test('a secret value whose start was left out stays hidden', async () => {
  // the lines are printed in one piece, so no line alone is a secret value
  const secret = Array.from({ length: 4000 }, (_, i) => `k${i}`).join('')
  const wrapped = secret.match(/.{1,60}/g)!.join('\n')
  const output = createOutput(folder, { ...settings, linesPerSecond: 1 }, () => undefined)
  await output.read(printed('a\n'.repeat(10), `${wrapped}\nthe end\n`), { ...of, mask: createMask([secret]) })
  output.close()
  expect(messages().at(-1)).toBe('the end')
  expect(raw()).not.toMatch(/k\d+k\d+k\d+/)
})

test('an agent that prints 50,000 lines a second costs little CPU, and its first and last lines are stored', async () => {
  const lines = 100_000
  const began = performance.now()
  const before = process.cpuUsage()
  const shownLines = await run(`
    const line = i => i + ' ' + 'x'.repeat(80) + '\\n'
    let i = 0
    const timer = setInterval(() => {
      for (let k = 0; k < 500 && i < ${lines}; k++) process.stdout.write(line(i++))
      if (i < ${lines}) return
      clearInterval(timer)
      console.error('Error: it is broken')
      process.exitCode = 1
    }, 10)`)
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1e6 / seconds).toBeLessThan(0.5)
  const shown = messages().filter((line) => !line.startsWith('…'))
  expect(shown.length + countLeftOut(messages())).toBe(lines + 1)
  expect(shown.length).toBeLessThan(1300 + 200 * seconds)
  expect(messages()).toContainEqual(expect.stringMatching(/^… [\d,]+ lines were left out: more than 200\/s$/))
  expect(shown).toContainEqual('Error: it is broken')
  expect(shown).toContainEqual(`${lines - 1} ${'x'.repeat(80)}`)
  expect(shownLines).toEqual(shown)
})

test('a flood far above the budget is sampled every two seconds, and normal output follows when it ends', async () => {
  const output = createOutput(folder, { ...settings, linesPerSecond: 10 }, () => undefined)
  const stream = new PassThrough()
  const over = output.read(stream, of)
  let printed = 0
  const flood = setInterval(() => {
    stream.write(Array.from({ length: 100 }, () => `${printed++}\n`).join(''))
  }, 10)
  await expect.poll(() => messages().filter((line) => line.startsWith('…')).length, { timeout: 20_000 }).toBe(2)
  clearInterval(flood)
  stream.end('calm\n')
  await over
  output.close()
  const shown = messages().filter((line) => !line.startsWith('…'))
  expect(shown.length + countLeftOut(messages())).toBe(printed + 1)
  // first lines, two samples, last lines
  expect(shown.length).toBeLessThanOrEqual(60 + 2 * 20 + 100)
  expect(shown.at(-1)).toBe('calm')
})

test('the supervisor’s own lines are never left out, and output before a pause is stored soon', async () => {
  const output = createOutput(folder, { ...settings, linesPerSecond: 1 }, () => undefined)
  const stream = new PassThrough()
  const over = output.read(stream, of)
  for (let i = 0; i < 50; i++) stream.write(`${i}\n`)
  for (let i = 0; i < 20; i++) output.note(of, `note ${i}`, 'error')
  await expect.poll(() => messages(), { timeout: 8000 }).toContain('49')
  for (let i = 0; i < 20; i++) expect(messages()).toContain(`note ${i}`)
  stream.end()
  await over
  output.close()
})

test('files rotate, and line numbers continue across files and keepers', async () => {
  const small = { fileBytes: 10_000, files: 3, linesPerSecond: 100_000 }
  for (let keeper = 0; keeper < 3; keeper++)
    await run(`for (let i = 0; i < 200; i++) console.log('${keeper} ' + i)`, small)
  expect(files()).toHaveLength(3)
  const numbers = stored().map(({ n }) => n)
  expect(numbers.at(-1)).toBe(600)
  expect(numbers).toEqual(numbers.map((_, i) => numbers[0]! + i))
  for (const file of files()) expect(fs.statSync(file).mode & 0o777).toBe(0o600)
})

test('a line cut by a killed keeper is dropped, and the next line gets its number', async () => {
  await run('console.log("one\\ntwo")')
  fs.appendFileSync(files()[0]!, '{"n":3,"time":17')
  await run('console.log("three")')
  expect(stored().map(({ n, message }) => [n, message])).toEqual([
    [1, 'one'],
    [2, 'two'],
    [3, 'three'],
  ])
})

test('an agent keeps running while its output can’t be written, and the number of lost lines is stored later', async () => {
  const blocked = path.join(folder, 'later')
  fs.writeFileSync(blocked, '')
  const output = createOutput(blocked, settings, () => undefined)
  const stream = new PassThrough()
  const over = output.read(stream, of)
  stream.write('one\ntwo\n')
  await expect.poll(() => stream.readableLength).toBe(0)
  fs.rmSync(blocked)
  stream.end('three\n')
  await over
  output.close()
  folder = blocked
  expect(messages()).toEqual(['… 2 lines were left out: they could not be written to the disk', 'three'])
})

test('a full disk stores the lines that fit, and the number of the others is stored later', async () => {
  const output = createOutput(folder, settings, () => undefined)
  const { writeSync } = fs
  let room = 0
  const write = vi.spyOn(fs, 'writeSync').mockImplementation(((fd: number, text: Buffer, ...rest: number[]) => {
    const [from = 0, length = 0, position = 0] = rest
    if (room === 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const written = writeSync(fd, text, from, Math.min(length, room), position)
    room -= written
    return written
  }) as typeof fs.writeSync)
  const stream = new PassThrough()
  const over = output.read(stream, of)
  const print = async (text: string) => {
    stream.write(text)
    await expect.poll(() => stream.readableLength).toBe(0)
  }
  await print('none\nof these\n')
  expect(raw()).toBe('')
  // the gap line, `four` and a part of `five`
  room = 500
  await print(`four\n${'5'.repeat(200)}\nsix\n`)
  write.mockRestore()
  await print('seven\n')
  stream.end()
  await over
  output.close()
  const gap = (lines: string) => `… ${lines} left out: they could not be written to the disk`
  expect(messages()).toEqual([gap('2 lines were'), 'four', gap('2 lines were'), 'seven'])
  expect(stored().map(({ n }) => n)).toEqual([1, 2, 3, 4])
})

test('a very long line costs no memory and is stored up to its limit', async () => {
  const chunk = 'y'.repeat(1_000_000)
  const output = createOutput(folder, settings, () => undefined)
  await output.read(printed(...Array(20).fill(chunk), '\nafter\n'), of)
  output.close()
  expect(messages()).toEqual(['y'.repeat(8192), 'after'])
})

test('several lines cause one notification', async () => {
  let said = 0
  const output = createOutput(folder, settings, () => {
    said++
  })
  const stream = new PassThrough()
  const over = output.read(stream, of)
  for (let i = 0; i < 50; i++) {
    stream.write(`${i}\n`)
    await new Promise(setImmediate)
  }
  stream.end()
  await over
  await expect.poll(() => said).toBeGreaterThan(0)
  expect(said).toBeLessThan(4)
  output.close()
})
