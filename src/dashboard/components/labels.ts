/** The words and colours of states: one place, so that every page says the same. */
import type { graphql } from '../api/graphql.ts'
import type { ReasonCode } from './reason-help.ts'

type RevisionStatus = ReturnType<typeof graphql.scalar<'RevisionStatus'>>

export type Tone = 'good' | 'busy' | 'waiting' | 'bad' | 'quiet'

/** Mantine's colours. */
export const TONE_COLORS: Record<Tone, string> = {
  good: 'teal',
  busy: 'blue',
  waiting: 'yellow',
  bad: 'red',
  quiet: 'gray',
}

interface State {
  label: string
  tone: Tone
}

export const REVISION_STATES: Record<RevisionStatus, State> = {
  CREATING: { label: 'Preparing', tone: 'busy' },
  QUEUED: { label: 'Waiting', tone: 'waiting' },
  AWAITING_BUILD: { label: 'Waiting', tone: 'waiting' },
  BUILDING: { label: 'Building', tone: 'busy' },
  AWAITING_DEPLOY: { label: 'Waiting', tone: 'waiting' },
  DEPLOYING: { label: 'Deploying', tone: 'busy' },
  DEPLOYED: { label: 'Deployed', tone: 'good' },
  CREATE_FAILED: { label: 'Preparing failed', tone: 'bad' },
  BUILD_FAILED: { label: 'Build failed', tone: 'bad' },
  DEPLOY_FAILED: { label: 'Deploy failed', tone: 'bad' },
  INTERRUPTED: { label: 'Interrupted', tone: 'quiet' },
  SKIPPED: { label: 'Skipped', tone: 'quiet' },
  UNKNOWN: { label: 'Unknown', tone: 'quiet' },
}

const WAITING: State = { label: 'Waiting', tone: 'waiting' }

/** With these reasons nobody works on an open revision, whatever its status. The server's list: domain/values/reasons.ts. */
const WAITING_STATES: Partial<Record<ReasonCode, State>> = {
  WAITING_FOR_WORKER: WAITING,
  WAITING_FOR_LISTENER: WAITING,
  LISTENER_SILENT: WAITING,
  WAITING_FOR_BUILDER: WAITING,
  BUILDER_SILENT: WAITING,
  WAITING_FOR_IMAGE: { label: 'Needs an image', tone: 'waiting' },
  WAITING_FOR_TARBALL: { label: 'Needs a source', tone: 'waiting' },
  QUEUED_BEHIND: WAITING,
  WAITING_FOR_TURN: WAITING,
  SERVER_OVERLOADED: WAITING,
}

/** What a revision's pill says: its status, or that it waits. */
export const stateOf = ({ status, reason }: { status: RevisionStatus; reason: ReasonCode | null }): State =>
  (isOpen(status) && reason && WAITING_STATES[reason]) || REVISION_STATES[status]

/** Names of steps, in the words of the states. */
export const STEP_LABELS = { PROVISION: 'Prepare', BUILD: 'Build', DEPLOY: 'Deploy' } as const

type DeploymentSource = ReturnType<typeof graphql.scalar<'DeploymentSource'>>

export const SOURCE_LABELS: Record<DeploymentSource, string> = {
  gitprovider: 'Git',
  internal_source: 'Upload',
  internal_container: 'Pushed image',
  external_container: 'Image',
}

/** Whether its work goes on, or is about to. */
export const isOpen = (status: RevisionStatus): boolean =>
  ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'].includes(status)

/**
 * `acme/agents` of a repository's address: of its path the last two, since what is before them (a group, a folder of the server)
 * is the same for most.
 */
export const repositoryName = (url: string): string => url.match(/([^/]+\/)?[^/]+?(?=(\.git)?\/?$)/)?.[0] ?? url
