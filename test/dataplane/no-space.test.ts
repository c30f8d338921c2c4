// A full disk is reported as such: by git, by a build command, by the server's own files, by an upload.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFolderStorage } from '../../src/adapters/storage/folder.ts'
import { startWorker } from '../../src/dataplane/worker/worker.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { scriptedControlPlane } from './control-plane.ts'
import { claimOf, memoryLog, never, openTestMachine, revisionOf, stepOf, type TestMachine } from './support.ts'

const SIZE = 3 * 1024 * 1024
const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-small-disk-'))

/** Only root can mount a separate disk. */
const mounted = (() => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=755`, 'tmpfs', disk], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

let machine: TestMachine
beforeAll(async () => {
  machine = await openTestMachine(mounted ? { dataDir: path.join(disk, 'data') } : {})
})
afterAll(async () => {
  await machine.close()
  if (mounted) execFileSync('umount', [disk])
  fs.rmSync(disk, { recursive: true })
})

const MESSAGE = 'There is no space left in DATA_DIR: free some, then redeploy.'
const build = (files: Record<string, string>, buildCommand: string | null = null) => {
  const revision = revisionOf(machine.repository(files), { installCommand: 'true', buildCommand })
  return machine.runtime.build(claimOf(), stepOf('BUILD', revision), memoryLog(), never)
}

test.runIf(process.platform === 'linux')(
  'a command that finds the disk full fails the build for that reason',
  async () => {
    await expect(build({}, 'head -c 10 /dev/zero > /dev/full')).rejects.toMatchObject({
      reason: 'NO_SPACE',
      message: expect.stringMatching(
        /^There is no space left in DATA_DIR, or where Build command .* writes: free some\./,
      ),
    })
  },
)

test.runIf(mounted)('a repository that does not fit on the disk fails the build for that reason', async () => {
  const large = build({ 'large.txt': randomBytes(SIZE).toString('hex') })
  await expect(large).rejects.toMatchObject({ reason: 'NO_SPACE', message: MESSAGE })
})

test.runIf(mounted)('a step on a machine with a full disk fails immediately and says why', async () => {
  const ballast = path.join(disk, 'ballast')
  expect(() => fs.writeFileSync(ballast, Buffer.alloc(2 * SIZE))).toThrow('ENOSPC')
  const step = stepOf('BUILD', revisionOf(machine.repository()))
  const controlPlane = scriptedControlPlane({ step })
  // the worker runs already: the failed write belongs to the step
  const runtime = { ...machine.runtime, registerHolder: async () => async () => undefined }
  const worker = await startWorker({ controlPlane, runtime, leaseSeconds: 15, log: pino({ level: 'silent' }) })
  try {
    expect(await controlPlane.done(step.id)).toMatchObject({ outcome: 'failed', reason: 'NO_SPACE', message: MESSAGE })
  } finally {
    await worker.stop()
    fs.rmSync(ballast)
  }
})

test.runIf(mounted)('an upload that does not fit is refused with that reason and leaves nothing', async () => {
  const keyring = new KeyRing([['test', Buffer.alloc(32, 1)]])
  const storage = createFolderStorage({ folder: path.join(disk, 'uploads'), keyring, publicUrl: () => '' })
  const chunks = async function* () {
    yield Buffer.alloc(2 * SIZE)
  }
  await expect(storage.receive!(chunks(), 'a/b')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: 'There is no space left in DATA_DIR for uploads.',
  })
  expect(fs.readdirSync(path.join(disk, 'uploads', '.incoming'))).toEqual([])
})
