/** The folder of one start: a copy of the artifact under the agent's account. */
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { breakHardLinks } from '../../src/dataplane/process/artifacts/tree-copy.ts'
import { makeRunFolder } from '../../src/dataplane/process/supervisor/agent/run-folder.ts'
import type { BuiltProgram } from '../../src/dataplane/process/supervisor/protocol.ts'
import { needsRoot } from '../support/root.ts'

const never = new AbortController().signal
const isRoot = process.platform === 'linux' && process.getuid?.() === 0
const someone = 2_109_000_000 + Math.floor(Math.random() * 1e6)
const account = isRoot ? { uid: someone, gid: someone } : null

let place: string
beforeAll(() => {
  place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-runs-')))
  fs.chmodSync(place, 0o711)
})
afterAll(() => fs.rmSync(place, { recursive: true, force: true }))

let program: BuiltProgram
beforeEach(() => {
  const root = fs.mkdtempSync(path.join(place, 'app-'))
  fs.chmodSync(root, 0o711)
  const tree = path.join(root, 'artifacts/1/tree')
  fs.mkdirSync(path.join(tree, 'node_modules/left-pad'), { recursive: true, mode: 0o700 })
  fs.mkdirSync(path.join(tree, 'node_modules/.prisma'))
  fs.writeFileSync(path.join(tree, 'server.js'), 'first', { mode: 0o600 })
  fs.writeFileSync(path.join(tree, 'node_modules/left-pad/index.js'), 'pads', { mode: 0o600 })
  fs.writeFileSync(path.join(tree, 'node_modules/.prisma/client.js'), 'generated', { mode: 0o600 })
  fs.symlinkSync('/etc/passwd', path.join(tree, 'outside'))
  if (account) execFileSync('chown', ['-hR', `${account.uid}:${account.gid}`, tree])
  for (const name of ['runs', 'temporary']) fs.mkdirSync(path.join(root, name), { mode: 0o711 })
  program = {
    kind: 'built',
    tree,
    folder: '.',
    runs: path.join(root, 'runs'),
    temporary: path.join(root, 'temporary'),
    prestart: null,
    start: '',
  }
})

/** Runs under the agent's account. */
function shell(script: string, cwd: string): { status: number | null; stdout: string } {
  const { status, stdout } = spawnSync('/bin/sh', ['-c', script], { ...account, cwd, encoding: 'utf8' })
  return { status, stdout }
}

const textOf = (tree: string) =>
  execFileSync('/bin/sh', ['-c', 'find . -type f | sort | xargs cat'], { cwd: tree, encoding: 'utf8' })

test('an agent can change its run folder, and the next start gets the unchanged build result', async () => {
  const before = textOf(program.tree)
  const run = await makeRunFolder(program, account, never)
  expect(fs.statSync(run.root).mode & 0o777).toBe(0o700)
  const changes = `echo x >> server.js && echo x >> node_modules/.prisma/client.js && echo x > node_modules/left-pad/new.js &&
    rm node_modules/left-pad/index.js && echo x > node_modules/left-pad/index.js && mkdir -p node_modules/.cache/a`
  expect(shell(changes, run.cwd).status).toBe(0)
  expect(textOf(program.tree)).toBe(before)
  const next = await makeRunFolder(program, account, never)
  expect(textOf(next.root)).toBe(before)
  expect(fs.readlinkSync(path.join(next.root, 'outside'))).toBe('/etc/passwd')
  await Promise.all([run.remove(), next.remove()])
  expect(fs.readdirSync(program.runs)).toEqual([])
  expect(fs.readdirSync(program.temporary)).toEqual([])
})

test('the next start removes folders of a killed supervisor, and keeps those of builds', async () => {
  for (const name of ['runs/old', 'temporary/run-old', 'temporary/build-1'])
    fs.mkdirSync(path.join(program.runs, '..', name))
  const run = await makeRunFolder(program, account, never)
  await expect.poll(() => fs.readdirSync(program.runs)).toEqual([path.basename(run.root)])
  expect(fs.readdirSync(program.temporary).sort()).toEqual(['build-1', path.basename(run.temporary.folder)])
  await run.remove()
})

test('the copy for the next start is made in advance', async () => {
  const run = await makeRunFolder(program, account, never)
  await expect.poll(() => fs.existsSync(path.join(program.tree, '../tree-spare/server.js'))).toBe(true)
  fs.writeFileSync(path.join(program.tree, '../tree-spare/made-before'), '')
  const next = await makeRunFolder(program, account, never)
  expect(fs.existsSync(path.join(next.root, 'made-before'))).toBe(true)
  await Promise.all([run.remove(), next.remove()])
})

test('a start without its artifact fails as lost', async () => {
  fs.rmSync(path.dirname(program.tree), { recursive: true })
  await expect(makeRunFolder(program, account, never)).rejects.toMatchObject({ reason: 'ARTIFACT_LOST' })
  expect(fs.readdirSync(program.runs)).toEqual([])
})

test('hard links to a package manager’s store become separate files', async () => {
  const store = path.join(path.dirname(program.runs), 'store.js')
  fs.linkSync(path.join(program.tree, 'node_modules/left-pad/index.js'), store)
  // mode of a build's folder, which its account must be able to pass
  for (const folder of ['.', '..']) fs.chmodSync(path.join(program.tree, '..', folder), 0o711)
  await breakHardLinks(program.tree, account)
  const run = await makeRunFolder(program, account, never)
  expect(fs.statSync(store)).toMatchObject({ nlink: 1, uid: account?.uid ?? process.getuid?.() })
  expect(fs.readFileSync(path.join(run.root, 'node_modules/left-pad/index.js'), 'utf8')).toBe('pads')
  await run.remove()
})

describe.skipIf(needsRoot('artifacts owned by root'))('as root', () => {
  test('an artifact belongs to root, without devices, pipes, setuid bits and other accounts’ files', async () => {
    const { tree } = program
    execFileSync('mkfifo', [path.join(tree, 'pipe')])
    execFileSync('mknod', [path.join(tree, 'zero'), 'c', '1', '5'])
    fs.writeFileSync(path.join(tree, 'setuid'), '')
    fs.chownSync(path.join(tree, 'setuid'), account!.uid, account!.gid)
    fs.chmodSync(path.join(tree, 'setuid'), 0o6755)
    fs.writeFileSync(path.join(tree, 'somebody-else'), '')
    fs.chownSync(path.join(tree, 'somebody-else'), someone + 1, someone + 1)
    const run = await makeRunFolder(program, account, never)
    for (const folder of [tree, run.root]) {
      const names = fs.readdirSync(folder).sort()
      expect(names).toEqual(['node_modules', 'outside', 'server.js', 'setuid'])
      expect(fs.statSync(path.join(folder, 'setuid')).mode & 0o7000).toBe(0)
    }
    expect(execFileSync('find', [tree, '!', '-uid', '0'], { encoding: 'utf8' })).toBe('')
    expect(shell(`cat ${tree}/server.js`, '/').status).not.toBe(0)
    await run.remove()
  })

  test('other accounts can’t enter the folder of a run', async () => {
    const run = await makeRunFolder(program, account, never)
    const other = { uid: someone + 1, gid: someone + 1 }
    for (const file of ['server.js', 'node_modules/left-pad/index.js'])
      expect(spawnSync('cat', [path.join(run.root, file)], { ...other, cwd: '/' }).status).not.toBe(0)
    expect(spawnSync('ls', [run.temporary.tmp], { ...other, cwd: '/' }).status).not.toBe(0)
    await run.remove()
  })
})
