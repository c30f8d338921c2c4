/**
 * `npm run bump`: moves the changesets of .changeset into CHANGELOG.md, and writes the next version to every file that
 * states it (docs/CONTRIBUTING.md#release).
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

/** Files with the version, besides package.json, package-lock.json and CHANGELOG.md. */
const MENTIONS = [
  'deploy/action/action.yml',
  'deploy/chart/Chart.yaml',
  'deploy/gitlab/pilothouse.gitlab-ci.yml',
  'docs/air-gapped.md',
  'docs/ci.md',
  'docs/operations.md',
]

const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'inherit' })
const version = (): string => JSON.parse(fs.readFileSync('package.json', 'utf8')).version

const previous = version()
run('changeset', 'version')
const next = version()
if (next !== previous) {
  // the command line has to work with the server of this release from now on (test/client/contract.test.ts)
  fs.copyFileSync('test/rest/__snapshots__/openapi.json', 'test/rest/__snapshots__/released-openapi.json')
  // changesets doesn't write package-lock.json
  run('npm', 'version', next, '--allow-same-version', '--no-git-tag-version', '--ignore-scripts')
  const mention = new RegExp(`(?<![\\d.])${previous.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')
  for (const file of MENTIONS) fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(mention, next))
}
