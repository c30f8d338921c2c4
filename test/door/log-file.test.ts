// The file of the access log: rotation, several writers, full disks and slow disks.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LogFile } from '../../src/door/log-file.ts'
import { openToAppend } from '../../src/platform/files/atomic-file.ts'
import { runFile, temporaryFolder } from '../support/process.ts'

let folder: { path: string; remove(): Promise<void> }
let file: string
const open: LogFile[] = []
beforeEach(async () => {
  folder = await temporaryFolder()
  file = path.join(folder.path, 'access.log')
})
afterEach(async () => {
  for (const log of open.splice(0)) log.close()
  await folder.remove()
})

function openLog(): LogFile {
  const log = new LogFile(file)
  open.push(log)
  return log
}
const read = (name = file) => (fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : '')

test('lines are appended to what a file has', async () => {
  fs.writeFileSync(file, 'before\n')
  openLog().write('one\n')
  await expect.poll(read).toBe('before\none\n')
})

test.for([
  ['renamed', () => fs.renameSync(file, `${file}.1`)],
  [
    'renamed and created',
    () => {
      fs.renameSync(file, `${file}.1`)
      fs.writeFileSync(file, '')
    },
  ],
  ['removed', () => fs.rmSync(file)],
] as const)('a file that was %s is followed by a new one, without a lost line', async ([what, rotate]) => {
  const log = openLog()
  const written: string[] = []
  const write = () => {
    written.push(`line ${written.length}\n`)
    log.write(written.at(-1)!)
  }
  write()
  await expect.poll(read).toBe('line 0\n')
  rotate()
  // the path is compared once a second
  const next = () => {
    write()
    return read()
  }
  await expect.poll(next, { timeout: 5000 }).not.toBe('')
  log.close()
  expect(read(`${file}.1`) + read()).toBe(
    written.slice(what === 'removed' ? -read().split('\n').length + 1 : 0).join(''),
  )
  expect(log.problem).toBe(null)
})

test('two logs append whole lines to one file', async () => {
  const [one, two] = [openLog(), openLog()]
  for (let i = 0; i < 2000; i++) {
    one.write(`${'1'.repeat(300)}\n`)
    two.write(`${'2'.repeat(300)}\n`)
  }
  await expect.poll(() => read().split('\n').length).toBe(4001)
  expect(
    read()
      .split('\n')
      .every((line) => /^(1{300}|2{300}|)$/.test(line)),
  ).toBe(true)
})

test('what waits is written when the log is closed', async () => {
  const log = openLog()
  log.write('one\n')
  await expect.poll(read).toBe('one\n')
  log.write('two\n')
  log.close()
  expect(read()).toBe('one\ntwo\n')
})

test('a file that can’t be opened is a problem until it can, and lines wait for it', async () => {
  fs.mkdirSync(file)
  const log = openLog()
  log.write('one\n')
  await expect.poll(() => log.problem).toBe("the file can't be opened (EISDIR)")
  fs.rmdirSync(file)
  await expect.poll(read, { timeout: 5000 }).toBe('one\n')
  await expect.poll(() => log.problem).toBe(null)
})

test('a link is not followed, and a pipe is not a file', async () => {
  fs.symlinkSync('/dev/null', file)
  await expect(openToAppend(file)).rejects.toThrow('the file is a symbolic link')
  fs.rmSync(file)
  execFileSync('mkfifo', [file])
  await expect(openToAppend(file)).rejects.toThrow("the file can't be opened (ENXIO)")
})

/** Writes lines without end to the file in the first argument, and tells what becomes of them. */
const WRITER = `
import { LogFile } from '${new URL('../../src/door/log-file.ts', import.meta.url).pathname}'
const log = new LogFile(process.argv[1])
let written = 0
setInterval(() => {
  for (let i = 0; i < 2000; i++) log.write(String(written++).padStart(99, '.') + '\\n')
  process.stdout.write(JSON.stringify({ problem: log.problem, dropped: log.dropped, written }) + '\\n')
}, 20)
`

test.skipIf(process.platform !== 'linux')(
  'a full disk costs lines above the limit, which are counted, and no partial line',
  async () => {
    const limits = ['--fsize=10000:unlimited', process.execPath, '--import', 'tsx', '--input-type=module']
    const writer = runFile('prlimit', [...limits, '-e', WRITER, file], {}, process.cwd())
    type State = { problem: string | null; dropped: number; written: number }
    const state = (): Partial<State> => JSON.parse(writer.output.stdout.split('\n').at(-2) ?? '{}')
    await expect.poll(state, { timeout: 20_000 }).toMatchObject({ problem: "the file can't be written (EFBIG)" })
    await expect.poll(() => state().dropped, { timeout: 20_000 }).toBeGreaterThan(0)
    // the disk has space again
    runFile('prlimit', ['--pid', String(writer.child.pid), '--fsize=unlimited:unlimited'], {}, process.cwd())
    await expect.poll(state, { timeout: 20_000 }).toMatchObject({ problem: null })
    writer.child.kill('SIGKILL')
    await once(writer.child, 'close')
    const numbers = read()
      .split('\n')
      .slice(0, -1)
      .map((line) => Number(line.replace(/^\.+/, '')))
    expect(numbers.length).toBeGreaterThan(1000)
    expect(numbers.slice(0, 1000)).toEqual(Array.from({ length: 1000 }, (_, i) => i))
  },
)
