/** `npm start` and `npm run cli` before a program runs: they build once, rebuild after changes, and never block a start. */
import fs from 'node:fs'
import path from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ran, run } from '../support/process.ts'
import { type Checkout, checkout } from '../support/steady/upgrade.ts'

/** `npm run chaos -- first-start` builds from nothing; `npm test` starts with the build of this checkout. */
const isLongForm = process.env.LONG_FORM === 'on'
let tree: Checkout
const at = (name: string) => path.join(tree.folder, name)
const current = () => JSON.parse(fs.readFileSync(at('dist/build.json'), 'utf8')).name as string
/** Changes with each build. */
const made = () => fs.statSync(at('dist/build.json')).ino
const change = (file: string, from: string, to: string) => {
  const text = fs.readFileSync(at(file), 'utf8')
  expect(text).toContain(from)
  fs.writeFileSync(at(file), text.replace(from, to))
}

/** A command that needs no database. */
const help = (): Promise<Ran> => run('cli', ['--help'], {}, tree.folder).ended
const FALLBACK = 'Pilothouse runs its sources as they are, which takes longer to start.\n'

beforeAll(async () => {
  tree = await checkout()
  await tree.shareInstall()
})
afterAll(() => tree?.remove())

test.skipIf(!isLongForm)(
  'the first start builds',
  async () => {
    fs.rmSync(at('dist'), { recursive: true })
    const { code, stdout, stderr } = await help()
    expect(stderr).toBe('')
    expect(stdout).toContain('Usage: pilothouse')
    expect(code).toBe(0)
    expect(fs.readdirSync(at('dist')).sort()).toEqual([current(), 'build.json'].sort())
  },
  180_000,
)

test('a start reuses the build, also when a source is touched but unchanged', async () => {
  const before = made()
  expect((await help()).code).toBe(0)
  fs.utimesSync(at('src/cli/main.ts'), new Date(), new Date())
  expect((await help()).code).toBe(0)
  expect(made()).toBe(before)
})

test('Node can load each file of a build as a module', () => {
  const folder = at(`dist/${current()}`)
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.mjs'))
  expect(files).toEqual(expect.arrayContaining(['main.mjs', 'cli.mjs', 'supervisor.mjs', 'reaper-main.mjs']))
  for (const name of files) transformSync(fs.readFileSync(path.join(folder, name), 'utf8'), { format: 'esm' })
})

test('a changed source runs in its new version, and a stack trace names its line', async () => {
  const older = current()
  const first = 'const describe = async'
  change(
    'src/cli/main.ts',
    first,
    `if (process.argv[2] === 'fail') console.error(new TypeError('on purpose'))\n${first}`,
  )
  const line =
    fs
      .readFileSync(at('src/cli/main.ts'), 'utf8')
      .split('\n')
      .findIndex((one) => one.includes('on purpose')) + 1
  const fail = () => run('cli', ['fail'], {}, tree.folder).ended
  // the second build takes as long as all other tests of this file
  for (const { stderr } of await Promise.all(isLongForm ? [fail(), fail()] : [fail()])) {
    expect(stderr).toMatch(/^TypeError: on purpose\n/)
    expect(stderr).toContain(`${at('src/cli/main.ts')}:${line}:`)
  }
  expect(fs.readdirSync(at('dist')).sort()).toEqual([older, current(), 'build.json'].sort())
  // a running server may still load other files of it
  expect(fs.existsSync(at(`dist/${older}/cli.mjs`))).toBe(true)
}, 180_000)

test('a read-only checkout runs the sources, and a line says why', async () => {
  fs.renameSync(at('dist'), at('kept'))
  fs.writeFileSync(at('dist'), 'in the way')
  try {
    const { code, stdout, stderr } = await help()
    expect(stderr).toBe(`Pilothouse can't be built: EEXIST: file already exists, mkdir '${at('dist')}'\n${FALLBACK}`)
    expect(stdout).toContain('Usage: pilothouse')
    expect(code).toBe(0)
  } finally {
    fs.rmSync(at('dist'))
    fs.renameSync(at('kept'), at('dist'))
  }
})

test('a start whose build fails runs the sources, and a line says what is wrong', async () => {
  const before = fs.readdirSync(at('dist'))
  change('src/api/rest/operations.ts', 'import', 'import import')
  const { code, stdout, stderr } = await help()
  expect(stderr).toMatch(/src\/api\/rest\/operations\.ts:\d+:\d+: ERROR/)
  expect(stderr).toContain(FALLBACK)
  expect(stdout).toContain('Usage: pilothouse')
  expect(code).toBe(0)
  expect(fs.readdirSync(at('dist'))).toEqual(before)
})

test('an unknown program name is refused', async () => {
  expect(await run('nothing' as 'cli', [], {}).ended).toMatchObject({
    code: 2,
    stderr: 'Usage: node src/start/start.mjs main|cli [ARGUMENT…]\n',
  })
})
