/** Accounts of deployments: who gets which user id, and what is removed when a deployment is deleted. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Accounts, createAccounts } from '../../src/dataplane/process/isolation/accounts.ts'
import {
  chooseAccounts,
  closeRepositories,
  isInside,
  missingCapabilities,
} from '../../src/dataplane/process/isolation/choose-accounts.ts'
import { createLayout, ensureFolders } from '../../src/dataplane/process/isolation/layout.ts'
import { needsRoot } from '../support/root.ts'

/** Unique: tests of several checkouts run on one machine. */
const someRange = (count: number): [number, number] => {
  const low = 2_110_000_000 + Math.floor(Math.random() * 1e6) * 20
  return [low, low + count - 1]
}

let root: string

beforeAll(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-accounts-'))
  fs.chmodSync(root, 0o711)
})
const opened: Accounts[] = []
afterAll(() => {
  for (const accounts of opened) accounts.close()
  fs.rmSync(root, { recursive: true, force: true })
})

interface Installation {
  accounts: Accounts
  dataDir: string
  /** The deployment's folder exists. */
  open(deploymentId: string): ReturnType<Accounts['forDeployment']>
}

/** `isPrivate`: its deployments have private public folders. */
function installation(range: [number, number], isPrivate = false): Installation {
  const dataDir = fs.mkdtempSync(path.join(root, 'data-'))
  fs.chmodSync(dataDir, 0o711)
  const choice = chooseAccounts({ dataDir, uidRange: range })
  const layout = createLayout(dataDir, choice.typical)
  const accounts = createAccounts(choice, dataDir, layout, isPrivate)
  opened.push(accounts)
  return {
    accounts,
    dataDir,
    async open(deploymentId) {
      fs.mkdirSync(layout.app(deploymentId).root, { recursive: true })
      const its = await accounts.forDeployment(deploymentId)
      await ensureFolders(layout.app(deploymentId), its.code)
      return its
    },
  }
}

test('a uid range must be inside the ids of the machine or container', () => {
  const rootless = '         0       1000          1\n         1     100000      65535\n'
  expect(isInside({ low: 60_578, high: 61_183 }, rootless)).toBe(true)
  expect(isInside({ low: 0, high: 65_535 }, rootless)).toBe(true)
  expect(isInside({ low: 65_000, high: 66_000 }, rootless)).toBe(false)
  expect(isInside({ low: 2_100_000_000, high: 2_100_009_999 }, '0 0 4294967295\n')).toBe(true)
})

test('missing capabilities of root are named', () => {
  expect(missingCapabilities('Name:\tnode\nCapEff:\t000001ffffffffff\n')).toEqual([])
  expect(missingCapabilities('CapEff:\t00000000a80425fb\n')).toEqual([])
  expect(missingCapabilities('CapEff:\t0000000000000400\n')).toContain('SETUID')
})

describe.skipIf(needsRoot('accounts of their own'))('as root', () => {
  test('a uid range that does not exist stops the start', () => {
    const options = { dataDir: root, uidRange: [2_100_000_000, 4_294_967_295] as const }
    expect(() => chooseAccounts(options)).toThrow(/^APP_UID_RANGE 2100000000-4294967295 is not within the ids/)
  })

  test('with APP_UID_RANGE=off all share one account, and one line says so', () => {
    const lines: string[] = []
    const choice = chooseAccounts({ dataDir: root, uidRange: 'off', warn: (line) => lines.push(line) })
    expect(choice.range).toBeNull()
    expect(lines).toEqual([expect.stringMatching(/^All deployments share one account .*: APP_UID_RANGE is off$/)])
  })

  test('repositories in DATA_DIR are closed for agents, and a warning names others that all accounts can read', () => {
    const gitDirectory = path.join(root, 'git')
    fs.mkdirSync(gitDirectory, { mode: 0o755 })
    const lines: string[] = []
    const warn = (line: string) => lines.push(line)
    const someone = { uid: 2_110_000_000, gid: 2_110_000_000 }
    closeRepositories({ dataDir: path.join(root, 'data'), gitDirectory, warn }, someone)
    expect(lines).toEqual([expect.stringContaining(`can read GIT_DIRECTORY (${gitDirectory})`)])
    closeRepositories({ dataDir: root, gitDirectory, warn }, someone)
    expect(fs.statSync(gitDirectory).mode & 0o777).toBe(0o750)
    closeRepositories({ dataDir: path.join(root, 'data'), gitDirectory, warn }, someone)
    expect(lines.length).toBe(1)
  })

  test('two installations never get the same id, and a deployment keeps its ids', async () => {
    const range = someRange(8)
    const installations = [installation(range), installation(range)]
    const deployments = installations.flatMap((of) => Array.from({ length: 2 }, () => ({ of, id: randomUUID() })))
    const open = () => Promise.all(deployments.map(({ of, id }) => of.open(id)))
    const first = await open()
    const ids = first.flatMap(({ code, network }) => [code!.uid, network!.uid])
    expect(new Set(ids).size).toBe(8)
    expect(await open()).toEqual(first)
    await expect(installations[0]!.open(randomUUID())).rejects.toThrow(/widen APP_UID_RANGE/)
    await Promise.all(deployments.map(({ of, id }) => of.accounts.remove(id)))
    expect((await installations[0]!.open(randomUUID())).code).not.toBeNull()
  })

  test('an id of a deleted DATA_DIR is reused only after its files are removed', async () => {
    const range = someRange(2)
    const gone = installation(range)
    const { code } = await gone.open(randomUUID())
    const left = leave(code!)
    fs.rmSync(gone.dataDir, { recursive: true })
    const next = installation(range)
    expect((await next.open(randomUUID())).code).toEqual(code)
    expect(fs.existsSync(left)).toBe(false)
  })

  test('a step that waits for an id stops waiting when it is cancelled', async () => {
    const range = someRange(2)
    const gone = installation(range)
    await gone.open(randomUUID())
    fs.rmSync(gone.dataDir, { recursive: true })
    const next = installation(range)
    const step = new AbortController()
    const id = randomUUID()
    fs.mkdirSync(path.join(next.dataDir, 'apps', id))
    const waiting = next.accounts.forDeployment(id, step.signal)
    step.abort(new Error('the step is over'))
    await expect(waiting).rejects.toThrow('the step is over')
  })

  test('unused ids and ids of deployments with private folders need no cleanup', async () => {
    const range = someRange(2)
    const { accounts, open } = installation(range, true)
    const id = randomUUID()
    const { code } = await open(id)
    // no cleanup searches for it: such a deployment can't have left it
    const left = leave(code!)
    onTestFinished(() => fs.rmSync(left))
    await accounts.remove(id)
    expect((await open(randomUUID())).code).toEqual(code)
    expect(fs.existsSync(left)).toBe(true)
  })

  test('a deleted deployment leaves no process and no file anywhere', async () => {
    const range = someRange(2)
    const { accounts, open } = installation(range)
    const id = randomUUID()
    const { code } = await open(id)
    const left = ['/tmp', '/var/tmp', '/dev/shm'].map((folder) => path.join(folder, randomUUID()))
    // leaves its group and session, empties its environment, and forks as fast as it is killed. The limit protects the
    // machine; dash names it -p, other shells -u.
    const script = `mkdir ${left.join(' ')}; for f in ${left.join(' ')}; do : > $f/file; done
      f() { while :; do (sleep 0.01; f) & sleep 0.02; done; }; ulimit -p 200 2>/dev/null || ulimit -u 200; f`
    const child = spawn('setsid', ['env', '-i', 'sh', '-c', script], { ...code!, cwd: '/', stdio: 'ignore' })
    await expect.poll(() => left.every((folder) => fs.existsSync(path.join(folder, 'file')))).toBe(true)
    await accounts.remove(id)
    expect(() => process.kill(child.pid!, 0)).toThrow()
    // the search goes through all folders that everybody may write to
    await expect.poll(() => left.filter((folder) => fs.existsSync(folder)), { timeout: 50_000 }).toEqual([])
  })
})

/** Creates a file of this account in a public folder. */
function leave({ uid, gid }: { uid: number; gid: number }): string {
  const file = path.join('/dev/shm', randomUUID())
  fs.writeFileSync(file, 'a secret', { mode: 0o600 })
  fs.chownSync(file, uid, gid)
  return file
}
