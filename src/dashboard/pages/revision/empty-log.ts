/** What is said in place of lines where a log has none: that they will come, or that they won't, and why. */
import type { graphql } from '../../api/graphql.ts'
import type { LogType } from './log-source.ts'

/** Of the revision whose log it is. */
export interface LoggedRevision {
  status: ReturnType<typeof graphql.scalar<'RevisionStatus'>>
  source: ReturnType<typeof graphql.scalar<'DeploymentSource'>>
  /** why it is as it is; below the first line is what a program has printed */
  statusMessage: string | null
}

const WAITING_TEXT = {
  build: 'Nothing yet. Lines appear as the build prints them.',
  deploy: 'Nothing yet. Lines appear as the agent prints them.',
}

/** `ended`: the server says that no line will come any more. */
export function emptyLogText(type: LogType, { status, source, statusMessage }: LoggedRevision, ended: boolean): string {
  const cause = statusMessage?.split('\n')[0] ?? ''
  const withCause = (text: string) => (cause ? `${text} ${cause}` : text)
  if (type === 'build' && source.endsWith('_container')) return 'An image is deployed as it is: nothing was built.'
  switch (status) {
    case 'CREATE_FAILED':
      return withCause(type === 'build' ? 'It was never built.' : 'It was never started.')
    case 'BUILD_FAILED':
      return withCause(type === 'build' ? 'Nothing was printed before the build failed.' : 'It was never started.')
    case 'DEPLOY_FAILED':
      return type === 'build' ? 'The build printed nothing.' : withCause('The agent printed nothing.')
    case 'INTERRUPTED':
    case 'SKIPPED':
      return withCause('Nothing was printed.')
    case 'AWAITING_DEPLOY':
    case 'DEPLOYING':
    case 'DEPLOYED':
      return type === 'build' ? 'The build printed nothing.' : WAITING_TEXT.deploy
    default:
      return ended ? 'Nothing was printed.' : WAITING_TEXT[type]
  }
}
