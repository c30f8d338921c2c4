/**
 * The source as JavaScript, for the many processes that tests start: without tsx a start takes a fifth of the CPU. Made anew
 * when the source has changed; what newcomers start (`npm start`) is tested as it is.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/** What the source reads beside itself. */
const BESIDE = ['prisma', 'package.json', 'test/fixtures']

let made: string | null = null

/** Folder of the tree `root` as JavaScript: `<folder>/src/main.js`. */
export function compiled(root: string): string {
  made ??= make(root)
  return made
}

function make(root: string): string {
  const cache = path.join(root, 'node_modules/.cache/pilothouse')
  const folder = path.join(cache, stateOf(path.join(root, 'src')))
  if (fs.existsSync(folder)) return folder
  fs.rmSync(cache, { recursive: true, force: true })
  const draft = `${cache}-${randomBytes(4).toString('hex')}`
  fs.mkdirSync(draft, { recursive: true })
  // with the TypeScript beside it: the supervisor's program is bundled from that
  fs.cpSync(path.join(root, 'src'), path.join(draft, 'src'), { recursive: true })
  for (const name of BESIDE) {
    fs.mkdirSync(path.dirname(path.join(draft, name)), { recursive: true })
    fs.symlinkSync(path.join(root, name), path.join(draft, name))
  }
  const project = path.join(draft, 'tsconfig.json')
  const compilerOptions = { noEmit: false, noCheck: true, outDir: draft, rootDir: root }
  const include = [path.join(root, 'src')]
  fs.writeFileSync(project, JSON.stringify({ extends: path.join(root, 'tsconfig.json'), compilerOptions, include }))
  execFileSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', project], { stdio: ['ignore', 'inherit', 'inherit'] })
  fs.mkdirSync(cache, { recursive: true })
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    if (!fs.existsSync(folder)) throw error // another worker was first
    fs.rmSync(draft, { recursive: true, force: true })
  }
  return folder
}

/** Changes with every change of a file in it. */
function stateOf(folder: string): string {
  const hash = createHash('sha256')
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const { mtimeMs, size } = fs.statSync(path.join(folder, name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
