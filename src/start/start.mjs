/**
 * What `npm start` and `npm run cli` run: `node src/start/start.mjs PROGRAM [ARGUMENT…]`, PROGRAM being one of those below.
 * It runs what build.ts made of the sources, and has it made anew when they have changed since. Where that can't be done
 * (a checkout that is read-only, or somebody else's) the sources run as they are: always what is there, at worst slower to
 * start. Plain JavaScript, since it comes before everything that knows TypeScript.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { traceSources } from './traces.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCES = { main: '../main.ts', cli: '../cli/main.ts' }

// the program finds its own arguments where it would without us
const [program] = process.argv.splice(2, 1)
if (!Object.hasOwn(SOURCES, program)) {
  process.stderr.write(`Usage: node src/start/start.mjs ${Object.keys(SOURCES).join('|')} [ARGUMENT…]\n`)
  process.exit(2)
}
const folder = upToDate() ?? build()
if (folder) {
  traceSources(folder)
  // of Node 22: machine code of what was loaded before; read-only it is read, or there is none
  module.enableCompileCache?.(path.join(folder, 'cache'))
  await import(pathToFileURL(path.join(folder, `${program}.mjs`)).href)
} else {
  process.stderr.write('Pilothouse runs its sources as they are, which takes longer to start.\n')
  const { register } = await import('tsx/esm/api')
  register()
  await import(SOURCES[program])
}

/** Folder of the newest build, if it was made of the sources that are here; otherwise null. */
function upToDate() {
  try {
    // written by build.ts: its name, and what it was made of: path → [bytes, ms of the last change, SHA-256]
    const { name, inputs } = JSON.parse(fs.readFileSync(path.join(ROOT, 'dist/build.json'), 'utf8'))
    const made = path.join(ROOT, 'dist', name)
    const same = Object.entries(inputs).every(([file, as]) => isStill(path.join(ROOT, file), as))
    return same && fs.existsSync(path.join(made, `${program}.mjs`)) ? made : null
  } catch {
    return null // there is none
  }
}

/** What a copy or a checkout has touched is looked at. */
function isStill(file, [bytes, changed, sha256]) {
  const { size, mtimeMs } = fs.statSync(file)
  if (size !== bytes) return false
  return mtimeMs === changed || createHash('sha256').update(fs.readFileSync(file)).digest('hex') === sha256
}

/** In a process of its own, which takes its memory along. It says what was wrong. */
function build() {
  const made = spawnSync(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('build.ts', import.meta.url))], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return made.status === 0 ? upToDate() : null
}
