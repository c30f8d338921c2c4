/**
 * Runs a program for `npm start` and `npm run cli`: `node src/start/start.mjs PROGRAM [ARGUMENT…]`. It runs the current
 * build, rebuilds after changes, or runs the sources if it can't build. Plain JavaScript, because TypeScript tools are not
 * loaded yet.
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

// removes PROGRAM, so the program finds its arguments in the usual place
const [program] = process.argv.splice(2, 1)
if (!Object.hasOwn(SOURCES, program)) {
  process.stderr.write(`Usage: node src/start/start.mjs ${Object.keys(SOURCES).join('|')} [ARGUMENT…]\n`)
  process.exit(2)
}
const folder = upToDate() ?? build()
if (folder) {
  traceSources(folder)
  // Node 22: caches compiled code; a read-only cache is still read
  module.enableCompileCache?.(path.join(folder, 'cache'))
  await import(pathToFileURL(path.join(folder, `${program}.mjs`)).href)
} else {
  process.stderr.write('Pilothouse runs its sources as they are, which takes longer to start.\n')
  const { register } = await import('tsx/esm/api')
  register()
  await import(SOURCES[program])
}

/** Folder of the current build if its inputs are unchanged; otherwise null. */
function upToDate() {
  try {
    // written by build.ts: name and inputs, path → [bytes, mtime in ms, SHA-256]
    const { name, inputs } = JSON.parse(fs.readFileSync(path.join(ROOT, 'dist/build.json'), 'utf8'))
    const made = path.join(ROOT, 'dist', name)
    const same = Object.entries(inputs).every(([file, as]) => isStill(path.join(ROOT, file), as))
    return same && fs.existsSync(path.join(made, `${program}.mjs`)) ? made : null
  } catch {
    return null // no build
  }
}

/** Compares content only when the modification time differs (after a copy or checkout). */
function isStill(file, [bytes, changed, sha256]) {
  const { size, mtimeMs } = fs.statSync(file)
  if (size !== bytes) return false
  return mtimeMs === changed || createHash('sha256').update(fs.readFileSync(file)).digest('hex') === sha256
}

/** Builds in a separate process, which frees its memory at its end and prints its errors. */
function build() {
  const made = spawnSync(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('build.ts', import.meta.url))], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return made.status === 0 ? upToDate() : null
}
