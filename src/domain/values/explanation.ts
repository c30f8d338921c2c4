/** Writes all messages that the control plane stores. deployment-status/ derives others; workers send some. */
import type { StepKind } from '../../generated/prisma/enums.ts'
import type { Reason } from '../errors/reasons.ts'

/** Maximum length of `status_message`. The log has the rest. */
export const MAX_MESSAGE_CHARS = 2_000

export interface Explanation {
  reason: Reason
  message: string
}

export interface ListenerFacts {
  computeId: string
  /** null: never */
  lastSeenAt: Date | null
  /** it has not called for 90 seconds */
  silent: boolean
}

export interface BuilderFacts {
  /** last call of any of them; null: never */
  lastSeenAt: Date | null
  /** one has called within 90 seconds */
  there: boolean
}

interface FactsByReason {
  WAITING_FOR_WORKER: { kind: StepKind }
  WAITING_FOR_LISTENER: { kind: StepKind; listener: ListenerFacts }
  LISTENER_SILENT: { kind: StepKind; listener: ListenerFacts }
  WAITING_FOR_BUILDER: object
  BUILDER_SILENT: BuilderFacts
  WAITING_FOR_IMAGE: object
  WAITING_FOR_TARBALL: object
  QUEUED_BEHIND: { number: number }
  NO_RUNTIME: { listenerWouldDo: boolean }
  CONTENT_MISSING: { missing: MissingContent }
  /** `last`: the message of what it last waited for. `unbuilt`: no builder held the build at the deadline */
  DEADLINE: { kind: StepKind; minutes: number; last?: string | null; unbuilt?: boolean }
  WORKER_LOST: { tries: number }
  NOBODY_TOOK_IT: { listener: ListenerFacts | null } | ({ minutes: number } & BuilderFacts)
  SUPERSEDED: { number: number }
  INTERRUPTED_BY_PERSON: { subject: string }
  DEPLOYMENT_DELETED: object
  TEARDOWN_FAILED: { why: string }
}

export type MissingContent = 'WAITING_FOR_IMAGE' | 'WAITING_FOR_TARBALL'

const MISSING_PHRASE: Record<MissingContent, string> = {
  WAITING_FOR_TARBALL: 'a source tarball: upload one and set source_revision_config.source_tarball_path',
  WAITING_FOR_IMAGE: 'an image: set source_revision_config.image_uri',
}

export const missingPhrase = (missing: MissingContent): string => MISSING_PHRASE[missing]

const STEP_VERB: Record<StepKind, string> = {
  PROVISION: 'prepare the deployment',
  BUILD: 'build it',
  DEPLOY: 'deploy it',
  TEARDOWN: 'tear it down',
}

const STEP_NOUN: Record<StepKind, string> = {
  PROVISION: 'Preparing',
  BUILD: 'The build',
  DEPLOY: 'The deploy',
  TEARDOWN: 'The teardown',
}

const WORKER = 'a built-in worker (a server with WORKER=on and a RUNTIME)'
const NO_RUNTIME = 'No runtime is configured: start a server with RUNTIME=process or RUNTIME=kubernetes'

const toSeconds = (time: Date) => time.toISOString().replace(/\.\d+/, '')

const silenceOf = ({ lastSeenAt }: BuilderFacts) =>
  lastSeenAt ? `no builder has called since ${toSeconds(lastSeenAt)}` : 'no builder has ever called'

const noBuilderPhrase = (builders: BuilderFacts) =>
  builders.there
    ? 'all connected builders were busy. Start more builders, or raise their MAX_BUILDS.'
    : `${silenceOf(builders)}. Start a builder with a key of the role builder.`

function nameOf({ computeId, lastSeenAt, silent }: ListenerFacts): string {
  const since = lastSeenAt && toSeconds(lastSeenAt)
  return `listener ${computeId}${silent ? (since ? `, which has not called since ${since}` : ', which has never called') : ''}`
}

function waitingForListener({ kind, listener }: FactsByReason['LISTENER_SILENT']): string {
  return `Waiting for ${nameOf(listener)}${listener.silent ? ',' : ''} to ${STEP_VERB[kind]}.`
}

/** Puts the cause first, because a list may show only one line. The last output stays below it. */
function passedDeadline({ kind, minutes, last, unbuilt }: FactsByReason['DEADLINE']): string {
  const [cause, ...output] = last && !unbuilt ? last.split('\n') : []
  const passed = `${STEP_NOUN[kind]} exceeded its deadline of ${minutes} min`
  const builder = unbuilt ? ': the builder released it or was lost' : ''
  const wayOut = kind === 'TEARDOWN' ? '' : ` Redeploy it, or raise ${kind}_DEADLINE_MINUTES.`
  const what = cause ? `${cause.replace(/[.\s]*$/, '.')} ${passed} while it waited for this.` : `${passed}${builder}.`
  return [`${what}${wayOut}`, ...output].join('\n').slice(0, MAX_MESSAGE_CHARS)
}

const RENDER: { [R in keyof FactsByReason]: (facts: FactsByReason[R]) => string } = {
  WAITING_FOR_WORKER: ({ kind }) => `Waiting for ${WORKER} to ${STEP_VERB[kind]}.`,
  WAITING_FOR_LISTENER: waitingForListener,
  LISTENER_SILENT: waitingForListener,
  WAITING_FOR_BUILDER: () => 'Waiting for a builder to build it.',
  BUILDER_SILENT: (builders) => `Waiting for a builder to build it: ${silenceOf(builders)}.`,
  WAITING_FOR_IMAGE: () => `Waiting for ${missingPhrase('WAITING_FOR_IMAGE')}.`,
  WAITING_FOR_TARBALL: () => `Waiting for ${missingPhrase('WAITING_FOR_TARBALL')}.`,
  QUEUED_BEHIND: ({ number }) => `Waiting for revision ${number} to finish.`,
  NO_RUNTIME: ({ listenerWouldDo }) =>
    listenerWouldDo
      ? `${NO_RUNTIME}, or create a new deployment with a listener in source_config.listener_id.`
      : `${NO_RUNTIME}.`,
  CONTENT_MISSING: ({ missing }) => `After 24 h the revision still lacks ${missingPhrase(missing)}.`,
  DEADLINE: passedDeadline,
  WORKER_LOST: ({ tries }) =>
    `The worker of this step was lost ${tries} times. Redeploy it; the log of the server or listener may have the cause.`,
  NOBODY_TOOK_IT: (facts) =>
    'listener' in facts
      ? `No worker took it for 24 h. It waited for ${facts.listener ? nameOf(facts.listener) : WORKER}.`
      : `No builder took it within ${facts.minutes} min (BUILDER_WAIT_MINUTES): ${noBuilderPhrase(facts)}`,
  SUPERSEDED: ({ number }) => `Superseded by revision ${number}.`,
  INTERRUPTED_BY_PERSON: ({ subject }) => `Interrupted by ${subject}.`,
  DEPLOYMENT_DELETED: () => 'The deployment was deleted.',
  TEARDOWN_FAILED: ({ why }) => `Teardown failed and will be tried again: ${why}`,
}

export function explain<R extends keyof FactsByReason>(reason: R, facts: FactsByReason[R]): Explanation {
  return { reason, message: RENDER[reason](facts) }
}

export function asReported(reason: Reason, message: string): Explanation {
  return { reason, message: message.slice(0, MAX_MESSAGE_CHARS) }
}
