// Agent servers that several servers of a machine share: separate processes install one and are killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentServerFolder, pruneAgentServers } from '../../src/dataplane/process/artifacts/agent-servers.ts'
import { createLayout } from '../../src/dataplane/process/isolation/layout.ts'

const hasFlock = (process.env.PATH ?? '').split(':').some((folder) => fs.existsSync(path.join(folder, 'flock')))

let root: string
let agentServers: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-servers-'))
  agentServers = path.join(root, 'agent-servers')
  fs.mkdirSync(agentServers)
})
afterEach(() => fs.rmSync(root, { recursive: true }))

/** Output and exit of a server that installs one. */
function server(
  how: 'killed' | 'whole',
  PATH = process.env.PATH,
): Promise<{ name: string; end: number | string | null }> {
  const program = fileURLToPath(new URL('installing-server.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, agentServers, how], {
    env: { ...process.env, PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let name = ''
  child.stdout.on('data', (text) => {
    name += String(text)
  })
  return new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ name: name.trim(), end: signal ?? code })),
  )
}

const filesOf = (name: string) => fs.readdirSync(agentServerFolder({ agentServers }, name)!)
const installations = () => fs.readFileSync(path.join(root, 'installations'), 'utf8').split('\n').length - 1

test('a server that is killed during the installation of an agent server leaves none that a later server uses', async () => {
  expect(await server('killed')).toEqual({ name: '', end: 'SIGKILL' })
  const { name, end } = await server('whole')
  expect(end).toBe(0)
  expect(filesOf(name).sort()).toEqual(['first.js', 'second.js'])
  expect(installations()).toBe(1)
}, 120_000)

test('a server on a file system without locks installs an agent server too', async () => {
  const flock = path.join(root, 'flock')
  fs.writeFileSync(flock, '#!/bin/sh\necho "flock: No locks available" >&2\nexit 71\n', { mode: 0o755 })
  const { name, end } = await server('whole', `${root}:${process.env.PATH}`)
  expect(end).toBe(0)
  expect(filesOf(name).sort()).toEqual(['first.js', 'second.js'])
}, 120_000)

test.runIf(hasFlock)(
  'two servers that need the same agent server at the same time install it once and both use it',
  async () => {
    const [one, two] = await Promise.all([server('whole'), server('whole')])
    expect([one.end, two.end]).toEqual([0, 0])
    expect(one.name).toBe(two.name)
    expect(filesOf(one.name).sort()).toEqual(['first.js', 'second.js'])
    expect(installations()).toBe(1)
  },
  120_000,
)

test.runIf(hasFlock)(
  'a build that waits for another server’s installation of the same agent server says so in its log',
  async () => {
    const installed = await server('whole')
    const what = installed.name.split('/')[0]!
    fs.rmSync(path.join(agentServers, what), { recursive: true })
    const holder = spawn('flock', [path.join(agentServers, `${what}.lock`), 'sh', '-c', 'echo; read -r _'])
    await once(holder.stdout, 'data')
    const said = path.join(root, 'said')
    const second = server('whole')
    await expect
      .poll(() => (fs.existsSync(said) ? fs.readFileSync(said, 'utf8') : ''), { timeout: 60_000 })
      .toContain('Waiting for another server of this machine')
    holder.stdin.end()
    expect(await second).toMatchObject({ name: expect.stringContaining(what), end: 0 })
  },
  120_000,
)

test('an agent server that no artifact uses is removed with its lock', async () => {
  const { name } = await server('whole')
  const what = name.split('/')[0]!
  const layout = createLayout(root, null)
  const names = () => fs.readdirSync(agentServers)
  const age = (one: string) => fs.utimesSync(path.join(agentServers, one), new Date(0), new Date(0))
  await pruneAgentServers(layout)
  expect(agentServerFolder({ agentServers }, name)).not.toBe(null)
  age(name)
  await pruneAgentServers(layout)
  expect(agentServerFolder({ agentServers }, name)).toBe(null)
  // a build may be about to install it again
  expect(names()).toContain(what)
  for (const left of names()) age(left)
  await pruneAgentServers(layout)
  for (const left of names()) age(left)
  await pruneAgentServers(layout)
  expect(names()).toEqual([])
}, 120_000)
