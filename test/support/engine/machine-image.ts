/** Images made of this machine's programs and their libraries, so that no registry is needed. */
import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

/** Returns the path of a program; throws if it isn't installed. */
export function programOf(name: string): string {
  return fs.realpathSync(execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim())
}

/** Creates a folder with these programs in `/bin` and everything that they load, and nothing else. */
export function machineRoot(root: string, programs: string[]): void {
  for (const folder of ['bin', 'etc', 'home', 'tmp']) fs.mkdirSync(path.join(root, folder), { recursive: true })
  fs.chmodSync(path.join(root, 'tmp'), 0o1777)
  for (const name of programs) copyFile(programOf(name), path.join(root, 'bin', name))
  copyLibraries(root, programs.map(programOf))
}

/** The libraries of programs and of other libraries on this machine. */
export function copyLibraries(root: string, files: string[]): void {
  const said = execFileSync('ldd', files, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  for (const line of said.split('\n')) {
    const library = /^\s+(?:\S+ => )?(\/\S+) \(/.exec(line)?.[1]
    if (library) copyFile(library, path.join(root, library))
  }
}

function copyFile(from: string, to: string): void {
  if (fs.existsSync(to)) return
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.copyFileSync(fs.realpathSync(from), to)
}

/**
 * Builds an image from a folder, with files owned by root, and removes the folder. `changes`: instructions of a
 * Dockerfile.
 */
export async function importImage(
  engine: string,
  env: Record<string, string>,
  root: string,
  name: string,
  changes: string[],
): Promise<void> {
  const archive = `${root}.tar`
  await promisify(execFile)('tar', ['--owner=0', '--group=0', '-C', root, '-cf', archive, '.'])
  fs.rmSync(root, { recursive: true })
  const args = ['import', ...changes.flatMap((line) => ['--change', line]), archive, name]
  await promisify(execFile)(engine, args, { env, timeout: 120_000 })
  fs.rmSync(archive)
}
