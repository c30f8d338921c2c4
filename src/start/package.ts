/**
 * `npm run package`: writes the npm packages of this version to dist/packages, from the current build (build.ts) and from
 * src/client. Their manifests derive from package.json. See README.md.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type BuildOptions, buildSync } from 'esbuild'
import { CHECKOUT } from '../platform/files/checkout.ts'

/** Packages that the server's build loads from node_modules. */
const SERVER_PACKAGES = ['@fastify/swagger-ui']
const CLIENT_PACKAGES = ['openapi-fetch', 'eventsource-parser']

const at = (name: string) => path.join(CHECKOUT, name)
const readJson = (name: string) => JSON.parse(fs.readFileSync(at(name), 'utf8'))

const root: {
  version: string
  license: string
  description: string
  engines: object
  /** Set by the release workflow. */
  repository?: object
  dependencies: Record<string, string>
  optionalDependencies: object
} = readJson('package.json')
const { version, license, engines, repository } = root
const common = { version, license, repository, type: 'module', engines }

const destination = at('dist/packages')
fs.mkdirSync(destination, { recursive: true })
const staging = fs.mkdtempSync(at('dist/.draft-packages-'))
try {
  const packed = [server(), commandLine(), client()].map(pack)
  // renamed into place: another run may read the previous packages
  for (const name of packed) fs.renameSync(path.join(staging, name), path.join(destination, name))
  const outdated = (name: string) => name.endsWith('.tgz') && !packed.includes(name)
  for (const name of fs.readdirSync(destination).filter(outdated)) fs.rmSync(path.join(destination, name))
} finally {
  fs.rmSync(staging, { recursive: true, force: true })
}

/** All commands. Its files have the places of the checkout, so start.mjs runs the build there too. */
function server(): string {
  const { name } = readJson('dist/build.json') as { name: string }
  const folder = begin('pilothouse', {
    name: 'pilothouse',
    description: root.description,
    ...common,
    bin: { pilothouse: 'src/start/pilothouse.mjs' },
    dependencies: versions(SERVER_PACKAGES),
    optionalDependencies: root.optionalDependencies,
  })
  const copy = (file: string, filter?: (source: string) => boolean) =>
    fs.cpSync(at(file), path.join(folder, file), { recursive: true, ...(filter && { filter }) })
  for (const file of ['pilothouse.mjs', 'start.mjs', 'traces.mjs']) copy(`src/start/${file}`)
  copy('src/cli/demo-agent')
  copy('prisma/migrations')
  copy('deploy/chart')
  copy('README.md')
  // maps name files of the checkout; `cache` belongs to this machine's V8
  copy(`dist/${name}`, (source) => !source.endsWith('.map') && path.basename(source) !== 'cache')
  // no inputs: nothing can be newer than the build
  fs.writeFileSync(path.join(folder, 'dist/build.json'), JSON.stringify({ name, inputs: {} }))
  return folder
}

/** The commands over the network, in one file. */
function commandLine(): string {
  const folder = begin('pilothouse-cli', {
    name: '@pilothouse/cli',
    description:
      'The command line of Pilothouse, the control plane for agent-server deployments: deploys from CI and terminals.',
    ...common,
    bin: { pilothouse: 'pilothouse.mjs' },
    publishConfig: { access: 'public' },
  })
  bundle({
    entryPoints: ['src/cli/remote/main.ts'],
    outfile: path.join(folder, 'pilothouse.mjs'),
    platform: 'node',
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module'\nconst require = __createRequire(import.meta.url)",
    },
  })
  fs.copyFileSync(at('docs/client.md'), path.join(folder, 'README.md'))
  return folder
}

/** The typed client, without Node's modules, so that browsers can load it. */
function client(): string {
  const folder = begin('pilothouse-client', {
    name: '@pilothouse/client',
    description:
      'The typed client of Pilothouse, the control plane for agent-server deployments, for Node.js and browsers.',
    ...common,
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
    // for tools that don't read `exports`
    main: './index.js',
    types: './index.d.ts',
    sideEffects: false,
    // ranges, so that a program shares these packages with the client
    dependencies: Object.fromEntries(Object.entries(versions(CLIENT_PACKAGES)).map(([name, it]) => [name, `^${it}`])),
    publishConfig: { access: 'public' },
  })
  bundle({
    entryPoints: ['src/client/index.ts'],
    outfile: path.join(folder, 'index.js'),
    platform: 'neutral',
    external: CLIENT_PACKAGES,
  })
  writeTypes('src/client', folder)
  fs.copyFileSync(at('docs/client.md'), path.join(folder, 'README.md'))
  return folder
}

/** Creates a package's folder with its manifest and the license. */
function begin(name: string, manifest: object): string {
  const folder = path.join(staging, name)
  fs.mkdirSync(folder)
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  fs.copyFileSync(at('LICENSE'), path.join(folder, 'LICENSE'))
  return folder
}

function versions(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, root.dependencies[name]!]))
}

function bundle(options: BuildOptions): void {
  buildSync({
    absWorkingDir: CHECKOUT,
    bundle: true,
    format: 'esm',
    target: 'node20.19',
    logLevel: 'error',
    tsconfigRaw: {},
    ...options,
  })
}

/** Writes the declarations of a folder's index.ts and of its imports. */
function writeTypes(sources: string, folder: string): void {
  const config = path.join(staging, 'tsconfig.json')
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: at(sources),
    outDir: folder,
    typeRoots: [at('node_modules/@types')],
  }
  const files = [at(`${sources}/index.ts`)]
  fs.writeFileSync(config, JSON.stringify({ extends: at('tsconfig.json'), compilerOptions, files, include: [] }))
  run(at('node_modules/.bin/tsc'), ['-p', config])
  for (const name of fs.readdirSync(folder).filter((one) => one.endsWith('.d.ts'))) {
    const file = path.join(folder, name)
    // tsc keeps the sources' extension, which only TypeScript's own resolution understands
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/(["'])(\.\/[^"']+)\.ts\1/g, '$1$2.js$1'))
  }
}

/** Returns the name of the package's file in the staging folder. */
function pack(folder: string): string {
  const [{ filename, size, unpackedSize, files }] = JSON.parse(
    run('npm', ['pack', folder, '--pack-destination', staging, '--json']),
  )
  const kB = (bytes: number) => `${Math.ceil(bytes / 1000).toLocaleString('en')} kB`
  process.stdout.write(`dist/packages/${filename}: ${kB(size)}, unpacked ${kB(unpackedSize)}, ${files.length} files\n`)
  return filename
}

function run(program: string, args: string[]): string {
  return execFileSync(program, args, { cwd: CHECKOUT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}
