import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ControlGroup } from '../../src/dataplane/process/isolation/control-group.ts'
import { findPlaces } from '../../src/dataplane/process/isolation/controllers.ts'
import { groupRecordOf } from '../../src/dataplane/process/isolation/group-record.ts'
import {
  createLimits,
  type Exceeded,
  type Limits,
  type LimitsOptions,
} from '../../src/dataplane/process/isolation/limits.ts'
import {
  NO_LIMITS as NONE,
  type ResourceLimits,
  resourceLimitsOf,
} from '../../src/dataplane/process/isolation/resource-limits.ts'
import { ProcessUsage } from '../../src/dataplane/process/process-usage.ts'
import { processesByUser } from '../../src/dataplane/process/processes/proc.ts'
import { signalProcesses } from '../../src/dataplane/process/processes/process-tags.mjs'
import { alive } from './support.ts'

/** an account that is not used on this machine */
const ACCOUNT = { uid: 61_917, gid: 61_917 }
const isRoot = process.getuid?.() === 0
const DEPLOYMENT = randomUUID()

/** Whether this process may create control groups with these controllers. */
const mayGroup = (() => {
  const group = ControlGroup.create(`probe-${randomUUID()}`, { ...NONE, memoryMb: 64, processes: 32 }, () => undefined)
  const may = !!group?.has('memory') && group.has('pids')
  return { may, gone: group?.remove() }
})()

let folder = ''
const running: { limits: Limits; child: ChildProcess }[] = []

beforeAll(async () => {
  await mayGroup.gone
})

afterEach(async () => {
  for (const { limits, child } of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid!, 'SIGKILL')
      await once(child, 'exit')
    }
    await limits.close()
  }
  if (folder) fs.rmSync(folder, { recursive: true, force: true })
  folder = ''
})

interface Started {
  child: ChildProcess
  limits: Limits
  said: { exceeded: Exceeded; fatal: boolean }[]
  output: () => string
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Starts a program like the keeper: it runs only after `enter`. */
async function start(
  bounds: Partial<ResourceLimits>,
  command: string[],
  how: Partial<LimitsOptions> & { shell?: string; account?: typeof ACCOUNT } = {},
): Promise<Started> {
  folder ||= fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-limits-'))
  if (how.account) fs.chownSync(folder, how.account.uid, how.account.gid)
  const said: Started['said'] = []
  const limits = await createLimits({
    deploymentId: DEPLOYMENT,
    bounds: { ...NONE, ...bounds },
    folders: [folder],
    record: groupRecordOf(folder),
    onExceeded: (exceeded, fatal) => said.push({ exceeded, fatal }),
    ...how,
  })
  const child = spawn(how.shell ?? '/bin/sh', ['-c', `read -r _; ${limits.prelude}exec "$@"`, 'sh', ...command], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...how.account,
  })
  running.push({ limits, child })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  child.stdin.on('error', () => undefined)
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  await limits.enter(child.pid!)
  child.stdin.write('go\n')
  return { child, limits, said, output: () => output, ended }
}

const node = (script: string) => [process.execPath, '-e', script]
/** allocates and writes 4 MB repeatedly */
const HOG = 'const all = []; setInterval(() => all.push(Buffer.alloc(4e6, 1)), 1)'
/** starts as many processes as it can */
const BOMB = `
  const { spawn } = require('node:child_process')
  setInterval(() => spawn('sleep', ['60']).on('error', () => undefined), 1)
  console.log('begun')`

const seconds = { timeout: 15_000 }

describe.skipIf(!mayGroup.may)('with control groups (skipped where none can be created)', () => {
  it('an agent over its memory limit is ended by the kernel, and the reason says so', async () => {
    const { ended, limits } = await start({ memoryMb: 64 }, node(HOG))
    expect((await ended).signal).toBe('SIGKILL')
    expect(limits.explain()).toMatchObject({ reason: 'OUT_OF_MEMORY', message: expect.stringContaining('64 MB') })
  })

  it('an agent keeps running when its child exceeds the memory limit, and the violation is reported', async () => {
    const script = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(HOG)}])
      .on('exit', (code, signal) => console.log(signal)); setInterval(() => {}, 1000)`
    const { said, output, child } = await start({ memoryMb: 128 }, node(script))
    await expect.poll(output, seconds).toContain('SIGKILL')
    await expect.poll(() => said, seconds).toMatchObject([{ exceeded: { reason: 'OUT_OF_MEMORY' }, fatal: false }])
    expect(child.exitCode).toBeNull()
  })

  it('an agent that keeps starting processes above its limit is ended with all its processes', async () => {
    const { ended, limits, said } = await start({ processes: 32 }, node(BOMB))
    expect((await ended).signal).toBe('SIGKILL')
    expect(limits.explain()).toMatchObject({ reason: 'PROCESS_LIMIT', message: expect.stringContaining('32') })
    expect(said.map(({ fatal }) => fatal)).toEqual([false, true])
  })

  it('an agent gets no more CPU than its limit', async () => {
    const script = `const until = Date.now() + 2000; while (Date.now() < until); console.log(process.cpuUsage().user / 1000)`
    const { ended, output } = await start({ cpus: 0.2 }, node(script))
    await ended
    // of 2,000 ms; the kernel divides the periods
    expect(Number(output())).toBeLessThan(1000)
  })

  it('a process in another session ends with its start, and no group remains', async () => {
    const began = await start({ processes: 100 }, [
      '/bin/sh',
      '-c',
      'setsid sleep 600 >/dev/null 2>&1 & echo $!; sleep 600',
    ])
    await expect.poll(began.output, seconds).toMatch(/\d+\n/)
    const left = Number.parseInt(began.output(), 10)
    began.child.kill('SIGKILL')
    await began.limits.kill()
    await expect.poll(() => alive(left), seconds).toBe(false)
    await began.limits.close()
    expect(groupsNamed(DEPLOYMENT)).toEqual([])
  })

  it('the memory of an agent counts a process that has left it', async () => {
    const holder = 'const held = Buffer.alloc(100e6, 1); setInterval(() => held.fill(1), 1e3); console.log("held")'
    const leaves = ['/bin/sh', '-c', '(setsid "$0" -e "$1" &); sleep 600', process.execPath, holder]
    const { child, output } = await start({ memoryMb: 400 }, leaves)
    await expect.poll(output, seconds).toBe('held\n')
    const { memory } = (await new ProcessUsage().measure([child.pid!])).get(child.pid!)!
    expect(memory).toBeGreaterThan(100e6)
    expect(memory).toBeLessThan(300e6)
  })

  it('the next keeper ends and removes the groups of a killed keeper', async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-limits-'))
    const record = groupRecordOf(folder)
    const name = `left.${randomUUID()}`
    const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
    ControlGroup.create(name, NONE, (made) => record.add(made))!.enter(child.pid!)
    await record.clear()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(child.signalCode).toBe('SIGKILL')
    expect(groupsNamed(name)).toEqual([])
    expect(fs.readdirSync(folder)).toEqual([])
  })

  it('limits larger than the machine cause no error', async () => {
    const bounds = { memoryMb: 1e18, cpus: 1000, processes: 1e12, fileMb: 1e12, diskMb: 1e18 }
    const { ended, output } = await start(bounds, ['echo', 'here'])
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(output()).toBe('here\n')
  })
})

describe('without control groups', () => {
  const controlGroups = false

  it('an agent over its memory limit is ended by a watch', async () => {
    const { ended, limits, said } = await start({ memoryMb: 120 }, node(HOG), { controlGroups })
    expect((await ended).signal).toBe('SIGKILL')
    expect(limits.explain()).toMatchObject({ reason: 'OUT_OF_MEMORY', message: expect.stringContaining('120 MB') })
    expect(said).toMatchObject([{ fatal: true }])
  })

  it.skipIf(!fs.existsSync('/usr/bin/python3'))('memory that processes share counts once', async () => {
    // each child shares the parent's 60 MB and writes to none
    const script = `
      import os, time
      data = b'x' * 60_000_000
      for _ in range(4):
          if os.fork() == 0: break
      print('begun', flush=True)
      time.sleep(2)`
    const began = await start({ memoryMb: 150 }, ['python3', '-c', script.replace(/^ {6}/gm, '')], { controlGroups })
    expect(await began.ended).toEqual({ code: 0, signal: null })
    expect(began.said).toEqual([])
  })

  it('an agent over its process limit is ended by a watch', async () => {
    const { ended, limits } = await start({ processes: 60 }, node(BOMB), { controlGroups })
    expect((await ended).signal).toBe('SIGKILL')
    expect(limits.explain()).toMatchObject({ reason: 'PROCESS_LIMIT', message: expect.stringContaining('60') })
  })

  it.skipIf(!isRoot)(
    'an agent with its own account can’t exceed twice its process limit at any time (skipped when not root)',
    async () => {
      const script = `for i in $(seq 100); do sleep 600 & done; echo over; wait`
      const how = { controlGroups, account: ACCOUNT, ownUid: ACCOUNT.uid }
      const { ended, limits } = await start({ processes: 16 }, ['/bin/sh', '-c', script], how)
      const end = await ended
      signalProcesses(processesByUser().get(ACCOUNT.uid) ?? [], 'SIGKILL')
      expect(limits.explain({ ...end, output: 'sh: 1: Cannot fork' })).toMatchObject({ reason: 'PROCESS_LIMIT' })
    },
  )
})

describe('files', () => {
  const write = (mb: number) =>
    `const fs = require('node:fs'); const to = fs.openSync('large', 'w');
     for (let i = 0; i < ${mb * 10}; i++) fs.writeSync(to, Buffer.alloc(1e5, 1))`

  for (const shell of ['/bin/sh', '/bin/dash', '/bin/bash'].filter((each) => fs.existsSync(each)))
    it(`no file exceeds its limit with ${shell}`, async () => {
      const how = shell === '/bin/bash' ? { shell: link(shell) } : { shell }
      const { ended, limits, output } = await start({ fileMb: 2 }, node(write(3)), how)
      const end = await ended
      expect(fs.statSync(path.join(folder, 'large')).size).toBe(Math.round(2e6 / 512) * 512)
      expect(limits.explain({ ...end, output: output() })).toMatchObject({
        reason: 'FILE_LIMIT',
        message: expect.stringContaining('2 MB'),
      })
    })

  it('a program that the kernel ends at the file limit has the reason FILE_LIMIT', async () => {
    const { ended, limits } = await start({ fileMb: 2 }, ['dd', 'if=/dev/zero', 'of=large', 'bs=100k', 'count=30'])
    expect(limits.explain({ ...(await ended), output: '' })).toMatchObject({ reason: 'FILE_LIMIT' })
  })

  it('an agent that keeps running at its file limit gets a report', async () => {
    const script = `try { ${write(3)} } catch {} setInterval(() => {}, 1000)`
    const { said } = await start({ fileMb: 2, diskMb: 100 }, node(script))
    await expect.poll(() => said, seconds).toMatchObject([{ exceeded: { reason: 'FILE_LIMIT' }, fatal: false }])
  })

  it('an agent over its disk limit is ended', async () => {
    const { said } = await start(
      { fileMb: 2, diskMb: 4 },
      node(`for (const i of [1, 2, 3, 4, 5, 6]) require('node:fs').writeFileSync('f' + i, Buffer.alloc(1e6, 1))
        setInterval(() => {}, 1000)`),
    )
    await expect
      .poll(() => said, seconds)
      .toMatchObject([
        { exceeded: { reason: 'DISK_LIMIT', message: expect.stringMatching(/hold [4-7] MB.* 4 MB/) }, fatal: true },
      ])
  })
})

it('an agent that exits by itself reached no limit', async () => {
  const bounds = { memoryMb: 500, processes: 100, fileMb: 2, diskMb: 100 }
  const { ended, limits, output } = await start(bounds, node('process.exit(3)'))
  expect(limits.explain({ ...(await ended), output: output() })).toBeNull()
})

it('an agent with a full V8 heap ran out of memory', async () => {
  const { ended, limits, output } = await start({ memoryMb: 2000 }, [
    process.execPath,
    '--max-old-space-size=20',
    '-e',
    'const all = []; for (;;) all.push({ text: String(all.length) })',
  ])
  const end = await ended
  expect(limits.explain({ ...end, output: output() })).toMatchObject({
    reason: 'OUT_OF_MEMORY',
    message: expect.stringContaining('heap'),
  })
})

it('a deployment’s resource_spec overrides the settings', () => {
  const settings = { memoryMb: 2000, cpus: 2, processes: 100, fileMb: 10, diskMb: 20 }
  expect(resourceLimitsOf({ memory_limit_mb: null, cpu_limit: null }, settings)).toEqual(settings)
  expect(resourceLimitsOf({ memory_limit_mb: 8000, cpu_limit: 0.5 }, settings)).toEqual({
    ...settings,
    memoryMb: 8000,
    cpus: 0.5,
  })
})

/** A link named `sh`, so that the shell runs in POSIX mode. */
function link(shell: string): string {
  folder ||= fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-limits-'))
  const name = path.join(folder, 'sh')
  fs.symlinkSync(shell, name)
  return name
}

function groupsNamed(part: string): string[] {
  return findPlaces().flatMap(({ folders }) =>
    folders.flatMap((each) => {
      const ours = path.join(each, 'pilothouse')
      return fs.existsSync(ours) ? fs.readdirSync(ours).filter((name) => name.includes(part)) : []
    }),
  )
}
