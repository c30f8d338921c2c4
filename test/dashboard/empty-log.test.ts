/** The text of an empty log on the page of a revision. */
import { expect, test } from 'vitest'
import { emptyLogText, type LoggedRevision } from '../../src/dashboard/pages/revision/log-hints.ts'

const git = (status: LoggedRevision['status'], statusMessage: string | null = null): LoggedRevision => ({
  ...{ status, statusMessage, source: 'gitprovider' },
})

test('a log with lines still to come says so', () => {
  for (const status of ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING'] as const) {
    expect(emptyLogText('build', git(status), false)).toContain('as the build prints them')
    expect(emptyLogText('deploy', git(status), false)).toContain('as the agent prints them')
  }
  for (const status of ['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED'] as const)
    expect(emptyLogText('deploy', git(status), false)).toContain('as the agent prints them')
})

test('a build that failed before its first line says that and why, before and after its log has ended', () => {
  const failed = git(
    'BUILD_FAILED',
    'The repository could not be read: no such branch\nfatal: couldn’t find remote ref',
  )
  for (const ended of [true, false])
    expect(emptyLogText('build', failed, ended)).toBe(
      'The build failed before it printed anything. The repository could not be read: no such branch',
    )
  expect(emptyLogText('deploy', failed, false)).toMatch(/^The agent never started\. The repository/)
})

test('the cause of a failed rollout is not shown for its build', () => {
  const failed = git('DEPLOY_FAILED', 'It did not answer in time')
  expect(emptyLogText('build', failed, true)).toBe('The build printed nothing.')
  expect(emptyLogText('deploy', failed, false)).toBe('The agent printed nothing. It did not answer in time')
})

test('an image has no build', () => {
  for (const source of ['external_container', 'internal_container'] as const)
    expect(emptyLogText('build', { ...git('DEPLOYED'), source }, true)).toContain('without a build')
})

test('an interrupted or superseded revision names its cause', () => {
  for (const status of ['INTERRUPTED', 'SKIPPED'] as const)
    expect(emptyLogText('build', git(status, 'Superseded by revision 3'), false)).toBe(
      'No output. Superseded by revision 3',
    )
})
