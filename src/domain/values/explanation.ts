/**
 * A reason for programs with its message for people. All stored messages of the control plane are made here.
 * deployment-status/ makes the derived ones; a worker sends messages of its builds and agents.
 */
import type { StepKind } from '../../generated/prisma/enums.ts'
import type { Reason } from './reasons.ts'

/** Longest `status_message`, in characters; the rest is in the log. */
export const MAX_MESSAGE_CHARS = 2_000

/** Why a status is what it is, or what is waited for. */
export interface Explanation {
  reason: Reason
  /** for people; becomes `status_message` */
  message: string
}

/** What is known of a listener that has to act. */
export interface ListenerFacts {
  computeId: string
  /** null: never */
  lastSeenAt: Date | null
  /** it has not called for 90 seconds */
  silent: boolean
}

/** What is known of the builders that may build something. */
export interface BuilderFacts {
  /** when any of them last called; null: never */
  lastSeenAt: Date | null
  /** one has called within 90 seconds */
  there: boolean
}

/** What each reason's message is made of. */
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
  /** `last`: what it waited for last, as it was said. `unbuilt`: no builder had it any more */
  DEADLINE: { kind: StepKind; minutes: number; last?: string | null; unbuilt?: boolean }
  WORKER_LOST: { tries: number }
  NOBODY_TOOK_IT: { listener: ListenerFacts | null } | ({ minutes: number } & BuilderFacts)
  SUPERSEDED: { number: number }
  INTERRUPTED_BY_PERSON: { subject: string }
  DEPLOYMENT_DELETED: object
  TEARDOWN_FAILED: { why: string }
}

/** What a revision lacks before it can be built or run. */
export type MissingContent = 'WAITING_FOR_IMAGE' | 'WAITING_FOR_TARBALL'

const MISSING_PHRASE: Record<MissingContent, string> = {
  WAITING_FOR_TARBALL: 'a source tarball: upload one and set source_revision_config.source_tarball_path',
  WAITING_FOR_IMAGE: 'an image: set source_revision_config.image_uri',
}

/** The missing content, as a part of a sentence. */
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

/** How long builders are silent, as a part of a sentence. */
const silenceOf = ({ lastSeenAt }: BuilderFacts) =>
  lastSeenAt ? `none was heard from since ${toSeconds(lastSeenAt)}` : 'none was ever heard from'

/** Why no builder took it, and what to do. */
const noBuilderPhrase = (builders: BuilderFacts) =>
  builders.there
    ? 'those that are there had no place free. Start more of them, or raise their MAX_BUILDS.'
    : `${silenceOf(builders)}. Start one, with a key of role builder.`

/** By its compute_id, which is one of its workspace's own, and since when it is silent if it is. */
function nameOf({ computeId, lastSeenAt, silent }: ListenerFacts): string {
  const since = lastSeenAt && toSeconds(lastSeenAt)
  return `listener ${computeId}${silent ? (since ? `, not heard from since ${since},` : ', never heard from,') : ''}`
}

/** Its cause first: a list may show no more. What its output said last stays below it. */
function passedDeadline({ kind, minutes, last, unbuilt }: FactsByReason['DEADLINE']): string {
  const [cause, ...output] = last && !unbuilt ? last.split('\n') : []
  const passed = `${STEP_NOUN[kind]} passed its deadline of ${minutes} min`
  const builder = unbuilt ? ': the builder released it or was lost' : ''
  const wayOut = kind === 'TEARDOWN' ? '' : ` Redeploy it, or raise ${kind}_DEADLINE_MINUTES.`
  const what = cause ? `${cause.replace(/[.\s]*$/, '.')} ${passed} while it waited for this.` : `${passed}${builder}.`
  return [`${what}${wayOut}`, ...output].join('\n').slice(0, MAX_MESSAGE_CHARS)
}

const RENDER: { [R in keyof FactsByReason]: (facts: FactsByReason[R]) => string } = {
  WAITING_FOR_WORKER: ({ kind }) => `Waiting for ${WORKER} to ${STEP_VERB[kind]}.`,
  WAITING_FOR_LISTENER: ({ kind, listener }) => `Waiting for ${nameOf(listener)} to ${STEP_VERB[kind]}.`,
  LISTENER_SILENT: ({ kind, listener }) => `Waiting for ${nameOf(listener)} to ${STEP_VERB[kind]}.`,
  WAITING_FOR_BUILDER: () => 'Waiting for a builder to build it.',
  BUILDER_SILENT: (builders) => `Waiting for a builder to build it: ${silenceOf(builders)}.`,
  WAITING_FOR_IMAGE: () => `Waiting for ${missingPhrase('WAITING_FOR_IMAGE')}.`,
  WAITING_FOR_TARBALL: () => `Waiting for ${missingPhrase('WAITING_FOR_TARBALL')}.`,
  QUEUED_BEHIND: ({ number }) => `Waiting for revision ${number} to finish.`,
  NO_RUNTIME: ({ listenerWouldDo }) =>
    listenerWouldDo
      ? `${NO_RUNTIME}, or create the deployment anew with a listener in source_config.listener_id.`
      : `${NO_RUNTIME}.`,
  CONTENT_MISSING: ({ missing }) => `Nothing to build or run came within 24 h: it lacks ${missingPhrase(missing)}.`,
  DEADLINE: passedDeadline,
  WORKER_LOST: ({ tries }) =>
    `Its worker was lost ${tries} times while it worked on this: the log of the server or listener may say why. Redeploy it.`,
  NOBODY_TOOK_IT: (facts) =>
    'listener' in facts
      ? `Nobody took it for 24 h: ${facts.listener ? nameOf(facts.listener) : WORKER} should have.`
      : `No builder took it within ${facts.minutes} min (BUILDER_WAIT_MINUTES): ${noBuilderPhrase(facts)}`,
  SUPERSEDED: ({ number }) => `Superseded by revision ${number}.`,
  INTERRUPTED_BY_PERSON: ({ subject }) => `Interrupted by ${subject}.`,
  DEPLOYMENT_DELETED: () => 'The deployment was deleted.',
  TEARDOWN_FAILED: ({ why }) => `Teardown failed and will be tried again: ${why}`,
}

/** With the message that the control plane has for this reason. Pure. */
export function explain<R extends keyof FactsByReason>(reason: R, facts: FactsByReason[R]): Explanation {
  return { reason, message: RENDER[reason](facts) }
}

/** With the message of the worker that reported it. Pure. */
export function asReported(reason: Reason, message: string): Explanation {
  return { reason, message: message.slice(0, MAX_MESSAGE_CHARS) }
}
