/**
 * The output of agents on its way from their supervisors' files to the deploy log: each line once, also after a crash.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EMPTY_MASK } from '../../src/dataplane/output/mask.ts'
import { createOutput } from '../../src/dataplane/process/supervisor/output.ts'
import { OutputShipper, type ShipperOptions } from '../../src/dataplane/process/supervisor-client/output-shipper.ts'
import { readLogs } from '../../src/domain/logs/read.ts'
import type { Claim, OutputRequest } from '../../src/domain/protocol/protocol.ts'
import { Semaphore } from '../../src/platform/async/semaphore.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, workOff } from '../support/holder.ts'

const settings = { fileBytes: 100_000, files: 10, linesPerSecond: 100_000 }

const domain = useDomain()
const ctx = useTenant(domain)
let folder: string
let claim: Claim
let revisionId: string
const open: OutputShipper[] = []

beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'shipped-'))
  claim = await claimOne(domain.plane, await gitDeployment(ctx))
  await workOff(domain.plane, claim)
  const { activeRevisionId } = await ctx.db.deployment.findUniqueOrThrow({ where: { id: claim.deployment.id } })
  revisionId = activeRevisionId!
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((shipper) => shipper.end()))
  fs.rmSync(folder, { recursive: true, force: true })
})

const send = (request: OutputRequest) => domain.plane.output!(request)

function shipper(options: Partial<ShipperOptions> = {}): OutputShipper {
  const limit = new Semaphore(2)
  const made = new OutputShipper({ send, linesPerSecond: 10_000, warn: () => undefined, limit, ...options }, folder)
  open.push(made)
  return made
}

/** Writes the output of an agent as its supervisor does. */
async function print(lines: readonly string[], mask = EMPTY_MASK, options = settings) {
  const output = createOutput(folder, options, () => undefined)
  const stream = new PassThrough()
  const read = output.read(stream, { revisionId, attempt: 1, mask })
  stream.end(lines.map((line) => `${line}\n`).join(''))
  await read
  output.close()
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}`)

const lines = () => ctx.db.logLine.findMany({ where: { revisionId, type: 'deploy' }, orderBy: { id: 'asc' } })
const log = async () => (await lines()).map(({ message }) => message)
const shipped = (expected: readonly string[]) => expect.poll(log, { timeout: 20_000 }).toEqual(expected)

test('output printed without a server reaches the deploy log with its times and colours', async () => {
  const began = Date.now()
  await print(['one', '\u001b[33mtwo\u001b[0m'])
  const ended = Date.now()
  const own = shipper()
  own.held(claim)
  await shipped(['one', 'two'])
  for (const { time } of await lines()) {
    expect(time.getTime()).toBeGreaterThanOrEqual(began)
    expect(time.getTime()).toBeLessThanOrEqual(ended)
  }
  expect((await lines()).map(({ styles }) => styles)).toEqual([null, '0:33'])
  await print(['three'])
  own.wake()
  await shipped(['one', 'two', 'three'])
})

test('crashes of servers before or after the commit neither lose nor repeat a line', async () => {
  await print(numbers(0, 2000))
  let calls = 0
  const breaking = async (request: OutputRequest) => {
    calls++
    if (calls % 3 === 1) throw new Error('broke before the commit')
    const line = await send(request)
    if (calls % 3 === 2) throw new Error('broke after the commit')
    return line
  }
  for (let server = 0; server < 4; server++) {
    const crashing = shipper({ send: breaking })
    crashing.held(claim)
    const before = calls
    await expect.poll(() => calls - before, { timeout: 20_000 }).toBeGreaterThan(1)
    await crashing.end()
  }
  shipper().held(claim)
  await shipped(numbers(0, 2000))
})

test('two servers, one of which has lost the deployment, ship each line once and in order', async () => {
  await print(numbers(0, 1500))
  const [first, second] = [shipper(), shipper()]
  first.held(claim)
  second.held(claim)
  await expect.poll(async () => (await log()).length, { timeout: 20_000 }).toBeGreaterThan(0)
  await domain.plane.release(claim)
  const newer = await claimOne(domain.plane, claim.deployment.id)
  second.held(newer)
  await shipped(numbers(0, 1500))
  await print(['later'])
  first.wake()
  second.wake()
  await shipped([...numbers(0, 1500), 'later'])
})

test('the log says how many lines were removed by rotation before they were shipped', async () => {
  const small = { fileBytes: 10_000, files: 3, linesPerSecond: 100_000 }
  await print(['first'], EMPTY_MASK, small)
  const own = shipper()
  own.held(claim)
  await shipped(['first'])
  await own.end()
  for (let part = 0; part < 10; part++) await print(numbers(part * 100, part * 100 + 100), EMPTY_MASK, small)
  shipper().held(claim)
  await expect.poll(async () => (await log()).at(-1), { timeout: 20_000 }).toBe('999')
  let next = 0
  const marks: string[] = []
  for (const line of (await log()).slice(1)) {
    const missing = /^… ([\d,]+) lines were left out: their file was removed/.exec(line)
    if (missing) marks.push(line)
    else expect(line).toBe(`${next}`)
    next += missing ? Number(missing[1]!.replaceAll(',', '')) : 1
  }
  expect({ next, marks: marks.length }).toEqual({ next: 1000, marks: 1 })
})

test('a lost and recreated output folder is read from its start', async () => {
  await print(['one'])
  const own = shipper()
  own.held(claim)
  await shipped(['one'])
  for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name))
  await print(['two'])
  own.wake()
  await shipped(['one', 'two'])
})

test('output stays in the files while the database is unavailable, and is shipped later', async () => {
  await print(numbers(0, 300))
  let away = true
  const own = shipper({ send: (request) => (away ? Promise.reject(new Error('away')) : send(request)) })
  own.held(claim)
  await print(numbers(300, 400))
  away = false
  await shipped(numbers(0, 400))
})

test('forged and invalid lines in the files are not shipped', async () => {
  const other = await gitDeployment(ctx)
  const { latestRevisionId } = await ctx.db.deployment.findUniqueOrThrow({ where: { id: other } })
  await print(['mine'])
  const file = path.join(folder, fs.readdirSync(folder)[0]!)
  const forged = { n: 2, time: Date.now(), revisionId: latestRevisionId, attempt: 1, level: 'info', message: 'forged' }
  const wrong = { ...forged, attempt: 'x' }
  const painted = { ...forged, revisionId, styles: '0:31m\u001b[2J' }
  fs.appendFileSync(file, `${JSON.stringify(forged)}\n${JSON.stringify(wrong)}\n${JSON.stringify(painted)}\nnonsense\n`)
  fs.appendFileSync(file, `${JSON.stringify({ ...forged, n: 3, revisionId, message: 'mine, too' })}\n`)
  shipper().held(claim)
  await shipped(['mine', 'mine, too'])
  const query = { type: 'deploy' }
  const page = await readLogs(ctx, { path: { deployment_id: other, revision_id: latestRevisionId }, query })
  expect(page.lines).toEqual([])
})

test('a shipper without new output sends no request', async () => {
  let calls = 0
  const own = shipper({
    send: (request) => {
      calls++
      return send(request)
    },
  })
  own.held(claim)
  await print(['one'])
  own.wake()
  await shipped(['one'])
  const before = calls
  own.wake()
  await own.end()
  expect(calls).toBe(before)
})
