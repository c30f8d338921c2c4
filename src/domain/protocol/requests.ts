/**
 * Requests of the data-plane protocol (docs/protocol.md). Each message is declared once; its descriptions appear in the OpenAPI document.
 * Requests of older and newer holders are read as far as they are understood.
 */
import { z } from 'zod'
import { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import { wireObject } from '../parsing/codec.ts'
import { count, optional, time, uuid } from '../parsing/fields.ts'
import { BUILD_PLAN_LIMITS, buildPlanMembers } from '../values/build-plan.ts'
import { knownReason, type Reason } from '../values/reasons.ts'
import { LINE_STYLES, MAX_STYLES_CHARS } from './line-styles.ts'

/** Bounds of the texts that a holder gives, in characters; more of a body than this is refused. */
export const MAX_CHARS = { healthMessage: 1024, message: 65_536 }
export { BUILD_PLAN_LIMITS }
/** Of one request. */
export const MAX_ITEMS = 1000

export const text = (max: number) => z.string().max(max)

/** null says the same as leaving it out: undefined in the code. */
export const maybe = <T extends z.ZodType>(type: T) =>
  z.codec(optional(type), z.custom<z.output<T>>().optional(), {
    decode: (sent) => sent ?? undefined,
    encode: (value) => value as never,
  })

export const token = z
  .string()
  .regex(/^\d{1,19}$/, 'Must be the token of the claim: decimal digits.')
  .describe('Fencing token of the claim: decimal digits of a 64-bit integer.')
export const leaseSeconds = z
  .int()
  .min(1)
  .max(600)
  .default(30)
  .describe('How long the lease lasts from the beginning of this call on.')
export const waitSeconds = z.int().min(0).max(60).optional().meta({ default: 0 })

const word = text(64).describe(
  'A word of the enum Reason. One that is not known here, or none, counts as the generic one.',
)

export const claimRequest = wireObject(
  {
    /** one for each process of a worker */
    holder: text(256)
      .min(1)
      .optional()
      .describe('Names the process that asks, for people. Default: the id of the API key.'),
    max: z.int().min(1).max(MAX_ITEMS).default(20).describe('Claims at most in this answer.'),
    leaseSeconds,
    waitSeconds: waitSeconds.describe('When there is nothing to claim: waits up to so long for something.'),
    version: text(128).min(1).optional().describe('Version of the listener program; the listener shows it.'),
    podClasses: z
      .array(text(63).min(1))
      .max(100)
      .optional()
      .describe('Classes that `resource_spec.class` of its deployments may name. Absent: those reported before stay.'),
  },
  { id: 'ClaimRequest' },
)

const health = wireObject(
  {
    ready: count.describe('Replicas that serve.'),
    desired: count.describe('Replicas that should.'),
    /** null: they do, or nobody knows */
    message: text(MAX_CHARS.healthMessage).nullable().default(null).describe('Why not all of them serve, for people.'),
    /** the same for machines, with the message */
    reason: z.codec(optional(word), z.custom<Reason | null>().optional(), {
      decode: (sent) => knownReason(sent, null),
      encode: (reason) => reason,
    }),
  },
  { id: 'Health' },
)

/**
 * What the step under way waits for, or what is in its way. Sent with each heartbeat for as long as the step lasts, so
 * that `status_message` and `reason` never say nothing while somebody waits. Nobody's decision depends on it.
 */
export interface Progress {
  /** one that would be a failure's is right here too, as long as it may still mend itself */
  reason: Reason
  /** for people; may have several lines (what was printed last), secrets masked. At most 2,000 characters are kept */
  message: string
}

/** Before there were reasons it was a text. */
export const progress = z.codec(
  z.union([
    z
      .object({
        reason: optional(word),
        message: text(MAX_CHARS.message).describe('For people; 2,000 characters are kept.'),
      })
      .meta({ id: 'Progress' }),
    text(1024),
  ]),
  z.custom<Progress>(),
  {
    decode: (sent) =>
      typeof sent === 'string'
        ? { reason: 'IN_PROGRESS' as const, message: sent }
        : { reason: knownReason(sent.reason, 'IN_PROGRESS' as const), message: sent.message },
    encode: (progress) => progress,
  },
)

export const heartbeatItem = wireObject(
  {
    claimId: uuid,
    token,
    generation: z
      .int()
      .min(0)
      .optional()
      .describe('The newest generation this holder knows; absent: answer everything.'),
    /** it is said of the revision while that is CREATING, BUILDING or DEPLOYING; makes no event */
    progress: progress
      .nullish()
      .describe(
        'What the step under way waits for: status_message and reason of its revision while it lasts. null: nothing is in its way; absent: as it was. A text is one without a reason.',
      ),
    health: maybe(health),
    idle: maybe(z.boolean()).describe('It serves nobody: the status of the deployment becomes UNUSED.'),
  },
  { id: 'HeartbeatItem' },
)

export const heartbeatRequest = wireObject(
  {
    leaseSeconds,
    waitSeconds: waitSeconds.describe(
      'When nothing is new for any of the claims: waits up to so long until something is.',
    ),
    claims: z.array(heartbeatItem).max(MAX_ITEMS),
  },
  { id: 'HeartbeatRequest' },
)

/** Of a line, whatever log it is of. */
export const lineFields = {
  level: maybe(z.enum(LogLevel)).describe('Default: info.'),
  message: text(MAX_CHARS.message).describe('One line, without its newline.'),
  time,
  styles: maybe(text(MAX_STYLES_CHARS).regex(LINE_STYLES)).describe(
    'Its colours: from which character on (of UTF-16) it has which style, which is the parameters of one SGR sequence (`5:31,9:` are four red characters). Absent: it has none.',
  ),
}

export const logEntry = wireObject({ type: z.enum(LogType), ...lineFields })

export const logsRequest = wireObject(
  {
    token,
    revisionId: uuid,
    attempt: z.int().min(1).max(2_147_483_647),
    entries: z.array(logEntry).min(1).max(MAX_ITEMS),
  },
  { id: 'LogsRequest' },
)

/** How a step has ended, and what a BUILD brings: of a holder's report, and of a builder's. */
export const buildFields = {
  message: maybe(text(MAX_CHARS.message)).describe('Why it failed, for people: the status_message of the revision.'),
  reason: z
    .codec(optional(word), z.custom<Reason>().optional(), {
      decode: (sent) => knownReason(sent, undefined),
      encode: (reason) => reason,
    })
    .describe('Why it failed, for machines: a word of the enum Reason. Default: the generic one of its kind.'),
  repoCommitSha: maybe(z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'Must be a full commit id.')).describe(
    'BUILD, whatever its outcome: the exact commit, if it got so far; the revision keeps the first that is reported. ' +
      'Required when one of a `gitprovider` source succeeded.',
  ),
  commitMessage: maybe(text(65_536)).describe(
    'With `repo_commit_sha`: what the commit says; the revision keeps the first line.',
  ),
  commitAuthor: maybe(text(1024)).describe('With `repo_commit_sha`: the name of the author of the commit.'),
  buildPlan: maybe(wireObject(buildPlanMembers, { id: 'BuildPlan' })).describe(
    'BUILD, whatever its outcome: what it does, as far as that is known, for people.',
  ),
  artifact: maybe(text(1024).min(1)).describe(
    'BUILD: what was built, in the words of whoever built it. Required when it succeeded.',
  ),
}

export const completeRequest = wireObject(
  {
    token,
    stepId: uuid,
    outcome: z
      .enum(['succeeded', 'failed', 'stopped'])
      .describe(
        '`stopped`: nothing of it is under way any more. It was withdrawn (`stop`), or (with a `message`) something that ' +
          'is not its own fault broke it: it is taken again, and fails with the message only if that was its last try.',
      ),
    /** absent: an older holder, which reports of the current one */
    tries: maybe(z.int().min(1)).describe('Which try of the step it is about; a report of another one is ignored.'),
    ...buildFields,
    artifactLost: maybe(z.boolean()).describe('DEPLOY, failed: the artifact is gone; the next attempt builds again.'),
    /** one that only runs images of the registry */
    elsewhere: maybe(z.boolean()).describe(
      'BUILD, failed: it was not begun, since nothing is built here; what a builder elsewhere pushes to the registry can be run. Where there is a builder it does not fail, and waits for that.',
    ),
    /** becomes the deployment's `url`, and the `custom_url` of a `gitprovider` or `internal_*` source */
    url: maybe(z.url({ protocol: /^https?$/, error: 'Must be an http(s) URL.' }).max(2048)).describe(
      'DEPLOY: the address of the deployment.',
    ),
    imageVersion: maybe(text(256)).describe('DEPLOY: becomes the image_version of the deployment.'),
  },
  { id: 'CompleteRequest' },
)

export const releaseRequest = wireObject({ token }, { id: 'ReleaseRequest' })
