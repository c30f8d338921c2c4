/** The npm packages of `npm run package`. Tests pack them once per run. */
import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { asAdmin } from './database.ts'
import { ROOT } from './process.ts'

/** Key of the advisory lock. The number is arbitrary but unique. */
const PACKING_LOCK_ID = 2_800_281

export const { version, dependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string
  dependencies: Record<string, string>
}
type Package = 'pilothouse' | 'pilothouse-cli' | 'pilothouse-client'
/** Path of a package's file. */
export const tarball = (name: Package) => path.join(ROOT, `dist/packages/${name}-${version}.tgz`)

const npm = (...args: string[]) => promisify(execFile)('npm', args, { cwd: ROOT })

/** What `npm run package` does, but a build that is current is not built again. */
export async function pack(): Promise<void> {
  const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })
  // builds if a source has changed
  await node('src/start/start.mjs', 'cli', '--help')
  await node('--import', 'tsx', 'src/start/package.ts')
}

/** Packs unless another test file of this run has. Concurrent calls wait for the first one. */
export async function packOnce(): Promise<void> {
  const isPacked = () => {
    const packed = statSync(tarball('pilothouse-client'), { throwIfNoEntry: false })
    return packed !== undefined && packed.mtimeMs > inject('runStarted')
  }
  await asAdmin(inject('postgres').url, async (admin) => {
    // the end of the connection releases the lock
    await admin.query('SELECT pg_advisory_lock($1)', [PACKING_LOCK_ID])
    if (!isPacked()) await pack()
  })
}

/** Installs the packed server with its dependencies into `folder`, like the first stage of deploy/Dockerfile. */
export async function installServer(folder: string): Promise<void> {
  const options = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await npm('install', ...options, '--prefix', folder, tarball('pilothouse'))
}
