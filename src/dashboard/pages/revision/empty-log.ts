/** The text shown for an empty log: lines will come, or they won't, and why. */
import type { graphql } from '../../api/graphql.ts'
import type { LogType } from './log-source.ts'

/** The revision whose log is shown. */
export interface LoggedRevision {
  status: ReturnType<typeof graphql.scalar<'RevisionStatus'>>
  source: ReturnType<typeof graphql.scalar<'DeploymentSource'>>
  /** cause of the status; lines after the first are program output */
  statusMessage: string | null
}

const WAITING_TEXT = {
  build: 'No output yet. Lines appear as the build prints them.',
  deploy: 'No output yet. Lines appear as the agent prints them.',
}

/** `ended`: the server reports that the log is complete. */
export function emptyLogText(type: LogType, { status, source, statusMessage }: LoggedRevision, ended: boolean): string {
  const cause = statusMessage?.split('\n')[0] ?? ''
  const withCause = (text: string) => (cause ? `${text} ${cause}` : text)
  if (type === 'build' && source.endsWith('_container')) return 'Images are deployed without a build.'
  switch (status) {
    case 'CREATE_FAILED':
      return withCause(type === 'build' ? 'The build never started.' : 'The agent never started.')
    case 'BUILD_FAILED':
      return withCause(type === 'build' ? 'The build failed before it printed anything.' : 'The agent never started.')
    case 'DEPLOY_FAILED':
      return type === 'build' ? 'The build printed nothing.' : withCause('The agent printed nothing.')
    case 'INTERRUPTED':
    case 'SKIPPED':
      return withCause('No output.')
    case 'AWAITING_DEPLOY':
    case 'DEPLOYING':
    case 'DEPLOYED':
      return type === 'build' ? 'The build printed nothing.' : WAITING_TEXT.deploy
    default:
      return ended ? 'No output.' : WAITING_TEXT[type]
  }
}
