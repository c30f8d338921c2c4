/** Labels and colours of states, steps and sources, the same on every page. */
import type { graphql } from '../api/graphql.ts'
import type { InputField } from './input-fields.ts'
import type { ReasonCode } from './reason-help.ts'

type RevisionStatus = ReturnType<typeof graphql.scalar<'RevisionStatus'>>

export type Tone = 'good' | 'busy' | 'waiting' | 'bad' | 'quiet'

/** Mantine colour names. */
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

/** Reasons with which an open revision waits, in any status (list: domain/errors/reasons.ts). */
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

/** The badge of a revision: its status, or that it waits. */
export const stateOf = ({ status, reason }: { status: RevisionStatus; reason: ReasonCode | null }): State =>
  (isOpen(status) && reason && WAITING_STATES[reason]) || REVISION_STATES[status]

/** Labels of the steps. */
export const STEP_LABELS = { PROVISION: 'Prepare', BUILD: 'Build', DEPLOY: 'Deploy' } as const

type DeploymentSource = ReturnType<typeof graphql.scalar<'DeploymentSource'>>

export const SOURCE_LABELS: Record<DeploymentSource, string> = {
  gitprovider: 'Git',
  internal_source: 'Upload',
  internal_container: 'Pushed image',
  external_container: 'Image',
}

/** Whether the revision is still in progress. */
export const isOpen = (status: RevisionStatus): boolean =>
  ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'].includes(status)

interface ServingInput {
  status: string
  serving: boolean
  health: { ready: number; desired: number; reason?: ReasonCode | null; observedAt: string | null } | null
  activeRevision: object | null
  latestRevision: { status: RevisionStatus } | null
}

/** What serves a deployment now: a label, with ready and desired replicas. */
export function servingState({ status, serving, health, activeRevision, latestRevision: latest }: ServingInput): State {
  if (status === 'AWAITING_DELETE') return { label: 'Being deleted', tone: 'quiet' }
  if (!activeRevision) return { label: latest && isOpen(latest.status) ? 'Nothing yet' : 'Nothing', tone: 'quiet' }
  const replicas = health && health.desired > 1 ? ` ${health.ready}/${health.desired}` : ''
  if (status === 'UNKNOWN') return { label: 'Unknown', tone: 'waiting' }
  if (!serving)
    return { label: health?.observedAt && health.ready > 0 ? 'Not observed' : `Down${replicas}`, tone: 'bad' }
  if (status === 'UNUSED') return { label: 'Asleep', tone: 'quiet' }
  if (health && health.ready < health.desired) return { label: `Degraded${replicas}`, tone: 'waiting' }
  if (health?.reason === 'QUEUE_STALLED') return { label: 'Queue stalled', tone: 'waiting' }
  return { label: `Serving${replicas}`, tone: 'good' }
}

interface RestartCause {
  reason: string
  exitCode: number | null
  signal: string | null
}

/** Why an agent was restarted: `out of memory`, `exit code 7`. */
export function restartCause({ reason, exitCode, signal }: RestartCause): string {
  if (reason === 'HEALTH_CHECK_TIMED_OUT') return 'health check'
  if (reason !== 'CRASHED') return reason.toLowerCase().replaceAll('_', ' ')
  return signal ?? (exitCode === null ? 'crash' : `exit code ${exitCode}`)
}

/**
 * The last two parts of a repository's URL, such as `acme/agents`. The parts before (a group or folder) are mostly the
 * same.
 */
export const repositoryName = (url: string): string => url.match(/([^/]+\/)?[^/]+?(?=(\.git)?\/?$)/)?.[0] ?? url

/** Of fields whose label is not their name in words. */
const FIELD_LABELS: Record<string, string> = {
  repoUrl: 'Repository',
  repoRef: 'Branch or tag',
  graphConfigPath: 'Configuration file',
  sourceTarballPath: 'Upload',
  repoCommitSha: 'Commit',
  commitMessage: 'Message',
  commitAuthor: 'Author',
  imageUri: 'Image',
  customUrl: 'URL',
  terminationGraceSeconds: 'Seconds to finish runs',
}
const WORDS: Record<string, string> = { mb: '(MB)', gi: '(GiB)', cpu: 'CPU', db: 'database' }

/** The label of a field of a deployment or revision: `queueMemoryMb` → `Queue memory (MB)`. */
export function fieldLabel(field: string): string {
  const words = field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ')
  const text = words.map((word) => WORDS[word] ?? word).join(' ')
  return FIELD_LABELS[field] ?? text[0]!.toUpperCase() + text.slice(1)
}

/** From here on, a bound is that of a database column. */
const NO_BOUND = 1_000_000

/** The bounds of a field for display; null: none. */
export function boundsText({ type, min, max, maxLength }: InputField): string | null {
  const range = max! < NO_BOUND && `${min} to ${max!.toLocaleString('en')}`
  if (type === 'Float') return range ? `${range} cores` : 'cores'
  if (type === 'Int') return range || `${min} or more`
  return maxLength ? `At most ${maxLength.toLocaleString('en')} characters` : null
}

export const inMinutes = (count: number): string => (count === 1 ? 'a minute' : `${count.toLocaleString('en')} minutes`)
