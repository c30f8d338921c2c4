/** What the page of a revision says where a log has no line. */
import { expect, test } from 'vitest'
import { nothingPrinted, type Printer } from '../../src/dashboard/pages/revision/empty-log.ts'

const git = (status: Printer['status'], statusMessage: string | null = null): Printer => ({
  ...{ status, statusMessage, source: 'gitprovider' },
})

test('a log of which lines are still to come says so', () => {
  for (const status of ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING'] as const) {
    expect(nothingPrinted('build', git(status), false)).toContain('as the build prints them')
    expect(nothingPrinted('deploy', git(status), false)).toContain('as the agent prints them')
  }
  for (const status of ['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED'] as const)
    expect(nothingPrinted('deploy', git(status), false)).toContain('as the agent prints them')
})

test('a build that failed before it printed anything says that, and why, whether or not its log is over', () => {
  const failed = git(
    'BUILD_FAILED',
    'The repository could not be read: no such branch\nfatal: couldn’t find remote ref',
  )
  for (const ended of [true, false])
    expect(nothingPrinted('build', failed, ended)).toBe(
      'Nothing was printed before the build failed. The repository could not be read: no such branch',
    )
  expect(nothingPrinted('deploy', failed, false)).toMatch(/^It was never started\. The repository/)
})

test('why the roll-out failed is not said of its build', () => {
  const failed = git('DEPLOY_FAILED', 'It did not answer in time')
  expect(nothingPrinted('build', failed, true)).toBe('The build printed nothing.')
  expect(nothingPrinted('deploy', failed, false)).toBe('The agent printed nothing. It did not answer in time')
})

test('of an image nothing is built', () => {
  for (const source of ['external_container', 'internal_container'] as const)
    expect(nothingPrinted('build', { ...git('DEPLOYED'), source }, true)).toContain('nothing was built')
})

test('what was interrupted or skipped says by what', () => {
  for (const status of ['INTERRUPTED', 'SKIPPED'] as const)
    expect(nothingPrinted('build', git(status, 'Superseded by revision 3'), false)).toBe(
      'Nothing was printed. Superseded by revision 3',
    )
})
