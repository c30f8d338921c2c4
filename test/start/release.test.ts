/** A release (docs/CONTRIBUTING.md#release): `npm run bump` in a copy of the checkout, and the version in all files that state it. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT, temporaryFolder } from '../support/process.ts'

const execute = promisify(execFile)
const read = (root: string, file: string) => readFileSync(path.join(root, file), 'utf8')

const SNAPSHOTS = 'test/rest/__snapshots__'

/** Texts that contain our version, in deploy, docs and the README. */
const MENTION = [
  /@pilothouse\/cli@\^(\d+\.\d+\.\d+)/,
  /pilothouse\/deploy\/action@v(\d+\.\d+\.\d+)/,
  /pilothouse\/v(\d+\.\d+\.\d+)\/deploy/,
  /pilothouse(?:-cli|-client)?-(\d+\.\d+\.\d+)/,
  /pilothouse\/pilothouse:(\d+\.\d+\.\d+)/,
]

/** Versions by the place that states them. */
function stated(root: string): Record<string, string> {
  const lock = JSON.parse(read(root, 'package-lock.json'))
  const chart = parse(read(root, 'deploy/chart/Chart.yaml'))
  const files = ['deploy', 'docs'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(md|yml|yaml)$/.test(entry.name))
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))),
  )
  const mentions = ['README.md', ...files].flatMap((file) =>
    MENTION.flatMap((pattern) => [...read(root, file).matchAll(new RegExp(pattern, 'g'))]).map(
      ([text, version]): [string, string] => [`${file}: ${text.replace(version!, '…')}`, version!],
    ),
  )
  return {
    'package.json': JSON.parse(read(root, 'package.json')).version,
    'package-lock.json': lock.version,
    'the first package of package-lock.json': lock.packages[''].version,
    'version of Chart.yaml': chart.version,
    'appVersion of Chart.yaml': chart.appVersion,
    'CHANGELOG.md': /^## (.*)$/m.exec(read(root, 'CHANGELOG.md'))![1]!,
    ...Object.fromEntries(mentions),
  }
}

test('all files state the version of package.json', () => {
  const versions = stated(ROOT)
  expect(Object.keys(versions)).toEqual(
    expect.arrayContaining([
      'deploy/action/action.yml: @pilothouse/cli@^…',
      'deploy/gitlab/pilothouse.gitlab-ci.yml: @pilothouse/cli@^…',
      'docs/ci.md: pilothouse/deploy/action@v…',
      'docs/ci.md: pilothouse/v…/deploy',
      'docs/operations.md: pilothouse-…',
    ]),
  )
  expect(new Set(Object.values(versions))).toEqual(new Set([versions['package.json']]))
})

test('npm run bump moves the changesets to the top of the change log and states the next version everywhere', async () => {
  const folder = await temporaryFolder()
  onTestFinished(() => folder.remove())
  const root = path.join(folder.path, 'checkout')
  mkdirSync(root)
  const names = ['.changeset', 'deploy', 'docs', 'src/start', 'CHANGELOG.md', 'README.md', 'package.json']
  for (const name of [...names, 'package-lock.json', SNAPSHOTS])
    cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'))
  for (const name of readdirSync(path.join(root, '.changeset')).filter((one) => !/^(README.md|config.json)$/.test(one)))
    rmSync(path.join(root, '.changeset', name))
  const changeset = '---\npilothouse: minor\n---\n\n`logs` has `--since`.\n\nRename `--from` in scripts.\n'
  writeFileSync(path.join(root, '.changeset/quiet-logs.md'), changeset)
  writeFileSync(path.join(root, SNAPSHOTS, 'openapi.json'), 'the document of this release')
  const git = (...args: string[]) =>
    execute('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: root })
  await git('init', '--quiet', '--initial-branch', 'main')
  await git('add', '--all', '--', ':!node_modules')
  await git('commit', '--quiet', '--message', 'test: begin')

  await execute('npm', ['run', 'bump'], { cwd: root })
  const [major, minor] = stated(ROOT)['package.json']!.split('.')
  const next = `${major}.${Number(minor) + 1}.0`
  expect(new Set(Object.values(stated(root)))).toEqual(new Set([next]))
  expect(readdirSync(path.join(root, '.changeset')).sort()).toEqual(['README.md', 'config.json'])

  expect(read(root, `${SNAPSHOTS}/released-openapi.json`)).toBe('the document of this release')

  const commit = (await git('rev-parse', '--short=7', 'HEAD')).stdout.trim()
  const [title, ...rest] = read(ROOT, 'CHANGELOG.md').split('\n')
  const point = `### Minor Changes\n\n- ${commit}: \`logs\` has \`--since\`.\n  \n  Rename \`--from\` in scripts.\n`
  expect(read(root, 'CHANGELOG.md')).toBe(`${title}\n\n## ${next}\n${point}${rest.join('\n')}`)
  // nothing else changes: neither dependencies nor the format of a file
  const { stdout } = await git('diff', '--numstat', '--', 'package.json', 'package-lock.json')
  expect(stdout).toBe('2\t2\tpackage-lock.json\n1\t1\tpackage.json\n')

  // without changesets there is nothing to release
  await execute('npm', ['run', 'bump'], { cwd: root })
  expect(new Set(Object.values(stated(root)))).toEqual(new Set([next]))
})

test('a new version in package.json makes the build outdated', () => {
  expect(JSON.parse(read(ROOT, 'dist/build.json')).inputs).toHaveProperty(['package.json'])
})
