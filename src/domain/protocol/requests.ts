/** Requests of the data-plane protocol (docs/protocol.md). Unknown members of older and newer holders are ignored. */
import { z } from 'zod'
import { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import { knownReason, type Reason } from '../errors/reasons.ts'
import { wireObject } from '../parsing/codec.ts'
import { count, optional, time, uuid } from '../parsing/fields.ts'
import { BUILD_PLAN_LIMITS, buildPlanMembers } from '../values/build-plan.ts'
import { LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { MEASURES, type Measure, SAMPLE_SECONDS } from '../values/metrics.ts'
import { LINE_STYLES, MAX_STYLES_CHARS } from './line-styles.ts'

/** Maximum characters of texts from a holder. A longer text is rejected. */
export const MAX_CHARS = { healthMessage: 1024, message: 65_536 }
export { BUILD_PLAN_LIMITS }
export const MAX_ITEMS = 1000

export const text = (max: number) => z.string().max(max)

/** null equals absent: both are undefined in the code. */
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
  .describe('Seconds that the lease lasts, from the beginning of this call.')
export const waitSeconds = z.int().min(0).max(60).optional().meta({ default: 0 })

const word = text(64).describe('A word of the enum Reason. An unknown or absent word counts as the generic reason.')

export const claimRequest = wireObject(
  {
    /** one per process of a worker */
    holder: text(256)
      .min(1)
      .optional()
      .describe('The name of the calling process, for people. Default: the id of the API key.'),
    max: z.int().min(1).max(MAX_ITEMS).default(20).describe('Maximum claims in this response.'),
    leaseSeconds,
    waitSeconds: waitSeconds.describe('Maximum seconds to wait for something to claim.'),
    version: text(128).min(1).optional().describe('Version of the listener program. The listener resource shows it.'),
    podClasses: z
      .array(text(63).min(1))
      .max(100)
      .optional()
      .describe(
        'Classes that `resource_spec.class` of the listener’s deployments may name. Absent: the classes reported before stay.',
      ),
  },
  { id: 'ClaimRequest' },
)

const health = wireObject(
  {
    ready: count.describe('Number of replicas that serve.'),
    desired: count.describe('Number of replicas that should serve.'),
    /** null: all replicas serve, or the cause is unknown */
    message: text(MAX_CHARS.healthMessage)
      .nullable()
      .default(null)
      .describe('Why some replicas do not serve, for people.'),
    /** the same as `message`, for programs */
    reason: z.codec(optional(word), z.custom<Reason | null>().optional(), {
      decode: (sent) => knownReason(sent, null),
      encode: (reason) => reason,
    }),
    draining: maybe(count).describe(
      'Number of replaced replicas that take no new work and finish their runs. Absent: none.',
    ),
    restartedAt: maybe(text(64)).describe(
      'The `restarted_at` of the run when that restart is done. A value once reported is kept.',
    ),
  },
  { id: 'Health' },
)

const agentRestart = wireObject(
  {
    id: text(256).min(1).describe('The same in each report of this restart.'),
    at: z.iso.datetime().describe('When the agent ended.'),
    revisionId: uuid.describe('The revision of the agent.'),
    reason: z
      .codec(word, z.custom<Reason>(), {
        decode: (sent) => knownReason(sent, 'CRASHED' as const),
        encode: (reason) => reason,
      })
      .describe('A word of the enum Reason: CRASHED, OUT_OF_MEMORY, a limit, EVICTED, or HEALTH_CHECK_TIMED_OUT.'),
    exitCode: z.int().nullable().default(null),
    signal: text(32).nullable().default(null).describe('The signal that ended it, such as SIGTERM.'),
    message: text(MAX_CHARS.healthMessage).describe('Why it ended, for people.'),
  },
  { id: 'AgentRestart' },
)

/** What the current step waits for. Each heartbeat repeats it. No code depends on it. */
export interface Progress {
  /** may also be a reason of failures, while the step can still recover */
  reason: Reason
  /** for people; may contain the last lines of output, with secrets masked; 2,000 characters are kept */
  message: string
}

/** Older holders send a text without a reason. */
export const progress = z.codec(
  z.union([
    z
      .object({
        reason: optional(word),
        message: text(MAX_CHARS.message).describe('The message for people. 2,000 characters are kept.'),
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
      .describe('The newest generation that the holder knows. Absent: the response contains every assignment.'),
    /** applies while the revision is CREATING, BUILDING or DEPLOYING; emits no event */
    progress: progress
      .nullish()
      .describe(
        'What the current step waits for. It becomes status_message and reason of the revision during the step. null: nothing blocks the step. Absent: unchanged. A text is a message without a reason.',
      ),
    secondsLeft: maybe(z.number().min(0)).describe(
      'For a DEPLOY that waits for old pods within their grace period under a full quota: its deadline becomes at least this many seconds from now, and at most 24 hours from its first try. Absent: unchanged.',
    ),
    health: maybe(health),
    restarts: maybe(z.array(agentRestart).max(50)).describe(
      'Agents that ended by themselves and were started again. Report each in several heartbeats: a report may get lost, and a repeated one counts once.',
    ),
    idle: maybe(z.boolean()).describe('true: the deployment serves no requests, and its status becomes UNUSED.'),
    url: maybe(z.url({ protocol: /^https?$/ }).max(2048)).describe(
      'The URL of a deployed revision, if it may have changed since the DEPLOY.',
    ),
  },
  { id: 'HeartbeatItem' },
)

export const heartbeatRequest = wireObject(
  {
    leaseSeconds,
    waitSeconds: waitSeconds.describe('Maximum seconds to wait for news about any of the claims.'),
    claims: z.array(heartbeatItem).max(MAX_ITEMS),
  },
  { id: 'HeartbeatRequest' },
)

export const lineFields = {
  level: maybe(z.enum(LogLevel)).describe('Default: info.'),
  message: text(MAX_CHARS.message).describe('One line without its newline.'),
  time,
  styles: maybe(text(MAX_STYLES_CHARS).regex(LINE_STYLES)).describe(
    'The colours of the line, as pairs of a position (in UTF-16 code units) and the parameters of one SGR sequence. `5:31,9:` makes four characters red. Absent: no colours.',
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

/** The outcome of a step and the result of a BUILD. Lease holders and builders report them. */
export const buildFields = {
  message: maybe(text(MAX_CHARS.message)).describe(
    'Why the step failed, for people. It becomes the status_message of the revision.',
  ),
  reason: z
    .codec(optional(word), z.custom<Reason>().optional(), {
      decode: (sent) => knownReason(sent, undefined),
      encode: (reason) => reason,
    })
    .describe('Why the step failed, for programs: a word of the enum Reason. Default: the generic reason of the step.'),
  repoCommitSha: maybe(z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'Must be a full commit id.')).describe(
    'BUILD with any outcome: the exact commit, if known. The revision keeps the first reported commit. ' +
      'Required when a BUILD of a `gitprovider` source succeeded.',
  ),
  commitMessage: maybe(text(65_536)).describe(
    'With `repo_commit_sha`: the message of the commit. The revision keeps the first line.',
  ),
  commitAuthor: maybe(text(1024)).describe('With `repo_commit_sha`: the name of the author of the commit.'),
  buildPlan: maybe(wireObject(buildPlanMembers, { id: 'BuildPlan' })).describe(
    'BUILD with any outcome: the known part of the build plan, for people.',
  ),
  artifact: maybe(text(1024).min(1)).describe(
    'BUILD: names the built artifact, in a format that the lease holder chooses. Required for `succeeded`.',
  ),
}

export const completeRequest = wireObject(
  {
    token,
    stepId: uuid,
    outcome: z
      .enum(['succeeded', 'failed', 'stopped'])
      .describe(
        '`stopped`: the step no longer runs. It was withdrawn (`stop`), or (with a `message`) an external cause broke it. ' +
          'In that case the step is tried again, and fails with the message only after its last try.',
      ),
    /** absent: an older holder, which reports about the current try */
    tries: maybe(z.int().min(1)).describe('The number of the try. The report is ignored if another try is current.'),
    ...buildFields,
    artifactLost: maybe(z.boolean()).describe(
      'DEPLOY, failed: the artifact no longer exists, so the next attempt builds again.',
    ),
    /** a holder that only runs images of the registry */
    elsewhere: maybe(z.boolean()).describe(
      'BUILD, failed: the holder cannot build, but can run an image that a builder pushes to the registry. If builders exist, the build does not fail and waits for one of them.',
    ),
    /** becomes the deployment's `url`, and the `custom_url` for sources `gitprovider` and `internal_*` */
    url: maybe(z.url({ protocol: /^https?$/, error: 'Must be an http(s) URL.' }).max(2048)).describe(
      'DEPLOY: the URL of the deployment.',
    ),
    imageVersion: maybe(text(256)).describe('DEPLOY: becomes the image_version of the deployment.'),
  },
  { id: 'CompleteRequest' },
)

/** Counts of a sample, and values at its end. Unknown names of newer holders are ignored. */
const measures = z.object(
  Object.fromEntries(MEASURES.map((name) => [name, z.number().min(0).optional()])) as Record<
    Measure,
    z.ZodOptional<z.ZodNumber>
  >,
)

const metricSample = wireObject(
  {
    deploymentId: uuid,
    revisionId: maybe(uuid).describe('Absent: the revision that serves when the server stores the sample.'),
    start: time.describe(`The begin of the ${SAMPLE_SECONDS} s that were measured: a multiple of ${SAMPLE_SECONDS} s.`),
    measures: measures.describe('Counts of this time, and the values at its end. Absent: not known.'),
    latencies: z
      .array(
        z.tuple([
          z
            .int()
            .min(0)
            .max(LATENCY_BUCKETS - 1),
          count,
        ]),
      )
      .max(LATENCY_BUCKETS)
      .default([])
      .describe('Pairs of a bucket and its requests. Bucket `n` ends at 0.1 ms × 1.1ⁿ.'),
  },
  { id: 'MetricSample' },
)

export const metricsRequest = wireObject(
  {
    processNumber: count.describe('A random number of the measuring process. Samples that it repeats count once.'),
    samples: z.array(metricSample).max(MAX_ITEMS),
  },
  { id: 'MetricsRequest' },
)

export const releaseRequest = wireObject({ token }, { id: 'ReleaseRequest' })
